"""Proofs: what holds is proved, what falls is refuted as shortly as by search, and nothing is believed unchecked."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.symbolic.solver import milliseconds
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.result import CheckResult
from tests.helpers.command import interrupted, said

COUNTER = """
from dataclasses import dataclass, replace
from typing import Annotated
from reassure import Model, Range, action, invariant, initial, require, step_property

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 30)] = 0
    even: bool = True

@initial
def start(c: Config) -> State:
    return State()

@action(who="counter")
def count(s: State, c: Config) -> State:
    {guard}
    return replace(s, n=s.n + {by}, even=not s.even)

@invariant
def small(s: State) -> bool:
    return s.n <= 20

@invariant
def parity(s: State) -> bool:
    return s.even == (s.n % 2 == 0)

@step_property
def grows(before: State, after: State) -> bool:
    return after.n > before.n

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


def proved(model: str, pairs: list[str], method: str = "auto", depth: int | None = None, **options: Any) -> CheckResult:
    asked = CheckRequest(model, pairs, f"prove:{method}", SearchOptions(**options), proof=ProofOptions(method, depth))
    return run(asked, Progress(quiet=True))[0]


def statuses(verdict: CheckResult) -> dict[str, str]:
    return {p.name: p.status for p in verdict.properties}


def counter(folder: Path, guard: str = "require(s.n < 20)", by: int = 1) -> str:
    path = folder / f"counter{abs(hash((guard, by)))}.py"
    path.write_text(COUNTER.format(guard=guard, by=by))
    return str(path)


def test_core() -> None:
    """With more brokers than a search could do."""
    verdict = proved("core", ["brokers=6"])
    assert set(statuses(verdict).values()) == {"proved"}
    assert [bool(c.walks) for c in verdict.covers] == [True, True]
    assert (verdict.complete, verdict.exit()) == (True, Exit.OK)
    assert "isr_within_replicas" in verdict.proof.lemmas


