"""A picture of states as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from reassure.checkers.analyses.graph.dot import edge_text, node_text
from reassure.checkers.analyses.graph.layered_layout import Box, LayeredLayout, layered
from reassure.checkers.analyses.graph.state_picture import BEYOND, Edge, PictureNode, StatePicture
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.pictures.html_page import asset

MOST_NODES = 400
ALWAYS_LABELLED = 30
"""With more lines of labels than this, the label of an edge is shown where the pointer is."""
SHOWN = 3
"""Lines of the label of an edge."""
LONGEST, CHARACTER, LINE = 34, 6.4, 15.0
MARGIN, SIDE = 24.0, 60.0
LOOP = 30.0
LEGEND = "thick border: initial · double border: a run may end · red: violated"
LEGEND_OF_GROUPS = (
    "thick border: with an initial state · double border: with a state where a run may end · red: violated"
)


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


def graph_svg(picture: StatePicture, head: bool = True) -> str:
    """The picture as an SVG file; `Failure` if it has too many nodes. head: with what there is to say of it."""
    if len(picture.nodes) > MOST_NODES:
        what = f"{picture.by} has {len(picture.nodes):,} values" if picture.by else f"{len(picture.nodes):,} states"
        remedy = "group by less" if picture.by else "give --max-states or group with --by EXPRESSION"
        raise Failure(
            Exit.USAGE, f"{what}, too many for a picture of {MOST_NODES} nodes: {remedy}, or write --format dot or json"
        )
    return "\n".join(_Drawing(picture, head).lines()) + "\n"


class _Drawing:
    def __init__(self, picture: StatePicture, head: bool) -> None:
        self.picture = picture
        self.grouped = picture.by is not None
        legend = LEGEND_OF_GROUPS if self.grouped else LEGEND
        self.remarks = [picture.heading, legend, *picture.remarks] if head else [legend]
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
        self.head = MARGIN + LINE * len(self.remarks) + 18

    def _box(self, node: PictureNode) -> Box:
        lines = self.texts[node.id]
        width = max(40.0, max(len(line) for line in lines) * CHARACTER + 18)
        return Box(node.id, node.level, width, LINE * len(lines) + 12)

    def lines(self) -> Iterator[str]:
        """The elements of the file."""
        widest = max(len(text) for text in self.remarks) * 7
        beside = (len(text) for arrow in self.arrows if not self._leads_down(arrow) for text in arrow.shown)
        side = SIDE + CHARACTER * max(beside, default=0)
        width = max(self.layout.width + 2 * (MARGIN + side), widest + 2 * MARGIN)
        height = self.layout.height + self.head + MARGIN + 30
        self.left = (width - self.layout.width) / 2
        many = " many" if sum(len(arrow.shown) for arrow in self.arrows) > ALWAYS_LABELLED else ""
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
        for number, arrow in enumerate(self.arrows):
            yield self._arrow(arrow, number)
        for node in self.nodes:
            yield from self._node(node)
        yield "</svg>"

    def _centre(self, name: str) -> tuple[float, float]:
        return self.left + self.layout.x[name], self.head + self.layout.y[name]

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

    def _arrow(self, arrow: Arrow, number: int) -> str:
        path, (x, y) = self._way(arrow, number)
        kinds = "edge bad" if any(edge.violates for edge in arrow.edges) else "edge"
        kinds += "" if self._leads_down(arrow) and arrow.target != BEYOND else " aside"
        shown = arrow.shown
        anchor = "" if self._leads_down(arrow) else f' class="{"left" if arrow.source == arrow.target else "right"}"'
        labels = "".join(
            f'<text{anchor} x="{x:.1f}" y="{y + 4 + 12 * (n - (len(shown) - 1) / 2):.1f}">{escape(text)}</text>'
            for n, text in enumerate(shown)
        )
        title = escape("\n".join(arrow.texts))
        return (
            f'<g class="{kinds}" data-from="{arrow.source}" data-to="{arrow.target}"><title>{title}</title>'
            f'<path class="hit" d="{path}"/><path class="way" d="{path}" marker-end="url(#tip)"/>{labels}</g>'
        )

    def _leads_down(self, arrow: Arrow) -> bool:
        """Whether it leads to a lower row; else it goes round the right side."""
        return self.layout.row[arrow.target] > self.layout.row[arrow.source]

    def _way(self, arrow: Arrow, number: int) -> tuple[str, tuple[float, float]]:
        """The curve of an arrow, and where its label stands."""
        (x1, y1), (x2, y2) = self._centre(arrow.source), self._centre(arrow.target)
        a, b = self.boxes[arrow.source], self.boxes[arrow.target]
        if arrow.source == arrow.target:
            left, top = x1 - a.width / 2, y1 - a.height / 2
            points = (left, y1 - 4), (left - 34, y1 - 10), (left - 20, top - 26), (left + 12, top)
        elif self._leads_down(arrow):
            start, end = y1 + a.height / 2, y2 - b.height / 2
            bend = max(22.0, (end - start) / 2)
            points = (x1, start), (x1, start + bend), (x2, end - bend), (x2, end)
        else:  # up, or in the same row: round the right side
            start, end = x1 + a.width / 2, x2 + b.width / 2
            out = max(start, end) + 18 + min(40.0, abs(y1 - y2) / 6)
            points = (start, y1 - 3), (out, y1 - 3), (out, y2 + 3), (end, y2 + 3)
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = points
        path = f"M {ax:.1f} {ay:.1f} C {bx:.1f} {by:.1f}, {cx:.1f} {cy:.1f}, {dx:.1f} {dy:.1f}"
        if arrow.source == arrow.target:
            return path, (ax - LOOP, (by + cy) / 2 + 4)
        if not self._leads_down(arrow):
            return path, (max(ax, dx) + 0.75 * (bx - max(ax, dx)) + 6, (y1 + y2) / 2)
        t = (0.4, 0.5, 0.6)[number % 3]
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        x, y = (sum(w * p[axis] for w, p in zip(weights, points, strict=True)) for axis in (0, 1))
        return path, (x, y)


def _rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="6"/>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
