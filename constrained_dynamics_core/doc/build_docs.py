# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Builds the documentation: one site with the guides, the numbered equations, and the API pages of C++ and Python.

    python build_docs.py OUT [--gallery FOLDER]

Exit codes: 0; 1 where a link leads nowhere, each named; 2 where a tool is missing or fails.
"""

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import markdown2

HERE = Path(__file__).resolve().parent
CORE = HERE.parent
# In this order, as far as they exist; each is named by its file, and its title is its first heading.
ROS = CORE.parent / "constrained_dynamics_ros" / "doc"
PATHS = [
    HERE / "mathematics.md",
    HERE / "equations.md",
    HERE / "closed_chains.md",
    HERE / "robots.md",
    HERE / "contacts.md",
    HERE / "scenario.md",
    HERE / "types.md",
    HERE / "python.md",
    ROS / "your_robot.md",
    ROS / "ros.md",
    HERE / "performance.md",
    HERE / "limits.md",
    HERE / "reliability.md",
    HERE / "extending.md",
]
STYLE = """
body { margin: 0 auto; max-width: 1000px; padding: 0 1.2rem 4rem; font: 16px/1.55 system-ui, sans-serif;
  color: #1f2933; }
nav { padding: 0.8rem 0; font-size: 0.92rem; border-bottom: 1px solid #d5dbe1; } nav a { margin-right: 1.1rem; }
a { color: #0072b2; } h1 { font-size: 1.7rem; } h2 { margin-top: 2rem; border-bottom: 1px solid #e4e7eb; }
pre { background: #f5f7fa; padding: 10px; overflow-x: auto; font-size: 0.86rem; } code { font-size: 0.9em; }
table { border-collapse: collapse; font-size: 0.9rem; display: block; overflow-x: auto; }
td, th { border: 1px solid #e4e7eb; padding: 3px 8px; text-align: left; vertical-align: top; }
.equation { font-weight: 600; color: #0072b2; text-decoration: none; } :target { background: #fff3bf; }
img { max-width: 100%; }
"""
NUMBER = re.compile(r"\((E\d+)('?)\)")
# Text between tags; what is inside of a link is left alone.
PIECES = re.compile(r"(<a\b.*?</a>|<script\b.*?</script>|<style\b.*?</style>|<[^>]*>)", re.S)


def title_of(path):
    """The first heading of a guide, without the marks of code."""
    heading = path.read_text(encoding="utf-8").lstrip().partition("\n")[0]
    if not heading.startswith("# "):
        raise RuntimeError("%s does not begin with a heading" % path)
    return heading[2:].replace("`", "").strip()


GUIDES = {path.stem: path for path in PATHS if path.is_file()}


def say(number, total, what):
    print("[%d/%d] %s" % (number, total, what), flush=True)


def link_numbers(text, prefix, known):
    """(E7) in the text of a page becomes a link to that equation; prefix: way to the page of the equations."""

    def link(found):
        return (
            found[0]
            if found[1] not in known
            else '<a class="equation" href="%s#%s">%s</a>' % (prefix, found[1], found[0])
        )

    pieces = PIECES.split(text)
    return "".join(piece if piece.startswith("<") else NUMBER.sub(link, piece) for piece in pieces)


def mark_equations(text):
    """Gives each number of the equations page an anchor where it first appears: in a displayed line, else elsewhere."""
    seen = set()

    def anchor(found):
        name = found[1]
        if name in seen:
            return found[0]
        seen.add(name)
        return '<a class="equation" id="%s" href="#%s">%s</a>' % (name, name, found[0])

    for element in ("pre", "table", "li", "p"):
        parts = re.split(r"(<%s>.*?</%s>)" % (element, element), text, flags=re.S)
        text = "".join(NUMBER.sub(anchor, part) if part.startswith("<%s>" % element) else part for part in parts)
    return text, seen


def page(title, body, gallery):
    links = ["<a href='index.html'>Documentation</a>"]
    links += ["<a href='%s.html'>%s</a>" % (name, name.replace("_", " ").capitalize()) for name in GUIDES]
    links += ["<a href='cpp/annotated.html'>C++ API</a>", "<a href='python/index.html'>Python API</a>"]
    if gallery:
        links.append("<a href='%s'>Gallery</a>" % gallery)
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        "<title>%s</title><style>%s</style></head><body><nav>%s</nav>%s</body></html>\n"
        % (html.escape(title), STYLE, "".join(links), body)
    )


def render(path):
    text = path.read_text(encoding="utf-8")
    body = str(
        markdown2.markdown(
            text, extras=["tables", "fenced-code-blocks", "header-ids", "cuddled-lists", "code-friendly"]
        )
    )
    # Guides refer to each other by their files.
    return re.sub(r'href="(?:[^":]*/)?(%s)\.md' % "|".join(GUIDES), r'href="\1.html', body)


def write_guides(out, gallery):
    """The guides as pages; returns the equations that have an anchor."""
    pages = {name: render(path) for name, path in GUIDES.items()}
    pages["equations"], known = mark_equations(pages["equations"])
    for name, body in pages.items():
        body = link_numbers(body, "" if name == "equations" else "equations.html", known)
        (out / (name + ".html")).write_text(page(title_of(GUIDES[name]), body, gallery), encoding="utf-8")
    for path in GUIDES.values():
        for picture in path.parent.glob("*.png"):
            shutil.copyfile(picture, out / picture.name)
    return known


def write_index(out, known, gallery):
    items = ["<li><a href='%s.html'>%s</a></li>" % (name, html.escape(title_of(path))) for name, path in GUIDES.items()]
    items += [
        "<li><a href='cpp/annotated.html'>C++ API</a>: classes and functions of the headers</li>",
        "<li><a href='python/index.html'>Python API</a></li>",
    ]
    if gallery:
        items.append(
            "<li><a href='%s'>Gallery</a>: all scenarios, and the figures of the source documents</li>" % gallery
        )
    numbers = sorted(known, key=lambda name: int(name[1:]))
    equations = " ".join("<a class='equation' href='equations.html#%s'>(%s)</a>" % (n, n) for n in numbers)
    body = "<h1>constrained_dynamics</h1>"
    body += "<p>Constrained robot dynamics: accelerations, every constraint force, motion without drift.</p>"
    body += "<ul>%s</ul><h2>Equations</h2><p>%s</p>" % ("".join(items), equations)
    (out / "index.html").write_text(page("constrained_dynamics", body, gallery), encoding="utf-8")


def write_cpp(out, known):
    """Doxygen's pages, with links to the equations that comments cite."""
    settings = (HERE / "Doxyfile").read_text(encoding="utf-8") + "\nOUTPUT_DIRECTORY = %s\n" % out.resolve()
    done = subprocess.run(["doxygen", "-"], input=settings, cwd=CORE, text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError("doxygen failed: " + done.stderr[-2000:])
    warnings = [line for line in done.stderr.splitlines() if "warning:" in line]
    for line in warnings[:20]:
        print("doxygen: " + line)
    for file in (out / "cpp").glob("*.html"):
        text = file.read_text(encoding="utf-8")
        file.write_text(link_numbers(text, "../equations.html", known), encoding="utf-8")
    return len(warnings)


def write_python(out, known):
    """pdoc's pages of the package: what a user sees of the compiled module stands on the page of the package."""
    import pdoc

    import constrained_dynamics

    folder = out / "python"
    compiled = [name for name in vars(constrained_dynamics._core) if not name.startswith("_")]
    constrained_dynamics.__all__ = [*compiled, "example", "examples", "from_pinocchio", "to_pinocchio"]
    # Signatures stand in the docstrings; pdoc cannot read stubs that name a class before it is complete.
    warnings.filterwarnings("ignore", message="Error parsing type stubs")
    pdoc.render.configure(show_source=False, footer_text="constrained_dynamics %s" % constrained_dynamics.__version__)
    pdoc.pdoc("constrained_dynamics", output_directory=folder)
    for file in folder.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        up = os.path.relpath(out / "equations.html", file.parent)
        file.write_text(link_numbers(text, up, known), encoding="utf-8")


def broken_links(out):
    """Links of the guides and the index that lead nowhere."""
    broken = []
    for file in sorted(out.glob("*.html")):
        text = file.read_text(encoding="utf-8")
        for target in re.findall(r"""(?:href|src)=["']([^"']+)["']""", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            where = file if not path else (file.parent / path)
            if not where.is_file():
                broken.append("%s: %s" % (file.name, target))
            elif anchor and not re.search(r"""id=["']%s["']""" % re.escape(anchor), where.read_text(encoding="utf-8")):
                broken.append("%s: %s (no such place)" % (file.name, target))
    return broken


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="build_docs.py", description=__doc__.splitlines()[0])
    parser.add_argument("out", help="folder of the site")
    parser.add_argument("--gallery", help="folder of a built gallery, to link to")
    options = parser.parse_args(arguments)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    gallery = None
    if options.gallery and (Path(options.gallery) / "index.html").is_file():
        gallery = os.path.relpath(Path(options.gallery) / "index.html", out)
    try:
        say(1, 4, "guides and equations")
        known = write_guides(out, gallery)
        say(2, 4, "C++ API (doxygen)")
        write_cpp(out, known)
        say(3, 4, "Python API (pdoc)")
        write_python(out, known)
        say(4, 4, "index, links")
        write_index(out, known, gallery)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("docs: %s" % error, file=sys.stderr)
        return 2
    broken = broken_links(out)
    for link in broken:
        print("docs: link leads nowhere: " + link, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
