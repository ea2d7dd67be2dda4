"""Exact numbers; the native engine gives what the reference engine gives, for any number of threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers import check
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions, SimulationOptions
from reassure.checkers.request.prepare import prepare
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.configurations import MOST_STATES, VARIANTS, WIDEST, every_model, mutants, small
from tests.helpers.flaws import breaks
from tests.helpers.model_text import PRELUDE, module
from tests.helpers.runs import checked, everything, unoptimised

COUNTS = [
    ("die_hard", [], 16, 97, 8),
    ("two_phase_commit", [], 288, 1_146, 11),
    ("two_phase_commit", ["managers=5"], 8_832, 58_146, 17),
    ("core", [], 1_668, 7_699, 13),
]


@pytest.mark.parametrize(
    ("engine", "model", "pairs", "distinct", "generated", "depth"),
    [
        *(("reference", *row) for row in COUNTS),
        *(("native", *row) for row in COUNTS),
        ("native", "core", ["brokers=4"], 68_064, 393_953, 16),
        ("native", "core", ["brokers=5"], 1_989_040, 13_687_571, 19),
    ],
)
def test_exact_counts(engine: str, model: str, pairs: list[str], distinct: int, generated: int, depth: int) -> None:
    verdict, _ = checked(model, pairs, engine)
    stats = verdict.stats
    assert (stats.distinct, stats.generated, stats.depth) == (distinct, generated, depth)
    assert verdict.complete
    assert verdict.exit() is (Exit.SAFETY if model == "die_hard" else Exit.OK)


def test_the_goal_takes_six_steps() -> None:
    verdict, _ = checked("die_hard", [], "reference")
    (finding,) = [p for p in verdict.properties if p.trace]
    assert finding.name == "goal_not_reached"
    assert finding.trace is not None
    assert [s.action for s in finding.trace.steps] == [
        "empty", "fill_big", "big_to_small", "empty_small", "big_to_small", "fill_big", "big_to_small",
    ]  # fmt: skip
    assert verdict.exit() is Exit.SAFETY


@pytest.fixture
def loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check of a test is of the same loaded and lowered model."""
    kept = functools.cache(lambda model, pairs: prepare(model, list(pairs)))
    monkeypatch.setattr(check, "prepare", lambda model, pairs, *rest: kept(model, tuple(pairs)))


@pytest.mark.parametrize("name", every_model(slow=[*mutants(), *VARIANTS, WIDEST]))
@pytest.mark.usefixtures("loaded_once")
def test_every_model(name: str, optimise_no_more: Callable[[], None]) -> None:
    """Verdicts, counts and traces of the native engine are those of plain Python.

    For any number of threads; optimised and not; and whatever local variables hold that were not assigned.
    """
    pairs = small(name)
    if name in mutants():  # the optimised kernel of the model that it varies is compared too
        optimise_no_more()
    one, _ = checked(name, pairs, "native", workers=1, witness=True)
    assert one.stats.distinct <= MOST_STATES, f"give {name} smaller settings in tests/helpers/configurations"
    plain, _ = checked(name, pairs, "reference", witness=True)
    assert everything(one) == everything(plain)
    for workers, byte in ((2, 0x55), (3, 0xAA)):
        with unoptimised(byte):
            several, _ = checked(name, pairs, "native", workers=workers, witness=True)
        assert everything(several) == everything(plain), workers
    if name in mutants():
        assert breaks(name).keys() & {p.name for p in plain.properties if p.trace}, "its flaw does not show"


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_threads_change_nothing(workers: int) -> None:
    """In a space of so many states that every thread has some of each level."""
    one, _ = checked("core", ["brokers=4"], "native", workers=1)
    several, _ = checked("core", ["brokers=4"], "native", workers=workers)
    assert everything(several) == everything(one)


GRAPH = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(0, 200)] = 9

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, "top"{declared})]

@initial
def zero() -> State:
    return State(0)

@action(who="counter")
def add(s: State) -> State:
    require({guard})
    return replace(s, n=s.n + {by})

{more}

