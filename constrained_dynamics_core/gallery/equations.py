# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""The equations of a scenario as HTML with MathML."""

import html
import re

import formulas
from formulas import equation, name_mathml

import constrained_dynamics as cd

MOST_LINES = 14
Q_UDOT = (
    '<math><mrow><mi>Q</mi><mover accent="true"><mi>u</mi><mo>˙</mo></mover><mo>=</mo><mi>P</mi><mo>+</mo>'
    "<mi>G</mi><mi>τ</mi>"
    "<mo>+</mo><msup><mi>A</mi><mi>T</mi></msup><mi>λ</mi></mrow></math>"
)
# What the rows of a constraint between frames a and b say; R_b, p: orientation and place, in axes of b.
ROWS_OF_TYPES = {
    **{description.type: description.equation for description in cd.constraint_descriptions()},
    "orientation": "R_bᵀ R_a = reference",
    "position": "p_a = reference",
    "pose": "p_a, R_a = reference",
    "force": "λ = reference",
}


def _number(value):
    return "%d" % value if value == int(value) else "%.12g" % value


def _filled(text, values):
    """${formula} replaced by its number."""
    return re.sub(
        r"\$\{([^}]*)\}",
        lambda found: _number(float(formulas.evaluate(formulas.parse(found[1]), lambda name: values[name]))),
        str(text),
    )


def _expanded(constraints, parameters):
    """Constraints with `repeat` written out, the first two of each, and how many there are."""
    for item in constraints:
        if "repeat" not in item:
            yield item, dict(parameters), ""
            continue
        ((name, (first, last)),) = item["repeat"].items()
        bounds = [int(formulas.evaluate(formulas.parse(str(b)), lambda word: parameters[word])) for b in (first, last)]
        for i in range(bounds[0], min(bounds[0] + 2, bounds[1] + 1)):
            more = " … (%d in all)" % (bounds[1] - bounds[0] + 1) if i == bounds[0] + 1 and bounds[1] > i else ""
            yield item, {**parameters, name: i}, more


def _named_rows(rows):
    if isinstance(rows, dict):
        return list(rows.items())
    return [("row_%d" % (i + 1), row) for i, row in enumerate(rows)]


def _constraint_lines(items, parameters, coordinates, servo):
    lines = []
    for item, values, more in _expanded(items, parameters):
        name = html.escape(_filled(item["name"], values))
        if item["type"] == "formula":
            sign = "<mi>ψ</mi>" if item.get("level") == "velocity" else "<mi>φ</mi>"
            one_sided = item.get("unilateral")
            kind = "position, one-sided" if one_sided else item.get("level", "position")
            kind += ", dry friction" if "friction" in item else ""
            # φ ≤ 0 is admissible unless the file says the other side.
            relation = "=" if not one_sided else "≥" if one_sided.get("side") == "above" else "≤"
            for label, row in _named_rows(item["rows"]):
                lines.append(
                    "<b>%s</b>/%s (%s%s): %s%s"
                    % (
                        name,
                        html.escape(label),
                        "servo, " if servo else "",
                        kind,
                        equation(sign, _filled(row, values), coordinates, "<mn>0</mn>", relation),
                        more,
                    )
                )
        else:
            text = ROWS_OF_TYPES.get(item["type"], "")
            rows = item.get("rows")
            text = text.format(rows=", ".join(rows) if isinstance(rows, list) else "all")
            frames = " — ".join(
                html.escape(_filled(item[key], values)) for key in ("frame_a", "frame_b") if key in item
            )
            lines.append(
                "<b>%s</b> (%s%s%s): %s%s"
                % (
                    name,
                    "servo, " if servo else "",
                    item["type"],
                    ": " + frames if frames else "",
                    html.escape(text),
                    more,
                )
            )
    return lines


def equations_html(run):
    """Sections of lines: energy, definitions, speeds, forces, rows, servo rows."""
    data, system = run.data, run.data["system"]
    parameters = run.facts["parameters"]
    coordinates = system.get("coordinates", [])
    states = system.get("control_states", {})
    coordinates = [*coordinates, *states.get("second", [])]
    sections = []
    if "coordinates" in system:
        lines = [equation("<mi>T</mi>", _filled(system["kinetic"], parameters), coordinates)]
        if "potential" in system:
            lines.append(equation("<mi>V</mi>", _filled(system["potential"], parameters), coordinates))
        sections.append(("Energy", lines))
        sections += _textbook_sections(
            system, {**data.get("definitions", {}), **system.get("definitions", {})}, parameters, coordinates
        )
    else:
        sections.append(
            (
                "Motion",
                [
                    "%s: %d speeds, %d rows; inertia, bias and Jacobians from the robot's description."
                    % (Q_UDOT, len(run.facts["speeds"]), len(run.rows))
                ],
            )
        )
    rows = _constraint_lines(data.get("constraints", []), parameters, coordinates, False)
    rows += _constraint_lines(data.get("servo", []), parameters, coordinates, True)
    if rows:
        sections.append(("Constraints", rows))
    if data.get("inputs") and "coordinates" in system:
        sections.append(
            (
                "Inputs",
                [
                    equation(name_mathml(name, coordinates), _filled(formula, parameters), coordinates)
                    for name, formula in data["inputs"].items()
                ],
            )
        )
    return "".join(_section(title, lines) for title, lines in sections)


def _textbook_sections(system, definitions, parameters, coordinates):
    def plain(items):
        return [
            equation(name_mathml(name, coordinates), _filled(formula, parameters), coordinates)
            for name, formula in items.items()
        ]

    out = []
    if definitions:
        out.append(("with", plain(definitions)))
    if "speeds" in system:
        out.append(("Speeds", plain(system["speeds"])))
    if "force" in system:
        out.append(
            (
                "Active forces",
                [
                    equation(
                        "<msub><mi>F</mi><mrow>%s</mrow></msub>" % name_mathml(name, coordinates),
                        _filled(formula, parameters),
                        coordinates,
                    )
                    for name, formula in system["force"].items()
                ],
            )
        )
    return out


def _section(title, lines):
    body = "".join("<li>%s</li>" % line for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        body += "</ul><details><summary>%d more</summary><ul class='equations'>%s</ul></details><ul>" % (
            len(lines) - MOST_LINES,
            "".join("<li>%s</li>" % line for line in lines[MOST_LINES:]),
        )
    return "<h3>%s</h3><ul class='equations'>%s</ul>" % (html.escape(title), body)
