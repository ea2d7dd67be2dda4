"""Random walks: repeatable, as likely as they should be, honest about what they show, and their traces short."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.exploration import compiled
from reassure.checkers.engines.native.simulation import Walked, Walker, shortened
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions, SimulationOptions
from reassure.checkers.request.result import CheckResult
from reassure.checkers.traces.reconstruct import shows
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import PlainConfig, replay
from tests.helpers.command import said
from tests.helpers.runs import bind


def walked(model: str, pairs: list[str], walks: SimulationOptions, **options: Any) -> tuple[CheckResult, BoundModel]:
    return run(CheckRequest(model, pairs, "simulate", SearchOptions(**options), walks=walks), Progress(quiet=True))


def facts(verdict: CheckResult) -> dict[str, object]:
    record = verdict.record({})
    for key in ("seconds", "workers"):
        del record["stats"][key]
    record["traces"] = [p.trace and p.trace.states for p in verdict.properties]
    return record


def walker(name: str, values: PlainConfig, walks: SimulationOptions, idle: bool = True) -> Walker:
    model = load_model(name)
    bound, lowered = bind(model, values)
    layout = state_layout(bound)
    kernel = compiled(lowered, layout)
    starts = sorted(layout.encode(s) for _, _, s in bound.initial_states())
    return Walker(bound, kernel, walks, np.array(starts, np.uint64).view(np.int64).reshape(-1, layout.words), idle)


@pytest.mark.parametrize("model", ["core", "batching_example"])
def test_any_number_of_threads_takes_the_same_walks(model: str) -> None:
    one, two, five = (facts(walked(model, [], SimulationOptions(500, 30, 9), workers=n)[0]) for n in (1, 2, 5))
    assert one == two == five
    assert one != facts(walked(model, [], SimulationOptions(500, 30, 10), workers=1)[0])


def test_walks_are_runs_of_the_model() -> None:
    """Each state is an initial one, or a step's outcome in plain Python; and walks differ."""
    them = walker("kraft", {}, SimulationOptions(1, 40, 3))
    seen = set()
    for number in range(20):
        path = np.zeros((40, them.kernel.words), np.int64)
        _, count = them.run(number, number + 1, path)
        states = them.states(number, count)
        assert states[0] in [s for _, _, s in them.bound.initial_states()]
        for before, after in pairwise(states):
            assert after in [step.after for step in them.bound.steps(before)]
        seen.add(tuple(states))
    assert len(seen) == 20


@pytest.mark.parametrize("idle", [True, False])
def test_how_likely_states_are(idle: bool) -> None:
    """`die_hard` after six steps: the walks' shares beside the exact probabilities, with and without idle steps."""
    them = walker("die_hard", {}, SimulationOptions(20_000, 7, 1), idle)
    exact = {next(s for _, _, s in them.bound.initial_states()): 1.0}
    for _ in range(6):
        following: dict[Any, float] = {}
        for state, chance in exact.items():
            steps = [step for step in them.bound.steps(state) if idle or step.after != state]
            for step in steps:
                following[step.after] = following.get(step.after, 0) + chance / len(steps)
        exact = following
    found: dict[Any, float] = {}
    for number in range(4_000):
        state = them.states(number, 7)[-1]
        found[state] = found.get(state, 0) + 1 / 4_000
    assert set(found) <= set(exact)
    for state, chance in exact.items():
        assert abs(found.get(state, 0) - chance) < 0.03, state


IDLE = """
from reassure import cover, step_property
from reassure.models.examples import die_hard
from reassure.models.examples.die_hard import Jugs

@step_property
def steps_change_something(before: Jugs, after: Jugs) -> bool:
    return before != after or before.big != 5

@cover(on=die_hard.empty_big)
def nothing_is_emptied(before: Jugs, after: Jugs) -> bool:
    return before == after

MODEL = die_hard.MODEL.adding(steps_change_something, nothing_is_emptied)
"""


def test_idle_steps_are_taken_only_for_what_they_show(tmp_path: Path) -> None:
    """Once in a walk each: the property that an idle step violates, and the cover that only idle steps reach."""
    path = tmp_path / "idle.py"
    path.write_text(IDLE)
    verdict, bound = walked(str(path), [], SimulationOptions(300, 60, 1), witness=True)
    finding = next(p for p in verdict.properties if p.name == "steps_change_something")
    (cover,) = verdict.covers
    assert (finding.status, finding.depth, cover.depth) == ("violated", 3, 2)
    assert cover.walks is not None and cover.walks > 290
    for trace in (finding.trace, cover.trace):
        assert trace is not None and trace.states[-1] == trace.states[-2]
        replay(trace, bound)

    def idle_steps(idle: bool) -> list[int]:
        """By walk."""
        them = walker(str(path), {}, SimulationOptions(1, 60, 1), idle)
        return [sum(a == b for a, b in pairwise(them.states(number, 60))) for number in range(50)]

    assert set(idle_steps(idle=False)) == {2}
    assert min(idle_steps(idle=True)) > 2