MODEL = Model.of(__name__, state=State, config=Config{options})
"""


def graph(folder: Path, guard: str = "True", by: int = 1, more: str = "", options: str = "", declared: str = "") -> str:
    made = module(GRAPH.format(guard=guard, by=by, more=more, options=options, declared=declared), folder, prelude="")
    return str(made.__file__)


@pytest.mark.parametrize("engine", ["reference", "native"])
class TestMeaning:
    def test_deadlock(self, engine: str, tmp_path: Path) -> None:
        verdict, _ = checked(graph(tmp_path, "s.n < 5"), [], engine)
        assert verdict.exit() is Exit.DEADLOCK
        (finding,) = verdict.properties
        assert (finding.kind, finding.status, finding.depth) == ("deadlock", "violated", 6)

    def test_terminal(self, engine: str, tmp_path: Path) -> None:
        more = "@terminal\ndef end(s: State) -> bool:\n    return s.n == 5\n"
        verdict, _ = checked(graph(tmp_path, "s.n < 5", more=more), [], engine)
        assert verdict.exit() is Exit.OK
        verdict, _ = checked(graph(tmp_path, "s.n < 4", more=more), [], engine)
        assert verdict.exit() is Exit.DEADLOCK

    def test_clipped(self, engine: str, tmp_path: Path) -> None:
        """Leaving a bound is counted, is not a deadlock, and makes the run inconclusive unless it is declared."""
        claim = "@invariant\ndef small(s: State) -> bool:\n    return s.n < 100\n"
        path = graph(tmp_path, more=claim)
        verdict, _ = checked(path, [], engine)
        assert [p.status for p in verdict.properties] == ["holds_within_bounds", "holds_within_bounds"]
        assert (verdict.stats.clipped, verdict.stats.clipped_at) == (1, {"n": 1})
        assert (verdict.stats.distinct, verdict.stats.generated) == (10, 11)
        assert verdict.exit() is Exit.INCONCLUSIVE
        asked = CheckRequest(path, [], engine, SearchOptions(), accept_clipping=True)
        assert run(asked, Progress(quiet=True))[0].exit() is Exit.OK
        declared = graph(tmp_path, more=claim, declared=", declared=True")
        assert checked(declared, [], engine)[0].exit() is Exit.OK

    def test_vacuous(self, engine: str, tmp_path: Path) -> None:
        more = "@cover\ndef far(s: State) -> bool:\n    return s.n == 7\n"
        assert (
            checked(graph(tmp_path, "s.n < 5", more=more, options=", deadlock=False"), [], engine)[0].exit()
            is Exit.VACUOUS
        )
        reached, _ = checked(graph(tmp_path, "s.n < 7", more=more, options=", deadlock=False"), [], engine)
        assert (reached.exit(), reached.covers[0].depth) == (Exit.OK, 8)

    def test_step_property_and_cover(self, engine: str, tmp_path: Path) -> None:
        more = """
@step_property
def small_steps(before: State, after: State) -> bool:
    return before.n != 3

@cover(on=add)
def from_two(before: State, after: State) -> bool:
    return before.n == 2
"""
        verdict, _ = checked(graph(tmp_path, "s.n < 6", more=more, options=", deadlock=False"), [], engine)
        assert [(p.status, p.depth) for p in verdict.properties] == [("violated", 5)]
        assert verdict.covers[0].depth == 4

    def test_fail_fast_and_depth(self, engine: str, tmp_path: Path) -> None:
        more = "@invariant\ndef small(s: State) -> bool:\n    return s.n < 3\n"
        path = graph(tmp_path, "s.n < 9", more=more, options=", deadlock=False")
        early, _ = checked(path, [], engine, fail_fast=True)
        assert (early.complete, early.stats.depth, early.exit()) == (False, 4, Exit.SAFETY)
        shallow, _ = checked(path, [], engine, depth=2)
        assert (shallow.complete, shallow.stats.depth) == (False, 2)
        assert [p.status for p in shallow.properties] == ["holds_to_depth"]
        assert shallow.exit() is Exit.OK

    def test_a_model_that_raises(self, engine: str, tmp_path: Path) -> None:
        more = """
class Node(Id, size="top"): ...

@action(who="counter")
def pick(s: State, c: Config) -> State:
    require(s.n == 4)
    return replace(s, n=0 if min(every(Node, c) - every(Node, c)) == Node(0) else 1)
