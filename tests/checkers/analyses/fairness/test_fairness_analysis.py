"""Which fairness is needed: known answers, each lasso replayed, and every answer the same as a model's without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.analyses.fairness.analysis import (
    ALL_WEAKENED,
    FairnessAnalysis,
    Need,
    PropertyNeeds,
    Weakening,
    with_assumption,
)
from reassure.checkers.analyses.fairness.report import fairness_report
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.cli.main import main
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import printed
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.traces.render import ROW
from reassure.spec.semantics.liveness import Assumption
from reassure.spec.semantics.trace import JsonObject, Trace, TraceStep
from tests.helpers.command import report_of
from tests.helpers.labelled_graph import Steps, graph_file, leads_to_text

ACTIONS = {
    "turn": Steps(((0, 1), (1, 0)), "weak"),
    "leave": Steps(((1, 2),), "strong"),
    "hop": Steps(((2, 3), (2, 4)), "weak", each=True),
    "stay": Steps(((2, 2),), "strong"),
    "back": Steps(((4, 2),), "weak"),
}
"""0 <-> 1 -> 2 -> 3, which is the goal; from 2 also to 4 and back."""


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["fairness", *words])
    out, err = capsys.readouterr()
    return code, out, err


def rows(record: Path) -> list[tuple[str, str, str]]:
    data: JsonObject = json.loads(record.read_text())
    made = []
    for w in data["fairness"][0]["weakenings"]:
        a, i = w["assumption"], w["instead"]
        instead = None if i is None else Assumption(i["action"], i["strength"], tuple(i["each"]))
        words = Weakening(Assumption(a["action"], a["strength"], tuple(a["each"])), instead).words
        made.append((a["action"], words, w["verdict"]))
    return made


def test_known_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    actions = {**ACTIONS, "hop": Steps(((2, 3), (2, 4)), "strong", each=True)}
    path = graph_file(tmp_path, actions, leads_to_text([0], [3]))
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, path, f"--json={record}", f"--trace-dir={tmp_path}")
    assert code == 0
    assert rows(record) == [
        ("turn", "dropped", "needed"),
        ("leave", "dropped", "needed"),
        ("leave", "weak instead of strong", "needed"),
        ("hop", "dropped", "needed"),
        ("hop", "weak instead of strong", "needed"),
        ("hop", "for some to instead of each", "needed"),
        ("stay", "dropped", "not needed"),
        ("stay", "weak instead of strong", "not needed"),
        ("back", "dropped", "needed"),
    ]
    assert "sufficient together: weak fairness of turn, strong fairness of leave" in out
    assert "stay" not in out[out.index("sufficient together") :]
    assert "needed: from here on the run stays in this state" in out  # without `turn`, in the first state
    traces = sorted(tmp_path.glob("*.itf.json"))
    assert len(traces) == 7
    for trace in traces:
        assert main(["replay", str(trace), "--model", json.loads(trace.read_text())["#meta"]["model_file"]]) == 5
        out, err = capsys.readouterr()
        assert "arrives is violated by this run" in out
        assert "declares excludes this run, and the trace names another" in err


@pytest.mark.parametrize("name", list(ACTIONS))
def test_what_is_said_is_what_a_model_without_it_does(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reference engine is asked about the model that declares the weaker fairness."""
    actions = {**ACTIONS, "hop": Steps(((2, 3), (2, 4)), "strong", each=True)}
    record = tmp_path / "r.json"
    said(capsys, graph_file(tmp_path, actions, leads_to_text([0], [3])), f"--json={record}")
    instead = {
        "dropped": lambda s: Steps(s.steps),
        "weak instead of strong": lambda s: Steps(s.steps, "weak", s.each),
        "for some to instead of each": lambda s: Steps(s.steps, s.fair),
    }
    for action, words, verdict in rows(record):
        if action == name:
            weaker = {**actions, name: instead[words](actions[name])}
            path = graph_file(tmp_path, weaker, leads_to_text([0], [3]))
            found, _ = run(CheckRequest(path, [], "reference", SearchOptions()), Progress(quiet=True))
            assert (found.properties[0].status == "violated") == (verdict == "needed"), words


