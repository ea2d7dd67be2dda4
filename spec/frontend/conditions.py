"""Consequences of conditions that hold: enough to drop checks that cannot fail, no more.

Conditions are taken apart at `and` and at the negation of `or`; of an `or` all of whose terms but one are known to be
false the last one is known to hold.
"""

from __future__ import annotations

from reassure.spec.frontend.ir import Graph, Node


class Contradiction(Exception):
    """The conditions exclude each other."""


def _parts(g: Graph, condition: Node, op: str) -> list[Node]:
    """The terms of a conjunction or disjunction, also where it is written as the negation of the other."""
    other = "or" if op == "and" else "and"
    if condition.op == op:
        return [part for arg in condition.args for part in _parts(g, arg, op)]
    if condition.op == "not" and condition.args[0].op == other:
        return [part for arg in condition.args[0].args for part in _parts(g, g.not_(arg), op)]
    return [condition]


def facts_of(g: Graph, *conditions: Node) -> set[Node]:
    """The facts that hold where all the conditions do; `Contradiction` if they never do."""
    facts: set[Node] = set()
    choices: list[list[Node]] = []
    pending = list(conditions)
    while pending:
        for fact in _parts(g, pending.pop(), "and"):
            if fact is g.false or g.not_(fact) in facts:
                raise Contradiction
            if fact not in facts:
                facts.add(fact)
                terms = _parts(g, fact, "or")
                if len(terms) > 1:
                    choices.append(terms)
        if pending:
            continue
        for terms in choices:
            open_terms = [t for t in terms if g.not_(t) not in facts]
            if not open_terms:
                raise Contradiction
            if len(open_terms) == 1 and not facts.issuperset(_parts(g, open_terms[0], "and")):
                pending.append(open_terms[0])
    facts.discard(g.true)
    return facts


def implied(g: Graph, premise: Node, condition: Node) -> Node:
    """`not premise or condition`; true where the premise makes the condition hold."""
    try:
        facts = facts_of(g, premise)
        open_parts = [c for c in _parts(g, condition, "and") if c not in facts]
        open_ = [c for c in open_parts if not any(t in facts for t in _parts(g, c, "or"))]
    except Contradiction:
        return g.true
    if not open_:
        return g.true
    return g.implies(premise, condition if len(open_parts) == len(open_) else g.and_(*open_))


def exclude(g: Graph, *conditions: Node) -> bool:
    """Whether the conditions are seen never to hold together."""
    try:
        facts_of(g, *conditions)
    except Contradiction:
        return True
    return False


__all__ = ["Contradiction", "exclude", "facts_of", "implied"]
