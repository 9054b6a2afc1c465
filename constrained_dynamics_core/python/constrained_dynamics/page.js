// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// A run as a moving picture: the scene of scene.js, the plots and the clock.
"use strict";
(function () {
  const {data, scene, check, array} = CdScene;
  const time = array(data.time);
  const first = time[0], last = time[time.length - 1];

  // ---- where the clock is between two frames -----------------------------------------------------

  function locate(t) {
    let low = 0, high = time.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (time[middle] <= t) low = middle; else high = middle;
    }
    const span = time[high] - time[low];
    return {low, high, part: span > 0 ? Math.min(Math.max((t - time[low]) / span, 0), 1) : 0};
  }

  // ---- plots -------------------------------------------------------------------------------------

  const cursors = [];
  function makePlots() {
    const place = document.getElementById("plots");
    for (const note of data.notes) place.appendChild(Object.assign(document.createElement("div"), {className: "note", textContent: note}));
    if (data.plots.events.length) {
      place.appendChild(Object.assign(document.createElement("div"), {
        className: "caption", textContent: "Dotted vertical lines: events (contacts, friction, switches, impulses).",
      }));
    }
    const shapes = data.plots.events.map((t) => ({
      type: "line", x0: t, x1: t, yref: "paper", y0: 0, y1: 1, line: {color: "#9aa5b1", width: 0.7, dash: "dot"},
    }));
    // All frames first: a plot takes the size that its frame has when it is made.
    const frames = data.plots.plots.map(
      () => place.appendChild(Object.assign(document.createElement("div"), {className: "plot"})));
    data.plots.plots.forEach((plot, k) => {
      const frame = frames[k];
      frame.appendChild(Object.assign(document.createElement("div"), {className: "title", textContent: plot.title}));
      const figure = frame.appendChild(Object.assign(document.createElement("div"), {className: "figure", id: plot.id}));
      const layout = {
        margin: {l: 62, r: 12, t: 8, b: 34},
        font: {size: 11}, hovermode: "x unified", shapes, showlegend: true, paper_bgcolor: "rgba(0,0,0,0)",
        legend: {orientation: "h", x: 1, xanchor: "right", y: 1.0, yanchor: "bottom", font: {size: 10}, bgcolor: "rgba(255,255,255,0.7)"},
        xaxis: {range: [first, last], title: {text: "t [s]", standoff: 2}, gridcolor: "#e8ecf1"},
        yaxis: {
          title: {text: plot.axis, standoff: 4}, type: plot.log ? "log" : "linear", gridcolor: "#e8ecf1",
          exponentformat: "power", zerolinecolor: "#c8d0da",
          ...(plot.log ? {dtick: decades(plot.lines)} : {nticks: 6}),
        },
      };
      Plotly.newPlot(figure, plot.lines, layout, {displaylogo: false, responsive: true, displayModeBar: false});
      const cursor = frame.appendChild(Object.assign(document.createElement("div"), {className: "cursor"}));
      figure.on("plotly_click", (event) => { clock.playing = false; seek(event.points[0].x); });
      cursors.push((t) => {
        const full = figure._fullLayout;
        if (!full || !full.xaxis || !full._size) return;
        const x = full.xaxis.l2p(t);
        cursor.style.display = x >= 0 && x <= full._size.w ? "block" : "none";
        cursor.style.left = figure.offsetLeft + full._size.l + x + "px";
        cursor.style.top = figure.offsetTop + full._size.t + "px";
        cursor.style.height = full._size.h + "px";
      });
    });
  }

  // Whole decades, at most six labels.
  function decades(lines) {
    const values = lines.flatMap((line) => line.y).filter((y) => y > 0);
    return Math.max(1, Math.ceil(Math.log10(Math.max(...values) / Math.min(...values)) / 6));
  }

  // ---- clock -------------------------------------------------------------------------------------

  const clock = {t: first, playing: false, before: 0};
  const slider = document.getElementById("slider"), play = document.getElementById("play");
  let view = null, tellForces = () => {};
  function show(t) {
    clock.t = t;
    if (view) { view.show(locate(t), CdScene.scalesNow()); tellForces(); }
    for (const cursor of cursors) cursor(t);
    slider.value = 1000 * (t - first) / ((last - first) || 1);
    document.getElementById("clock").textContent = t.toFixed(2) + " s";
    play.textContent = clock.playing ? "❚❚" : "▶";
  }
  function seek(t) { show(Math.min(Math.max(t, first), last)); }
  function tick(now) {
    if (clock.playing) {
      const step = Math.min((now - clock.before) / 1000, 0.1) * Number(document.getElementById("speed").value);
      seek(clock.t + step >= last && clock.t < last ? last : clock.t >= last ? first : clock.t + step);
    }
    clock.before = now;
    requestAnimationFrame(tick);
  }
  play.addEventListener("click", () => { clock.playing = !clock.playing; show(clock.t); });
  slider.addEventListener("input", () => { clock.playing = false; seek(first + slider.value / 1000 * (last - first)); });
  document.addEventListener("keydown", (event) => {
    if (event.code === "Space" && event.target.tagName !== "BUTTON") { event.preventDefault(); play.click(); }
  });

  // ---- start -------------------------------------------------------------------------------------

  if (scene.empty) {
    document.getElementById("view").style.display = "none";
    document.getElementById("plots").style.maxWidth = "none";
  }
  makePlots();
  if (!scene.empty) {
    try {
      view = CdScene.makeView();
      tellForces = CdScene.makeLegend(view.arrows, () => show(clock.t));
    } catch (error) {
      const text = "The 3D view needs WebGL, which this browser does not offer: " + error;
      document.getElementById("hint").textContent = text;
      window.pageErrors.push(text);
    }
  }
  // #t=3.5 opens the page at that time, standing; otherwise it plays.
  const asked = /^#t=([-\d.eE+]+)$/.exec(location.hash);
  clock.playing = !asked;
  seek(asked ? Number(asked[1]) : first);
  requestAnimationFrame(tick);
  window.addEventListener("resize", () => setTimeout(() => show(clock.t), 200));

  // What tests ask for: written into the document once the first pictures have been drawn.
  setTimeout(() => {
    show(clock.t);
    if (view) view.viewer.render();
    document.getElementById("self-check").textContent = JSON.stringify({
      ...check, ready: true, time: clock.t, triangles: view ? check.triangles() : 0, errors: window.pageErrors,
      plots: data.plots.plots.map((plot) => document.querySelectorAll(`#${plot.id} .scatterlayer .trace`).length),
      arrows: view ? view.arrows.map((arrow) => ({
        name: arrow.name, kind: arrow.kind, visible: arrow.group.visible, value: arrow.value, length: arrow.length,
      })) : [],
    });
  }, 1500);
})();
