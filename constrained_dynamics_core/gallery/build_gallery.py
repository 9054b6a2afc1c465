# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Builds the gallery: a static site of all scenarios and of the figures of the source documents.

    python build_gallery.py OUT [--store FOLDER] [--only NAME…] [--no-browser] [--no-optimal-control]

Exit codes: 0; 1 where a statement or a reference value does not hold, each named; 2 bad usage or table.
"""

import argparse
import html
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Before numpy: the matrices of the optimisation are small, threads only cost.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")
import claims
import figures as figure_tools
import matplotlib.pyplot as plt
import site_pages as site
import yaml
from runs import Runs, key
from sketch import Sketch

import constrained_dynamics as cd
from constrained_dynamics import page as scene_page

HERE = Path(__file__).resolve().parent
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MOST_BROWSER_SECONDS = 300
# A scene without what surrounds it.
BARE = (
    "<style>header, footer, #plots, #legend, #hint { display: none !important } "
    "main { display: block !important; height: 100vh !important } "
    "#view { height: 100vh !important; width: 100vw !important }</style>"
)
SYSTEM_KEYS = {"group", "shown", "sketch", "still", "values", "compare"}


class Progress:
    """One line for each piece: [ 12/130] what."""

    def __init__(self, total):
        self.total, self.done = total, 0

    def __call__(self, what):
        self.done += 1
        print("[%3d/%d] %s" % (self.done, self.total, what if len(what) < 90 else what[:89] + "…"), flush=True)


def read_systems():
    """The groups, and the entry of each scenario; every scenario must have one."""
    table = yaml.safe_load((HERE / "systems.yaml").read_text(encoding="utf-8"))
    systems = table["systems"]
    for name, entry in systems.items():
        unknown = set(entry) - SYSTEM_KEYS
        if unknown or entry["group"] not in table["groups"]:
            raise ValueError(
                "systems.yaml: %s: %s"
                % (name, "unknown key '%s'" % unknown.pop() if unknown else "unknown group '%s'" % entry["group"])
            )
    missing, extra = set(cd.examples()) - set(systems), set(systems) - set(cd.examples())
    if missing or extra:
        raise ValueError(
            "systems.yaml: scenarios without entry: %s; entries without scenario: %s"
            % (", ".join(sorted(missing)) or "none", ", ".join(sorted(extra)) or "none")
        )
    return table["groups"], systems


class Gallery:
    def __init__(self, out, store, browser):
        self.out, self.store, self.browser = Path(out), Path(store), browser
        table, self.figures = figure_tools.read_table()
        self.groups, self.systems = read_systems()
        for name, entry in self.systems.items():
            table[name] = {"scenario": name, **entry.get("shown", {})}
        self.runs = Runs(table, self.store)
        self.findings = []
        for folder in ("systems", "figures", "scenes", "thumbnails"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)

    def sketch(self, name):
        entry = self.systems[name]
        return Sketch(entry["sketch"], self.runs[name], entry.get("still"))

    # ---- pieces --------------------------------------------------------------------------------

    def make_figure(self, figure):
        figure_tools.draw(figure, self.runs, self.out / "figures" / (figure.name + ".svg"), self.sketch)
        self.findings += [("figure %s" % figure.name, finding) for finding in figure.findings]

    def make_system(self, name):
        """The page of a scenario, with its drawing or scene."""
        entry = self.systems[name]
        view = self._sketch_view(name) if "sketch" in entry else self._scene_view(name)
        run = self.runs[name]
        comparisons = [
            claims.compare({k: spec[k] for k in spec if k not in ("name", "of")}, run, spec["of"], spec["name"])
            for spec in entry.get("compare", [])
        ]
        found = [claims.check(claim, self.runs, name) for claim in entry.get("values", [])]
        found += [comparison.finding() for comparison in comparisons]
        self.findings += [("system %s" % name, finding) for finding in found]
        system = {
            "name": name,
            "view": view,
            "findings": found,
            "comparisons": comparisons,
            "plots": site.write_plots(run, self.out / "systems", name),
            "text": Path(cd.example(name)).read_text(encoding="utf-8"),
        }
        mine = [figure for figure in self.figures if figure.system == name]
        self._write("systems/%s.html" % name, site.system_page(system, run, mine, figure_tools.SOURCES))

    def _sketch_view(self, name):
        drawn = self.sketch(name)
        plot, axis = plt.subplots(figsize=(4.0, 3.0))
        drawn.draw(axis, drawn.still)
        plot.savefig(self.out / "thumbnails" / (name + ".png"), dpi=100)
        plt.close(plot)
        return drawn.html()

    def _scene_view(self, name):
        """The scene in a frame; made once and kept with its picture."""
        settings = self.runs.settings(name)
        folder = Path(scene_page.__file__).parent
        sources = [
            file.read_text(encoding="utf-8")
            for pattern in ("page.*", "scene.*", "drawing.py", "shapes.py", "rotations.py")
            for file in sorted(folder.glob(pattern))
        ]
        text = Path(cd.example(name)).read_text(encoding="utf-8")
        kept = self.store / ("%s-%s.html" % (name, key(settings, text, sources)))
        if not kept.is_file():
            loaded, record = self.runs.make(name)
            for old in self.store.glob(name + "-*.html"):
                old.unlink()
            scene_page.write_record_page(cd.example(name), loaded, record, kept, libraries=".")
        shutil.copyfile(kept, self.out / "scenes" / (name + ".html"))
        self._screenshot(name, kept)
        return (
            "<iframe src='../scenes/%s.html' title='%s'></iframe><p class='note'><a href='../scenes/%s.html'>"
            "the scene alone</a></p>" % (name, html.escape(name), name)
        )

    def _screenshot(self, name, kept):
        """The thumbnail of a scene, by the browser; kept with the scene."""
        target = self.out / "thumbnails" / (name + ".png")
        picture = kept.with_suffix(".png")
        if self.browser and not picture.is_file():
            time = self.systems[name].get("still", 0.35 * float(self.runs[name].time[-1]))
            for old in self.store.glob(name + "-*.png"):
                old.unlink()
            bare = self.out / "scenes" / (name + "_bare.html")
            bare.write_text(kept.read_text(encoding="utf-8").replace("</head>", BARE + "</head>", 1), encoding="utf-8")
            try:
                subprocess.run(
                    [
                        self.browser,
                        "--no-sandbox",
                        "--use-angle=swiftshader",
                        "--enable-unsafe-swiftshader",
                        "--hide-scrollbars",
                        "--window-size=640,480",
                        "--virtual-time-budget=2500",
                        "--screenshot=%s" % picture.resolve(),
                        "%s#t=%g" % (bare.resolve().as_uri(), time),
                    ],
                    check=True,
                    capture_output=True,
                    timeout=MOST_BROWSER_SECONDS,
                )
            except subprocess.SubprocessError as error:
                # The page is whole without its thumbnail.
                print("no picture of the scene of %s: %s" % (name, error), file=sys.stderr)
            bare.unlink()
        if picture.is_file():
            shutil.copyfile(picture, target)
        else:
            _placeholder(target, name)

    def make_sources(self):
        cards = []
        for source, title in figure_tools.SOURCES.items():
            mine = [figure for figure in self.figures if figure.source == source]
            if mine:
                self._write("figures_%s.html" % source, site.figures_page(source, title, mine))
                numbers = site.ranges([figure.number for figure in mine])
                cards.append(
                    site.card(
                        "figures_%s.html" % source,
                        "figures/%s.svg" % mine[len(mine) // 2].name,
                        title,
                        "Figures " + numbers,
                    )
                )
        return cards

    def make_index(self, names, more_cards):
        groups = []
        for group, title in self.groups.items():
            cards = [
                site.card(
                    "systems/%s.html" % name,
                    "thumbnails/%s.png" % name,
                    site.readable(name),
                    site.summary_of(self.runs[name].facts["description"]),
                )
                for name in names
                if self.systems[name]["group"] == group
            ]
            if cards:
                groups.append((title, cards))
        extra = [("Figures of the source documents", self.make_sources() + more_cards)]
        extra = [(title, cards) for title, cards in extra if cards]
        self._write("index.html", site.index_page(groups, extra, len(self.findings)))
        shutil.copyfile(site.STYLE, self.out / "site.css")

    def _write(self, path, text):
        (self.out / path).write_text(text, encoding="utf-8")


def _placeholder(target, name):
    plot, axis = plt.subplots(figsize=(4.0, 3.0))
    axis.text(0.5, 0.5, site.readable(name), ha="center", va="center")
    axis.axis("off")
    plot.savefig(target, dpi=100)
    plt.close(plot)


def build(out, store, only=(), browser=True, optimal_control=True):
    """Builds the gallery or, with `only`, the named systems and the figures that belong to them; returns failures."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None) if browser else None
    gallery = Gallery(out, store, found)
    unknown = set(only) - set(gallery.systems)
    if unknown:
        raise ValueError("there is no system '%s'; known are %s" % (unknown.pop(), ", ".join(gallery.systems)))
    names = [name for name in gallery.systems if not only or name in only]
    figures = [figure for figure in gallery.figures if figure.system in names]
    gallery.figures = figures
    progress = Progress(len(names) + len(figures) + 1 + bool(optimal_control))
    for figure in figures:
        progress("figure %s: %s" % (figure.name, figure.caption.partition(". ")[0].rstrip(".")))
        gallery.make_figure(figure)
    scene_page.write_libraries(gallery.out / "scenes")
    for name in names:
        progress("system %s" % name)
        gallery.make_system(name)
    cards = []
    if optimal_control:
        import optimal_control as control

        progress("optimal control along a path")
        findings, card = control.write_page(gallery.out)
        gallery.findings += [("page optimal_control", finding) for finding in findings]
        cards.append(card)
    progress("index")
    gallery.make_index(names, cards)
    failures = ["%s: %s" % (where, finding) for where, finding in gallery.findings if not finding.holds]
    print("%d statements and reference values checked, %d fail" % (len(gallery.findings), len(failures)))
    return failures


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="build_gallery.py", description=__doc__.splitlines()[0])
    parser.add_argument("out", help="folder of the site")
    parser.add_argument("--store", default="build/gallery", help="folder that keeps runs (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="these systems alone")
    parser.add_argument("--no-browser", action="store_true", help="no pictures of scenes")
    parser.add_argument("--no-optimal-control", action="store_true", help="leave that page out (it needs scipy)")
    options = parser.parse_args(arguments)
    try:
        failures = build(
            options.out, options.store, options.only, not options.no_browser, not options.no_optimal_control
        )
    except (ValueError, OSError, ImportError) as error:
        print("gallery: %s" % error, file=sys.stderr)
        return 2
    for failure in failures:
        print("gallery: " + failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
