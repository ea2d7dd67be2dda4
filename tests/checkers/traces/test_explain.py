"""Why a property is false at the end of a trace."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.traces import explain as why
from reassure.checkers.traces import render as story
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace
from tests.helpers.model_text import module
from tests.helpers.traced_models import COUNTER, END, GUARDED, HEAD, STEP, found, invariant

ROOT = Path(__file__).parents[3]


# -- why a property is false -----------------------------------------------------------------------

CLAIMS = {
    "return s.n < 2": ["false: s.n < 2", "  s.n = 2"],
    "return low(s)": ["false: low(s)", "  low: false: s.n < 2", "  low: s.n = 2"],
    "return below(s.n, s, 2)": [
        "false: below(s.n, s, 2)",
        "  s.n = 2",
        "  below: false: n < high",
        "  below: n = 2",
        "  below: high = 2",
    ],
    "return s.n < 9 and s.n != 2": [
        "false: s.n < 9 and s.n != 2",
        "  because false: s.n != 2",
        "  s.n = 2",
    ],
    "return s.leader is not None or s.n < 2": [
        "false: s.leader is not None or s.n < 2",
        "  s.leader = none",
        "  s.n = 2",
    ],
    "return s.n < 2 or (s.leader is not None and s.leader in s.up)": [
        "false: s.n < 2 or (s.leader is not None and s.leader in s.up)",
        "  s.n = 2",
        "  s.leader = none",
    ],
    # Python evaluates no operand behind the one that decides.
    "return s.n < 2 and s.n != 2": [
        "false: s.n < 2 and s.n != 2",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "return not (s.n == 2 or len(s.up) == 2)": ["false: not (s.n == 2 or len(s.up) == 2)", "  s.n = 2"],
    "return not (s.n == 3 or len(s.up) == 2)": [
        "false: not (s.n == 3 or len(s.up) == 2)",
        "  s.n = 2",
        "  len(s.up) = 2",
    ],
    "return s.n < 2 < len(s.up)": ["false: s.n < 2 < len(s.up)", "  s.n = 2"],
    "return all(s.n < 2 or (b != Node(1) and max(s.up - every(Node, c)) == b) for b in (Node(1), Node(2)))": [
        "false: all((s.n < 2 or (b != Node(1) and max(s.up - every(Node, c)) == b) for b in (Node(1), Node(2))))",
        "  for b = 1",
        "  s.n = 2",
    ],
    # The leader is none, but that is not why.
    "return s.n < 2 and (s.leader is not None or s.n < 9)": [
        "false: s.n < 2 and (s.leader is not None or s.n < 9)",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "return s.n < 9 and (s.leader is not None or s.n < 2)": [
        "false: s.n < 9 and (s.leader is not None or s.n < 2)",
        "  because false: s.leader is not None",
        "  s.leader = none",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "if s.n > 9:\n        return False\n    twice = s.n + s.n\n    return twice < 4": [
        "false: twice < 4",
        "  twice = 4",
    ],
    "if s.n == 2:\n        return False\n    return True": ["false: not s.n == 2", "  s.n = 2"],
    "if s.n == 2 and s.leader is None:\n        return False\n    return True": [
        "false: not (s.n == 2 and s.leader is None)",
        "  s.n = 2",
        "  s.leader = none",
    ],
    "if s.n < 2:\n        return True\n    else:\n        return False": [
        "false: s.n < 2",
        "  s.n = 2",
    ],
    "if s.n < 2:\n        return True\n    return False": ["false: False"],
    "return (\n        s.n < 9\n        and s.n < 2\n    )": [
        "false: s.n < 9 and s.n < 2",
        "  because false: s.n < 2",
        "  s.n = 2",
    ],
    "return all(b in s.up for b in every(Node, c))": [
        "false: all((b in s.up for b in every(Node, c)))",
        "  for b = 3",
        "  s.up = {1, 2}",
    ],
    "return all(a == b or s.n < 2 for a in s.up for b in s.up)": [
        "false: all((a == b or s.n < 2 for a in s.up for b in s.up))",
        "  for a = 1, b = 2",
        "  for a = 2, b = 1",
        "  s.n = 2",
    ],
    "return not any(s.n == 2 and b in s.up for b in every(Node, c))": [
        "false: not any((s.n == 2 and b in s.up for b in every(Node, c)))",
        "  for b = 1, 2",
        "  s.n = 2",
        "  s.up = {1, 2}",
    ],
    "return any(s.n < 2 for b in s.up)": [
        "false: any((s.n < 2 for b in s.up))",
        "  s.up = {1, 2}",
    ],
    "return any(s.n < 2 for a in s.up for b in (a, a) if b == a)": [
        "false: any((s.n < 2 for a in s.up for b in (a, a) if b == a))",
        "  s.up = {1, 2}",
    ],
    "return all(any(s.n < 2 for a in s.up) for b in s.up)": [
        "false: all((any((s.n < 2 for a in s.up)) for b in s.up))",
        "  for b = 1, 2",
        "  s.up = {1, 2}",
    ],
    "return s.n < 9 and all(s.n < 2 for b in every(Node, c) if b in s.up)": [
        "false: s.n < 9 and all((s.n < 2 for b in every(Node, c) if b in s.up))",
        "  because false: all((s.n < 2 for b in every(Node, c) if b in s.up))",
        "    for b = 1, 2",
        "  s.n = 2",
    ],
    "return all(b == Node(1) or below(s.n, s, 2) for b in s.up)": [
        "false: all((b == Node(1) or below(s.n, s, 2) for b in s.up))",
        "  for b = 2",
        "  s.n = 2",
        "  below: false: n < high",
        "  below: n = 2",
        "  below: high = 2",
    ],
    "return s.n < 9 and all(low(s) for b in every(Node, c) if b in s.up)": [
        "false: s.n < 9 and all((low(s) for b in every(Node, c) if b in s.up))",
        "  because false: all((low(s) for b in every(Node, c) if b in s.up))",
        "    for b = 1, 2",
        "  low: false: s.n < 2",
        "  low: s.n = 2",
    ],
    "return s.n < 2 or all(x == Light.RED for x in every(Light))": [
        "false: s.n < 2 or all((x == Light.RED for x in every(Light)))",
        "  s.n = 2",
    ],
    "return not (s.n == 2)": ["false: not s.n == 2", "  s.n = 2"],
    "return (Light.RED if s.n == 2 else Light.BLUE) == Light.BLUE": [
        "false: (Light.RED if s.n == 2 else Light.BLUE) == Light.BLUE",
        "  Light.RED if s.n == 2 else Light.BLUE = red",
    ],
    "return s.n - 3 < -1": ["false: s.n - 3 < -1", "  s.n - 3 = -1"],
    "return s.up == every(Node, c)": [
        "false: s.up == every(Node, c)",
        "  s.up = {1, 2}",
        "  every(Node, c) = {1, 2, 3}",
    ],
}


@pytest.mark.parametrize("claim", CLAIMS, ids=[" ".join(c.split()) for c in CLAIMS])
def test_why(claim: str, tmp_path: Path) -> None:
    trace, bound = found(invariant(claim), tmp_path)
    assert len(trace) == 3
    assert why.end_shows(trace, bound) is True
    assert why.reasons(trace, bound) == CLAIMS[claim]
    assert "\n".join(["", "```", *CLAIMS[claim], "```", ""]) in story.markdown(trace, bound)


def test_what_is_long_is_cut(tmp_path: Path) -> None:
    text = invariant("return s.up == every(Node, c)")
    trace, bound = found(text, tmp_path, settings=("nodes=40",))
    assert why.reasons(trace, bound) == ["false: s.up == every(Node, c)"]
    wide = "s.n" + " + 0" * 40
    trace, bound = found(invariant(f"return {wide} < 2"), tmp_path)
    cut_off = "s.n" + " + 0" * 38 + " +..."
    assert why.reasons(trace, bound) == [f"false: {cut_off}", f"  {cut_off} = 2"]


def test_the_members_an_all_is_false_for(tmp_path: Path) -> None:
    """The first three, in one order: a set of an enum's members has another in every process."""
    text = invariant("return all(s.n < 2 or x == Light.RED for x in every(Light))")
    made = module(HEAD + text + END, tmp_path, prelude="")
    told = "all((s.n < 2 or x == Light.RED for x in every(Light)))"
    words = ["check", str(made.__file__), "--engine=reference", "--property=claim"]
    seen = []
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-m", "reassure", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 12, done.stderr
        seen.append([line for line in done.stdout.splitlines() if "false: " in line or "for x = " in line])
    assert seen == [[f"  false: {told}", "    for x = amber, blue, green and 2 more"]] * 3


