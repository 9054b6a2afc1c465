// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Moves the sketches of a page: shapes of each frame into an SVG, a slider and a play button.
document.querySelectorAll(".sketch").forEach((box) => {
  const data = JSON.parse(box.querySelector("script").textContent);
  const svg = box.querySelector("svg"), slider = box.querySelector("input");
  const button = box.querySelector("button"), clock = box.querySelector("output");
  const [width, height] = data.box;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const add = (kind, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    svg.appendChild(node);
    return node;
  };
  const text = (points, closed) =>
    "M" + points.map(([x, y]) => `${x} ${(height - y).toFixed(1)}`).join("L") + (closed ? "Z" : "");
  const stroke = (colour, size) => ({
    fill: "none", stroke: colour, "stroke-width": size, "stroke-linecap": "round", "stroke-linejoin": "round"});
  data.trails.forEach((trail) => add("path", {...stroke(trail.colour, 2), d: text(trail.points)}));
  const nodes = data.shapes.map((shape) => shape.kind === "ball"
    ? add("circle", {r: 13, fill: shape.colour}) : add("path", stroke(shape.colour, 2 * shape.width)));
  const arrows = data.arrows.map(() => add("path", {...stroke(data.force, 6), fill: data.force}));

  const show = (frame) => {
    data.shapes.forEach((shape, i) => {
      const points = shape.points[frame];
      if (shape.kind === "ball") {
        nodes[i].setAttribute("cx", points[0][0]);
        nodes[i].setAttribute("cy", height - points[0][1]);
      } else {
        nodes[i].setAttribute("d", text(points, shape.closed));
      }
    });
    data.arrows.forEach((arrow, i) => {
      const [x, y] = arrow.points[frame], [u, v] = arrow.vector[frame];
      const size = Math.hypot(u, v);
      if (size < 8) return arrows[i].setAttribute("d", "");
      const tip = [x + u, y + v], head = Math.min(24, 0.5 * size) / size;
      const left = [tip[0] - head * (u - 0.5 * v), tip[1] - head * (v + 0.5 * u)];
      const right = [tip[0] - head * (u + 0.5 * v), tip[1] - head * (v - 0.5 * u)];
      arrows[i].setAttribute("d", text([[x, y], tip, left, right, tip]));
    });
    clock.textContent = data.time[frame].toPrecision(4) + " s";
    slider.value = frame;
  };
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "▶"; };
  button.onclick = () => {
    if (timer) return stop();
    button.textContent = "❚❚";
    timer = setInterval(() => show((Number(slider.value) + 1) % data.time.length), 50);
  };
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  show(data.still);
});
