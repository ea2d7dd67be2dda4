"""Every method of proof against plain search: on small models that a translation may get wrong, and with faults in it."""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import z3

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.symbolic import certificate, cross_check, smt_terms, transition_system
from reassure.checkers.engines.symbolic.certificate import Certificate
from reassure.checkers.engines.symbolic.pdr import _quantified, _without_quantifiers
from reassure.checkers.engines.symbolic.smt_terms import Term
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.result import CheckResult
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.types import IntType, Type
from reassure.spec.semantics.interpreter import BoundModel

METHODS = ("bmc", "induction", "k-induction", "pdr", "auto")

HEAD = """
from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range, action, every, initial, invariant, require, some, step_property

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 64)] = 2

@dataclass(frozen=True)
class Pair:
    low: Annotated[int, Range(-1, 0)] = 0
    node: Node | None = None

@dataclass(frozen=True)
class Nothing: ...

@dataclass(frozen=True)
class Letter:
    pairs: Annotated[frozenset[Pair], MaxSize(2)] = frozenset()
    queue: Annotated[tuple[Node, ...], MaxLen(2)] | None = None

class Only(Enum):
    ONE = 1

"""

MODEL = (
    HEAD
    + """
@dataclass(frozen=True)
class State:
{fields}
    k: Annotated[int, Range(0, 9)] = 0

@initial
def start(c: Config) -> State:
    return State()

@action(who="tester"{drawn})
def go(s: State, c: Config{params}) -> State:
    {body}

@invariant
def claim(s: State) -> bool:
    return {claim}

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
)


def small(fields: str, body: str, claim: str, params: str = "", drawn: str = "") -> str:
    lines = "".join(f"    {line.strip()}\n" for line in fields.split(";"))
    return MODEL.format(
        fields=lines, body=body, claim=claim, params=params and ", " + params, drawn=drawn and ", " + drawn
    )


MODELS = {
    # name: its text, and whether the claim holds
    "absent_below_zero": (
        small("v: Annotated[int, Range(-1, 0)] | None = None", "require(s.k < 3)\n    return replace(s, k=s.k + 1, v=None)", "s.k < 2"),
        False,
    ),
    "absent_record_below_zero": (
        small("p: Pair | None = Pair()", "require(s.k < 3)\n    return replace(s, k=s.k + 1, p=None)", "s.k < 2"),
        False,
    ),
    "record_comes_and_goes": (
        small(
            "p: Pair | None = None",
            "require(s.k < 4)\n    return replace(s, k=s.k + 1, p=Pair(-1) if s.p is None else None)",
            "s.k < 4",
        ),
        False,
    ),
    "maximum_below_zero": (
        small("x: Annotated[int, Range(-8, -1)] = -1", "require(s.x > -8)\n    return replace(s, x=max(-6, s.x) - 1)", "max(-4, s.x) == s.x"),
        False,
    ),
    "maximum_and_another": (
        small("x: Annotated[int, Range(-7, -2)] = -2; y: Annotated[int, Range(-7, 2)] = -2", "require(s.x > -7)\n    return replace(s, x=s.x - 1, y=s.y)", "s.x == max(-4, s.x)"),
        False,
    ),
    "quotient": (
        small("x: Annotated[int, Range(-8, 3)] = -7", "return replace(s, x=s.x // 3)", "s.x != -3"),
        False,
    ),
    "remainder": (
        small("x: Annotated[int, Range(-8, 8)] = -8", "return replace(s, x=s.x % 3 - 5)", "s.x != -4"),
        False,
    ),
    "remainder_holds": (
        small("x: Annotated[int, Range(-8, 8)] = -8", "return replace(s, x=s.x % 3 - 8)", "-9 < s.x < -5"),
        True,
    ),
    "product_of_large": (
        small("x: Annotated[int, Range(-(1 << 30), 1 << 30)] = -6561", "require(s.x > -32768)\n    return replace(s, x=s.x * s.x * -1)", "s.x > -7000"),
        False,
    ),
    "large_numbers": (
        small("x: Annotated[int, Range(-(1 << 50), 1 << 50)] = 100000000", "require(-5 < s.x < 50000000000000)\n    return replace(s, x=s.x * 1000 - 1)", "s.x < 100000000000"),
        False,
    ),
    "sequence": (
        small("q: Annotated[tuple[Node, ...], MaxLen(2)] | None = ()", "return replace(s, q=None if s.q == () else () if s.q is None else s.q[1:])", "s.q is not None"),
        False,
    ),
    "sequence_holds": (
        small("q: Annotated[tuple[Node, ...], MaxLen(2)] = ()", "require(len(s.q) < 2)\n    return replace(s, q=s.q + (n,))", "len(s.q) <= 2", "n: Node"),
        True,
    ),
    "optional_set_parameter": (
        small("a: frozenset[Node] | None = None", "return replace(s, a=a, k=0 if a is None else len(a))", "s.k < 2", "a: frozenset[Node] | None"),
        False,
    ),
    "optional_record_parameter": (
        small("p: Pair | None = None", "require(s.p is None)\n    return replace(s, p=p)", "s.p is None or some(s.p).low == 0", "p: Pair | None"),
        False,
    ),
    "messages": (
        small(
            "sent: Annotated[frozenset[Pair], MaxSize(2)] = frozenset()",
            "require(s.k < 3)\n    return replace(s, k=s.k + 1, sent=(s.sent | {Pair(-1)}) if s.k < 2 else frozenset())",
            "s.k < 3 or s.sent != frozenset()",
        ),
        False,
    ),
    "set_of_records_parameter": (
        small("", "require(len(m) == 2)\n    return replace(s, k=sum(p.low + 2 for p in m))", "s.k <= 4", "m: Annotated[frozenset[Pair], MaxSize(2)]"),
        True,
    ),
    "empty_record": (small("e: Nothing = Nothing()", "require(s.k < 2)\n    return replace(s, e=Nothing(), k=s.k + 1)", "s.k < 2"), False),
    "messages_in_messages": (
        small(
            "sent: Annotated[frozenset[Letter], MaxSize(2)] = frozenset()",
            "require(s.k < 3)\n    return replace(s, k=s.k + 1, sent=frozenset({Letter(frozenset({Pair(-1)}), (Node(0),))}))",
            "s.k < 3 or s.sent == frozenset()",
        ),
        False,
    ),
    "bound_left_beside_one_value": (
        small(
            "x: Map[bool, Annotated[tuple[Only, ...], MaxLen(1)]] = Map({False: (), True: ()}); q: Annotated[tuple[Node, ...], MaxLen(1)] = ()",
            "return replace(s, q=s.q + s.q)",
            "s.k == 0",
        ),
        True,
    ),
    "raises_out_of_reach": (
        small("a: frozenset[Node] = frozenset()", "require(s.k < 3)\n    return replace(s, k=s.k + 1, a=every(Node, c))", "s.k == 0 or max(s.a) == Node(1)"),
        True,
    ),
}  # fmt: skip


def asked(path: Path, method: str, **options: Any) -> CheckRequest:
    return CheckRequest(str(path), [], f"prove:{method}", SearchOptions(**options), proof=ProofOptions(method))


def proved(path: Path, method: str, **options: Any) -> tuple[CheckResult, Certificate | None]:
    request = asked(path, method, **options)
    result, _ = run(request, Progress(quiet=True))
    return result, result.proof.certificate if result.proof is not None else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@cache
def searched_by_python(folder: Path, name: str) -> tuple[Path, CheckResult, BoundModel]:
    """A file with a model, and what every method is compared with."""
    path = folder / f"{name}.py"
    path.write_text(MODELS[name][0])
    return path, *run(CheckRequest(str(path), [], "reference", SearchOptions()), Progress(quiet=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_search(name: str, method: str, folder: Path) -> None:
    """Never `proved` of what a search refutes, never `violated` of what holds; and a certificate is one."""
    holds = MODELS[name][1]
    path, searched, bound = searched_by_python(folder, name)
    assert searched.properties[0].status in (("holds", "holds_within_bounds") if holds else ("violated",))
    verdict, found = proved(path, method)
    (finding,) = verdict.properties
    allowed = {"holds_to_depth", "unknown"} | ({"proved", "holds_within_bounds"} if holds else {"violated"})
    assert finding.status in allowed
    if not holds and method in ("bmc", "k-induction", "auto"):
        assert (finding.status, finding.depth) == ("violated", searched.properties[0].depth)
    if found is not None:
        assert certificate.verify(found, lower_model(bound)) == []


# -- faults in the translation, and in Z3 -------------------------------------------------------------------------


def truncated(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
    return a / b


def refused(path: Path, method: str) -> str:
    """The message of a run that finds a disagreement; what it says of the claim otherwise."""
    try:
        verdict, _ = proved(path, method)
    except Failure as failure:
        assert failure.code is Exit.DISAGREE
        return "disagreement"
    return verdict.properties[0].status


@pytest.mark.parametrize("method", METHODS)
def test_a_fault_in_arithmetic_proves_nothing(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formulas say that -7 // 3 is -2: a proof by them is not believed."""
    monkeypatch.setitem(smt_terms.OPERATIONS, "floordiv", smt_terms.arithmetic(truncated))
    path = tmp_path / "quotient.py"
    path.write_text(MODELS["quotient"][0])
    assert refused(path, method) == "disagreement"


def highest(right: Any) -> Any:
    """The type invariant leaves out the encoding that steps have for an absent value."""

    def absent(kind: Type) -> Term:
        return smt_terms.constant_term(kind.high if isinstance(kind, IntType) else 0, kind)

    return absent


def disabled(right: Any) -> Any:
    """Formulas that know no step prove everything; plain Python takes one."""

    def judged(self: Any, outcome: Any, terms: Any) -> Any:
        enabled, clipped, error = right(self, outcome, terms)
        return (z3.BoolVal(False) if outcome.name == "go" else enabled), clipped, error

    return judged


def never(right: Any) -> Any:
    """The formula of a claim is true in every state."""

    def lt(self: Graph, a: Node, b: Node) -> Node:
        return right(self, a, b) if b.op != "const" or b.data != 9 else self.true

    return lt


def emptied(right: Any) -> Any:
    """What Houdini takes for inductive is checked by another solver."""

    def of(*arguments: Any) -> Certificate:
        found: Certificate = right(*arguments)
        found.lemmas = []
        return found

    return of


BELOW_9 = small(
    "x: Annotated[int, Range(0, 9)] = 0", "return replace(s, x=x)", "s.x < 9", "x: Annotated[int, Range(0, 9)]"
)
FOUND = ("disagreement",)
FAULTS: dict[str, tuple[Any, str, Callable[[Any], Any], str, tuple[str, ...], tuple[str, ...]]] = {
    # where, the function, the wrong one given the right one, the model, methods, and what one of them may end with
    "a second code for absent": (
        transition_system,
        "absent",
        highest,
        MODELS["absent_below_zero"][0],
        METHODS,
        (*FOUND, "unknown", "violated"),
    ),
    "a lost step": (transition_system.Machine, "_judged", disabled, MODELS["remainder_holds"][0], METHODS, FOUND),
    "a claim read otherwise": (Graph, "lt", never, BELOW_9, ("induction", "k-induction", "pdr"), FOUND),
    "an empty certificate": (
        Certificate,
        "of",
        emptied,
        MODELS["remainder_holds"][0],
        ("induction", "pdr", "auto"),
        FOUND,
    ),
}


@pytest.mark.parametrize(("fault", "method"), [(fault, method) for fault in FAULTS for method in FAULTS[fault][4]])
def test_a_fault_proves_nothing(fault: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong, text, _, endings = FAULTS[fault]
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    path = tmp_path / "faulty.py"
    path.write_text(text)
    assert refused(path, method) in endings


@pytest.mark.parametrize(
    "answer", [lambda reached: z3.BoolVal(True), lambda reached: reached == z3.BoolVal(False), lambda reached: reached]
)
def test_what_spacer_says_is_checked(
    answer: Callable[[z3.BoolRef], z3.BoolRef], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`unsat` without an invariant that passes its check proves nothing."""

    class Claiming(z3.Fixedpoint):  # type: ignore[misc]
        """Says that nothing is reached, by an invariant of any kind."""

        def register_relation(self, *relations: z3.FuncDeclRef) -> None:
            self.head = relations[-1]
            super().register_relation(*relations)

        def query(self, *goal: object) -> z3.CheckSatResult:
            return z3.unsat

        def get_answer(self) -> z3.ExprRef:
            variables = [z3.Const(f"v{i}", self.head.domain(i)) for i in range(self.head.arity())]
            return z3.ForAll(variables, answer(self.head(*variables)))

    monkeypatch.setattr(z3, "Fixedpoint", Claiming)
    path = tmp_path / "spacer.py"
    path.write_text(MODELS["sequence"][0])
    assert refused(path, "pdr") == "unknown"


def test_quantifiers_of_an_answer_become_instances() -> None:
    x, y, b, wide = z3.BitVec("x", 2), z3.BitVec("y", 2), z3.Bool("b"), z3.BitVec("wide", 9)
    some = z3.Exists([x, b], z3.And(b, x + y == 3, z3.ForAll([b], z3.Or(b, x != 0, y != x))))
    for quantified in (some, z3.And(y != 1, z3.Not(some), b), z3.ForAll([x], z3.Or(x != y, x == 2))):
        without = _without_quantifiers(quantified)
        assert without is not None and not _quantified(without)
        solver = z3.Solver()
        solver.add(without != quantified)
        assert solver.check() == z3.unsat
    assert _without_quantifiers(z3.Exists([*z3.BitVecs("u v", 6)], z3.BitVec("u", 6) != z3.BitVec("v", 6))) is None
    assert _without_quantifiers(z3.Exists([x], z3.ForAll([wide], z3.Extract(1, 0, wide) != x))) is None
    assert _without_quantifiers(z3.Or(b, z3.Exists([z3.Int("i")], z3.Int("i") > 0))) is None


# -- what raises ----------------------------------------------------------------------------------------------------

RAISES = (
    HEAD
    + """
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 9)] = 0
    a: frozenset[Node] = frozenset()

@initial
def start(c: Config) -> State:
    return State()

@action(who="tester")
def go(s: State, c: Config) -> State:
    require(s.n < 5)
    return replace(s, n=s.n + 1)

@invariant
def few(s: State) -> bool:
    return s.n <= 5

@invariant
def raising(s: State) -> bool:
    return max(s.a) == Node(1)

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
)


