"""A picture of states as SVG. A picture of states as one HTML file that needs nothing else.

Also here: a picture of states in the language of Graphviz.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from itertools import product
from textwrap import wrap

from reassure.checkers.analyses.graph.layered_layout import Box, LayeredLayout, layered
from reassure.checkers.analyses.graph.state_picture import BEYOND, Edge, PictureNode, StatePicture
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.pictures.html_page import asset, html_table, page, script_json

INITIAL, TERMINAL, VIOLATED = "penwidth=2.5", "peripheries=2", 'color="#b42318", fontcolor="#b42318"'


def dot(picture: StatePicture) -> str:
    """The graph as DOT: initial nodes with a thick border, terminal ones with two, violations in red."""
    title = "\n".join([picture.heading, *picture.remarks])
    lines = [
        f"digraph {_quoted(picture.model)} {{",
        f"  label={_quoted(title)}; labelloc=t; rankdir=TB",
        '  node [shape=box, style=rounded, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10]',
        *(f"  {node.id} [{', '.join(_attributes(node, picture.by is not None))}]" for node in picture.nodes),
    ]
    if any(edge.target == BEYOND for edge in picture.edges):
        lines.append(f'  {BEYOND} [label="not drawn", style="rounded,dashed"]')
    lines += [f"  {edge.source} -> {edge.target} [{', '.join(_of_edge(edge))}]" for edge in picture.edges]
    return "\n".join([*lines, "}"]) + "\n"


def node_text(node: PictureNode, grouped: bool) -> list[str]:
    """The lines of a node: its value, with the number of its states, and what is wrong with them."""
    lines = [*node.lines, *([quantity(node.states, "state")] if grouped else [])]
    wrong = {**node.violates, **({"deadlock": node.deadlock} if node.deadlock else {})}
    return lines + [f"{name}: {number:,}" if grouped else name for name, number in wrong.items()]


def edge_text(edge: Edge) -> str:
    """The label of an edge."""
    text = edge.action + (f" ({edge.steps:,} steps)" if edge.steps > 1 else "")
    return text + "".join(f", violates {name}" for name in edge.violates)


def _attributes(node: PictureNode, grouped: bool) -> list[str]:
    attributes = [f"label={_quoted(chr(10).join(node_text(node, grouped)))}"]
    attributes.append(f"tooltip={_quoted(chr(10).join(f'{name} = {value}' for name, value in node.example))}")
    attributes += [INITIAL] if node.initial else []
    attributes += [TERMINAL] if node.terminal else []
    return attributes + ([VIOLATED] if node.violates or node.deadlock else [])


def _of_edge(edge: Edge) -> list[str]:
    return [f"label={_quoted(edge_text(edge))}", *([VIOLATED] if edge.violates else [])]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


MOST_NODES = 400
SHOWN = 3
"""Lines of the label of an edge."""
LONGEST, CHARACTER, LINE = 34, 6.4, 15.0
LABEL_CHARACTER, LABEL_LINE = 6.2, 12.0
NUMBERS_IN_LINE = 4
ALONG = tuple(0.5 + sign * away / 20 for away in range(9) for sign in ((1,) if away == 0 else (-1, 1)))
"""Where on its curve a label may stand, from 0 (the source) to 1, the best first."""
Point = tuple[float, float]
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""
MARGIN, SIDE = 24.0, 60.0
BESIDE = {"start": 5.0, "middle": 0.0, "end": -5.0}
"""Between a curve and a label at its side."""
MANY = 30
"""With more arrows than this, those at the side are pale."""
TIP = 10.0
"""The length of an arrow's head."""
LINES_OF_100 = 100
"""Characters of a line of the legend in a narrow drawing."""