def test_z3_searches_no_runs_that_the_kernel_has_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the proof has few lemmas: a core takes a further one only if it needs it."""

    def unexpected(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("reassure.checkers.engines.symbolic.prover.bounded_search", unexpected)
    verdict = proved("core", [])
    assert set(statuses(verdict).values()) == {"proved"}
    assert len(verdict.proof.lemmas) < 15


@pytest.mark.slow
def test_core_by_spacer() -> None:
    """Property-directed reachability needs no templates."""
    verdict = proved("core", [], "pdr")
    assert set(statuses(verdict).values()) == {"proved"}
    assert {p.note for p in verdict.properties} == {"by property-directed reachability"}


def test_core_is_not_inductive_by_itself() -> None:
    """Its properties alone do not carry themselves: the counterexample is shown, and is called what it is."""
    verdict = proved("core", [], "induction")
    assert verdict.exit() is Exit.INCONCLUSIVE
    assert statuses(verdict)["leader_in_isr"] == "unknown"
    found = next(p for p in verdict.properties if p.name == "leader_in_isr")
    assert found.note == "not inductive"
    before, after = found.counterexample_to_induction
    assert before.leader in before.isr and after.leader not in after.isr
    assert "not decided: " in verdict.stopped_because


def test_counter_holds(tmp_path: Path) -> None:
    model = counter(tmp_path)
    verdict = proved(model, [])
    assert statuses(verdict) == {"small": "proved", "parity": "proved", "grows": "proved"}
    assert verdict.exit() is Exit.OK


@pytest.mark.parametrize("method", ["auto", "bmc"])
def test_counter_falls(tmp_path: Path, method: str) -> None:
    """By the shortest trace, also where a bound comes later."""
    model = counter(tmp_path, guard="require(s.n < 29)", by=5)
    verdict = proved(model, [], method, depth=8)
    by_search, _ = run(CheckRequest(model, [], "native", SearchOptions()), Progress(quiet=True))
    found = {p.name: (p.status, p.depth) for p in verdict.properties if p.status == "violated"}
    assert found == {p.name: (p.status, p.depth) for p in by_search.properties if p.status == "violated"}
    assert found == {"small": ("violated", 6)}
    assert verdict.exit() is Exit.SAFETY


def test_step_property_falls(tmp_path: Path) -> None:
    verdict = proved(counter(tmp_path, guard="require(s.n > 0 or s.even)", by=0), [], depth=5)
    assert statuses(verdict)["grows"] == "violated"
    assert statuses(verdict)["parity"] == "violated"
    assert [len(p.trace) for p in verdict.properties if p.trace is not None] == [2, 2]


def test_leaving_a_bound_is_not_proved_away(tmp_path: Path) -> None:
    """Without its guard the counter leaves its bound: that is said, and no property is simply proved."""
    verdict = proved(counter(tmp_path, guard="pass"), [], properties=["parity"])
    assert statuses(verdict) == {"parity": "holds_within_bounds"}
    assert verdict.proof.bounds_open == ["n"]
    assert verdict.exit() is Exit.INCONCLUSIVE


def test_bounded_search_says_how_far(tmp_path: Path) -> None:
    verdict = proved(counter(tmp_path), [], "bmc", depth=4)
    assert set(statuses(verdict).values()) == {"holds_to_depth"}
    assert verdict.stopped_because == "depth 4 was reached"


def test_k_induction(tmp_path: Path) -> None:
    """`small` is inductive; so is `parity`; two steps do no harm."""
    verdict = proved(counter(tmp_path), [], "k-induction", depth=2)
    assert statuses(verdict)["small"] == "proved"
    assert {p.name: p.note for p in verdict.properties} == dict.fromkeys(("small", "parity", "grows"), "by 1-induction")


def test_k_induction_refutes_and_gives_up(tmp_path: Path) -> None:
    """A step that falls is found; what is not inductive is shown, and called what it is."""
    verdict = proved(counter(tmp_path, guard="require(s.n > 0 or s.even)", by=0), [], "k-induction", depth=2)
    assert statuses(verdict) == {"small": "proved", "parity": "violated", "grows": "violated"}
    verdict = proved("core", [], "k-induction", depth=2, properties=["leader_in_isr"])
    assert statuses(verdict) == {"leader_in_isr": "unknown"}
    assert (verdict.properties[0].note, len(verdict.properties[0].counterexample_to_induction)) == (
        "not 2-inductive",
        3,
    )


def test_decided_within_the_depth(tmp_path: Path) -> None:
    """Bounded search that decides everything does not say that its depth was the end of it."""
    verdict = proved(counter(tmp_path, guard="require(s.n < 2)"), [], "bmc", depth=8)
    assert set(statuses(verdict).values()) == {"proved"}
    assert {p.note for p in verdict.properties} == {"no run has more than 3 states"}
    assert (verdict.stopped_because, verdict.exit()) == ("everything asked for is decided", Exit.OK)
    verdict = proved(counter(tmp_path, guard="require(s.n < 29)", by=5), [], "bmc", depth=12, properties=["small"])
    assert statuses(verdict) == {"small": "violated"}
    assert verdict.stopped_because == "everything asked for is decided"


def test_a_cover_that_walks_miss_is_not_vacuous(tmp_path: Path) -> None:
    """Walks that do not reach a cover do not show that nothing does."""
    path = tmp_path / "covered.py"
    text = COUNTER.format(guard="require(s.n < 20)", by=1).replace(
        "MODEL =", "@cover\ndef never(s: State) -> bool:\n    return s.n == 25\n\nMODEL ="
    )
    path.write_text(text.replace("import Model", "import Model, cover"))
    verdict = proved(str(path), [])
    assert verdict.exit() is Exit.INCONCLUSIVE
    searched, _ = run(CheckRequest(str(path), [], "native", SearchOptions()), Progress(quiet=True))
    assert searched.exit() is Exit.VACUOUS


def test_bounded_search_looks_for_covers_too(tmp_path: Path) -> None:
    """What holds to a depth may be for want of occasion; a cover that nothing reached is not passed over."""
    goals = [
        f"@cover\ndef {name}(s: State) -> bool:\n    return s.n == {n}\n" for name, n in (("soon", 2), ("never", 25))
    ]
    path = tmp_path / "bounded_covers.py"
    text = COUNTER.format(guard="require(s.n < 20)", by=1).replace("MODEL =", "\n".join([*goals, "MODEL ="]))
    path.write_text(text.replace("import Model", "import Model, cover"))
    verdict = proved(str(path), [], "bmc", depth=4)
    assert [(c.name, c.depth) for c in verdict.covers] == [("soon", 3), ("never", None)]
    assert verdict.exit() is Exit.INCONCLUSIVE
    verdict = proved(str(path), [], "bmc", depth=4, properties=["small", "soon"])
    assert [(c.name, c.depth) for c in verdict.covers] == [("soon", 3)]
    assert (verdict.exit(), verdict.verdict) == (Exit.OK, "pass-to-depth")


def test_budget() -> None:
    verdict = proved("kraft", ["unclean=off"], budget=0.5)
    assert verdict.stopped_because == "the budget of 0.5 s ended"
    assert verdict.exit() is Exit.INCONCLUSIVE
    assert "proved" not in statuses(verdict).values()


def test_z3_is_not_stopped_before_the_budget_ends() -> None:
    """Else what ends a proof is called Z3's, where it is the budget's."""
    assert [milliseconds(seconds) for seconds in (0.5, 0.0101, 0.0000001, 0)] == [500, 11, 1, 1]


@pytest.mark.slow
def test_twice_the_same(tmp_path: Path) -> None:
    """Two processes, with other hashes of strings: the same answers from the same lemmas."""
    found = []
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.json"
        words = [sys.executable, "-m", "reassure", "prove", "core", f"--json={path}", "--quiet"]
        subprocess.run(words, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        record = json.loads(path.read_text())
        found.append((record["properties"], record["lemmas"]))
    assert found[0] == found[1]


def test_kraft_is_refuted_as_by_search() -> None:
    """The flaw that unclean election allows, by bounded search: as short as the explicit engine's."""
    names = ["cancel_spares_the_eligible"]
    verdict = proved("kraft", [], "bmc", depth=6, properties=names)
    assert [(p.status, p.depth) for p in verdict.properties] == [("violated", 5)]


