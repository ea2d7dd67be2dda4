"""Models lowered for any number, and the conditions whose values are known on a step of Python's."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from reassure.checkers.base.model_loader import load, settings
from reassure.checkers.base.options import ProofOptions, SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.symbolic.any_number.cross_check import Fixed, compare, moves_of
from reassure.checkers.engines.symbolic.any_number.instance import Instance
from reassure.checkers.engines.symbolic.any_number.samples import instance_of
from reassure.checkers.engines.symbolic.any_number.system import Move, System
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.language.types import BoolType, IntType, MapType, SeqType, SetType
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, make_config
from tests.helpers import model_text
from tests.helpers.constructs import CONSTRUCTS, action_text

REFUSED = {
    "sequence_slices",
    "sequence_count",
    "nested_any",
    "extreme_of_numbers",
    "set_image",
    "messages_broadcast",
}
"""Constructs that have no translation for any number."""


def of_construct(name: str, folder: Path) -> BoundModel:
    """The model of a construct, of three nodes at least."""
    prelude = model_text.PRELUDE.replace("Range(1, 6)", "Range(3, 6)")
    made = model_text.module(action_text(name, CONSTRUCTS[name]), folder, prelude=prelude)
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))


def bound_to(name: str, *pairs: str) -> BoundModel:
    model = load(name)
    return BoundModel(model, make_config(model, settings(model, list(pairs))))


def system_of(bound: BoundModel, chosen: Collection[str] = ()) -> System:
    any_number = free_numbers(bound, chosen)
    return System(*lower_for_any_number(bound, any_number), any_number)


def values(g: Graph, node: Node, instance: Instance) -> Iterator[Node]:
    """Conditions that say what a node's value is, or is not."""
    kind = node.type
    if isinstance(kind, MapType):
        for i in range(instance.members(kind.key)):
            yield from values(g, g.at(node, g.const(i, kind.key)), instance)
    elif isinstance(kind, SetType):
        yield from (g.member(g.const(i, kind.item), node) for i in range(instance.members(kind.item)))
    elif isinstance(kind, BoolType):
        yield node
    elif isinstance(kind, SeqType):
        items = tuple(int(i) for there, i in instance(node) if there)
        yield from (g.eq(node, g.const(order, kind)) for order in dict.fromkeys((items, items[::-1])))
    else:
        value = int(instance(node))
        yield g.eq(node, g.num(value) if isinstance(kind, IntType) else g.const(value, kind))


def conditions(system: System, move: Move, instance: Instance) -> Iterator[Node]:
    """Conditions on a step, each with a value that Python's step has."""
    g = system.graph
    yield move.taken
    for path, node in move.after.items():
        yield from [g.eq(node, g.num(0))] if "#" in path else values(g, node, instance)
    for f in system.lowered.step_formulas[move.number] if move.number >= 0 else ():
        yield move.over_step(g, f.condition)


def difference(
    system: System, bound: BoundModel, state: Any, steps_of_each: int = 4, most: int = 1000
) -> tuple[str | None, int]:
    """What the formulas exclude on a state although it is so in Python, if anything; and the number of conditions.

    most: conditions of one step.
    """
    compared = 0
    before = instance_of(system, bound, state)
    fixed = Fixed(system, before)
    for f in system.lowered.state_formulas:
        compared += 1
        if not fixed.possible(f.condition):
            return f.name, compared
    try:
        steps = [step for step in bound.steps(state) if not isinstance(step.after, Clipped)]
    except ModelError:
        return None, compared
    for step in steps[:: max(1, len(steps) // steps_of_each)]:
        for move, instance in moves_of(system, bound, before, step):
            of_step = Fixed(system, instance)
            its = list(conditions(system, move, instance))
            for condition in its[:: max(1, len(its) // most)]:
                compared += 1
                if not of_step.possible(condition):
                    return f"{step.action.name}: {condition} in {state}", compared
    return None, compared


def proof(model: str, *pairs: str, **options: object) -> CheckResult:
    """The result of a proof for any number."""
    proof_options = ProofOptions(any_number=True)
    chosen = SearchOptions(**options)  # type: ignore[arg-type]
    request = CheckRequest(model, list(pairs), "prove:any-number", chosen, proof=proof_options)
    return run(request, Progress(quiet=True))[0]


def statuses(result: CheckResult) -> dict[str, str]:
    """The status of each property that a proof is about."""
    return {p.name: str(p.status) for p in result.properties if not p.temporal and p.kind != "deadlock"}


__all__ = ["bound_to", "compare", "conditions", "difference", "proof", "statuses", "system_of", "values"]
