"""Branching bisimilarity by signatures, against its definition."""

from __future__ import annotations

import itertools
import random

import pytest

from reassure.checkers.analyses.diff.compare import Edges, refined


def by_definition(blocks: list[int], edges: Edges) -> set[tuple[int, int]]:
    """The greatest relation within the blocks in which related states answer each other's steps."""
    states = range(len(blocks))
    related = {(s, t) for s in states for t in states if blocks[s] == blocks[t]}

    def silently(start: int, partner: int) -> set[int]:
        """The states that silent steps lead to through states related to `partner`."""
        found, todo = {start}, [start]
        while todo:
            for label, after in edges[todo.pop()]:
                if label < 0 and after not in found and (partner, after) in related:
                    found.add(after)
                    todo.append(after)
        return found

    def answered(s: int, t: int) -> bool:
        for label, after in edges[s]:
            if label < 0 and (after, t) in related:
                continue
            if not any(
                other == label and (after, end) in related for middle in silently(t, s) for other, end in edges[middle]
            ):
                return False
        return True

    while wrong := {(s, t) for s, t in related if not (answered(s, t) and answered(t, s))}:
        related -= wrong
    return related


@pytest.mark.parametrize("seed", range(150))
def test_as_the_definition_has_it(seed: int) -> None:
    """Random graphs of a few states; a silent step stays within what looks the same, as where `diff` makes them."""
    rng = random.Random(seed)
    count = rng.randint(2, 7)
    blocks = [rng.randrange(3) for _ in range(count)]
    pairs = [(s, t) for s in range(count) for t in range(count) if rng.random() < 0.3]
    edges: Edges = [[] for _ in blocks]
    for s, t in pairs:
        edges[s].append((-1 if blocks[s] == blocks[t] else rng.randrange(2), t))
    found = refined(blocks, edges)
    equal = {(s, t) for s, t in itertools.product(range(count), repeat=2) if found[s] == found[t]}
    assert equal == by_definition(blocks, edges)


def test_refinement_tells_choice_apart() -> None:
    """a.(b + c) is not a.b + a.c, though both have the same traces; a step that shows nothing may come before."""
    a, b, c, silent = 0, 1, 2, -1
    edges = [[(a, 1)], [(b, 2), (c, 2)], [], [(a, 4), (a, 5)], [(b, 2)], [(c, 2)], [(silent, 0)]]
    blocks = refined([0, 1, 2, 0, 1, 1, 0], edges)
    assert blocks[0] != blocks[3]
    assert blocks[0] == blocks[6]
