"""Where nodes stand: rows by level, no overlaps, edges without needless crossings."""

from __future__ import annotations

from itertools import pairwise

from reassure.checkers.analyses.graph.layered_layout import GAP, MOST_IN_ROW, Box, layered


def box(name: str, level: int, width: float = 40) -> Box:
    return Box(name, level, width, 20)


def test_one_node() -> None:
    layout = layered([box("a", 3)], [("a", "a")])
    assert (layout.x, layout.y, layout.row) == ({"a": 20}, {"a": 10}, {"a": 0})
    assert (layout.width, layout.height) == (40, 20)


def test_rows_by_level() -> None:
    layout = layered([box("a", 0), box("b", 1), box("c", 1), box("d", 2)], [("a", "b"), ("a", "c"), ("b", "d")])
    assert layout.row == {"a": 0, "b": 1, "c": 1, "d": 2}
    assert layout.y["a"] < layout.y["b"] == layout.y["c"] < layout.y["d"]


def test_crossings_are_undone() -> None:
    """Each stands below its own parent, whatever the order that it comes in."""
    boxes = [box("a", 0), box("b", 0), box("y", 1), box("x", 1)]
    layout = layered(boxes, [("a", "x"), ("b", "y")])
    assert (layout.x["a"] < layout.x["b"]) == (layout.x["x"] < layout.x["y"])


def test_nothing_overlaps() -> None:
    boxes = [box("start", 0), *(box(f"n{i}", 1, 20 + 10 * i) for i in range(7))]
    layout = layered(boxes, [("start", f"n{i}") for i in range(7)])
    row = sorted(boxes[1:], key=lambda one: layout.x[one.id])
    for left, right in pairwise(row):
        gap = layout.x[right.id] - layout.x[left.id] - (left.width + right.width) / 2
        assert gap >= GAP - 1e-9
    assert min(layout.x[b.id] - b.width / 2 for b in boxes) == 0
    assert max(layout.x[b.id] + b.width / 2 for b in boxes) == layout.width


def test_a_level_of_many_takes_several_rows() -> None:
    boxes = [box(f"n{i}", 0) for i in range(2 * MOST_IN_ROW + 1)]
    layout = layered(boxes, [])
    assert sorted(set(layout.row.values())) == [0, 1, 2]
    assert max(list(layout.row.values()).count(row) for row in range(3)) <= MOST_IN_ROW
