"""A picture of states as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from reassure.checkers.analyses.graph.graph_svg import graph_svg_and_legend
from reassure.checkers.analyses.graph.state_picture import PictureNode, StatePicture
from reassure.checkers.machine.terminal import counted
from reassure.checkers.pictures.html_page import asset, page, script_json, table

STYLE = """
.frame { overflow: auto; max-height: 80vh; border: 1px solid #98a3b0; border-radius: .4rem }
.frame:focus-visible { outline: 3px solid #1f5fbf }
.frame svg { display: block; margin: auto } .frame .node { cursor: pointer }
#chosen { min-height: 3rem; overflow-wrap: anywhere }
"""
COLUMNS = ("states", "initial", "may end", "violated")
DRAW = "\nchooseNodes(document.querySelector('svg.states'), document.getElementById('chosen'), "
DRAW += "JSON.parse(document.getElementById('graph').textContent));\n"


def graph_page(picture: StatePicture) -> str:
    """The page: the drawing, what a chosen node stands for, and a table of the nodes."""
    drawing, legend = graph_svg_and_legend(picture)
    body = [
        f'<p class="quiet">{"<br>".join(map(escape, (*picture.remarks, *legend)))}</p>',
        f'<div class="frame" tabindex="0">{drawing}</div>',
        '<section id="chosen" aria-live="polite"><p class="quiet">Choose a node to see its steps.</p></section>',
        f"<details><summary>{counted(len(picture.nodes), 'node')} as a table</summary>",
        table([picture.by or "state", *COLUMNS], map(_cells, picture.nodes), COLUMNS[:3]),
        "</details>",
        f'<script type="application/json" id="graph">{script_json(picture.as_json())}</script>',
        f"<script>{asset('graph.js')}{DRAW}</script>",
    ]
    return page(picture.heading, body, STYLE)


def _cells(node: PictureNode) -> list[str]:
    wrong = [*node.violates, *(["deadlock"] if node.deadlock else [])]
    counts = [f"{n:,}" if n else "" for n in (node.states, node.initial, node.terminal)]
    return [", ".join(node.lines), *counts, ", ".join(wrong)]
