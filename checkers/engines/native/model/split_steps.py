"""A step -> its cases: what the step does where a condition holds, and where it does not.

The next state of a large model is mostly a choice: a request is refused and all stays, or the partition is computed
anew. As one expression, both are computed for every step, and every claim over the step as well. In a case of its own,
what stays is copied, and a claim that compares what stays is a constant: the graph simplifies it when the condition is.
So a claim over what a step leaves alone costs nothing, whatever the claim says.

Each case has every statement of the step, in their order. Its nodes have the values of the nodes that they stand for
wherever the case is entered, so that hits, counts and errors are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from reassure.checkers.engines.native.model import loop_form as form
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.operations import arguments_first

LEAST_SAVED = 40
"""Nodes that cases are to save on average: a branch that is mispredicted costs about as much as half of them."""
LEAST_SHARE = 0.25
"""The same, as a share of the step's nodes."""
ENOUGH = 0.4
"""Such a share, where no other condition is tried: a case without anything to compute saves a half."""
MOST_GROWTH = 0.5
"""Of a step's nodes, those that the code of all cases may have in addition."""
DEPTH = 2
"""Conditions that are asked, one after the other, before a step is taken."""
CANDIDATES = 2
"""Conditions that are tried: for each of them all nodes of the step are simplified twice."""
CHOICES = 3
"""Choices within each other of which conditions are taken: a next field has the ones that matter outside."""
ALWAYS = {"LEAST_SAVED": float("-inf"), "LEAST_SHARE": float("-inf"), "MOST_GROWTH": float("inf")}
"""The limits with which every step that has a choice is taken in cases, as tests have it."""


def in_cases(graph: Graph, step: form.Block, ready: Iterable[Node], depth: int = DEPTH) -> form.Block:
    """The block that does the same as a step, by cases where that saves enough.

    step: bounds, errors, and the successor. ready: the nodes that are computed before it.
    """
    known = set(ready)
    size = _size(step, known)
    if depth == 0 or size < 2 * LEAST_SAVED:
        return step
    best: tuple[float, Node, list[form.Block]] | None = None
    for condition in _conditions(step):
        cases = [_case(graph, step, condition, value) for value in (True, False)]
        sizes = sum(_size(case, known) for case in cases)
        saved = size - sizes / 2
        pays = saved >= max(LEAST_SAVED, LEAST_SHARE * size) and sizes - size <= MOST_GROWTH * size
        if pays and (best is None or saved > best[0]):
            best = saved, condition, cases
        if saved >= ENOUGH * size:
            break
    if best is None:
        return step
    _, condition, cases = best
    known.update(arguments_first([condition], known))
    yes, no = (in_cases(graph, case, known, depth - 1) for case in cases)
    both = [node for node in _certain(yes) & _certain(no) if node.args and node not in known]
    return (*map(form.Let, sorted(both, key=lambda node: node.number)), form.Split(condition, yes, no))


def _size(block: form.Block, known: set[Node]) -> int:
    """The nodes that a block without cases computes."""
    roots = (node for statement in block for node in form.nodes_of(statement))
    return sum(1 for node in arguments_first(roots, known) if node.args)


def _conditions(step: form.Block) -> list[Node]:
    """The conditions by which most fields of the next state are chosen."""
    counts: Counter[Node] = Counter()
    emit = step[-1]
    assert isinstance(emit, form.Emit)
    for leaf in emit.next:
        level, found = {leaf}, dict[Node, None]()
        for _ in range(1 + CHOICES):
            chosen = [node for node in sorted(level, key=lambda node: node.number) if node.op == "ite"]
            found.update((node.args[0], None) for node in chosen)
            level = {argument for node in chosen for argument in node.args[1:]}
        counts.update(list(found))
    return [condition for condition, _ in counts.most_common(CANDIDATES)]


def _case(graph: Graph, step: form.Block, condition: Node, value: bool) -> form.Block:
    """The step where a condition has a value."""
    results = _known(graph, condition, value)

    def again(node: Node) -> Node:
        return graph.rebuilt(node, results, lambda leaf: leaf)

    case: list[form.Statement] = []
    for statement in step:
        if isinstance(statement, form.Emit):
            # A field that stays is copied, also where its value is known.
            leaves = tuple(leaf if leaf.op == "var" else again(leaf) for leaf in statement.next)
            hits = ((number, again(hit)) for number, hit in statement.claims)
            claims = tuple((number, hit) for number, hit in hits if hit is not graph.false)
            case.append(replace(statement, next=leaves, claims=claims))
        else:
            assert isinstance(statement, form.Clip | form.StepError)
            one = again(statement.condition)
            if one is not (graph.false if isinstance(statement, form.Clip) else graph.true):
                case.append(replace(statement, condition=one))
    return tuple(case)


def _known(graph: Graph, condition: Node, value: bool) -> dict[Node, Node]:
    """The nodes that are constants where a condition has a value."""
    known: dict[Node, Node] = {}
    left = [(condition, value)]
    while left:
        node, true = left.pop()
        known[node] = graph.truth(true)
        if node.op == "not":
            left.append((node.args[0], not true))
        elif node.op == ("and" if true else "or"):
            left += [(argument, true) for argument in node.args]
    return known


def _certain(block: form.Block) -> set[Node]:
    """The nodes that a block computes in every case."""
    certain: set[Node] = set()
    for statement in block:
        certain.update(arguments_first(form.nodes_of(statement), certain))
        if isinstance(statement, form.Split):
            certain |= _certain(statement.yes) & _certain(statement.no)
    return certain
