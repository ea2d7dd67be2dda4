"""Models lowered for any number, and the conditions whose values are known on a step of Python's."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from reassure.checkers.analyses.mutants.analysis import without_action
from reassure.checkers.analyses.mutants.mutants import Mutant
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.symbolic.any_number import counterexamples, instantiation, samples
from reassure.checkers.engines.symbolic.any_number.cross_check import Fixed, compare_initial, compare_steps, moves_of
from reassure.checkers.engines.symbolic.any_number.instance import Instance
from reassure.checkers.engines.symbolic.any_number.samples import instance_of
from reassure.checkers.engines.symbolic.any_number.system import Move, System
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.result import CheckResult
from reassure.spec.frontend import any_number as any_number_frontend
from reassure.spec.frontend import lowering
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model, with_changed
from reassure.spec.language.annotations import AnyNumber
from reassure.spec.language.types import BoolType, IntType, MapType, SeqType, SetType
from reassure.spec.language.vocabulary import Model, Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, make_config
from reassure.spec.semantics.trace import Trace
from tests.helpers import model_text
from tests.helpers.constructs import CONSTRUCTS, action_text

REFUSED = {
    "sequence_slices",
    "sequence_count",
    "nested_any",
    "extreme_of_numbers",
    "set_image",
    "messages_broadcast",
    "enumerate_sequence",
    "id_and_a_number | node: Node",
    "id_of_a_number",
    "loop_breaks",
    "loop_continues",
    "loop_counts",
    "loop_enumerate",
    "loop_enumerate_sorted",
    "loop_guard_and_error",
    "loop_in_a_loop",
    "loop_variable_of_an_inner_loop",
    "loop_map",
    "loop_of_a_set_and",
    "loop_of_a_set_counts",
    "loop_of_a_set_finds",
    "loop_of_a_set_guard",
    "loop_of_a_set_map",
    "loop_of_a_set_returns",
    "loop_of_an_optional_ends",
    "loop_optional",
    "loop_record",
    "loop_returns",
    "loop_reversed",
    "loop_sequence",
    "number_of_an_id",
    "ring | node: Node",
}
"""Constructs that have no translation for any number."""


def of_construct(name: str, folder: Path) -> BoundModel:
    """The model of a construct, of three nodes at least."""
    prelude = model_text.PRELUDE.replace("Range(1, 6)", "Range(3, 6)")
    made = model_text.module(action_text(name, CONSTRUCTS[name]), folder, prelude=prelude)
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))


def bound_to(name: str, *pairs: str) -> BoundModel:
    model = load_model(name)
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


@contextmanager
def as_mutant(mutant: Mutant) -> Iterator[None]:
    """Within, models are lowered and executed with a mutant's change, in each configuration."""

    def lower(bound: BoundModel, any_number: AnyNumber | None = None, **more: Any) -> LoweredModel:
        lowered = lower_model(bound, any_number=any_number, **more)
        if mutant.change is None:
            return without_action(lowered, mutant.where)
        function, definition = mutant.change
        return with_changed(lowered, {function: definition}, mutant.reached_by, any_number)

    def execute(model: Model, config: object) -> BoundModel:
        return mutant.of(BoundModel(model, config))

    with ExitStack() as patches:
        for module in (lowering, samples, instantiation, any_number_frontend):
            patches.enter_context(mock.patch.object(module, "lower_model", lower))
        for module in (samples, counterexamples):
            patches.enter_context(mock.patch.object(module, "BoundModel", execute))
        yield


def not_admitted(system: System, bound: BoundModel, trace: Trace, violated: Property) -> str | None:
    """The step of a violating run that the formulas exclude, if there is one."""
    g, last = system.graph, len(trace.states) - 1
    compare_initial(system, bound)
    for number, (before, after) in enumerate(itertools.pairwise(trace.states), 1):
        told = trace.steps[number]
        asked = (told.action, told.params, after)
        step = next(s for s in bound.steps(before) if (s.action.name, s.params, s.after) == asked)
        for move, instance in moves_of(system, bound, instance_of(system, bound, before), step):
            known = list(conditions(system, move, instance))
            if number == last:
                formulas = system.lowered.step_formulas[move.number] if violated.over_steps else []
                claims = [move.over_step(g, f.condition) for f in formulas if f.name == violated.name]
                formulas = [] if violated.over_steps else system.lowered.state_formulas
                claims += [move.afterwards(g, f.condition) for f in formulas if f.name == violated.name]
                assert claims
                assert not any(instance.holds(claim) for claim in claims)
                known += claims
            if Fixed(system, instance).possible(g.and_(*(c if instance.holds(c) else g.not_(c) for c in known))):
                break
        else:
            return f"{number}. {told.action}"
    return None


def statuses(result: CheckResult) -> dict[str, str]:
    """The status of each property that a proof is about."""
    return {p.name: str(p.status) for p in result.properties if not p.temporal and p.kind != "deadlock"}


__all__ = [
    "as_mutant", "bound_to", "compare_steps", "conditions", "difference", "not_admitted", "proof", "statuses",
    "system_of", "values",
]  # fmt: skip
