"""The page of what passes: each row of its tables is executed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import judge_record
from reassure.checkers.machine.exit_codes import VERDICTS, Exit
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.engine_results import (
    CoverResult,
    EngineResult,
    ProofSummary,
    SearchResult,
    SearchStatistics,
    SimulationResult,
)
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import CheckResult, PropertyResult, PropertyStatus
from reassure.checkers.request.run_identity import RunIdentity, RunRecord
from reassure.spec.semantics.trace import JsonObject

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "what-passes.md").read_text(encoding="utf-8")
BOUND, _ = prepare_plain("die_hard", [])
RESULT, GATE = PAGE.split("## A check of a gate")


def rows(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| (.+) \| ([^|]*\d[^|]*) \|$", text, re.MULTILINE))


def result(*statuses: PropertyStatus, kind: str = "invariant", summary: Any = None, **others: Any) -> CheckResult:
    """A result of a complete search with a property of each status; others: of `CheckResult`."""
    engine = EngineResult(summary or SearchResult(), SearchStatistics(), Stop(StopReason.COMPLETE, ""), True)
    properties = [PropertyResult(f"p{i}", kind, status) for i, status in enumerate(statuses)]
    made = CheckResult(RunIdentity("m", None, {}, "native", ""), BOUND, properties, [], engine)
    return replace(made, **others)


def with_stats(**stats: Any) -> CheckResult:
    made = result(S.HOLDS)
    return replace(made, returned=replace(made.returned, stats=SearchStatistics(**stats)))


def ended(reason: StopReason, covers: bool = False) -> CheckResult:
    made = result(S.HOLDS_TO_DEPTH, covers=[CoverResult("c")] if covers else [])
    return replace(made, returned=replace(made.returned, stopped=Stop(reason, ""), complete=False))


def vacuous_and_ended(reason: StopReason) -> CheckResult:
    made = result(PropertyStatus.VACUOUS)
    return replace(made, returned=replace(made.returned, stopped=Stop(reason, ""), complete=False))


S = PropertyStatus
PROOF = ProofSummary("auto")
RESULTS: dict[str, list[CheckResult]] = {
    "no property and no cover was asked for, or a proof or random walks were asked for properties about whole runs "
    "alone": [result(), result(S.NOT_CHECKED, kind="leads_to", summary=PROOF)],
    "a property has the status `violated`: an invariant or step property": [result(S.VIOLATED, S.VACUOUS, S.HOLDS)],
    "the same, about whole runs": [result(S.VIOLATED, kind="leads_to"), result(S.VIOLATED, kind="recurrence")],
    "the same, a deadlock": [result(S.VIOLATED, kind="deadlock")],
    "`raised`: an action or a property raises": [result(S.RAISED, S.VIOLATED)],
    "`vacuous`": [result(S.VACUOUS, S.UNKNOWN)],
    "`vacuous`, in a run that the depth, time, memory or Ctrl-C ended": [
        vacuous_and_ended(reason)
        for reason in (StopReason.DEPTH, StopReason.BUDGET, StopReason.MEMORY, StopReason.INTERRUPTED)
    ],
    "`unknown`": [result(S.UNKNOWN, S.HOLDS)],
    "`not_checked` in a search or random walks; of a proof, if the property was asked for by name": [
        result(S.NOT_CHECKED),
        result(S.NOT_CHECKED, S.PROVED, summary=PROOF, by_name=frozenset({"p0"})),
    ],
    "`holds`, `holds_within_bounds`, `proved`, `holds_to_depth`": [
        result(S.HOLDS, S.HOLDS_WITHIN_BOUNDS),
        result(S.PROVED, S.NOT_CHECKED, summary=PROOF),
        ended(StopReason.DEPTH),
    ],
    "a cover is not reached, and every reachable state was visited": [result(S.HOLDS, covers=[CoverResult("c")])],
    "a cover is not reached otherwise": [
        ended(StopReason.DEPTH, covers=True),
        result(S.PROVED, covers=[CoverResult("c")], summary=PROOF),
    ],
    "steps leave a bound that the model does not declare, without `--accept-clipping`": [with_stats(undeclared=1)],
    "the run ended early, but not at the depth that was asked for": [
        ended(StopReason.BUDGET),
        ended(StopReason.MEMORY),
        ended(StopReason.INTERRUPTED),
    ],
}


def test_each_rule_of_a_result() -> None:
    assert {text: {r.exit().value for r in results} for text, results in RESULTS.items()} == {
        text: {int(code)} for text, code in rows(RESULT).items()
    }
    assert ended(StopReason.DEPTH).verdict == "pass-to-depth"
    assert replace(with_stats(undeclared=1), accept_clipping=True).exit() is Exit.OK
    with pytest.raises(TypeError):
        bool(result(S.HOLDS))


def record(verdict: str = "pass", **others: Any) -> RunRecord:
    code = next(code for code, name in VERDICTS.items() if name == verdict)
    made: JsonObject = {
        "verdict": verdict, "exit_code": code.value, "complete": True, "stop_reason": "complete", "stopped_because": "",
        "properties": [{"name": "p", "kind": "invariant", "status": "holds", "depth": None}],
        "covers": [{"name": "c", "reached": True}], "not_applicable": [], "meanings": {},
        "actions": {"a": {"taken": 1, "new": 1}}, "stats": {"distinct": 7, "undeclared": 0}, **others,
    }  # fmt: skip
    return cast(RunRecord, made)


def of_status(status: str, depth: int | None = None) -> list[JsonObject]:
    return [{"name": "p", "kind": "invariant", "status": status, "depth": depth}]


FALLEN = record("safety-violation", properties=of_status("violated", 3))
IDLE_COVER = [{"name": "c", "reached": False}]
IDLE = {"a": {"taken": 0, "new": 0}}
OPINION: JsonObject = {"same": False, "differences": [], "reason": "no Java", "undecided": []}
FALLEN_UNASKED = record("safety-violation", properties=of_status("violated", 3), second_opinion=OPINION)
ASKED = {"given": {"model": "m", "second_opinion": "tlc"}}
Case = tuple[RunRecord, JsonObject]
CASES: dict[str, list[Case]] = {
    "`expect` is another verdict": [
        (record(), {"expect": "inconclusive"}), (record("inconclusive"), {}), (record("system-error"), {}),
        (record("nothing-checked", stop_reason="not_started"), {}), (record("nothing-checked"), {}),
    ],
    "a violated property is not in `violated` (without the key: and `expect` is not a violation)": [
        (FALLEN, {"expect": "safety-violation", "violated": {}}),
    ],
    "a property in `violated` is not violated": [(record(), {"violated": {"p": None}})],
    "its trace has another number of states than `violated` says": [
        (FALLEN, {"expect": "safety-violation", "violated": {"p": 4}})
    ],
    "a cover in `unreached` is reached, or is not a cover": [
        (record(), {"unreached": ["c"]}), (record(), {"unreached": ["x"]}),
    ],
    "a cover that is not in `unreached` is not reached; after an incomplete search": [
        (record(covers=IDLE_COVER), {}), (record(covers=IDLE_COVER, complete=False), {}),
    ],
    "an action in `never_taken` is taken, is not an action, or the search is incomplete": [
        (record(), {"never_taken": ["a"]}), (record(), {"never_taken": ["x"]}),
        (record(actions=IDLE, complete=False), {"never_taken": ["a"]}),
    ],
    "`never_taken` is given, and no step takes an action that it does not list; in an incomplete search": [
        (record(actions=IDLE), {"never_taken": []}), (record(actions=IDLE, complete=False), {"never_taken": []}),
    ],
    "a property is `unknown` or `not_checked`": [
        (record(properties=of_status(status)), {}) for status in ("unknown", "not_checked")
    ],
    "a property is `vacuous`; in a run that the depth, time, memory or Ctrl-C ended": [
        (record(properties=of_status("vacuous")), {}),
        (record(properties=of_status("vacuous"), stop_reason="memory"), {}),
    ],
    "steps leave an undeclared bound, without `accept_clipping`": [(record(stats={"undeclared": 1}), {})],
    "with `second_opinion`, an answer of TLC is another; TLC has no answer, or was not asked": [
        (record(second_opinion=OPINION | {"differences": [{"about": "p", "ours": "holds", "theirs": "violated"}]}), {}),
        (record(second_opinion=OPINION), {}),
        (FALLEN_UNASKED, {"expect": "safety-violation"}),
        (record("model-error", stop_reason="not_started"), {"expect": "model-error", **ASKED}),
    ],
    "a figure of `pin`, or its digest of the properties, is another, or there is none": [
        (record(properties=[], covers=[]), {"pin": {"properties": "e3b0c44298fc"}}),
        (record(), {"pin": {"distinct": 8}}), (record(), {"pin": {"properties": "0" * 12}}),
    ],
}  # fmt: skip


def judged(of: RunRecord, keys: JsonObject) -> list[int]:
    given = {"expect": "pass", "violated": None, "given": {"model": "m"}, **keys}
    return [problem.code.value for problem in judge_record(Check("one", "check", **given), of)]


def test_each_rule_of_a_gate() -> None:
    """A check has the problem of its row, and no other; what is not another is none."""
    codes = {text: {int(n) for n in re.findall(r"\d+", code)} for text, code in rows(GATE).items()}
    found = {text: [judged(*case) for case in cases] for text, cases in CASES.items()}
    assert all(len(problems) == 1 for problems_of in found.values() for problems in problems_of), found
    at_once = {text: {n for problems in problems_of for n in problems} for text, problems_of in found.items()}
    assert at_once.pop("`expect` is another verdict") == {15, 5, 153, 6}
    assert codes.pop("`expect` is another verdict") == {15, 5, 19, 64, 150}
    assert at_once == codes
    assert judged(record(), {}) == []


@pytest.mark.parametrize(
    "case",
    [
        lambda: (record("inconclusive", covers=IDLE_COVER, properties=of_status("unknown")), "inconclusive"),
        lambda: (record("vacuous", covers=IDLE_COVER, properties=of_status("vacuous")), "vacuous"),
    ],
)
def test_what_an_expected_verdict_allows(case: Callable[[], tuple[RunRecord, str]]) -> None:
    of, expect = case()
    assert judged(of, {"expect": expect}) == []


def test_the_engines_of_the_page() -> None:
    """Random walks are not a proof: what they leave out is inconclusive."""
    assert SimulationResult.about_safety is False and ProofSummary.about_safety is True