def test_a_certificate_that_leaves_a_bound_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its one step leaves the bound: what is proved is proved of runs without it."""
    path, file = counter(tmp_path, guard="require(s.n < 40)", by=-1), tmp_path / "c.json"
    code, out, _ = said(capsys, "prove", path, f"--certificate={file}", "--property=small")
    assert (code, "holds within bounds" in out) == (5, True)
    code, out, _ = said(capsys, "verify", str(file), f"--model={path}")
    assert code == 5
    assert "within bounds: not excluded are steps that leave the bound of n, which the proof leaves out" in out


def test_a_claim_that_raises_is_not_proved(tmp_path: Path) -> None:
    """An invariant that Python cannot evaluate in some reachable state is not an invariant."""
    path = tmp_path / "raises.py"
    text = COUNTER.format(guard="require(s.n < 20)", by=1).replace("s.n <= 20", "min(s.there) == Node(0)")
    text = text.replace("even: bool = True", "even: bool = True\n    there: frozenset[Node] = frozenset()")
    text = text.replace("class Config: ...", "class Config:\n    nodes: Annotated[int, Range(1, 3)] = 2")
    node = 'class Node(Id, size="nodes"): ...\n\n@dataclass(frozen=True)\nclass State:'
    text = text.replace("@dataclass(frozen=True)\nclass State:", node)
    path.write_text(text.replace("import Model", "import Id, Model"))
    for method in ("induction", "auto"):
        verdict = proved(str(path), [], method)
        assert statuses(verdict)["small"] == "unknown"
        assert verdict.properties[-1].note.startswith("small raised ValueError")
        assert verdict.exit() is Exit.MODEL


def test_another_seed_finds_no_other_truth() -> None:
    asked = CheckRequest("core", [], "prove:auto", SearchOptions(), proof=ProofOptions(seed=7))
    verdict, _ = run(asked, Progress(quiet=True))
    assert set(statuses(verdict).values()) == {"proved"}
    assert verdict.repro.endswith("--method=auto --seed=7")


def test_accepted_clipping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = counter(tmp_path, guard="pass")
    code, out, _ = said(capsys, "prove", model, "--property=parity", "--accept-clipping")
    assert code == 0
    assert "not excluded: steps that leave the bound of n, which the proof leaves out" in out


PAID = """
from dataclasses import dataclass, replace
from typing import Annotated
from reassure import Id, Model, Range, action, every, initial, invariant, require

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 4)] = 3

@dataclass(frozen=True)
class State:
    waiting: frozenset[Node] = frozenset()
    asked: Annotated[int, Range(0, 3)] = 0
    writes: Annotated[int, Range(0, {most})] = 0
    busy: bool = False

@initial
def start(c: Config) -> State:
    return State()

@action(who="admin")
def ask(s: State, c: Config) -> State:
    require(s.asked < 3 and not s.busy)
    return replace(s, asked=s.asked + 1, waiting=every(Node, c), writes=s.writes + 1, busy=True)

@action(who="node")
def join(s: State, c: Config, node: Node) -> State:
    require(node in s.waiting)
    return replace(s, waiting=s.waiting - {{node}}, writes=s.writes + 1)

@action(who="controller")
def done(s: State, c: Config) -> State:
    require(s.busy{guard})
    return replace(s, busy=False, writes=s.writes + 1)

@invariant
def requests_come_first(s: State) -> bool:
    return s.asked > 0 or not s.busy

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


