# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""HTML of the gallery: index, a page for each system, a page for the figures of each source."""

import html
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from equations import equations_html

from constrained_dynamics.drawing import COLOURS

STYLE = Path(__file__).with_name("site.css")
MOST_LINES = 8
# Below this nothing can be told from zero in double precision; zeros are drawn here.
FLOOR = 1e-17


def page(title, body, depth=0):
    """A whole page; depth: folders between it and the index."""
    up = "../" * depth
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        "<title>%s</title><link rel='stylesheet' href='%ssite.css'></head>"
        "<body><nav><a href='%sindex.html'>Gallery</a></nav>"
        "<h1>%s</h1>%s</body></html>\n" % (html.escape(title), up, up, html.escape(title), body)
    )


def readable(name):
    return name.replace("_", " ")


def ranges(numbers):
    """3 to 5, 7: numbers in order, runs of them drawn together."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join("%d" % a if a == b else "%d to %d" % (a, b) for a, b in parts)


def counted(count, word):
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


def summary_of(description):
    return description.strip().partition("\n")[0]


# ---- plots of a run ------------------------------------------------------------------------------


def _force_lines(run):
    """Magnitudes of wrenches, and multipliers of rows that exert none; the largest."""
    lines = []
    for k, name in enumerate(run.facts["wrenches"]):
        for values, what in (("wrench_force", "|force| [N]"), ("wrench_torque", "|torque| [N m]")):
            lines.append((np.linalg.norm(run.arrays[values][:, k], axis=1), "%s %s" % (name, what)))
    with_wrench = {name.partition("[")[0] for name in run.facts["wrenches"]}
    for k, row in enumerate(run.rows):
        if row.rpartition("/")[0] not in with_wrench:
            lines.append((run.arrays["multipliers"][:, k], "λ " + row))
    lines += [(run.arrays["inputs"][:, k], "τ " + name) for k, name in enumerate(run.facts["inputs"])]
    lines = [line for line in lines if np.nanmax(np.abs(line[0]), initial=0.0) > 1e-9]
    return sorted(lines, key=lambda line: -np.nanmax(np.abs(line[0])))


def _plot(path, title, draw, legend=True):
    plot, axis = plt.subplots(figsize=(5.0, 3.1))
    draw(axis)
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("t [s]")
    if legend and axis.get_legend_handles_labels()[1]:
        axis.legend(frameon=False, fontsize=7)
    plot.savefig(path, dpi=110)
    plt.close(plot)


def write_plots(run, folder, name):
    """Forces, violation and energy of a run; returns the files."""
    files = []
    step = max(1, len(run.time) // 3000)
    time = run.time[::step]

    def forces(axis):
        for values, label in _force_lines(run)[:MOST_LINES]:
            axis.plot(time, values[::step], lw=1.1, label=label)

    def violation(axis):
        for values, label in ((run.arrays["position"], "|φ|"), (run.arrays["velocity"], "|φ̇|, |ψ|")):
            axis.semilogy(time, np.maximum(np.abs(values[::step][:, lasting]).max(axis=1), FLOOR), lw=0.8, label=label)

    def energy(axis):
        kinetic, potential = run.arrays["kinetic_energy"], run.arrays["potential_energy"]
        axis.plot(time, kinetic[::step], label="kinetic", color=COLOURS[0])
        axis.plot(time, (potential - potential[0])[::step], label="potential, change", color=COLOURS[2])
        axis.plot(time, run.value("change(energy)")[::step], label="total, change", color=COLOURS[1])

    lasting = run.lasting_rows()
    count = len(_force_lines(run))
    if count:
        title = "Forces and inputs" + (" (%d largest of %d)" % (MOST_LINES, count) if count > MOST_LINES else "")
        files.append((name + "_forces.png", title, forces))
    if lasting:
        files.append((name + "_violation.png", "Largest violation of the constraints", violation))
    files.append((name + "_energy.png", "Energy [J]", energy))
    for file, title, draw in files:
        _plot(folder / file, title, draw)
    return [file for file, _, _ in files]


# ---- parts of pages ------------------------------------------------------------------------------


def findings_table(findings):
    if not findings:
        return ""
    rows = "".join(
        "<tr><td>%s</td><td>%s</td><td>%s</td><td class='%s'>%s</td></tr>"
        % (
            html.escape(f.says),
            f.found,
            html.escape(f.wanted),
            "holds" if f.holds else "fails",
            "holds" if f.holds else "fails",
        )
        for f in findings
    )
    return "<table><tr><th>what is said</th><th>found</th><th>expected</th><th></th></tr>%s</table>" % rows


def comparison_table(comparisons):
    if not comparisons:
        return ""
    rows = "".join(
        "<tr><td>%s</td><td>%.6g</td><td>%.12g</td><td>%.12g</td><td>%.1e</td></tr>"
        % (html.escape(c.name), t, reference, ours, abs(ours - reference))
        for c in comparisons
        for t, reference, ours in zip(c.time, c.reference, c.ours)
    )
    return (
        "<details><summary>reference values beside ours: %d numbers, largest relative deviation %.1e</summary><table>"
        "<tr><th></th><th>t [s]</th><th>reference</th><th>ours</th><th>deviation</th></tr>%s</table></details>"
        % (sum(len(c.time) for c in comparisons), max(c.deviation for c in comparisons), rows)
    )


def figure_html(figure, up, source=""):
    note = "<p class='note'>The print: %s</p>" % html.escape(figure.printed.strip()) if figure.printed else ""
    return (
        "<figure id='%s'><img src='%sfigures/%s.svg' alt='%s' loading='lazy'><figcaption><b>%s%s.</b> %s "
        "<a href='%ssystems/%s.html'>%s</a>%s%s%s</figcaption></figure>"
        % (
            figure.name,
            up,
            figure.name,
            html.escape(figure.caption),
            source,
            figure.title,
            html.escape(figure.caption),
            up,
            figure.system,
            readable(figure.system),
            note,
            findings_table(figure.findings),
            comparison_table(figure.comparisons),
        )
    )


def system_page(system, run, figures, sources):
    """system: name, view (HTML), plots (files), findings, comparisons, text (of the scenario)."""
    facts = run.facts
    details = facts["description"].strip().partition("\n")[2].strip()
    events = ", " + counted(len(facts["events"]), "event") if facts["events"] else ""
    ended = "" if facts["completed"] else " The run ended early: %s." % facts["status"]
    body = ["<p>%s</p>" % html.escape(summary_of(facts["description"]))]
    if details:
        body.append("<p class='note'>%s</p>" % html.escape(details))
    body.append(
        "<p class='note'>%s, %s, %s, %d degree%s of freedom; %g s in %s%s.%s</p>"
        % (
            counted(len(facts["coordinates"]), "coordinate"),
            counted(len(facts["speeds"]), "speed"),
            counted(len(run.rows), "row"),
            facts["degrees_of_freedom"],
            "" if facts["degrees_of_freedom"] == 1 else "s",
            run.time[-1] - run.time[0],
            counted(facts["steps"], "step"),
            events,
            ended,
        )
    )
    body.append(system["view"])
    body.append("<h2>Equations</h2>" + equations_html(run))
    body.append(
        "<h2>Forces, violation, energy</h2><div class='plots'>%s</div>"
        % "".join("<img src='%s' alt='%s' loading='lazy'>" % (file, file) for file in system["plots"])
    )
    if system["findings"] or system["comparisons"]:
        body.append(
            "<h2>Reference values</h2>" + findings_table(system["findings"]) + comparison_table(system["comparisons"])
        )
    if figures:
        body.append(
            "<h2>Figures</h2>"
            + "".join(
                figure_html(figure, "../", "%s: " % html.escape(sources[figure.source].partition(",")[0]))
                for figure in figures
            )
        )
    body.append(
        "<h2>Scenario</h2><p class='note'>cdyn run %s</p><pre>%s</pre>" % (system["name"], html.escape(system["text"]))
    )
    return page(readable(system["name"]), "\n".join(body), 1)


def figures_page(source, title, figures):
    body = "<p class='note'>%s</p>" % html.escape(
        "Every figure is made from runs of this library; circles are reference values that it did not compute."
    )
    return page("Figures: " + title, body + "".join(figure_html(figure, "") for figure in figures))


def card(link, image, title, text):
    return "<a class='card' href='%s'><img src='%s' alt='' loading='lazy'><b>%s</b><span>%s</span></a>" % (
        link,
        image,
        html.escape(title),
        html.escape(text),
    )


def index_page(groups, extra, checked):
    """groups: (title, cards); extra: cards of pages that are no systems."""
    body = [
        "<p>Constrained systems, each a scenario file, with their motion, equations and constraint forces. "
        "%d statements and reference "
        "values were checked while this was built.</p>" % checked
    ]
    for title, cards in [*extra, *groups]:
        body.append("<h2>%s</h2><div class='cards'>%s</div>" % (html.escape(title), "".join(cards)))
    return page("Gallery", "\n".join(body))