def test_nothing_to_drop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, graph_file(tmp_path, ACTIONS, leads_to_text([0], [3])))
    assert (code, "arrives  violated with every assumption as declared" in out) == (13, True)
    code, out, _ = said(capsys, graph_file(tmp_path, ACTIONS, leads_to_text([6], [3])))
    assert (code, "arrives  vacuous" in out) == (16, True)
    code, _, err = said(capsys, "core")
    assert (code, "core has no property about whole runs" in err) == (6, True)
    code, _, err = said(capsys, "core_liveness", "--property=isr_never_empty")
    assert (code, "does not judge properties of the kind of isr_never_empty; " in err) == (6, True)
    code, out, _ = said(capsys, "core_liveness", "--set=brokers=5", "--budget=1ms")
    assert (code, "a_leader_comes_back  undecided" in out) == (5, True)


def test_replaced() -> None:
    a, b = Assumption("a", "weak"), Assumption("b", "strong", ("x",))
    assert with_assumption({"a": a, "b": b}, "a", None) == {"b": b}
    assert with_assumption({"a": a, "b": b}, "b", a) == {"a": a, "b": a}


def test_one_property_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model has other properties, about states and about whole runs."""
    code, out, _ = said(capsys, "core_liveness", "--property=a_leader_comes_back", f"--json={tmp_path / 'r.json'}")
    data = json.loads((tmp_path / "r.json").read_text())
    assert (code, [one["property"] for one in data["fairness"]]) == (0, ["a_leader_comes_back"])
    assert report_of(out, 0).endswith("sufficient together: weak fairness of unfence for each broker\n")


@pytest.mark.parametrize(("letters", "lines"), [(ROW, 1), (ROW + 1, 3)])
def test_a_run_stands_on_one_line_where_it_fits(letters: int, lines: int, tmp_path: Path) -> None:
    """A row of `ROW` letters fits."""
    stays = "from here on the run stays in this state"
    action = "a" * (letters - len(f": (); {stays}"))
    steps = [TraceStep("start", {}, ""), TraceStep(action, {}, "graph")]
    weakening = Weakening(Assumption("walk", "weak"), None, Need.NEEDED, Trace([0, 1], steps, {}, 1))
    needs = PropertyNeeds("arrives", True, weakenings=(weakening,))
    prepared = prepare(graph_file(tmp_path, {"walk": Steps(((0, 1),), "weak")}, leads_to_text([0], [1])), [])
    identity = RunIdentity.of(prepared, "fairness", "")
    text = printed(fairness_report(identity, prepared.bound, FairnessAnalysis((needs,), ALL_WEAKENED)).print_to)
    row = [line for line in text.splitlines() if "needed" in line or action in line or stays in line]
    one = [f"    dropped  needed: {action}(); {stays}"]
    assert row == (one if lines == 1 else ["    dropped  needed", f"      {action}()", f"      {stays}"])


BEYOND = "every fair run that satisfies its premise leaves a bound (at)"
RESTS = "a fair run would violate it if steps beyond the bounds (at) were disabled"


@pytest.mark.parametrize(
    ("actions", "goal", "says", "enough"),
    [
        ({"go": Steps(((0, 1), (1, 2)))}, 2, "it would hold with weak fairness of go", {"go": "weak"}),
        ({"go": Steps(((0, 1), (1, 2))), "other": Steps(((1, 1),))}, 2, "it would hold with weak fairness of go",
         {"go": "weak"}),
        ({"turn": Steps(((0, 1), (1, 0))), "leave": Steps(((1, 2),))}, 2,
         "it would hold with weak fairness of turn, strong fairness of leave", {"turn": "weak", "leave": "strong"}),
        ({"go": Steps(((0, 1),))}, 2, "strong fairness of every action, each as a whole, is not enough", None),
        ({"go": Steps(((0, 1), (1, 0), (1, 2)))}, 2, "strong fairness of every action, each as a whole, is not enough",
         None),
        # What leads out of a bound excludes runs, and brings nothing about.
        ({"go": Steps(((0, 1), (1, 2))), "out": Steps(((0, 9), (1, 9)))}, 2, "it would hold with weak fairness of go",
         {"go": "weak"}),
        ({"out": Steps(((0, 9),))}, 2, f"the fairness that was tried is of no use: {BEYOND}", None),
        ({"out": Steps(((0, 1), (0, 9), (1, 9), (0, 2)))}, 2,
         "strong fairness of every action, each as a whole, is not enough", None),
        # Each leaves the bound somewhere, and every run that is fair to `two` does: fairness of `one` is enough.
        ({"one": Steps(((0, 2), (1, 2), (3, 9))), "two": Steps(((0, 2), (1, 2), (2, 3), (3, 9)))}, 2,
         "it would hold with weak fairness of one", {"one": "weak"}),
        # Of `stand` alone, which leaves the bound in the end, it is not enough.
        ({"stand": Steps(((0, 1), (1, 9))), "win": Steps(((0, 2), (1, 2)))}, 2,
         "it would hold with weak fairness of win", {"win": "weak"}),
        ({"stand": Steps(((0, 1), (1, 9))), "win": Steps(((1, 2),))}, 2,
         "it would hold with weak fairness of stand, weak fairness of win", {"stand": "weak", "win": "weak"}),
    ],
)  # fmt: skip
def test_a_model_without_a_fair_action_gets_a_suggestion(
    actions: dict[str, Steps],
    goal: int,
    says: str,
    enough: dict[str, str] | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The reference engine finds that it is enough, and that less is not."""
    record, text = tmp_path / "r.json", leads_to_text([0, 1], [goal])
    code, out, _ = said(capsys, graph_file(tmp_path, actions, text), f"--json={record}")
    head = "arrives  violated, and no action is declared fair: `reassure check` shows the run"
    assert (code, out.splitlines()[2:4]) == (13, [head, f"  {says}"])
    (row,) = json.loads(record.read_text())["fairness"]
    found = row["suggestion"]["enough"]
    assert (found and {a["action"]: a["strength"] for a in found}) == enough

    def holds(fair: dict[str, str]) -> bool:
        """Whether it does for the reference engine, even if steps beyond the bounds were disabled."""
        declared = {name: Steps(a.steps, fair.get(name)) for name, a in actions.items()}
        request = CheckRequest(graph_file(tmp_path, declared, text), [], "reference", SearchOptions())
        found = run(request, Progress(quiet=True))[0].properties[0]
        return found.status.startswith("holds") and RESTS not in found.note

    if enough is None:
        assert not holds(dict.fromkeys(actions, "strong"))
        return
    assert holds(enough)
    for name, strength in enough.items():
        assert not holds({k: v for k, v in enough.items() if k != name})
        assert strength == "weak" or not holds({**enough, name: "weak"})