def test_a_counter_that_others_pay_for(tmp_path: Path) -> None:
    """Each request makes a write, one for each node, and one at its end: 15 in all. No two fields say so."""
    path = tmp_path / "paid.py"
    path.write_text(PAID.format(most=15, guard=" and s.waiting == frozenset()"))
    verdict = proved(str(path), [])
    assert statuses(verdict) == {"requests_come_first": "proved"}
    assert (verdict.proof.bounds_open, verdict.exit()) == ([], Exit.OK)
    # One less is one too few: a step does leave the bound.
    path.write_text(PAID.format(most=14, guard=" and s.waiting == frozenset()"))
    verdict = proved(str(path), [])
    assert statuses(verdict) == {"requests_come_first": "holds_within_bounds"}
    assert (verdict.proof.bounds_open, verdict.exit()) == (["writes"], Exit.INCONCLUSIVE)


def test_what_never_clips_is_bounded_where_it_can_be(tmp_path: Path) -> None:
    """Nodes of an earlier request may still join: a search says whether the bound is left, and the proof agrees."""
    for most in (14, 15):
        path = tmp_path / f"early{most}.py"
        path.write_text(PAID.format(most=most, guard=""))
        searched, _ = run(CheckRequest(str(path), [], "native", SearchOptions()), Progress(quiet=True))
        verdict = proved(str(path), [])
        assert verdict.proof.bounds_open == (["writes"] if searched.stats.clipped else [])


def test_the_sum_is_in_the_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the bound is kept by what the certificate has, checked by a fresh solver."""
    path, file = tmp_path / "paid.py", tmp_path / "c.json"
    path.write_text(PAID.format(most=15, guard=" and s.waiting == frozenset()"))
    code, _, _ = said(capsys, "prove", str(path), f"--certificate={file}")
    assert code == 0
    texts = [lemma["text"] for lemma in json.loads(file.read_text())["lemmas"]]
    assert [t for t in texts if t.startswith("writes + ")]
    code, out, _ = said(capsys, "verify", str(file), f"--model={path}")
    assert (code, "they imply 1 property of paid" in out) == (0, True)


@pytest.mark.parametrize("method", ["induction", "k-induction", "auto"])
def test_a_state_without_fields(tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to draw lemmas from; the one state decides."""
    text = COUNTER.split("@invariant")[0].split("@action")[0].split("    n: Annotated")[0] + "    ...\n"
    start = "@initial\ndef start(c: Config) -> State:\n    return State()\n"
    stay = '@action(who="counter")\ndef stay(s: State) -> State:\n    return s\n'
    fine = "@invariant\ndef fine(s: State) -> bool:\n    return s == State()\n"
    (tmp_path / "empty.py").write_text(
        "\n".join([text, start, stay, fine, "MODEL = Model.of(__name__, state=State, config=Config)\n"])
    )
    code, out, _ = said(capsys, "prove", str(tmp_path / "empty.py"), f"--method={method}")
    assert (code, re.search(r"fine +proved", out) is not None) == (0, True), out


def test_what_lemmas_leave_open_is_left_to_spacer_where_there_is_a_budget() -> None:
    """Spacer may not end by itself; without a budget it is not tried, and the end says so."""
    verdict = proved("two_phase_commit", ["managers=2"], "auto")
    assert statuses(verdict)["consistent"] == "unknown"
    assert verdict.stopped_because == "not decided: consistent; with a --budget Spacer is tried"
    verdict = proved("two_phase_commit", ["managers=2"], "auto", budget=60.0)
    assert statuses(verdict)["consistent"] == "proved"


@pytest.mark.parametrize(
    ("cue", "words", "how"),
    [
        ("induction over the properties", "kraft", signal.SIGINT),
        ("candidate lemmas", "kraft", signal.SIGTERM),
        ("Spacer", "kraft --method=pdr --budget=60s", signal.SIGINT),
        ("goals proved", "core --any-number", signal.SIGINT),
    ],
)
def test_ctrl_c_leaves_a_report_and_a_record(cue: str, words: str, how: signal.Signals, tmp_path: Path) -> None:
    """Also within a query of Z3, whose own handler can wait for ever, and within a conversion of its terms."""
    record = tmp_path / "r.json"
    code, out, messages = interrupted(cue, "prove", *words.split(), f"--json={record}", how=how)
    told = json.loads(record.read_text())
    assert (code, told["exit_code"], told["complete"], told["stopped_because"]) == (5, 5, False, "interrupted")
    assert "\nstopped because interrupted\n" in out
    assert "Traceback" not in out + messages
