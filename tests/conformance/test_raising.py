"""A model that raises: the shortest trace to it, beside all that was found before, the same from every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import ProofOptions, SearchOptions, SimulationOptions
from tests.helpers.command import report_of, said
from tests.helpers.raising_model import ACTION, written
from tests.helpers.runs import checked, everything

CLAIM = """
@{kind}
def lowest({parameters}) -> bool:
    return min({state}.alive) < Node(2)
"""
DRAWN = """
@action(who="node", k=lambda s: frozenset({min(s.alive)}))
def commit(s: State, node: Node, k: Node) -> State:
    require(node == k)
    return replace(s, n=1)
"""
KEY = """
@action(who="node")
def commit(s: State, node: Node) -> State:
    number = Map({(k, on): 1 if on else 2 for k in range(1, 4) for on in (False, True)})
    return replace(s, n=number[len(s.alive), node in s.alive])
"""
TERMINAL = """
@terminal
def done(s: State) -> bool:
    return min(s.alive) == Node(0)
"""
LATER = """
@leads_to({goal})
def emptied(s: State) -> bool:
    return {premise}
"""


def claim(kind: str, parameters: str, state: str) -> str:
    return CLAIM.format(kind=kind, parameters=parameters, state=state)


TEXTS = {
    "action": (ACTION, "commit", 4),
    "drawn": (DRAWN, "commit", 4),
    "key": (KEY, "commit", 4),
    "invariant": (claim("invariant", "s: State", "s"), "lowest", 4),
    "cover": (claim("cover", "s: State", "s"), "lowest", 4),
    "step, after": (claim("step_property", "before: State, after: State", "after"), "lowest", 4),
    "cover of a step": (claim("cover", "before: State, after: State", "after"), "lowest", 4),
    "terminal": (TERMINAL, "terminal", 4),
}


@pytest.mark.parametrize("what", list(TEXTS))
def test_engines_agree(what: str, tmp_path: Path) -> None:
    """Counts, other violations, and the trace; with one thread and with three."""
    text, by, depth = TEXTS[what]
    path = written(tmp_path, text)
    want, _ = checked(path, [], "reference")
    (raised,) = [p for p in want.properties if p.status == "raised"]
    assert (raised.name, raised.depth) == ("raises", depth)
    assert raised.trace is not None and raised.trace.meta["raises"]["by"] == by
    assert want.exit() is Exit.MODEL and not want.complete
    for workers in (1, 3):
        got, _ = checked(path, [], "native", workers=workers)
        assert repr(everything(got)) == repr(everything(want))


def test_what_was_found_before_is_told_too(tmp_path: Path) -> None:
    """Violations of the same level among it; the rest is unknown, never "holds"."""
    result, _ = checked(written(tmp_path, ACTION), [], "native")
    assert [(p.name, p.status, p.depth) for p in result.properties] == [
        ("two_are_alive", "violated", 3),
        ("one_is_alive", "violated", 4),
        ("not_two", "violated", 3),
        ("never", "unknown", None),
        ("deadlock", "unknown", None),
        ("raises", "raised", 4),
    ]
    assert result.stopped is not None and result.stopped.reason == "raised"


def test_the_report_the_record_and_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, record = written(tmp_path, ACTION), tmp_path / "r.json"
    code, out, _ = said(capsys, "check", path, f"--json={record}", f"--trace-dir={tmp_path}")
    line = Path(path).read_text().splitlines().index("    return replace(s, n=1 if min(s.alive) == k else 2)") + 1
    error = f"commit(k=Node(0)) raised ValueError: min() arg is an empty sequence (raising.py:{line})"
    story = out[out.index("raising: commit raises after 3 steps") :].splitlines()
    last = story[: story.index("")][-1]
    assert (code, last) == (150, f"  {error}")
    data = json.loads(record.read_text())
    assert (data["verdict"], data["exit_code"], data["stop_reason"]) == ("model-error", 150, "raised")
    raised = data["properties"][-1]
    assert (raised["status"], raised["error"], raised["depth"]) == ("raised", error, 4)
    assert [p["status"] for p in data["properties"]].count("violated") == 3
    trace = Path(raised["trace"])
    assert trace.name == "raising--raises.itf.json"
    assert json.loads(trace.read_text())["#meta"]["raises"] == {"by": "commit", "error": error}
    code, out, _ = said(capsys, "replay", str(trace), f"--model={path}")
    assert (code, report_of(out, 0)) == (0, "raising accepts the trace: 3 steps\ncommit raises at its end\n")
    repaired = Path(path).read_text().replace("min(s.alive) == k", "min(s.alive, default=k) == k")
    Path(path).write_text(repaired)
    code, out, _ = said(capsys, "replay", str(trace), f"--model={path}")
    assert (code, report_of(out, 15).splitlines()[-1]) == (15, "commit does not raise at its end")


def test_what_raises_is_told_where_not_every_trace_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not a property that is violated."""
    text = ACTION + "\n@invariant\ndef all_are_alive(s: State) -> bool:\n    return len(s.alive) == 3\n"
    code, out, _ = said(capsys, "check", written(tmp_path, text))
    told = [line for line in out.splitlines() if line.startswith("raising: ")]
    assert (code, told) == (
        150,
        [
            "raising: two_are_alive is violated after 2 steps",
            "raising: all_are_alive is violated after 1 step",
            "raising: commit raises after 3 steps",
        ],
    )
    assert "\n4 of 6 properties are violated; 2 more traces (--full prints all, --property NAME one)\n" in out


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(
    ("premise", "goal"),
    [("min(s.alive) == Node(0)", "lambda s: s.n == 3"), ("s.alive == NOBODY", "lambda s: min(s.alive) == Node(0)")],
)
def test_a_property_about_whole_runs_that_raises(premise: str, goal: str, engine: str, tmp_path: Path) -> None:
    """Every state is visited by then: what is about states and steps is decided."""
    text = ACTION.replace("min(s.alive)", "min(s.alive, default=k)") + LATER.format(premise=premise, goal=goal)
    result, _ = checked(written(tmp_path, text, ", deadlock=False"), [], engine)
    found = {p.name: (p.status, p.depth) for p in result.properties}
    assert found["emptied"] == ("unknown", None)
    assert found["never"] == ("holds", None)
    assert found["raises"] == ("raised", 4)
    assert result.exit() is Exit.MODEL


