// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The scene of a page (meshcat, three.js), its arrows and their legend; pages of runs and the live view share it.
"use strict";
const CdScene = (function () {
  const kinds = {
    float32: Float32Array, uint32: Uint32Array, uint16: Uint16Array, int8: Int8Array,
  };
  const data = JSON.parse(document.getElementById("data").textContent);
  const buffer = Uint8Array.from(atob(document.getElementById("blob").textContent.trim()), (c) => c.charCodeAt(0)).buffer;
  const array = (ref) => new kinds[ref.type](buffer, ref.offset, ref.length);
  const scene = data.scene;
  // Side of a square of the floor grid [m], a power of ten.
  const cell = Math.pow(10, Math.floor(Math.log10(scene.radius)));
  const check = {ready: false, webgl: false, arrows: [], shapes: scene.shapes.length, sticks: scene.sticks.length};

  // Between two frames.
  function mix(values, width, k, at, out) {
    const a = (at.low * width + k) * 3, b = (at.high * width + k) * 3;
    return out.set(
      values[a] + at.part * (values[b] - values[a]), values[a + 1] + at.part * (values[b + 1] - values[a + 1]),
      values[a + 2] + at.part * (values[b + 2] - values[a + 2]));
  }

  // ---- the scene ---------------------------------------------------------------------------------

  function makeView() {
    const THREE = MeshCat.THREE;
    const pane = document.getElementById("pane");
    const viewer = new MeshCat.Viewer(pane);
    viewer.set_3d_pane_size = function () {
      MeshCat.Viewer.prototype.set_3d_pane_size.call(this, pane.clientWidth, pane.clientHeight);
    };
    viewer.gui.domElement.style.display = "none";
    viewer.set_property(["Background"], "top_color", [0.90, 0.93, 0.97]);
    viewer.set_property(["Background"], "bottom_color", [0.98, 0.99, 1.0]);
    const lights = {AmbientLight: 0.42, FillLight: 0.35, PointLightNegativeX: 0.28, PointLightPositiveX: 0.28};
    for (const [name, intensity] of Object.entries(lights)) {
      viewer.set_property(["Lights", name, "<object>"], "intensity", intensity);
    }
    viewer.set_property(["Axes"], "visible", false);
    viewer.set_property(["Grid"], "visible", false);

    // The world of the viewer has y up, its scene z up.
    const up = (p) => new THREE.Vector3(p[0], p[2], -p[1]);
    const camera = new THREE.PerspectiveCamera(scene.camera.fieldOfView, 1, 0.002 * scene.radius, 200 * scene.radius);
    camera.position.copy(up(scene.camera.position));
    viewer.set_camera(camera);
    viewer.controls.target.copy(up(scene.camera.target));
    viewer.controls.update();
    viewer.set_3d_pane_size();

    const root = new THREE.Group();
    viewer.set_object(["run"], root);
    // A floor grid below everything, in steps of a round size.
    const grid = new THREE.GridHelper(20 * cell, 20, 0xb8c2ce, 0xd8dee6);
    grid.rotateX(Math.PI / 2);
    grid.position.z = scene.floor;
    root.add(grid);

    const material = (colour, opacity) => new THREE.MeshPhongMaterial({
      color: new THREE.Color(...colour), opacity, transparent: opacity < 1, shininess: 18, side: THREE.DoubleSide,
      depthWrite: opacity >= 1,
    });
    const frames = scene.frames.map(() => { const group = new THREE.Group(); root.add(group); return group; });
    for (const shape of scene.shapes) frames[shape.frame].add(makeShape(THREE, shape, material));

    const up_y = new THREE.Vector3(0, 1, 0);
    const stickMaterial = material([0.35, 0.4, 0.47], 1), jointMaterial = material([0.2, 0.24, 0.3], 1);
    const sticks = scene.sticks.map(([a, b]) => {
      const mesh = new THREE.Mesh(new THREE.CylinderGeometry(scene.thickness, scene.thickness, 1, 16), stickMaterial);
      const ends = [0, 1].map(() => new THREE.Mesh(new THREE.SphereGeometry(1.6 * scene.thickness, 18, 14), jointMaterial));
      root.add(mesh, ...ends);
      return {a, b, mesh, ends};
    });
    const particles = scene.particles.map((k) => {
      const mesh = new THREE.Mesh(
        new THREE.SphereGeometry(2.2 * scene.thickness, 24, 18), material([0.25, 0.35, 0.5], 1));
      root.add(mesh);
      return {k, mesh};
    });
    for (const trail of scene.trails) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(array(trail), 3));
      root.add(new THREE.Line(geometry, new THREE.LineBasicMaterial({color: 0x8a5a00})));
    }
    const arrows = scene.arrows.map((arrow) => makeArrow(THREE, arrow, root));

    const positions = array(scene.positions), quaternions = array(scene.quaternions), points = array(scene.points);
    const a = new THREE.Vector3(), b = new THREE.Vector3(), other = new THREE.Quaternion();
    function quaternion(index, out) {
      return out.set(quaternions[index], quaternions[index + 1], quaternions[index + 2], quaternions[index + 3]);
    }
    function show(at, scales) {
      frames.forEach((group, k) => {
        mix(positions, frames.length, k, at, group.position);
        quaternion((at.low * frames.length + k) * 4, group.quaternion);
        group.quaternion.slerp(quaternion((at.high * frames.length + k) * 4, other), at.part);
      });
      for (const stick of sticks) {
        mix(points, scene.pointCount, stick.a, at, a);
        mix(points, scene.pointCount, stick.b, at, b);
        stick.ends[0].position.copy(a);
        stick.ends[1].position.copy(b);
        stick.mesh.position.copy(a).add(b).multiplyScalar(0.5);
        b.sub(a);
        stick.mesh.scale.set(1, Math.max(b.length(), 1e-9), 1);
        stick.mesh.quaternion.setFromUnitVectors(up_y, b.normalize());
      }
      for (const {k, mesh} of particles) mix(points, scene.pointCount, k, at, mesh.position);
      for (const arrow of arrows) arrow.show(at, scales[arrow.kind]);
      viewer.set_dirty();
    }
    new ResizeObserver(() => viewer.set_3d_pane_size()).observe(pane);
    check.webgl = true;
    check.triangles = () => viewer.renderer.info.render.triangles;
    return {viewer, arrows, show};
  }

  function makeShape(THREE, shape, material) {
    let geometry, turn = null;
    const size = shape.size;
    if (shape.kind === "box") {
      geometry = new THREE.BoxGeometry(size[0], size[1], size[2]);
    } else if (shape.kind === "cylinder") {
      geometry = new THREE.CylinderGeometry(size[0], size[0], size[1], 40);
      geometry.rotateX(Math.PI / 2);  // three.js has its axis along y
    } else if (shape.kind === "sphere") {
      geometry = new THREE.SphereGeometry(size[0], 36, 24);
    } else if (shape.kind === "ellipsoid") {
      geometry = new THREE.SphereGeometry(1, 36, 24);
      geometry.scale(size[0], size[1], size[2]);
    } else {
      const raw = array(shape.vertices), position = new Float32Array(raw.length);
      for (let i = 0; i < raw.length; ++i) position[i] = shape.low[i % 3] + raw[i] / 65535 * shape.span[i % 3];
      geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
      geometry.setAttribute("normal", new THREE.BufferAttribute(array(shape.normals), 3, true));
      geometry.setIndex(new THREE.BufferAttribute(array(shape.triangles), 1));
    }
    const mesh = new THREE.Mesh(geometry, material(shape.colour, shape.opacity));
    mesh.matrixAutoUpdate = false;
    mesh.matrix.fromArray(shape.pose);
    return mesh;
  }

  // A force is a shaft with one head, a torque has two.
  function makeArrow(THREE, arrow, root) {
    const colour = new THREE.Color(arrow.colour);
    const material = new THREE.MeshPhongMaterial({color: colour, emissive: colour, emissiveIntensity: 0.35});
    const radius = 0.013 * scene.radius;
    const group = new THREE.Group();
    const shaft = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, 1, 18), material);
    const heads = (arrow.kind === "torque" ? [0, 1] : [0]).map(
      () => new THREE.Mesh(new THREE.ConeGeometry(2.6 * radius, 6 * radius, 24), material));
    group.add(shaft, ...heads);
    // What is inside a body shines through it.
    const ghost = new THREE.MeshBasicMaterial({color: colour, transparent: true, opacity: 0.3, depthTest: false, depthWrite: false});
    for (const part of [shaft, ...heads]) part.add(new THREE.Mesh(part.geometry, ghost));
    root.add(group);
    const point = array(arrow.point), vector = array(arrow.vector);
    const up_y = new THREE.Vector3(0, 1, 0), v = new THREE.Vector3();
    const self = {
      name: arrow.name, body: arrow.body, kind: arrow.kind, colour: arrow.colour, enabled: true, value: 0, length: 0, group,
      show(at, scale) {
        mix(point, 1, 0, at, group.position);
        mix(vector, 1, 0, at, v);
        self.value = v.length();
        self.length = self.value * scale;
        group.visible = self.enabled && self.length > 1e-3 * scene.radius;
        if (!group.visible) return;
        const head = Math.min(6 * radius, 0.35 * self.length), ratio = head / (6 * radius);
        heads.forEach((cone, k) => {
          cone.scale.set(ratio, ratio, ratio);
          cone.position.y = self.length - (0.5 + 0.7 * k) * head;
        });
        const bare = Math.max(self.length - head, 1e-9);
        shaft.scale.set(ratio, bare, ratio);
        shaft.position.y = bare / 2;
        group.quaternion.setFromUnitVectors(up_y, v.normalize());
      },
    };
    return self;
  }

  // ---- legend and scale --------------------------------------------------------------------------

  const factor = {value: 1};
  const scalesNow = () => Object.fromEntries(Object.entries(scene.scales).map(([kind, s]) => [kind, s * factor.value]));
  const round = (value) => Number(value.toPrecision(3));
  const length = (metres) => metres < 0.01 ? round(1000 * metres) + " mm" : metres < 1 ? round(100 * metres) + " cm" : metres + " m";
  // Three digits at every size.
  const short = (value) => value >= 1e5 || (value > 0 && value < 1e-3) ? value.toExponential(2) : value >= 100 ? value.toFixed(1) : value.toPrecision(3);

  // refresh: shows the picture again after a choice in the legend.
  function makeLegend(arrows, refresh) {
    const legend = document.getElementById("legend");
    const element = (tag, parent, properties) => parent.appendChild(Object.assign(document.createElement(tag), properties));
    const rows = [];
    if (!arrows.length) {
      legend.style.display = "none";
      return () => {};
    }
    element("h2", legend, {textContent: "Forces of the constraints"});
    for (const arrow of arrows) {
      const label = element("label", legend, {});
      const box = element("input", label, {type: "checkbox", checked: true});
      box.addEventListener("change", () => { arrow.enabled = box.checked; refresh(); });
      const head = (x) => `<path d="M${x} 0 L${x + 9} 6 L${x} 12 Z"/>`;
      const swatch = element("span", label, {className: "swatch"});
      swatch.innerHTML = `<svg width="26" height="12" fill="${arrow.colour}"><rect y="4.5" width="16" height="3"/>`
        + (arrow.kind === "torque" ? head(8) : "") + head(15) + "</svg>";
      element("span", label, {textContent: arrow.name + (arrow.kind === "torque" ? ", torque" : "")});
      if (arrow.body) element("span", label, {className: "body", textContent: "on " + arrow.body});
      rows.push({arrow, value: element("span", label, {className: "value"})});
    }
    const scale = element("div", legend, {className: "scale"});
    const text = element("div", scale, {});
    const input = element("input", scale, {type: "range", min: -1, max: 1, step: 0.01, value: 0, title: "size of the arrows"});
    function tell() {
      const units = {force: "N", torque: "N m"};
      text.textContent = "an arrow as long as a square of the floor (" + length(cell) + "): "
        + Object.entries(scalesNow()).map(([kind, s]) => round(cell / s) + " " + units[kind]).join(", ");
    }
    input.addEventListener("input", () => { factor.value = Math.pow(10, Number(input.value)); tell(); refresh(); });
    tell();
    return () => {
      for (const {arrow, value} of rows) value.textContent = short(arrow.value) + (arrow.kind === "torque" ? " N m" : " N");
    };
  }

  return {data, scene, array, check, makeView, makeLegend, scalesNow};
})();