@dataclass
class Arrow:
    """All edges from one node to another, drawn as one."""

    source: str
    target: str
    edges: list[Edge] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """Their labels."""
        return [edge_text(edge) for edge in self.edges]

    @property
    def shown(self) -> list[str]:
        """The lines of its own label."""
        texts = [_cut(text) for text in self.texts]
        return texts if len(texts) <= SHOWN else [*texts[: SHOWN - 1], f"and {len(texts) - SHOWN + 1} more"]

    @property
    def whole(self) -> bool:
        """Whether its own label says everything."""
        return self.shown == self.texts

    def numbered(self, numbers: Mapping[str, int]) -> list[str]:
        """The lines of a label of numbers, which a legend explains."""
        words = [f"{numbers[_kind(edge)]}" + (f" ({edge.steps:,})" if edge.steps > 1 else "") for edge in self.edges]
        return [", ".join(words[low : low + NUMBERS_IN_LINE]) for low in range(0, len(words), NUMBERS_IN_LINE)]


@dataclass(frozen=True)
class Label:
    """The label of an arrow, with its place. anchor: start, middle or end."""

    lines: list[str]
    at: Point
    anchor: str

    @property
    def rectangle(self) -> Rectangle:
        """What it covers."""
        (x, y), width = self.at, max(map(len, self.lines)) * LABEL_CHARACTER
        left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        half = LABEL_LINE * len(self.lines) / 2
        return left - 3, y - half, left + width + 3, y + half