@pytest.mark.parametrize(
    ("goal", "premise", "first"),
    [
        ("lambda s: s.n == 3", "min(s.alive) == Node(0)", 4),
        ("lambda s: min(s.alive) == Node(0)", "s.n == 9", 4),
        ("lambda s: s.n == 3", "tuple(sorted(s.alive))[2] == Node(2)", 2),
    ],
)
def test_the_first_state_in_which_a_property_about_whole_runs_raises(
    goal: str, premise: str, first: int, tmp_path: Path
) -> None:
    """Each is asked in every reachable state, and its goal too; where one raises none of them is decided."""
    decided = "\n@leads_to(lambda s: s.n >= 0)\ndef always(s: State) -> bool:\n    return True\n"
    text = (
        ACTION.replace("min(s.alive)", "min(s.alive, default=k)") + decided + LATER.format(premise=premise, goal=goal)
    )
    path = written(tmp_path, text, ", deadlock=False")
    want, _ = checked(path, [], "reference")
    found = {p.name: (p.status, p.depth, p.note) for p in want.properties}
    open_ = ("unknown", None, "one about whole runs raises")
    assert (found["always"], found["emptied"], found["raises"][:2]) == (open_, open_, ("raised", first))
    assert want.stopped_because == "a property about whole runs raises in a reachable state"
    for workers in (1, 3):
        got, _ = checked(path, [], "native", workers=workers)
        assert repr(everything(got)) == repr(everything(want))