"""
        verdict, _ = checked(graph(tmp_path, "s.n < 5", more=more), [], engine)
        (raised,) = [p for p in verdict.properties if p.status == "raised"]
        assert raised.note.startswith("pick() raised ValueError: min")
        assert (raised.depth, verdict.exit()) == (5, Exit.MODEL)

    def test_what_is_not_decided_is_no_pass(self, engine: str, tmp_path: Path) -> None:
        """A property about whole runs takes all states: part of them decides nothing."""
        more = """
def done(s: State) -> bool:
    return s.n == 5

@leads_to(done)
def it_ends(s: State) -> bool:
    return True
"""
        path = graph(tmp_path, "s.n < 5", more=more, options=", deadlock=False")
        verdict, _ = checked(path, [], engine)
        assert [p.status for p in verdict.properties] == ["violated"]
        assert verdict.exit() is Exit.LIVENESS
        for options in ({"depth": 2}, {"budget": 1e-9}):
            verdict, _ = checked(path, [], engine, **options)
            assert [p.status for p in verdict.properties] == ["unknown"]
            assert verdict.exit() is Exit.INCONCLUSIVE

    def test_budget(self, engine: str) -> None:
        verdict, _ = checked("core", ["brokers=5"], engine, budget=0.001)
        assert (verdict.complete, verdict.exit()) == (False, Exit.INCONCLUSIVE)
        assert "budget" in verdict.stopped_because
        assert {p.status for p in verdict.properties} == {"unknown"}


def many_claims(folder: Path, steps: int, states: int) -> str:
    """Claims that fall one after the other: the n-th step property at the n-th step, and likewise the invariants."""
    more = "".join(
        f"@step_property\ndef step_{k}(before: State, after: State) -> bool:\n    return before.n != {k}\n"
        for k in range(steps)
    ) + "".join(f"@invariant\ndef state_{k}(s: State) -> bool:\n    return s.n != {k}\n" for k in range(states))
    return graph(folder, f"s.n < {max(steps, states) - 1}", more=more, options=", deadlock=False")


def test_more_claims_than_a_word_has_bits(tmp_path: Path) -> None:
    """Of 100 step properties and 20 invariants each falls at its own depth, in a search as in walks."""
    path = many_claims(tmp_path, 100, 20)
    pairs = ["top=100"]
    native, _ = checked(path, pairs, "native")
    by_reference, _ = checked(path, pairs, "reference")
    # Repeated loading makes another class of the state.
    assert repr(everything(native)) == repr(everything(by_reference))
    found = {p.name: p.depth for p in native.properties}
    assert found == {f"step_{k}": k + 2 for k in range(99)} | {f"state_{k}": k + 1 for k in range(20)} | {
        "step_99": None
    }
    walked, _ = run(
        CheckRequest(path, pairs, "simulate", SearchOptions(), walks=SimulationOptions(1, 200)), Progress(quiet=True)
    )
    assert {p.name: p.depth for p in walked.properties} == found


def test_too_many_claims_over_states(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="61 invariants and covers of states: at most 60 are possible") as refused:
        checked(many_claims(tmp_path, 1, 61), [], "native")
    assert refused.value.code is Exit.MODEL


def test_memory_limit() -> None:
    verdict, _ = checked("core", ["brokers=5"], "native", memory=4 << 20)
    assert (verdict.complete, verdict.exit()) == (False, Exit.INCONCLUSIVE)
    assert "memory limit" in verdict.stopped_because
    assert verdict.stats.memory <= 4 << 20


def test_nondeterminism_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that answers differently the second time is an internal error, not a result."""
    calls = iter(range(10**6))
    attempts = BoundModel.attempts

    def flaky(self: BoundModel, state: Any) -> Any:
        found = list(attempts(self, state))
        return iter(found[next(calls) % 2 :])

    monkeypatch.setattr(BoundModel, "attempts", flaky)
    with pytest.raises(Failure) as caught:
        checked("die_hard", [], "reference")
    assert caught.value.code is Exit.INTERNAL


