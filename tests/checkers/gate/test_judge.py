"""Every key of a check is judged, whatever is expected: what is wrong is never green."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from reassure.checkers.gate.gate_file import VERDICT_NAMES, Check, judged_keys, read_gate_file
from reassure.checkers.gate.judge import judge_record, property_digest
from reassure.checkers.gate.kinds import KINDS, kind_of
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.request.run_identity import RunRecord
from reassure.spec.semantics.trace import JsonObject

CODE = {verdict: code for code, verdict in VERDICTS.items()}


def record(verdict: str, stop_reason: str = "complete") -> RunRecord:
    """A record with a violated property and an unreachable cover."""
    return cast(RunRecord, {
        "verdict": verdict, "exit_code": CODE.get(verdict, Exit.OK).value, "complete": True,
        "stop_reason": stop_reason, "stopped_because": "",
        "properties": [{"name": "falls", "kind": "invariant", "status": "violated", "depth": 3},
                       {"name": "holds", "kind": "invariant", "status": "holds", "depth": None}],
        "covers": [{"name": "idle", "reached": False}, {"name": "busy", "reached": True}],
        "actions": {"rest": {"taken": 0, "new": 0}, "work": {"taken": 2, "new": 1}},
        "not_applicable": [], "stats": {"distinct": 7, "undeclared": 0},
    })  # fmt: skip


def check(verdict: str, **keys: Any) -> Check:
    expected: JsonObject = {"violated": {"falls": 3}, "unreached": ["idle"], "never_taken": ["rest"]}
    given = {**expected, "pin": {"distinct": 7}, **keys}
    return Check("one", "check", {"model": "kraft"}, verdict, **given)


WRONG: list[JsonObject] = [
    {"violated": {"falls": 3, "holds": None}}, {"violated": {"nonsense": None, "falls": 3}}, {"violated": {"falls": 4}},
    {"violated": {}}, {"unreached": ["busy", "idle"]}, {"unreached": ["nonsense", "idle"]},
    {"never_taken": []}, {"never_taken": ["rest", "work"]}, {"never_taken": ["rest", "nonsense"]},
    {"pin": {"distinct": 8}}, {"pin": {"generated": 7}}, {"pin": {"properties": "0" * 12}},
]  # fmt: skip


@pytest.mark.parametrize("verdict", VERDICT_NAMES)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_never_green(verdict: str, wrong: JsonObject) -> None:
    whole = record(verdict)
    assert judge_record(check(verdict), whole) == []
    right = {"distinct": 7, "properties": property_digest(whole)}
    assert judge_record(check(verdict, pin=right), whole) == []
    assert judge_record(check(verdict, **wrong), whole) != []


def test_an_expected_violation_hides_no_vacuous_property() -> None:
    vacuous = record("safety-violation")
    vacuous["properties"][1]["status"] = "vacuous"
    (problem,) = judge_record(check("safety-violation"), vacuous)
    assert (problem.code, problem.text, problem.about) == (Exit.VACUOUS, "holds is vacuous", "holds")
    assert judge_record(check("vacuous"), vacuous | {"verdict": "vacuous"}) == []  # type: ignore[arg-type]


def test_actions_that_nobody_asks_about_are_not_judged() -> None:
    assert judge_record(check("pass", never_taken=None), record("pass")) == []
    (problem,) = judge_record(check("pass", never_taken=[]), record("pass"))
    assert (problem.code, problem.text, problem.about) == (Exit.VACUOUS, "action rest is never taken", "rest")


def test_after_a_part_of_a_search_nobody_knows_what_is_never_taken() -> None:
    partly: Any = record("pass") | {"complete": False}
    texts = {p.text for p in judge_record(check("pass", unreached=[], never_taken=["rest"]), partly)}
    assert "rest is not an action that is never taken" in texts
    texts = {p.text for p in judge_record(check("pass", unreached=[], never_taken=[]), partly)}
    assert "action rest is not taken so far" in texts


@pytest.mark.parametrize("verdict", ["vacuous", "pass", "safety-violation"])
def test_a_cover_that_is_not_listed_is_a_problem(verdict: str) -> None:
    (problem,) = judge_record(check(verdict, unreached=[]), record(verdict))
    assert (problem.code, problem.text) == (Exit.VACUOUS, "cover idle is never reached")


def test_a_vacuous_run_may_be_expected_without_saying_which_cover() -> None:
    assert judge_record(check("vacuous", unreached=None), record("vacuous")) == []


@pytest.mark.parametrize("verdict", ["config-error", "model-error", "usage-error"])
@pytest.mark.parametrize(
    "keys",
    [{"violated": {"falls": None}}, {"unreached": ["idle"]}, {"never_taken": ["rest"]}, {"pin": {"distinct": 7}}],
)
def test_of_a_command_that_could_not_begin_nothing_is_known(verdict: str, keys: JsonObject) -> None:
    nothing = record(verdict, "not_started")
    nothing["properties"], nothing["covers"], nothing["stats"], nothing["actions"] = [], [], cast(Any, {}), {}
    empty: JsonObject = {"violated": None, "unreached": None, "pin": {}, "never_taken": None}
    assert judge_record(check(verdict, **empty), nothing) == []
    assert judge_record(check(verdict, **{**empty, **keys}), nothing) != []


def sweep(*runs: RunRecord) -> RunRecord:
    points = [{"point": {"brokers": str(n)}, **run} for n, run in enumerate(runs, 3)]
    whole = worst(Exit(run["exit_code"]) for run in runs)
    return cast(RunRecord, record(VERDICTS[whole]) | {"properties": [], "configurations": points, "excluded": []})


def problems_of_sweep(verdict: str, whole: RunRecord, **keys: Any) -> list[tuple[Exit, str]]:
    return [(p.code, p.text) for p in judge_record(Check("s", "sweep", {"model": "kraft"}, verdict, **keys), whole)]


NOTHING: JsonObject = {"violated": None, "unreached": None, "pin": {}}


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("nothing-checked", 15), ("vacuous", 15), ("inconclusive", 5), ("trace-mismatch", 15), ("model-error", 150)],
)
def test_a_violation_of_one_configuration_hides_no_other_answer(verdict: str, code: int) -> None:
    other = cast(RunRecord, record(verdict) | {"properties": []})
    whole = sweep(record("safety-violation"), other)
    whole["verdict"] = "safety-violation"
    assert problems_of_sweep("safety-violation", whole, **NOTHING) == [
        (Exit(code), f"brokers=4: expected safety-violation, got {verdict}")
    ]


def test_a_sweep_may_have_configurations_that_pass_and_others_that_do_not() -> None:
    passed = cast(RunRecord, record("pass") | {"properties": record("pass")["properties"][1:]})
    whole = sweep(passed, record("safety-violation"), record("deadlock"))
    assert problems_of_sweep("safety-violation", whole, **NOTHING) == []
    assert problems_of_sweep("safety-violation", whole, **NOTHING | {"violated": {"falls": 3}}) == []
    assert problems_of_sweep("safety-violation", whole, **NOTHING | {"violated": {"falls": 4}}) == [
        (Exit.DRIFT, "falls: violated after 2 steps (3 states), pinned 4 states")
    ]
    assert problems_of_sweep("safety-violation", whole, **NOTHING | {"violated": {"holds": None}}) == [
        (Exit.EXPECTATION, "violated: falls after 2 steps"),
        (Exit.EXPECTATION, "not violated: holds"),
    ]
    assert (Exit.EXPECTATION, "brokers=4: expected pass, got safety-violation") in problems_of_sweep(
        "pass", whole, **NOTHING
    )


def test_the_length_is_that_of_the_shortest_trace_of_all_configurations() -> None:
    longer = record("safety-violation")
    longer["properties"][0]["depth"] = 9
    assert problems_of_sweep("safety-violation", sweep(longer, record("safety-violation"), longer),
                             **NOTHING | {"violated": {"falls": 3}}) == []  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_nobody_looks_at_is_refused(kind: str, tmp_path: Path) -> None:
    assert ("unreached" in judged_keys(kind)) is kind_of(kind).decides
    if not kind_of(kind).decides:
        path = tmp_path / "gate.toml"
        path.write_text(f'[[check]]\nkind = "{kind}"\nexpect = "pass"\nunreached = []\n')
        with pytest.raises(Failure, match="unknown unreached"):
            read_gate_file(path)