OUT_OF_PLACE = {
    "GuardRefused": "s.last is not None and some(s.last).a < 3",
    "AttributeError": "s.last is not None and s.last.a < 3",
    "TypeError": "s.top is not None and s.top < 3",
    "KeyError": "s.leader is not None and s.score[s.leader] == Light.RED",
    "IndexError": "s.order != () and s.order[0] == Node(1)",
    "ValueError": "s.up != frozenset() and max(s.up) == Node(1)",
    "StopIteration": "s.order != () and next(b for b in s.order) == Node(1)",
    "RuntimeError": "s.order != () and all(next(b for b in s.order) == x for x in every(Node, c))",
}
"""What the second operand raises where the first is false."""

GUARDED_VALUES = {
    "s.last": "none",
    "s.top": "none",
    "s.leader": "none",
    "s.order": "[]",
    "s.up": "{}",
}


@pytest.mark.parametrize("kind", OUT_OF_PLACE)
def test_a_guarded_part_is_no_reason(kind: str, tmp_path: Path) -> None:
    expression = OUT_OF_PLACE[kind]
    trace, bound = found(invariant(f"return {expression}", GUARDED), tmp_path)
    guard, guarded = expression.split(" and ")
    read = guard.split()[0]
    names = {**sys.modules[bound.model.module].__dict__, "s": trace.states[0], "c": bound.config}
    with pytest.raises(Exception) as raised:
        eval(guarded, names)
    assert type(raised.value).__name__ == kind
    assert why.reasons(trace, bound)[1:] == [
        f"  because false: {guard}",
        f"  {read} = {GUARDED_VALUES[read]}",
    ]


