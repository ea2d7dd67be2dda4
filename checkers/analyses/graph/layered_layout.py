"""Places the nodes of a picture of states: in rows by level, ordered so that edges are short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

MOST_IN_ROW = 12
SWEEPS = 6
GAP, ROW_GAP = 26.0, 62.0


@dataclass(frozen=True)
class Box:
    """A node to place. level: its row is below those of lower levels."""

    id: str
    level: int
    width: float
    height: float


@dataclass
class LayeredLayout:
    """The centre of each node, the row that it is in, and the size of all."""

    x: dict[str, float]
    y: dict[str, float]
    row: dict[str, int]
    width: float
    height: float


def layered(boxes: Iterable[Box], edges: Iterable[tuple[str, str]]) -> LayeredLayout:
    """Rows by level; a level of many nodes takes several rows. The same for the same input."""
    rows = _rows(boxes)
    row = {box.id: number for number, boxes_of_row in enumerate(rows) for box in boxes_of_row}
    neighbours: dict[str, list[str]] = {name: [] for name in row}
    for source, target in edges:
        if source in row and target in row and row[source] != row[target]:
            neighbours[source].append(target)
            neighbours[target].append(source)
    x: dict[str, float] = {}
    for one in rows:
        _spread(one, x, {})
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for one in rows if down else reversed(rows):
            centres = _wanted(one, x, neighbours, row, down)
            one.sort(key=lambda box: (centres[box.id], x[box.id]))
            _spread(one, x, centres)
    return _framed(rows, x, row)


def _rows(boxes: Iterable[Box]) -> list[list[Box]]:
    levels: dict[int, list[Box]] = {}
    for box in boxes:
        levels.setdefault(box.level, []).append(box)
    rows = []
    for level in sorted(levels):
        members = levels[level]
        number = -(-len(members) // MOST_IN_ROW)
        size = -(-len(members) // number)
        rows += [members[low : low + size] for low in range(0, len(members), size)]
    return rows


def _wanted(
    row: list[Box], x: Mapping[str, float], neighbours: Mapping[str, list[str]], rows: Mapping[str, int], down: bool
) -> dict[str, float]:
    """Below (or above) its neighbours in the rows that are placed already; where there is none, where it is."""
    centres = {}
    for box in row:
        placed = [x[n] for n in neighbours[box.id] if (rows[n] < rows[box.id]) == down]
        centres[box.id] = fmean(placed) if placed else x[box.id]
    return centres


def _spread(row: list[Box], x: dict[str, float], wanted: Mapping[str, float]) -> None:
    """Places a row in its order, near to where its nodes should be and without overlaps."""
    edge = float("-inf")
    for box in row:
        x[box.id] = max(wanted.get(box.id, 0.0), edge + box.width / 2)
        edge = x[box.id] + box.width / 2 + GAP
    shift = fmean(wanted.get(box.id, 0.0) - x[box.id] for box in row)
    for box in row:
        x[box.id] += shift


def _framed(rows: list[list[Box]], x: dict[str, float], row: dict[str, int]) -> LayeredLayout:
    """Moves everything so that it begins at 0."""
    left = min(x[box.id] - box.width / 2 for one in rows for box in one)
    right = max(x[box.id] + box.width / 2 for one in rows for box in one)
    y: dict[str, float] = {}
    top = 0.0
    for one in rows:
        height = max(box.height for box in one)
        y |= {box.id: top + height / 2 for box in one}
        top += height + ROW_GAP
    return LayeredLayout({name: value - left for name, value in x.items()}, y, row, right - left, top - ROW_GAP)