@pytest.mark.parametrize("method", METHODS)
def test_a_claim_that_was_not_asked_for_may_raise(method: str, tmp_path: Path) -> None:
    path = tmp_path / "raises.py"
    path.write_text(RAISES)
    verdict, _ = proved(path, method, properties=["few"])
    assert [(p.name, p.status) for p in verdict.properties] == [("few", "proved")]


@pytest.mark.parametrize("method", ["induction", "k-induction", "pdr"])
def test_an_action_that_raises_is_not_proved_away(method: str, tmp_path: Path) -> None:
    """A step that raises is not a step: what is proved without it is not proved."""
    path = tmp_path / "raises.py"
    path.write_text(
        RAISES.replace("return replace(s, n=s.n + 1)", "return replace(s, n=s.n + 1, a=frozenset({max(s.a)}) | s.a)")
    )
    verdict, _ = proved(path, method, properties=["few"])
    assert [(p.name, p.status) for p in verdict.properties] == [("few", "unknown"), ("raises", "raised")]
    assert verdict.exit() is Exit.MODEL


def test_an_action_that_may_raise_leaves_a_claim_open(tmp_path: Path) -> None:
    """Where induction cannot exclude it, though no reachable state raises."""
    text = RAISES.replace("    require(s.n < 5)\n", "    require(s.n < 5 and (s.n < 7 or max(s.a) == Node(1)))\n")
    text = text.replace(
        "n=s.n + 1)", "n=s.n + 1 if s.n % 2 == 0 or s.a == frozenset() else max(0, len({max(s.a - s.a)})))"
    )
    path = tmp_path / "may_raise.py"
    path.write_text(text)
    verdict, found = proved(path, "induction", properties=["few"])
    assert [p.status for p in verdict.properties] == ["unknown"]
    assert "raises nowhere" in verdict.properties[0].note
    assert found is None and verdict.exit() is Exit.INCONCLUSIVE


# -- drawn states ---------------------------------------------------------------------------------------------------


def test_ends_of_ranges_are_drawn() -> None:
    import random

    drawn = {cross_check.draw(IntType(-5, 1 << 40), random.Random(i)) for i in range(30)}
    assert {-5, 1 << 40} < drawn