def test_a_wrong_kernel_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded faults of the emitter: what the kernel finds is believed only after plain Python has replayed it."""
    from reassure.checkers.engines.native.model import emit_nodes

    right = emit_nodes.OPERATIONS["add"]
    monkeypatch.setitem(emit_nodes.OPERATIONS, "add", lambda e, node: e.f.add(right(e, node), "1"))
    with pytest.raises(Failure) as caught:
        checked("die_hard", [], "native")
    assert caught.value.code is Exit.DISAGREE


@pytest.mark.parametrize(
    ("operation", "wrong"), [("minus", "union"), ("lt", "eq"), ("inter", "union"), ("lowest", "highest")]
)
def test_seeded_faults_change_the_counts(operation: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from reassure.checkers.engines.native.model import emit_nodes

    plain, _ = checked("core", [], "reference")
    monkeypatch.setitem(emit_nodes.OPERATIONS, operation, emit_nodes.OPERATIONS[wrong])
    try:
        native, _ = checked("core", [], "native")
    except Failure as failure:
        assert failure.code is Exit.DISAGREE
        return
    assert everything(native) != everything(plain)


def test_a_variant_with_a_further_field(tmp_path: Path) -> None:
    made = module(
        PRELUDE
        + """
@action(who="tester")
def act(s: State, node: Node) -> State:
    return replace(s, leader=node)

BASE = Model.of(__name__, state=State, config=Config)

@dataclass(frozen=True)
class More(State):
    moves: Annotated[int, Range(0, 2)] = 0

@action(who="tester")
def move(s: More) -> More:
    require(s.moves < 2)
    return replace(s, moves=s.moves + 1)

MODEL = BASE.adding(move, state=More)
""",
        tmp_path,
        prelude="",
    )
    assert isinstance(made.MODEL, Model)
    plain, _ = checked(str(made.__file__), [], "reference")
    native, _ = checked(str(made.__file__), [], "native")
    assert plain.stats.distinct == 12
    assert everything(native) == everything(plain)


MANY_ACTIONS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, initial, replace, require, terminal

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, {count})] = 0

@initial
def start(c: Config) -> State:
    return State()

@terminal
def ended(s: State, c: Config) -> bool:
    return s.n == {count}
"""


def many_actions(folder: Path, count: int) -> str:
    """A model of so many actions; each can be taken in the state that the one before leads to."""
    path = folder / f"actions_{count}.py"
    steps = (
        f'@action(who="nobody")\ndef step_{k}(s: State, c: Config) -> State:\n'
        f"    require(s.n == {k})\n    return replace(s, n={k + 1})\n"
        for k in range(count)
    )
    end = "\nMODEL = Model.of(__name__, state=State, config=Config)\n"
    path.write_text(MANY_ACTIONS.format(count=count) + "\n".join(steps) + end)
    return str(path)


def test_as_many_actions_as_tags(tmp_path: Path) -> None:
    """With 126 actions each state is counted for the action that reached it; with one more the model is refused."""
    native, _ = checked(many_actions(tmp_path, 126), [], "native")
    assert {name: (a.taken, a.new) for name, a in native.actions.items()} == {f"step_{k}": (1, 1) for k in range(126)}
    with pytest.raises(Failure, match="127 actions: the compiled engines take at most 126") as refused:
        checked(many_actions(tmp_path, 127), [], "native")
    assert refused.value.code is Exit.MODEL
    reference, _ = checked(many_actions(tmp_path, 127), [], "reference")
    assert reference.stats.distinct == 128


def test_a_state_of_more_words_than_kernels_take_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.py"
    path.write_text(
        "from dataclasses import dataclass\nfrom typing import Annotated\nfrom reassure import *\n"
        'class N(Id, size="n"): ...\nclass M(Id, size="m"): ...\n'
        "@dataclass(frozen=True)\nclass Config:\n    n: Annotated[int, Range(1, 9)] = 5\n"
        "    m: Annotated[int, Range(1, 13)] = 13\n"
        "@dataclass(frozen=True)\nclass State:\n    x: Map[N, Map[M, Annotated[int, Range(0, 1152921504606846976)]]]\n"
        "@initial\ndef start(c: Config) -> State:\n    return State(fill(N, c, fill(M, c, 7)))\n"
        '@action(who="nobody")\ndef stay(s: State) -> State:\n    return s\n'
        "MODEL = Model.of(__name__, state=State, config=Config)\n"
    )
    with pytest.raises(Failure, match="a state takes 66 words of 64 bits: the compiled engines take at most 64") as no:
        checked(str(path), [], "native")
    assert no.value.code is Exit.MODEL
    reference, _ = checked(str(path), [], "reference")
    assert reference.stats.distinct == 1