def test_a_walk_ends_where_no_step_changes_anything(tmp_path: Path) -> None:
    """That is no deadlock: a step is enabled."""
    text = stuck(tmp_path).read_text()
    guarded = "    require(s.n < 3)\n    return replace(s, n=s.n + 1)"
    assert guarded in text
    path = tmp_path / "rests.py"
    path.write_text(text.replace(guarded, "    return replace(s, n=min(s.n + 1, 3))"))
    verdict, _ = walked(str(path), [], SimulationOptions(50, 30))
    assert [(p.name, p.status) for p in verdict.properties] == [("deadlock", "unknown")]
    assert verdict.simulation is not None and verdict.simulation.lengths == [{"from": 4, "to": 6, "walks": 50}]
    assert verdict.stats.generated == 150


def test_a_declared_weight_counts(tmp_path: Path) -> None:
    """Of the two actions of a coin one has weight 9: it is chosen nine times in ten, unless --weight differs."""
    path = tmp_path / "coin.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from reassure import Model, action, initial\n\n\n"
        "@dataclass(frozen=True)\nclass Config: ...\n\n\n"
        "@dataclass(frozen=True)\nclass Coin:\n    heads: bool\n    thrown: bool = True\n\n\n"
        "@initial\ndef start(c: Config) -> Coin:\n    return Coin(heads=False, thrown=False)\n\n\n"
        "@action(who='hand', weight=9)\ndef heads(s: Coin) -> Coin:\n    return Coin(heads=True)\n\n\n"
        "@action(who='hand')\ndef tails(s: Coin) -> Coin:\n    return Coin(heads=False)\n\n\n"
        "MODEL = Model.of(__name__, state=Coin, config=Config)\n"
    )
    for weights, expected in (({}, 1_800), ({"heads": 1}, 1_000)):
        verdict, _ = walked(str(path), [], SimulationOptions(2_000, 2, 1, weights))
        assert abs(verdict.actions["heads"].taken - expected) < 80


def test_weights() -> None:
    """In `core` all of an action's steps share its weight: three brokers to fence weigh no more than one to cancel."""
    verdict, _ = walked("core", [], SimulationOptions(2_000, 2, 1, {"fence": 3}))
    taken = {name: count.taken for name, count in verdict.actions.items()}
    assert sum(taken.values()) == 2_000
    enabled = [name for name, number in taken.items() if number]
    assert enabled == ["fence", "propose", "reassign"]
    assert abs(taken["fence"] - 1_200) < 100 and abs(taken["propose"] - 400) < 80
    none, _ = walked("core", [], SimulationOptions(100, 9, 1, dict.fromkeys(("fence", "propose", "reassign"), 0)))
    assert none.stats.generated == 0
    assert none.simulation.lengths == [{"from": 1, "to": 1, "walks": 100}]
    with pytest.raises(Failure, match=r"no action 'fense'; it has fence,") as refused:
        walked("core", [], SimulationOptions(weights={"fense": 2}))
    assert refused.value.code is Exit.USAGE


def test_nothing_found_is_no_proof() -> None:
    verdict, _ = walked("core", [], SimulationOptions(300, 20))
    assert verdict.exit() is Exit.INCONCLUSIVE
    assert {p.status for p in verdict.properties} == {"unknown"}
    assert not verdict.complete
    assert verdict.stopped_because == "300 walks of at most 20 states were taken"
    assert verdict.simulation.lengths == [{"from": 19, "to": 20, "walks": 300}]
    assert [(c.name, c.depth, bool(c.walks)) for c in verdict.covers] == [
        ("reassignment_pending", 3, True),
        ("reassignment_completed", 5, True),
    ]


def test_a_violation_is_shortened_and_replays() -> None:
    verdict, bound = walked("die_hard", [], SimulationOptions(2_000, 100), properties=["goal_not_reached"])
    (finding,) = verdict.properties
    assert (finding.status, verdict.exit()) == ("violated", Exit.SAFETY)
    assert finding.trace is not None and len(finding.trace) == finding.depth == 7, "seven states is the shortest"
    replay(finding.trace, bound)
    assert finding.trace.meta["repro"].startswith("reassure simulate die_hard --property=goal_not_reached --walks=2000")


def test_step_properties_covers_and_deadlock_have_traces() -> None:
    options = {"properties": ["reassignment_keeps_min_isr_even_if_unclean", "reassignment_completed"], "witness": True}
    verdict, bound = walked("kraft", [], SimulationOptions(5_000, 40), **options)
    (finding,), (cover,) = verdict.properties, verdict.covers
    assert finding.trace is not None and finding.trace.steps[-1].action == "cancel"
    assert cover.trace is not None and cover.walks is not None and cover.walks > 100
    for trace in (finding.trace, cover.trace):
        replay(trace, bound)