def test_random_walks(tmp_path: Path) -> None:
    """The same walks, and the same trace, with any number of threads."""
    path = written(tmp_path, ACTION)
    found: list[Any] = []
    for workers in (1, 3):
        options, walks = SearchOptions(workers=workers), SimulationOptions(300, 20, 4)
        result, _ = run(CheckRequest(path, [], "simulate", options, walks=walks), Progress(quiet=True))
        (raised,) = [p for p in result.properties if p.status == "raised"]
        assert raised.trace is not None
        assert [s.action for s in raised.trace.steps] == ["start", "crash", "crash", "crash"]
        assert result.exit() is Exit.MODEL
        found.append((raised.note, repr(raised.trace.states), {p.name: p.status for p in result.properties}))
    assert found[0] == found[1]
    assert found[0][2]["one_is_alive"] == "violated"


@pytest.mark.parametrize(
    ("method", "what"),
    [("bmc", "action"), *(("auto", what) for what in ("action", "drawn", "invariant", "step, after"))],
)
def test_proofs(method: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bounded search looks for what raises; nothing is said to hold to a depth that lies beyond it."""
    text, by, depth = TEXTS[what]
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, "prove", written(tmp_path, text), f"--method={method}", f"--json={record}")
    found = json.loads(record.read_text())["properties"]
    assert (code, found[-1]["status"], found[-1]["depth"]) == (150, "raised", depth)
    assert f"{by} raises after {depth - 1} steps" in out
    assert {p["status"] for p in found[:-1]} <= {"violated", "unknown", "not_checked"}


def test_bounded_search_that_ends_before_it_raises(tmp_path: Path) -> None:
    """As far as it looked nothing raises, and what it says holds to that depth."""
    asked = CheckRequest(
        written(tmp_path, ACTION), [], "prove:bmc", SearchOptions(["never"]), proof=ProofOptions("bmc", 3)
    )
    result, _ = run(asked, Progress(quiet=True))
    assert [(p.name, p.status) for p in result.properties] == [("never", "holds_to_depth")]


EARLY = """
@invariant
def always(s: State) -> bool:
    return len(s.alive) <= 3

@invariant
def raising(s: State) -> bool:
    return next(n for n in sorted(s.alive) if {wanted}) >= Node(0)
"""


@pytest.mark.parametrize("method", ["bmc", "induction", "k-induction", "pdr", "auto"])
@pytest.mark.parametrize(("wanted", "depth"), [("n > Node(2)", 1), ("n == Node(2)", 2)])
def test_proofs_beside_a_claim_that_raises(method: str, wanted: str, depth: int, tmp_path: Path) -> None:
    """In an initial state, or after one step: nothing is said of it; the other holds in every state all the same."""
    path = written(tmp_path, EARLY.format(wanted=wanted))
    asked = CheckRequest(path, [], f"prove:{method}", SearchOptions(), proof=ProofOptions(method))
    result, _ = run(asked, Progress(quiet=True))
    found = {p.name: (p.status, p.depth) for p in result.properties}
    assert found["raising"] == ("unknown", None)
    assert found["always"] == (("proved" if method in ("induction", "pdr", "auto") else "unknown"), None)
    if method not in ("induction", "pdr"):
        assert found["raises"] == ("raised", depth)
    assert result.exit() is (Exit.MODEL if "raises" in found else Exit.INCONCLUSIVE)


def test_bounded_search_asks_a_violated_claim_on(tmp_path: Path) -> None:
    """It may raise in a state that lies beyond its violation; nothing holds to a depth beyond that."""
    violated = "return next(n for n in sorted(s.alive) if n == Node(2)) == Node(0)"
    text = EARLY.replace("return next(n for n in sorted(s.alive) if {wanted}) >= Node(0)", violated)
    asked = CheckRequest(written(tmp_path, text), [], "prove:bmc", SearchOptions(), proof=ProofOptions("bmc"))
    result, _ = run(asked, Progress(quiet=True))
    assert [(p.name, p.status, p.depth) for p in result.properties if p.name != "deadlock"] == [
        ("always", "unknown", None),
        ("raising", "violated", 1),
        ("raises", "raised", 2),
    ]