def test_a_mistake_of_ours_is_not_taken_for_a_guarded_part() -> None:
    with pytest.raises(NameError):
        why._value(ast.parse("nobody", mode="eval").body, why.Scene({}, frozenset(), ()))


# -- what a trace shows at its end -----------------------------------------------------------------


def cut(trace: Trace, states: int) -> Trace:
    return Trace(trace.states[:states], trace.steps[:states], trace.meta)


def test_a_trace_that_shows_nothing_has_no_reasons(tmp_path: Path) -> None:
    trace, bound = found(invariant("return s.n < 2"), tmp_path)
    assert why.end_shows(cut(trace, 2), bound) is False
    assert why.reasons(cut(trace, 2), bound) == []


def test_a_deadlock_says_so(tmp_path: Path) -> None:
    trace, bound = found(COUNTER, tmp_path, "deadlock")
    assert why.end_shows(trace, bound) is True
    assert why.reasons(trace, bound) == [
        "nothing is enabled here; where a run may end, a @terminal function of the state says so",
    ]
    assert why.end_shows(cut(trace, 3), bound) is False
    assert why.reasons(cut(trace, 3), bound) == []


def test_a_run_that_may_end_is_no_deadlock(tmp_path: Path) -> None:
    trace, _ = found(COUNTER, tmp_path, "deadlock")
    ends = "@terminal\ndef done(s: State) -> bool:\n    return s.n == 3\n\n"
    bound = BoundModel(module(HEAD + COUNTER + ends + END, tmp_path, prelude="").MODEL)
    assert why.end_shows(trace, bound) is False


def test_why_of_a_step(tmp_path: Path) -> None:
    trace, bound = found(STEP, tmp_path)
    assert [s.action for s in trace.steps] == ["zero", "add", "add", "elect"]
    assert why.end_shows(trace, bound) is True
    assert why.reasons(trace, bound) == [
        "false: before.n < 2 or after.leader == max(every(Node, c)) or node == Node(1)",
        "  before.n = 2",
        "  after.leader = 2",
        "  max(every(Node, c)) = 3",
        "  node = 2",
    ]


def test_a_step_that_the_claim_is_not_about(tmp_path: Path) -> None:
    """Also one without the parameters that the claim reads, and no step at all."""
    trace, bound = found(STEP, tmp_path)
    for states in (1, 3):
        assert why.end_shows(cut(trace, states), bound) is False
        assert why.reasons(cut(trace, states), bound) == []


def test_a_cover_needs_no_reason(tmp_path: Path) -> None:
    text = COUNTER + "@cover\ndef goal(s: State) -> bool:\n    return s.n == 1\n\n"
    trace, bound = found(text, tmp_path, "goal", witness=True)
    assert why.end_shows(trace, bound) is True
    assert why.reasons(trace, bound) == []
    assert story.heading(trace).endswith(": goal is reached after 1 step")
    assert why.end_shows(cut(trace, 1), bound) is False


def test_what_is_not_decided_here(tmp_path: Path) -> None:
    live = "@leads_to(low)\ndef live(s: State) -> bool:\n    return s.n == 1\n\n"
    trace, bound = found(invariant("return s.n < 2") + live, tmp_path)
    for name in ("live", "nobody"):
        trace.meta["property"] = name
        assert why.end_shows(trace, bound) is None
        assert why.reasons(trace, bound) == []


def test_tracing_is_given_back(tmp_path: Path) -> None:
    """A debugger, or what measures coverage, goes on after it."""
    trace, bound = found(invariant("return s.n < 2"), tmp_path)

    def mine(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(mine)
    try:
        why.reasons(trace, bound)
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)