class _Room:
    """What is taken already: rectangles in cells, so that only near ones are compared."""

    CELL = 80

    def __init__(self, taken: Iterable[Rectangle]) -> None:
        self.cells: dict[tuple[int, int], list[Rectangle]] = {}
        for one in taken:
            self.take(one)

    def _near(self, one: Rectangle) -> Iterator[tuple[int, int]]:
        left, top, right, bottom = (int(side // self.CELL) for side in one)
        return ((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))

    def take(self, one: Rectangle) -> None:
        for cell in self._near(one):
            self.cells.setdefault(cell, []).append(one)

    def free(self, one: Rectangle) -> bool:
        left, top, right, bottom = one
        return not any(
            left < r and l < right and top < b and t < bottom
            for cell in self._near(one)
            for l, t, r, b in self.cells.get(cell, ())  # noqa: E741
        )


def graph_svg(picture: StatePicture) -> str:
    """The picture as an SVG file; `Failure` if it has too many nodes."""
    return "\n".join(_Drawing(picture).lines()) + "\n"


def graph_svg_and_legend(picture: StatePicture) -> tuple[str, list[str]]:
    """As `graph_svg`, for a page that has the heading and the remarks itself: the drawing, and its legend."""
    drawing = _Drawing(picture, head=False)
    return "\n".join(drawing.lines()) + "\n", drawing.legend


def _refuse_too_many(picture: StatePicture) -> None:
    if len(picture.nodes) > MOST_NODES:
        what = f"{picture.by} has {len(picture.nodes):,} values" if picture.by else f"{len(picture.nodes):,} states"
        remedy = "group by less" if picture.by else "give --max-states or group with --by EXPRESSION"
        raise Failure(
            Exit.USAGE, f"{what}, too many for a picture of {MOST_NODES} nodes: {remedy}, or write --format dot or json"
        )


class _Drawing:
    """head: the heading, the remarks and the legend stand above the drawing."""

    def __init__(self, picture: StatePicture, head: bool = True) -> None:
        _refuse_too_many(picture)
        self.picture = picture
        self.grouped = picture.by is not None
        self.texts = {node.id: [_cut(line) for line in node_text(node, self.grouped)] for node in picture.nodes}
        self.nodes = list(picture.nodes)
        arrows: dict[tuple[str, str], Arrow] = {}
        for edge in picture.edges:
            arrow = arrows.setdefault((edge.source, edge.target), Arrow(edge.source, edge.target))
            arrow.edges.append(edge)
        self.arrows = list(arrows.values())
        if any(arrow.target == BEYOND for arrow in self.arrows):
            last = max(node.level for node in self.nodes) + 1
            self.nodes.append(PictureNode(BEYOND, ("not drawn",), last, []))
            self.texts[BEYOND] = ["not drawn"]
        self.boxes = {node.id: self._box(node) for node in self.nodes}
        self.layout: LayeredLayout = layered(self.boxes.values(), arrows)
        self.labels: dict[int, Label] = {}
        self.legend = [*self._legend_of_nodes(), *self._place_labels()]
        characters = max(LINES_OF_100, int(self.layout.width / CHARACTER))
        legend = [line for text in self.legend for line in wrap(text, characters)]
        self.remarks = [picture.heading, *legend, *picture.remarks] if head else []
        self.head = MARGIN + LINE * len(self.remarks) + (18 if head else 0)

    def _legend_of_nodes(self) -> list[str]:
        """What the borders and colours of the nodes that are there mean."""
        meanings = [
            (any(n.initial for n in self.nodes), "thick border: initial", "thick border: with an initial state"),
            (
                any(n.terminal for n in self.nodes),
                "double border: a run may end",
                "double border: with a state where a run may end",
            ),
            (
                any(n.violates for n in self.nodes) or any(e.violates for a in self.arrows for e in a.edges),
                "red: violated",
                "red: violated",
            ),
            (any(n.deadlock for n in self.nodes), "red: deadlock", "red: with a deadlock"),
        ]
        there = [of_group if self.grouped else of_state for is_there, of_state, of_group in meanings if is_there]
        return [" · ".join(there)] if there else []

    def _place_labels(self) -> list[str]:
        """Gives each arrow its label or numbers where they cover nothing; what there is to say of that."""
        kinds = {_kind(edge): None for arrow in self.arrows for edge in arrow.edges}
        numbers = {kind: number for number, kind in enumerate(kinds, 1)}
        for own in (True, False):  # numbers alone where own labels leave too little room
            self.labels = {}
            room, tips = _Room(map(self._rectangle, self.boxes)), _Room(map(self._tip, self.arrows))
            for numbered in (False, True) if own else (True,):
                for number, arrow in enumerate(self.arrows):
                    if number not in self.labels and (numbered or arrow.whole):
                        self._place(number, arrow.numbered(numbers) if numbered else arrow.shown, room, tips)
            if len(self.labels) == len(self.arrows):
                break
        without = len(self.arrows) - len(self.labels)
        by_number = [self.arrows[n] for n, label in self.labels.items() if label.lines != self.arrows[n].shown]
        used = {numbers[_kind(edge)] for arrow in by_number for edge in arrow.edges}
        legend = [f"{number}:\u00a0{kind.replace(' ', chr(160))}" for kind, number in numbers.items() if number in used]
        remarks = ["numbers at arrows: " + ", ".join(legend)] if legend else []
        if any(edge.steps > 1 for arrow in by_number for edge in arrow.edges):
            remarks.append("in brackets: how many steps, where it is more than one")
        if without:
            arrows = "1 arrow has" if without == 1 else f"{without:,} arrows have"
            remarks.append(f"{arrows} no room for a label: it is shown where the pointer is")
        return remarks

    def _place(self, number: int, lines: list[str], room: _Room, tips: _Room) -> None:
        """On heads of arrows only if there is no other room."""
        arrow = self.arrows[number]
        best = "middle" if self._leads_down(arrow) else "end" if arrow.source == arrow.target else "start"
        way, anchors = self._way(arrow), dict.fromkeys([best, "start", "end", "middle"])
        places = ((_on_curve(way, t), anchor) for anchor, t in product(anchors, ALONG))
        labels = [Label(lines, (x + BESIDE[anchor], y), anchor) for (x, y), anchor in places]
        free = [label for label in labels if room.free(label.rectangle)]
        chosen = next((label for label in free if tips.free(label.rectangle)), free[0] if free else None)
        if chosen is not None:
            room.take(chosen.rectangle)
            self.labels[number] = chosen

    def _rectangle(self, name: str) -> Rectangle:
        x, y, box = self.layout.x[name], self.layout.y[name], self.boxes[name]
        return x - box.width / 2, y - box.height / 2, x + box.width / 2, y + box.height / 2

    def _tip(self, arrow: Arrow) -> Rectangle:
        """What the head of an arrow covers."""
        way = self._way(arrow)
        (x, y), (far_x, far_y) = way[3], way[2]
        length = ((x - far_x) ** 2 + (y - far_y) ** 2) ** 0.5 or 1.0
        back_x, back_y = x + TIP * (far_x - x) / length, y + TIP * (far_y - y) / length
        return min(x, back_x) - 3, min(y, back_y) - 3, max(x, back_x) + 3, max(y, back_y) + 3

    def _box(self, node: PictureNode) -> Box:
        lines = self.texts[node.id]
        width = max(40.0, max(len(line) for line in lines) * CHARACTER + 18)
        return Box(node.id, node.level, width, LINE * len(lines) + 12)

    def lines(self) -> Iterator[str]:
        """The elements of the file."""
        widest = max((len(text) for text in self.remarks), default=0) * 7
        covered = [label.rectangle for label in self.labels.values()]
        beside = max((max(-left, right - self.layout.width) for left, _, right, _ in covered), default=0.0)
        width = max(self.layout.width + 2 * (MARGIN + max(SIDE, beside)), widest + 2 * MARGIN)
        height = self.layout.height + self.head + MARGIN + 30
        left = (width - self.layout.width) / 2
        many = " many" if len(self.arrows) > MANY else ""
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="states{many}" role="img" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        )
        yield f"<title>{escape(self.picture.heading)}</title><style>{asset('states.css')}</style>"
        yield (
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
            'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M 0 1 L 10 5 L 0 9 Z"/></marker></defs>'
        )
        for number, text in enumerate(self.remarks):
            kind = "heading" if text == self.picture.heading else "remark"
            yield f'<text class="{kind}" x="{MARGIN}" y="{MARGIN + number * LINE:.0f}">{escape(text)}</text>'
        yield f'<g transform="translate({left:.1f} {self.head:.1f})">'
        for arrow in self.arrows:
            yield self._arrow(arrow)
        for node in self.nodes:
            yield from self._node(node)
        for number, arrow in enumerate(self.arrows):
            yield self._label(arrow, self.labels.get(number))
        yield "</g></svg>"

    def _centre(self, name: str) -> Point:
        return self.layout.x[name], self.layout.y[name]

    def _node(self, node: PictureNode) -> Iterator[str]:
        x, y = self._centre(node.id)
        box = self.boxes[node.id]
        kinds = ["node", *(["initial"] if node.initial else []), *(["beyond"] if node.id == BEYOND else [])]
        kinds += ["bad"] if node.violates or node.deadlock else []
        yield f'<g class="{" ".join(kinds)}" data-node="{node.id}">'
        example = "\n".join(f"{name} = {value}" for name, value in node.example)
        if example:
            yield f"<title>{'one of them:' if node.states > 1 else ''}\n{escape(example)}</title>"
        yield _rectangle("outer", x, y, box.width, box.height)
        if node.terminal:
            yield _rectangle("inner", x, y, box.width - 6, box.height - 6)
        top = y - LINE * (len(self.texts[node.id]) - 1) / 2 + 4
        for number, text in enumerate(self.texts[node.id]):
            yield f'<text x="{x:.1f}" y="{top + number * LINE:.1f}">{escape(text)}</text>'
        yield "</g>"

    def _kinds(self, arrow: Arrow, kind: str) -> str:
        bad = " bad" if any(edge.violates for edge in arrow.edges) else ""
        aside = "" if self._leads_down(arrow) and arrow.target != BEYOND else " aside"
        return f'class="{kind}{bad}{aside}" data-from="{arrow.source}" data-to="{arrow.target}"'

    def _arrow(self, arrow: Arrow) -> str:
        path = _path(self._way(arrow))
        title = escape("\n".join(arrow.texts))
        return (
            f"<g {self._kinds(arrow, 'edge')}><title>{title}</title>"
            f'<path class="hit" d="{path}"/><path class="way" d="{path}" marker-end="url(#tip)"/></g>'
        )

    def _label(self, arrow: Arrow, label: Label | None) -> str:
        """The label, over all curves; one without room waits for the pointer."""
        title = escape("\n".join(arrow.texts))
        kind = "label" if label else "label waits"
        label = label or Label(arrow.shown, _on_curve(self._way(arrow), 0.5), "middle")
        (x, y), lines = label.at, label.lines
        top = y + 4 - LABEL_LINE * (len(lines) - 1) / 2
        texts = "".join(
            f'<text text-anchor="{label.anchor}" x="{x:.1f}" y="{top + LABEL_LINE * n:.1f}">{escape(text)}</text>'
            for n, text in enumerate(lines)
        )
        return f"<g {self._kinds(arrow, kind)}><title>{title}</title>{texts}</g>"

    def _leads_down(self, arrow: Arrow) -> bool:
        """Whether it leads to a lower row; else it goes round the right side."""
        return self.layout.row[arrow.target] > self.layout.row[arrow.source]

    def _way(self, arrow: Arrow) -> tuple[Point, Point, Point, Point]:
        """The four points of the curve of an arrow."""
        (x1, y1), (x2, y2) = self._centre(arrow.source), self._centre(arrow.target)
        a, b = self.boxes[arrow.source], self.boxes[arrow.target]
        if arrow.source == arrow.target:
            left, top = x1 - a.width / 2, y1 - a.height / 2
            return (left, y1 - 4), (left - 34, y1 - 10), (left - 20, top - 26), (left + 12, top)
        if self._leads_down(arrow):
            start, end = y1 + a.height / 2, y2 - b.height / 2
            bend = max(22.0, (end - start) / 2)
            if abs(x1 - x2) < a.width / 2 and self.layout.row[arrow.target] > self.layout.row[arrow.source] + 1:
                aside = 0.6 * max(a.width, b.width) + 40  # else it would be hidden behind the nodes between
                return (x1 - 8, start), (x1 - aside, start + bend / 2), (x2 - aside, end - bend / 2), (x2 - 8, end)
            return (x1, start), (x1, start + bend), (x2, end - bend), (x2, end)
        start, end = x1 + a.width / 2, x2 + b.width / 2  # up, or in the same row: round the right side
        out = max(start, end) + 18 + min(40.0, abs(y1 - y2) / 6)
        return (start, y1 - 3), (out, y1 - 3), (out, y2 + 3), (end, y2 + 3)


def _kind(edge: Edge) -> str:
    """What a number in the legend stands for."""
    return edge_text(replace(edge, steps=1))


def _path(points: Iterable[Point]) -> str:
    start, *rest = (f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M {start} C {', '.join(rest)}"


def _on_curve(points: Iterable[Point], t: float) -> Point:
    """The point of a cubic curve at t, from 0 to 1."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * at for w, at in zip(weights, axis, strict=True)) for axis in zip(*points, strict=True))
    return x, y


def _rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="6"/>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


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
        f"<details><summary>{quantity(len(picture.nodes), 'node')} as a table</summary>",
        html_table([picture.by or "state", *COLUMNS], map(_cells, picture.nodes), COLUMNS[:3]),
        "</details>",
        f'<script type="application/json" id="graph">{script_json(picture.as_json())}</script>',
        f"<script>{asset('graph.js')}{DRAW}</script>",
    ]
    return page(picture.heading, body, STYLE)


def _cells(node: PictureNode) -> list[str]:
    wrong = [*node.violates, *(["deadlock"] if node.deadlock else [])]
    counts = [f"{n:,}" if n else "" for n in (node.states, node.initial, node.terminal)]
    return [", ".join(node.lines), *counts, ", ".join(wrong)]