def test_deadlock(tmp_path: Path) -> None:
    verdict, _ = walked(str(stuck(tmp_path)), [], SimulationOptions(50, 30))
    assert [(p.name, p.status, p.depth) for p in verdict.properties] == [("deadlock", "violated", 4)]
    assert verdict.exit() is Exit.DEADLOCK
    assert verdict.simulation.lengths == [{"from": 4, "to": 6, "walks": 50}]


def stuck(folder: Path) -> Path:
    path = folder / "stuck.py"
    path.write_text(
        """
from dataclasses import dataclass, replace
from typing import Annotated
from reassure import Model, Range, action, initial, require

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 9)] = 0

@initial
def start(c: Config) -> State:
    return State()

@action(who="counter")
def count(s: State, c: Config) -> State:
    require(s.n < 3)
    return replace(s, n=s.n + 1)

MODEL = Model.of(__name__, state=State, config=Config, deadlock=True)
"""
    )
    return path


def test_shortening_leaves_out_what_it_can() -> None:
    """Steps that undo each other go; the order of the rest stays."""
    model = load_model("core")
    bound, _ = bind(model, {"brokers": 5})
    claim = next(p for p in bound.covers if p.name == "reassignment_pending")
    states, steps = [next(s for _, _, s in bound.initial_states())], []
    for name in ("fence", "unfence", "fence", "unfence", "reassign"):
        fitting = [s for s in bound.steps(states[-1]) if s.action.name == name]
        step = next((s for s in fitting if bound.holds(claim, s.after)), fitting[0])
        states.append(step.after)
        steps.append(step)
    short, kept = shortened(bound, lambda before, step, after: shows(bound, claim, before, step, after), states, steps)
    assert [s.action.name for s in kept] == ["reassign"]
    assert len(short) == 2


def test_estimate_of_distinct_states() -> None:
    """Within 5 % of what a set of the same walks' states holds."""
    them = walker("core", {"brokers": 4}, SimulationOptions(600, 60, 5))
    found, _ = them.run(0, 600)
    exact = {s for number in range(600) for s in them.states(number, 60)}
    assert len(exact) > 3_000
    assert abs(found.distinct() / len(exact) - 1) < 0.05
    many = Walked.none(them.kernel, 1)
    many.sketch[:] = 10
    assert many.distinct() == pytest.approx(0.7213 * 2**14 * 2**10, rel=1e-3)


def test_budget_and_fail_fast() -> None:
    verdict, _ = walked("core", ["brokers=5"], SimulationOptions(10**9, 100), budget=0.3)
    assert verdict.stopped_because == "the budget of 0.3 s ended"
    assert verdict.exit() is Exit.INCONCLUSIVE
    stopped, _ = walked("die_hard", [], SimulationOptions(10**9, 100), fail_fast=True)
    assert stopped.stopped_because == "a property is violated (--fail-fast)"
    assert stopped.exit() is Exit.SAFETY


@pytest.mark.parametrize(
    ("words", "fewest", "most", "ended"),
    [
        (["--budget=1s"], 10_064, None, "the budget of 1 s ended"),
        (["--budget=30s", "--walks=300"], 300, 300, "300 walks of at most 5 states were taken"),
        ([], 10_000, 10_000, "10,000 walks of at most 5 states were taken"),
    ],
)
def test_a_budget_is_used_unless_the_number_of_walks_is_given(
    words: list[str], fewest: int, most: int | None, ended: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    code, _, _ = said(capsys, "simulate", "core", "--depth=5", f"--json={path}", *words)
    record = json.loads(path.read_text())
    walks = record["simulation"]["walks"]
    assert (code, record["stopped_because"]) == (5, ended)
    assert walks >= fewest and (most is None or walks == most)
    given = [word for word in words if "walks" in word] or ([] if words else ["--walks=10000"])
    assert [word for word in record["repro"].split() if "walks" in word] == given
    assert most is not None or record["stats"]["seconds"]["search"] >= 1


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "r.json"
    words = [
        "simulate",
        "die_hard",
        "--walks",
        "500",
        "--seed",
        "4",
        "--json",
        str(record),
        "--trace-dir",
        str(tmp_path),
    ]
    code, out, _ = said(capsys, *words)
    assert code == 12
    assert "die_hard (goal=4) by random walks, seed 4" in out
    written = json.loads(record.read_text())
    assert written["engine"] == "simulate" and written["simulation"]["walks"] == 500
    assert sum(c["walks"] for c in written["simulation"]["depths"]) == 500
    assert said(capsys, "replay", str(tmp_path / "die_hard--goal_not_reached.itf.json"))[0] == 0
