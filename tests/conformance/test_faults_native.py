"""A fault in the emission of any operation, statement or loop shows as a difference from plain Python."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from reassure.checkers.encoding.state_layout import layout_of
from reassure.checkers.engines.native.model import emit_loops, emit_nodes, ir_text
from reassure.checkers.engines.native.model.build_loops import ActionBuilder
from reassure.checkers.engines.native.model.emit_loops import LoopEmitter
from reassure.checkers.engines.native.model.emit_nodes import OPERATIONS, NodeEmitter
from reassure.checkers.engines.native.model.ir_text import FunctionText
from reassure.checkers.engines.native.model.loop_form import (
    Clip,
    Emit,
    Error,
    Let,
    LoopGuard,
    nodes_of,
    statements,
)
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.frontend.operations import LEAVES, arguments_first
from reassure.spec.language.types import BoolType, Type
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.constructs import TABLES, bound_model
from tests.helpers.drawn_states import drawn
from tests.helpers.native_steps import Native, plain_steps

pytestmark = pytest.mark.usefixtures("quick_kernels")


def difference(bound: BoundModel, states: int = 120) -> bool:
    """Whether the kernel and plain Python differ on some drawn state."""
    native, rng = Native(bound), random.Random(1)
    for _ in range(states):
        state = drawn(bound.type, rng)
        want = plain_steps(bound, state)
        try:
            got = native.steps(state)
        except (AssertionError, IndexError, KeyError, ValueError):  # rows that are not steps
            return True
        if got[2] != want[2] or (not want[2] and got != want):
            return True
    return False


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BoundModel]:
    folder = tmp_path_factory.mktemp("tables")
    return {name: bound_model(name, folder) for name in TABLES}


@pytest.fixture(scope="module")
def by_use(models: dict[str, BoundModel]) -> dict[str, list[BoundModel]]:
    """Models of the tables by the operations and statements that their loop form has."""
    found: dict[str, list[BoundModel]] = {}
    for bound in models.values():
        for loops in model_kernel(lower_model(bound), layout_of(bound.type), parameters=True).loops:
            every = list(statements(loops.body))
            used = {type(s).__name__ for s in every}
            used |= {n.op for n in arguments_first([node for s in every for node in nodes_of(s)])}
            for name in used:
                found.setdefault(name, []).append(bound)
    return found


def shows(models: list[BoundModel]) -> bool:
    """Whether some model differs, under a fault that a test has put in."""
    assert models, "nothing in the tables uses it"
    return any(difference(bound) for bound in models)


@pytest.mark.parametrize("operation", sorted(set(OPERATIONS) - set(LEAVES)))
def test_a_fault_in_an_operation_is_found(
    operation: str, by_use: dict[str, list[BoundModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = OPERATIONS[operation]

    def wrong(e: NodeEmitter, node: Node) -> str:
        value = right(e, node)
        return e.f.negated(value) if isinstance(node.type, BoolType) else e.f.op(f"add i64 {value}, 1")

    monkeypatch.setitem(OPERATIONS, operation, wrong)
    assert shows(by_use[operation])


def truncated(e: NodeEmitter, node: Node) -> str:
    return e.f.op(f"sdiv i64 {e.value(node.args[0])}, {node.args[1].data}")


def signed_remainder(e: NodeEmitter, node: Node) -> str:
    return e.f.op(f"srem i64 {e.value(node.args[0])}, {node.args[1].data}")


def other_way(e: NodeEmitter, node: Node) -> str:
    """The two arguments exchanged."""
    return RIGHT[node.op](e, Node(node.number, node.op, node.type, node.args[::-1], node.data, node.params))


RIGHT = dict(OPERATIONS)
SUBTLE: dict[str, tuple[str, Callable[[NodeEmitter, Node], str]]] = {
    "quotients rounded to zero": ("floordiv", truncated),
    "remainders with the sign of the dividend": ("mod", signed_remainder),
    "unsigned order": ("lt", emit_nodes._compared("ult")),
    "order with equals": ("lt", emit_nodes._compared("sle")),
    "order the other way": ("lt", other_way),
    "difference the other way": ("sub", other_way),
    "set difference the other way": ("minus", other_way),
    "sequences joined the other way": ("seq_cat", other_way),
    "unsigned minimum": ("min", lambda e, n: e.f.call("llvm.umin.i64", *e.arguments(n))),
    "and for or": ("or", emit_nodes._chain("and")),
    "exclusive or for or": ("or", emit_nodes._chain("xor")),
    "union that adds": ("union", emit_nodes._arithmetic("add")),
    "intersection that joins": ("inter", RIGHT["union"]),
    "highest for lowest": ("lowest", emit_nodes._highest),
    "lowest for highest": ("highest", emit_nodes._lowest),
}


@pytest.mark.parametrize("fault", SUBTLE)
def test_a_subtle_fault_is_found(
    fault: str, by_use: dict[str, list[BoundModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, wrong = SUBTLE[fault]
    monkeypatch.setitem(OPERATIONS, operation, wrong)
    assert shows(by_use[operation])


@pytest.mark.parametrize("function", ir_text.LONG)
def test_a_fault_in_a_long_sequence_function_is_found(
    function: str, by_use: dict[str, list[BoundModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = ir_text.LONG[function]

    def wrong(f: FunctionText, *arguments: Any) -> str:
        return right(f, *arguments[:-1], arguments[-1] - 1)  # stops one item too early

    monkeypatch.setitem(ir_text.LONG, function, wrong)
    assert shows([b for op in by_use if op.startswith("seq_") for b in by_use[op]])


STATEMENTS = {kind.__name__: kind for kind in (LoopGuard, Error, Clip)}
LOOPS = ("ForEachIndex", "ForEachOptional", "ForEachSequence", "ForEachSlot", "ForEachRecordSet")


def other_bit(right: Any) -> Any:
    """The result of a function with its lowest bit the other way."""
    return lambda f, *arguments: f.op(f"xor i64 {right(f, *arguments)}, 1")


def without(kind: str) -> Callable[[Any], Any]:
    """Statements of a kind are left out."""
    return lambda right: lambda self, block: right(self, tuple(s for s in block if type(s).__name__ != kind))


def early(kind: str) -> Callable[[Any], Any]:
    """Loops of a kind end one turn too early."""

    def wrong(right: Any) -> Any:
        return lambda self, loop, count, bind: right(self, loop, max(1, count - (type(loop).__name__ == kind)), bind)

    return wrong


def forgetting(part: str) -> Callable[[Any], Any]:
    """A narrowing of what a parameter may be is forgotten."""

    def wrong(right: Any) -> Any:
        def over_scalar(self: ActionBuilder, name: str, node: Node, kind: Type, when: Node | None) -> None:
            if name in self.domains:
                getattr(self.domains[name].mask, part).clear()
            right(self, name, node, kind, when)

        return over_scalar

    return wrong


def always(right: Any) -> Any:
    """`R | None` has one None for each R."""
    return lambda self, loop, count, bind: right(self, type(loop)(**{**vars(loop), "when": None}), count, bind)


def guards_first(right: Any) -> Any:
    """A guard is tested before an error above it."""

    def test(self: Any, left: list[Any], pending: set[str]) -> list[Any]:
        guards = [c for c in left if c.kind == "require"]
        return [*right(self, guards, pending), *right(self, [c for c in left if c.kind == "error"], pending)]

    return test


def other_code(right: Any) -> Any:
    """Of an absent value."""
    return lambda kind: "true" if isinstance(kind, BoolType) else "1"


FAULTS: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    # what is wrong: where, the function, the wrong one given the right one, the uses or the names of models
    **{name: (ir_text, name, other_bit, "use seq_.*") for name in ("sequence_length", "get", "cat", "drop", "take")},
    **{f"{kind} left out": (LoopEmitter, "_block", without(kind), f"use {kind}") for kind in STATEMENTS},
    **{f"{kind} ends early": (LoopEmitter, "_counted", early(kind), f"use {kind}") for kind in LOOPS},
    **{
        f"{part} forgotten": (ActionBuilder, "_over_scalar", forgetting(part), "model .*by_.*")
        for part in ("within", "without", "including", "include_items", "exclude_items")
    },
    "an absent value enumerated": (LoopEmitter, "_counted", always, "model .*by_optional.*"),
    "another code for absent": (
        emit_loops,
        "_nothing",
        other_code,
        re.escape("model nested by_optional_set | nodes: frozenset[Node] | None"),
    ),
    "a guard before an error": (ActionBuilder, "_test", guards_first, "model odd raises.*"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_what_emits_or_builds_is_found(
    fault: str, models: dict[str, BoundModel], by_use: dict[str, list[BoundModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, function, wrong, shown_by = FAULTS[fault]
    every = [(f"use {use}", bound) for use, some in by_use.items() for bound in some]
    every += [(f"model {name}", bound) for name, bound in models.items()]
    chosen = [bound for name, bound in every if re.fullmatch(shown_by, name)]
    monkeypatch.setattr(owner, function, wrong(getattr(owner, function)))
    if fault == "another code for absent":  # it may stay within one step: what is decoded is then the same
        assert all(difference(bound) or _codes_differ(bound) for bound in chosen) and len(chosen) == 1
    else:
        assert shows(chosen)


def _codes_differ(bound: BoundModel) -> bool:
    native, rng = Native(bound), random.Random(2)
    for _ in range(60):
        steps, _, _ = native.steps(drawn(bound.type, rng))
        if any(native.layout.encode(after) != native.code(i) for i, (_, _, after) in enumerate(steps)):
            return True
    return False


def test_every_statement_is_in_the_tables(by_use: dict[str, list[BoundModel]]) -> None:
    assert {Let.__name__, Emit.__name__, *STATEMENTS, *LOOPS, "ForEachMember", "ForEachSubset"} <= set(by_use)
    assert set(OPERATIONS) - set(LEAVES) <= set(by_use)
