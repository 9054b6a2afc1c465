// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// A run that goes on in the server: its picture and numbers as fast as they can be drawn, and commands to it.
"use strict";
(function () {
  const {data, scene, array} = CdScene;
  const live = data.live;
  const get = (id) => document.getElementById(id);
  const element = (tag, parent, properties) => parent.appendChild(Object.assign(document.createElement(tag), properties));
  let view = null, tellForces = () => {}, state = null, commands = 0;
  // What tests ask for.
  window.cdLive = {get state() { return state; }, frames: 0, get arrows() {
    return view ? view.arrows.map((arrow) => ({
      name: arrow.name, kind: arrow.kind, visible: arrow.group.visible, value: arrow.value})) : [];
  }};

  // ---- the picture -------------------------------------------------------------------------------

  // The scene holds one frame, whose numbers are overwritten.
  const places = {positions: array(scene.positions), quaternions: array(scene.quaternions), points: array(scene.points)};
  const arrows = scene.arrows.map((arrow) => ({point: array(arrow.point), vector: array(arrow.vector)}));
  const now = {low: 0, high: 0, part: 0};
  function draw() {
    if (!view || !state || state.time === null) return;
    for (const [name, place] of Object.entries(places)) place.set(state[name]);
    arrows.forEach(({point, vector}, k) => {
      point.set(state.arrows.slice(6 * k, 6 * k + 3));
      vector.set(state.arrows.slice(6 * k + 3, 6 * k + 6));
    });
    view.show(now, CdScene.scalesNow());
    tellForces();
  }

  // ---- commands ----------------------------------------------------------------------------------

  async function command(action, values) {
    const answer = await fetch("/command", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({action, ...values})});
    const told = await answer.json();
    commands += 1;
    if (told.error) complain(told.error); else { state = told; tell(); }
  }
  let complaint = "", complained = 0;
  function complain(text) { complaint = text; complained = Date.now(); tell(); }

  // A slider that moves on while an answer is awaited: only its last value is sent.
  function sender(send) {
    let waiting = null, busy = false;
    return async (value) => {
      waiting = value;
      if (busy) return;
      busy = true;
      while (waiting !== null) { const next = waiting; waiting = null; await send(next); }
      busy = false;
    };
  }

  const play = get("play");
  play.addEventListener("click", () => command(state && state.running ? "pause" : "play"));
  get("step").addEventListener("click", () => command("step"));
  get("reset").addEventListener("click", () => { history.length = 0; command("reset"); });
  get("speed").addEventListener("change", (event) => command("speed", {value: Number(event.target.value)}));
  document.addEventListener("keydown", (event) => {
    if (event.code === "Space" && !["BUTTON", "INPUT", "SELECT"].includes(event.target.tagName)) {
      event.preventDefault();
      play.click();
    }
  });

  // ---- the panel ---------------------------------------------------------------------------------

  const short = (x) => Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : x.toFixed(3);
  // What a field says; null where it says no number: an empty field is no 0.
  function numberOf(field, name) {
    const text = field.value.trim();
    if (text !== "" && Number.isFinite(Number(text))) return Number(text);
    complain(name + ": not a number; the value stays as it was.");
    return null;
  }
  const parameters = live.parameters.map(({name, value}) => {
    const line = element("label", get("parameters"), {className: "line"});
    element("span", line, {textContent: name});
    const reach = value === 0 ? 1 : 2 * Math.abs(value);
    const slider = element("input", line, {
      type: "range", step: "any", min: value === 0 ? -1 : value - reach / 2, max: value + reach, name});
    slider.value = value;
    const number = element("input", line, {type: "number", step: "any", value});
    const send = sender((x) => command("parameter", {name, value: x}));
    slider.addEventListener("input", () => { number.value = Number(Number(slider.value).toPrecision(4)); send(Number(slider.value)); });
    number.addEventListener("change", () => {
      const given = numberOf(number, name);
      if (given === null) { number.value = Number(state.parameters[name].toPrecision(6)); return; }
      slider.value = given;
      send(given);
    });
    return {name, slider, number};
  });
  const constraints = live.constraints.map((constraint) => {
    const line = element("label", get("constraints"), {className: "line", title: constraint.type});
    const box = element("input", line, {type: "checkbox", disabled: constraint.contact});
    box.dataset.constraint = constraint.name;
    box.addEventListener("change", () => command("switch", {name: constraint.name, active: box.checked}));
    element("span", line, {textContent: constraint.name + (constraint.contact ? " (contact)" : "")}).style.color = constraint.colour;
    return {constraint, box, value: element("span", line, {className: "value"})};
  });
  const tasks = live.tasks.map((name) => {
    const line = element("label", get("tasks"), {className: "line"});
    const box = element("input", line, {type: "checkbox", checked: true});
    box.addEventListener("change", () => command("task", {name, enabled: box.checked}));
    element("span", line, {textContent: name});
    return {box, value: element("span", line, {className: "value"})};
  });
  for (const name of live.bodies) element("option", get("body"), {value: name, textContent: name});
  get("body").selectedIndex = live.bodies.length - 1;
  if (live.textbook) get("impulse-unit").textContent = "N s, N m s";
  const directions = live.textbook ? [["−", [-1]], ["+", [1]]] : ["x", "y", "z"].flatMap(
    (axis, k) => [-1, 1].map((sign) => [(sign < 0 ? "−" : "+") + axis, [0, 1, 2].map((i) => (i === k ? sign : 0))]));
  for (const [text, direction] of directions) {
    element("button", get("directions"), {textContent: text}).addEventListener("click", () => {
      const size = numberOf(get("impulse"), "impulse");
      if (size !== null) command("push", {body: get("body").value, impulse: direction.map((x) => x * size)});
    });
  }
  for (const [id, list] of [["parameters", parameters], ["constraints", constraints], ["tasks", tasks], ["forces", constraints]]) {
    if (!list.length) get(id + "-box").style.display = "none";
  }

  function tell() {
    if (!state) return;
    const notes = [...data.notes, state.note, Date.now() - complained < 8000 ? complaint : ""].filter((text) => text);
    get("notes").textContent = notes.join("\n");
    get("notes").style.display = notes.length ? "block" : "none";
    play.textContent = state.running ? "❚❚" : "▶";
    for (const {name, slider, number} of parameters) {
      if (document.activeElement !== slider && document.activeElement !== number) {
        slider.value = state.parameters[name];
        number.value = Number(state.parameters[name].toPrecision(6));
      }
    }
    if (state.time === null) return;
    get("clock").textContent = state.time.toFixed(2) + " s";
    get("pace").textContent = state.factor < 0.95 ? "slower than asked: × " + (state.factor * state.speed).toFixed(2) : "";
    for (const [k, {constraint, box, value}] of constraints.entries()) {
      if (document.activeElement !== box || !state.running) box.checked = state.active[k];
      value.textContent = state.active[k] ? constraint.rows.map(
        (label, i) => label + " " + short(state.multipliers[constraint.first + i])).join("   ") : "off";
    }
    for (const [k, {value}] of tasks.entries()) {
      const task = state.tasks[k];
      value.textContent = task.enabled ? "error " + short(task.error) + (task.relaxed ? ", relaxed" : "") : "off";
    }
    const lines = [
      ["status", state.status], ["kinetic energy", short(state.energy[0]) + " J"],
      ["potential energy", short(state.energy[1]) + " J"], ["total", short(state.energy[0] + state.energy[1]) + " J"],
      ["largest |φ|", state.violation[0].toExponential(1)], ["largest |φ̇|, |ψ|", state.violation[1].toExponential(1)],
      ...live.coordinates.map((name, i) => [name, short(state.q[i])]),
    ];
    get("numbers").innerHTML = "";
    for (const [name, value] of lines) {
      const line = element("div", get("numbers"), {className: "line"});
      element("span", line, {textContent: name});
      element("span", line, {className: "value", textContent: value});
    }
  }

  // ---- the chart ---------------------------------------------------------------------------------

  const WINDOW = 10;
  const history = [];  // [time, size of the force of each constraint]
  function remember() {
    const last = history.length ? history[history.length - 1][0] : -Infinity;
    if (state.time < last) history.length = 0;
    if (state.time === last) return;
    history.push([state.time, live.constraints.map(({first, rows}) => Math.hypot(...state.multipliers.slice(first, first + rows.length)))]);
    while (history[0][0] < state.time - WINDOW) history.shift();
  }
  function chart() {
    const canvas = get("chart"), width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || history.length < 2) return;
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const most = Math.max(...history.map(([, sizes]) => Math.max(...sizes)), 1e-12);
    const x = (t) => 4 + (width - 8) * (1 - (state.time - t) / WINDOW), y = (size) => height - 4 - (height - 20) * size / most;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = "#4b5868";
    context.fillText("|λ| up to " + short(most), 6, 11);
    live.constraints.forEach(({colour}, k) => {
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.beginPath();
      history.forEach(([t, sizes], i) => (i ? context.lineTo(x(t), y(sizes[k])) : context.moveTo(x(t), y(sizes[k]))));
      context.stroke();
    });
  }

  // ---- start -------------------------------------------------------------------------------------

  if (scene.empty) {
    get("view").style.display = "none";
    get("panel").style.maxWidth = "none";
  } else {
    try {
      view = CdScene.makeView();
      tellForces = CdScene.makeLegend(view.arrows, draw);
    } catch (error) {
      get("hint").textContent = "The 3D view needs WebGL, which this browser does not offer: " + error;
    }
  }
  // The next question is asked when the last answer has been drawn: a slow browser gets fewer pictures, no queue.
  async function loop() {
    try {
      const before = commands;
      const answer = await fetch("/state");
      const told = await answer.json();
      if (commands === before) state = told;  // an answer to a command is newer
      draw();
      tell();
      if (state.time !== null) { remember(); chart(); }
      window.cdLive.frames += 1;
    } catch (error) {
      get("notes").textContent = "The server does not answer: " + error;
      get("notes").style.display = "block";
      await new Promise((done) => setTimeout(done, 1000));
    }
    requestAnimationFrame(loop);
  }
  loop();
})();