def test_a_suggestion_is_for_a_model_without_fairness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another model says already what is fair in it; and where nothing fair is needed, none is suggested."""
    record = tmp_path / "r.json"
    for actions, goal in ((ACTIONS, 3), ({"go": Steps(((0, 1),))}, 0)):
        _, out, _ = said(capsys, graph_file(tmp_path, actions, leads_to_text([0], [goal])), f"--json={record}")
        assert "it would hold" not in out
        assert "suggestion" not in json.loads(record.read_text())["fairness"][0]


@pytest.mark.parametrize(
    ("fair", "rows", "enough"),
    [
        ("weak", [("needed", False), ("needed", True)], ["stand", "win"]),
        (None, [("needed", False)], None),
    ],
)
def test_what_rests_on_steps_beyond_a_bound_is_not_sufficient(
    fair: str | None,
    rows: list[tuple[str, bool]],
    enough: list[str] | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Terms that rise for ever, and somebody who may win an election: only if `win` is fair too somebody does."""
    record = tmp_path / "r.json"
    actions = {"stand": Steps(((0, 1), (1, 9)), "weak"), "win": Steps(((1, 2),), fair)}
    path = graph_file(tmp_path, actions, leads_to_text([0, 1], [2]))
    _, out, _ = said(capsys, path, f"--json={record}")
    without = ": without it a fair run would violate the property if steps beyond the bounds were disabled\n"
    assert out.count("  dropped  needed: ") == len(rows)
    assert out.count(without) == [rests for _, rests in rows].count(True)
    (found,) = json.loads(record.read_text())["fairness"]
    assert [row["verdict"] for row in found["weakenings"]] == [need for need, _ in rows]
    assert (found["enough"] and [a["action"] for a in found["enough"]]) == enough
    assert found["premise"]["rests_on_a_bound"] is (enough is None)
    only = "sufficient together: only while steps beyond the bounds count as enabled"
    assert (only in out) is (enough is None)
    assert (f"arrives  holds within bounds ({RESTS})" in out) is (enough is None)
