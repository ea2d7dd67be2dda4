"""Properties about whole runs, by every engine that decides them: graphs with known answers, drawn models."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.native.liveness import decide
from reassure.checkers.engines.native.liveness.decide import Liveness, Survey
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.result import CheckResult, PropertyResult, PropertyStatus
from tests.helpers.labelled_graph import Steps, among, graph_file, leads_to_text
from tests.helpers.model_text import module

GRAPH = "native, by the graph alone"
NEAR = "native, from a few states near the first start"
ENGINES = ("reference", "native", GRAPH, NEAR)


def checked(path: str, engine: str, **options: Any) -> CheckResult:
    """Of a model, by an engine, without what may answer before its graph does."""
    request = CheckRequest(path, [], engine.partition(",")[0], SearchOptions(**options))
    with ExitStack() as changes:
        if engine in (GRAPH, NEAR):
            changes.enter_context(patch.object(Survey, "excludes_all", lambda *_: False))
            changes.enter_context(patch.object(Liveness, "_stops", lambda *_: False))
        if engine == NEAR:
            changes.enter_context(patch.multiple(decide, LARGE=0, NEAR=3))
        return run(request, Progress(quiet=True))[0]


def decided(
    engine: str, folder: Path, actions: dict[str, Steps], properties: str, top: int = 6
) -> tuple[PropertyResult, CheckResult]:
    """What an engine says of the one property of a graph."""
    result = checked(graph_file(folder, actions, properties, top), engine)
    return result.properties[0], result


def verdict(
    engine: str, folder: Path, actions: dict[str, Steps], premise: list[int], goal: list[int], top: int = 6
) -> str:
    """The status of a leads-to, or of a violation the states, those that repeat in brackets."""
    return told(decided(engine, folder, actions, leads_to_text(premise, goal), top)[0])


def told(found: PropertyResult) -> str:
    """The same of a result."""
    if found.trace is None:
        return str(found.status)
    at = [str(s.at) for s in found.trace.states]
    assert found.trace.loop is not None
    return " ".join([*at[: found.trace.loop], "(", *at[found.trace.loop :], ")"])


CIRCLE = ((0, 1), (1, 0))
LINE = ((0, 1), (1, 2))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("actions", "premise", "goal", "expected"),
    [
        # Nothing need happen.
        ({"go": Steps(LINE)}, [0], [2], "( 0 )"),
        ({"go": Steps(LINE)}, [1], [2], "0 ( 1 )"),
        ({"go": Steps(LINE, "weak")}, [0], [2], "holds"),
        ({"go": Steps(LINE, "strong")}, [0], [2], "holds"),
        # A goal that is there already.
        ({"go": Steps(LINE)}, [2], [2], "holds"),
        # A premise that no state satisfies.
        ({"go": Steps(LINE, "weak")}, [5], [2], "vacuous"),
        # A dead end is where a run stops, fair or not.
        ({"go": Steps(((0, 1),), "weak")}, [0], [2], "0 ( 1 )"),
        # Round and round, while the way out is open now and then: weak fairness does not help, strong does.
        ({"turn": Steps(CIRCLE, "weak"), "leave": Steps(((1, 2),), "weak")}, [0], [2], "( 0 1 )"),
        ({"turn": Steps(CIRCLE, "weak"), "leave": Steps(((1, 2),), "strong")}, [0], [2], "holds"),
        # The way out is open all the time.
        ({"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 2)), "weak")}, [0], [2], "holds"),
        ({"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 2)))}, [0], [2], "( 0 )"),
        # Each step out is open now and then, but one of them always: fair together, not one by one.
        ({"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 3)), "weak")}, [0], [2, 3], "holds"),
        ({"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 3)), "weak", each=True)}, [0], [2, 3], "( 0 1 )"),
        ({"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 3)), "strong", each=True)}, [0], [2, 3], "holds"),
        # Taken again and again, but always the other one: fair for some, not for each.
        ({"go": Steps(((0, 1), (1, 0), (0, 2)), "weak")}, [0], [2], "( 0 1 )"),
        ({"go": Steps(((0, 1), (1, 0), (0, 2)), "strong")}, [0], [2], "( 0 1 )"),
        ({"go": Steps(((0, 1), (1, 0), (0, 2)), "weak", each=True)}, [0], [2], "( 0 1 )"),
        ({"go": Steps(((0, 1), (1, 0), (0, 2)), "strong", each=True)}, [0], [2], "holds"),
        # A step that changes nothing is not a step.
        ({"stay": Steps(((0, 0),), "weak")}, [0], [1], "( 0 )"),
        ({"stay": Steps(((0, 0), (1, 1)), "strong"), "go": Steps(LINE, "weak")}, [0], [2], "holds"),
        # Another action that leads to the same state counts as well.
        ({"turn": Steps(CIRCLE), "same": Steps(((0, 1),), "strong"), "go": Steps(((1, 2),))}, [0], [2], "( 0 1 )"),
        # The loop goes round twice: two strongly fair steps that do not fit into one round.
        (
            {
                "right": Steps(((0, 1), (1, 0)), "strong"),
                "left": Steps(((0, 2), (2, 0)), "strong"),
                "out": Steps(((0, 3),), None),
            },
            [0],
            [3],
            "( 0 2 0 1 )",
        ),
        # A shorter stem goes before a shorter loop.
        ({"go": Steps(((0, 1), (1, 2), (2, 0), (2, 3)), "weak"), "end": Steps(((3, 4),))}, [0], [6], "( 0 1 2 )"),
    ],
)
def test_known_graphs(
    engine: str, actions: dict[str, Steps], premise: list[int], goal: list[int], expected: str, tmp_path: Path
) -> None:
    assert verdict(engine, tmp_path, actions, premise, goal) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_strong_fairness_is_taken_apart_again_and_again(engine: str, tmp_path: Path) -> None:
    """Without the states that `a` leaves, the rest falls apart; in what is left `b` is starved; nothing remains."""
    actions = {
        "round": Steps(((0, 1), (1, 2), (2, 3), (3, 0), (2, 1))),
        "a": Steps(((3, 5),), "strong"),
        "b": Steps(((1, 5), (0, 5)), "strong"),
        "on": Steps(((0, 1), (1, 2), (2, 3), (3, 0)), "weak"),
    }
    assert verdict(engine, tmp_path, actions, [0], [5]) == "holds"
    fair_b = {**actions, "b": Steps(((0, 5),), "strong")}
    assert verdict(engine, tmp_path, fair_b, [0], [5]) == "0 ( 1 2 )"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("declared", "holding", "expected"),
    [
        ("infinitely_often", [0], "holds"),
        ("infinitely_often", [2], "violated"),
        ("infinitely_often", [0, 1], "holds"),
        ("eventually_always", [0, 1], "holds"),
        ("eventually_always", [0], "violated"),
        ("eventually_always", [0, 1, 2], "holds"),
    ],
)
def test_recurrence_and_persistence(
    engine: str, declared: str, holding: list[int], expected: str, tmp_path: Path
) -> None:
    """The run goes to and fro between 0 and 1."""
    actions = {"turn": Steps(CIRCLE, "weak")}
    text = f"@{declared}\ndef holding(s: State) -> bool:\n    return {' or '.join(f's.at == {n}' for n in holding)}\n"
    found, _ = decided(engine, tmp_path, actions, text)
    assert found.status == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_persistent_loop_returns_to_a_violation(engine: str, tmp_path: Path) -> None:
    """0 <-> 1 <-> 2, and only 2 is bad: the loop has to go there though a shorter one does not."""
    actions = {"go": Steps(((0, 1), (1, 0), (1, 2), (2, 1)), "weak")}
    found, result = decided(
        engine, tmp_path, actions, "@eventually_always\ndef low(s: State) -> bool:\n    return s.at != 2\n"
    )
    assert found.trace is not None
    assert found.trace.loop == 0
    assert [s.at for s in found.trace.states] == [0, 1, 2, 1]
    assert result.exit() is Exit.LIVENESS


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_out_of_a_bound(engine: str, tmp_path: Path) -> None:
    """It is enabled, so that a bound holds nothing back; and what holds, holds within bounds."""
    out = {"turn": Steps(CIRCLE), "go": Steps(((0, 2), (1, 3)), "weak")}
    found, result = decided(engine, tmp_path, out, leads_to_text([0], [2]), top=2)
    assert found.status is PropertyStatus.HOLDS_WITHIN_BOUNDS
    assert result.exit() is Exit.INCONCLUSIVE
    assert verdict(engine, tmp_path, {**out, "go": Steps(((0, 3), (1, 3)))}, [0], [2], top=2) == "( 0 )"


LEAVES = ((0, 3), (1, 3))
ONE_MAY_END = {"go": Steps(((0, 1), (0, 2), (1, 3)), "weak")}


RESTS = "a fair run would violate it if steps beyond the bounds (at) were disabled"
UP, WIN = Steps(((0, 1), (1, 3)), "weak"), ((0, 2), (1, 2))
"""Steps that lead out of the bound in the end; and those that lead to 2 instead."""


def beyond(count: int, of: int) -> str:
    """The remark that so many states have."""
    states = f"{count} of {of} states that satisfy its premise"
    return f"no fair run within the bounds (at) goes through {states}; {RESTS}; assuming weak fairness of go"


ALL_BEYOND = "every fair run that satisfies its premise leaves a bound (at)"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("actions", "premise", "goal", "expected", "states", "note"),
    [
        # Always enabled, taken beyond the bound alone: whatever else is done for ever, that is not fair.
        ({"go": Steps(((0, 1), (1, 2), (2, 3)), "weak")}, [0], [], "vacuous", (1, 1), ALL_BEYOND),
        ({"go": Steps(((0, 1), (1, 2), (2, 3)), "weak")}, [0, 2], [2], "vacuous", (2, 2), ALL_BEYOND),
        ({"turn": Steps(CIRCLE), "go": Steps(LEAVES, "weak")}, [1], [2], "vacuous", (1, 1), ALL_BEYOND),
        ({"turn": Steps(CIRCLE), "go": Steps(LEAVES, "strong")}, [1], [2], "vacuous", (1, 1), ALL_BEYOND),
        # From 1 on every fair run leaves the bound; from 0 on a fair run may end in 2.
        (ONE_MAY_END, [0, 1], [2], "holds_within_bounds", (2, 1), beyond(1, 2)),
        (ONE_MAY_END, [0, 1, 2], [2], "holds_within_bounds", (3, 1), beyond(1, 3)),
        (ONE_MAY_END, [1], [2], "vacuous", (1, 1), ALL_BEYOND),
        (ONE_MAY_END, [0], [2], "holds_within_bounds", (1, 0), f"{RESTS}; assuming weak fairness of go"),
        (ONE_MAY_END, [5], [2], "vacuous", None, "no reachable state satisfies its premise"),
        (ONE_MAY_END, [0], [1], "0 2", None, "assuming weak fairness of go"),
        # Enabled now and then: enough for strong fairness.
        ({"go": Steps(CIRCLE, "weak"), "out": Steps(((1, 3),), "weak")}, [0], [1], "holds_within_bounds", None, None),
        ({"go": Steps(CIRCLE, "weak"), "out": Steps(((1, 3),), "strong")}, [0], [1], "vacuous", (1, 1), ALL_BEYOND),
        # A step within the bound counts for the same action, but not for another value of its parameter.
        ({"go": Steps((*CIRCLE, (0, 3)), "strong")}, [0], [1], "holds_within_bounds", None, None),
        ({"go": Steps((*CIRCLE, (0, 3)), "strong", each=True)}, [0], [1], "vacuous", (1, 1), ALL_BEYOND),
        # A fair run goes through every state, by steps that need not be taken: `go` alone would leave the bound.
        (
            {"go": UP, "win": Steps(WIN)},
            [0, 1],
            [2],
            "holds_within_bounds",
            (2, 0),
            f"{RESTS}; assuming weak fairness of go",
        ),
        (
            {"go": UP, "win": Steps(WIN, "weak")},
            [0, 1],
            [2],
            "holds_within_bounds",
            None,
            "assuming weak fairness of go, win",
        ),
        (
            {"go": UP, "win": Steps(((0, 2),), "weak")},
            [0, 1],
            [2],
            "holds_within_bounds",
            (2, 1),
            beyond(1, 2) + ", win",
        ),
        ({"go": UP, "win": Steps(WIN)}, [0], [1, 2], "holds_within_bounds", None, "assuming weak fairness of go"),
        # What leaves the bound need not happen.
        ({"go": Steps(CIRCLE, "weak"), "out": Steps(LEAVES)}, [0], [1], "holds_within_bounds", None, None),
    ],
)
def test_fair_runs_that_leave_a_bound(
    engine: str,
    actions: dict[str, Steps],
    premise: list[int],
    goal: list[int],
    expected: str,
    states: tuple[int, int] | None,
    note: str | None,
    tmp_path: Path,
) -> None:
    """Such a run is none within the bounds: what only such runs are about is not established."""
    found, result = decided(engine, tmp_path, actions, leads_to_text(premise, goal), top=2)
    if expected == "0 2":
        assert told(found) == "0 ( 2 )"
    else:
        assert found.status == expected
    assert note is None or found.note == note
    assert found.record(None).get("premise") == (
        None
        if states is None
        else {"states": states[0], "without_fair_run": states[1], "rests_on_a_bound": RESTS in found.note}
    )
    codes = {"vacuous": Exit.VACUOUS, "holds_within_bounds": Exit.INCONCLUSIVE, "0 2": Exit.LIVENESS}
    assert result.exit() is codes[expected]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("declared", ["infinitely_often", "eventually_always"])
@pytest.mark.parametrize(
    ("actions", "expected", "note"),
    [
        ({"go": Steps(((0, 1), (1, 2), (2, 3)), "weak")}, "vacuous", "every fair run leaves a bound (at)"),
        (
            ONE_MAY_END,
            "holds_within_bounds",
            f"no fair run within the bounds (at) goes through 1 of 3 states; {RESTS}; assuming weak fairness of go",
        ),
        ({"go": Steps(((0, 1), (0, 3), (1, 2)), "weak")}, "holds_within_bounds", "assuming weak fairness of go"),
    ],
)
def test_no_fair_run_stays_within_the_bound(
    engine: str, declared: str, actions: dict[str, Steps], expected: str, note: str, tmp_path: Path
) -> None:
    text = f"@{declared}\ndef two(s: State) -> bool:\n    return s.at == 2\n"
    found, _ = decided(engine, tmp_path, actions, text, top=2)
    assert (found.status, found.note) == (expected, note)


@pytest.mark.parametrize("engine", ENGINES)
def test_exit_codes_and_fairness_beside_the_verdict(engine: str, tmp_path: Path) -> None:
    actions = {"turn": Steps(CIRCLE, "weak"), "leave": Steps(((1, 2),), "strong", each=True)}
    found, result = decided(engine, tmp_path, actions, leads_to_text([0], [2]))
    assert (found.status, result.exit()) == ("holds", Exit.OK)
    assert found.note == "assuming weak fairness of turn; strong fairness of leave (each to)"
    assert result.record({})["fairness"] == [
        {"action": "turn", "strength": "weak", "each": []},
        {"action": "leave", "strength": "strong", "each": ["to"]},
    ]
    path = graph_file(tmp_path, actions, leads_to_text([0], [2]))
    short = checked(path, engine, depth=1)
    assert (short.properties[0].status, short.exit()) == ("unknown", Exit.INCONCLUSIVE)
    vacuous, result = decided(engine, tmp_path, actions, leads_to_text([5], [2]))
    assert (vacuous.status, result.exit()) == ("vacuous", Exit.VACUOUS)


WHEEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

Place = Annotated[int, Range(0, 399)]

@dataclass(frozen=True)
class Config:
    pass

@dataclass(frozen=True)
class State:
    at: Place

@initial
def start(c: Config) -> State:
    return State(0)

@action(who="wheel", fair="{fair}", fair_each=("place",))
def turn(s: State, place: Place) -> State:
    require(s.at == place)
    return replace(s, at=(place + 1) % 400)

@action(who="wheel")
def begin_again(s: State) -> State:
    require(s.at == 390)
    return replace(s, at=0)

@infinitely_often
def comes_round(s: State) -> bool:
    return s.at == 399

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_fairness_for_each_of_many_values(engine: str, tmp_path: Path) -> None:
    """Strong fairness of the step on from 390 forbids to begin again for ever; each of 399 values counts by itself."""
    strong, weak = (
        checked(str(module(WHEEL.format(fair=fair), tmp_path, prelude="").__file__), engine).properties[0]
        for fair in ("strong", "weak")
    )
    assert strong.status is PropertyStatus.HOLDS
    assert weak.trace is not None
    assert ([s.at for s in weak.trace.states], weak.trace.loop) == (list(range(391)), 0)


def test_fairness_for_each_of_too_many_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reassure.checkers.engines.native.liveness.edge_lister.MOST_CONSTRAINTS", 398)
    path = str(module(WHEEL.format(fair="weak"), tmp_path, prelude="").__file__)
    with pytest.raises(Failure) as refused:
        checked(path, "native")
    assert refused.value.code is Exit.MODEL
    assert str(refused.value) == (
        "actions are fair for each of more than 398 values of their parameters (fair_each): "
        "name fewer parameters, or give them smaller types"
    )


NUMBERS = st.integers(0, 4)
DRAWN_STEPS = st.builds(
    Steps,
    st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6, unique=True).map(tuple),
    st.sampled_from([None, "weak", "strong"]),
).flatmap(lambda s: st.just(s) if s.fair is None else st.booleans().map(lambda each: Steps(s.steps, s.fair, each)))
DECLARED = st.sampled_from(["infinitely_often", "eventually_always"])


@st.composite
def properties(draw: st.DrawFn) -> str:
    """One property of each kind about drawn sets of states."""
    sets = st.sets(NUMBERS, max_size=4).map(sorted)
    texts = [leads_to_text(draw(sets), draw(sets))]
    for kind in ("infinitely_often", "eventually_always"):
        texts.append(f"@{kind}\ndef {kind}_{kind}(s: State) -> bool:\n    return {among(draw(sets))}\n")
    return "\n".join(texts)


@settings(max_examples=15, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), DRAWN_STEPS, min_size=1),
    properties(),
    st.integers(3, 4),
    st.sampled_from([3, 256]),
)
def test_drawn_models(actions: dict[str, Steps], text: str, top: int, room: int) -> None:
    """All find the same, run for run; steps to states above `top` leave the bound; tables of labels grow."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("reassure.checkers.engines.native.liveness.edge_lister.LABELS", room),
    ):
        path = graph_file(Path(folder), actions, text, top)
        plain, *others = (checked(path, engine) for engine in ENGINES)
    for native in others:
        assert [(p.name, told(p), p.note, p.premise) for p in native.properties] == [
            (p.name, told(p), p.note, p.premise) for p in plain.properties
        ]
        assert native.exit() is plain.exit()
