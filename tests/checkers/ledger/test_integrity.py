"""What `reassure claims` says of evidence that somebody has changed: claims, traces, the ledger, the engines."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reassure import checkers
from reassure.checkers.cli.main import main
from reassure.checkers.ledger import ledger, refresh
from reassure.checkers.ledger.integrity import Integrity
from reassure.checkers.ledger.ledger import Record, RecordedResult
from reassure.checkers.ledger.subjects import RunSpec
from reassure.checkers.ledger.trace_store import is_sealed
from reassure.checkers.ledger.verdicts import entries
from reassure.checkers.machine.progress import Progress
from reassure.spec import claims
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.claim_text import TOY, replaced

CASES = """
[[claim.reading]]
name = "by cases"
function = "kip435_batching.cases:repaired_calculation_gives_the_example"
method = "enumerate"
expect = "holds"
"""
TRACE = "K1/a-search.itf.json"


def edited(path: Path, change: Callable[[Any], object]) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def of_the_ledger(folder: Path, change: Callable[[Any], object]) -> None:
    edited(folder / "ledger.json", change)


def first_state_only(trace: Any) -> None:
    del trace["states"][1:]


@pytest.mark.parametrize(
    "change",
    [first_state_only, lambda trace: trace["states"][1].update(big=3), lambda trace: trace["#meta"].update(why="x")],
)
def test_an_edited_trace(change: Callable[[Any], object], ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cut to one state, a state changed, another remark: no longer the trace that was sealed. SECURITY.md, 12."""
    edited(ran / "traces" / TRACE, change)
    assert main(["claims"]) == 15
    out = capsys.readouterr().out
    assert "K1, a search: violated; stale: its trace is not the one that the ledger seals\n" in out
    assert f"traces/{TRACE}: not the trace that the ledger seals\n" in out
    assert main(["claims", "K1"]) == 15
    assert main(["claims", "K2"]) == 0
    assert main(["claims", "--refresh"]) == 0
    assert "running: check die_hard" in capsys.readouterr().err


def test_an_edited_trace_with_an_edited_seal(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A digest tells who can also write the ledger nothing: plain Python is asked. SECURITY.md, 13."""
    edited(ran / "traces" / TRACE, first_state_only)
    sealed = ledger.read_ledger()
    assert not is_sealed(ran / "traces" / TRACE, ran / "traces", sealed.traces)
    sealed.traces[TRACE] = hashlib.sha256((ran / "traces" / TRACE).read_bytes()).hexdigest()
    ledger.write(sealed)
    assert main(["claims"]) == 0
    assert main(["claims", "--replay"]) == 17
    out = capsys.readouterr().out
    assert f"traces/{TRACE}: goal_not_reached holds at its end\n" in out
    assert "plain Python executed 1 traces\n" in out
    assert main(["claims", "K1", "--replay"]) == 17
    assert main(["claims", "K2", "--replay"]) == 0


def test_a_trace_that_replays_and_is_of_another_length(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_the_ledger(ran, lambda d: d["records"]["check die_hard"]["results"]["goal_not_reached"].update(states=8))
    assert main(["claims"]) == 0
    assert main(["claims", "--replay"]) == 17
    assert f"traces/{TRACE}: a trace of 7 states, and the ledger says 8\n" in capsys.readouterr().out


def test_traces_of_one_file_with_different_lengths(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several readings rest on one file: the ledger's number is compared for each of them."""
    path = ran / "K.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text[text.index("[[claim]]") :].replace('"K1"', '"K3"').replace('"K2"', '"K4"'), "utf-8")
    assert main(["claims", "--refresh"]) == 0
    found = entries(claims.read(), ledger.read_ledger())
    answers = [a for e in found for a in e.answers if a.traces]
    assert len(answers) == 2 and answers[0].traces == answers[1].traces
    capsys.readouterr()
    for wrong in answers:
        pinned = Integrity()
        right = wrong.results["goal_not_reached"]
        wrong.results["goal_not_reached"] = RecordedResult("invariant", "violated", 99)
        pinned.replay(ledger.read_ledger(), found, whole=False)
        assert pinned.differences == [f"traces/{TRACE}: a trace of 7 states, and the ledger says 99"]
        wrong.results["goal_not_reached"] = right


@pytest.mark.parametrize("status", ["vacuous", "raised", "not_checked", "unknown", "holds_to_depth", "holds"])
def test_a_reading_without_the_expected_verdict_is_no_pass(
    status: str, ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever came instead. SECURITY.md, 8."""
    of_the_ledger(ran, lambda d: d["records"]["check die_hard"]["results"]["goal_not_reached"].update(status=status))
    (ran / "traces" / TRACE).unlink()
    of_the_ledger(ran, lambda d: d.update(traces={}))
    assert main(["claims"]) == 17
    out = capsys.readouterr().out
    words = {"unknown": "undecided", "holds_to_depth": "undecided", "holds": "holds"}.get(status, "not decided")
    assert f"K1, a search: {words}; expected: violated\n" in out
    assert "1 of 2 readings are up to date and have the expected verdict" in out


def test_a_trace_of_what_the_ledger_says_holds(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two statements of one ledger contradict each other: the trace is kept for its violation."""
    of_the_ledger(ran, lambda d: d["records"]["check die_hard"]["results"]["goal_not_reached"].update(status="holds"))
    text = (ran / "K.toml").read_text(encoding="utf-8")
    (ran / "K.toml").write_text(text.replace('expect = "violated"', 'expect = "holds"'), encoding="utf-8")
    of_the_ledger(ran, lambda d: d["claims"].update({c.id: c.digest() for c in claims.read()}))
    assert main(["claims"]) == 15
    assert "a trace that the ledger seals violates it" in capsys.readouterr().out


def test_a_run_of_other_settings(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_the_ledger(ran, lambda d: d["records"]["check die_hard"]["config"].update(goal=3))
    assert main(["claims", "K1"]) == 15
    assert "stale: the run that the ledger has is of another configuration" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda r: r["results"]["goal_not_reached"].update(status="banana"),
            "goal_not_reached has the status 'banana'",
        ),
        (lambda r: r["results"]["goal_not_reached"].update(states="7"), "goal_not_reached has a trace of '7' states"),
        (lambda r: r.pop("stats"), "a search without its figures: distinct, generated, depth"),
        (lambda r: r["stats"].pop("depth"), "a search without its figures: distinct, generated, depth"),
    ],
)
def test_a_record_that_no_run_writes(
    change: Callable[[Any], object], why: str, ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_the_ledger(ran, lambda d: change(d["records"]["check die_hard"]))
    assert main(["claims"]) == 64
    assert f"ledger.json is not a ledger (check die_hard: {why})" in capsys.readouterr().err


def test_an_enumeration_without_its_result(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ran / "K.toml"
    path.write_text(path.read_text(encoding="utf-8") + CASES, encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    capsys.readouterr()
    (key,) = (key for key in ledger.read_ledger().records if key.startswith("enumerate"))
    of_the_ledger(ran, lambda d: d["records"][key].update(results={"other": {"kind": "cases", "status": "holds"}}))
    assert main(["claims"]) == 15
    assert "run before, but not for all of this" in capsys.readouterr().out
    for change in (lambda r: r.update(results={}), lambda r: r.pop("cases")):
        of_the_ledger(ran, lambda d, change=change: change(d["records"][key]))
        assert main(["claims"]) == 64
        assert f"ledger.json is not a ledger ({key}: an enumeration of " in capsys.readouterr().err


def test_a_trace_of_a_model_in_a_file_is_not_executed(
    ran: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims are about models of the project, whatever a gate file of the working folder names. SECURITY.md, 4."""
    (ran / "here").mkdir()
    monkeypatch.chdir(ran / "here")
    Path("evil.py").write_text("open('executed', 'w')\n")
    Path("gate.toml").write_text('[[check]]\nmodel = "evil.py"\n')
    edited(ran / "traces" / TRACE, lambda trace: trace["#meta"].update(model_file="evil.py"))
    sealed = ledger.read_ledger()
    sealed.traces[TRACE] = hashlib.sha256((ran / "traces" / TRACE).read_bytes()).hexdigest()
    ledger.write(sealed)
    assert main(["claims", "--replay"]) == 17
    assert f"traces/{TRACE}: of the model in a file" in capsys.readouterr().out
    assert not Path("executed").exists()


def test_a_sealed_trace_that_cannot_be_read(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ran / "traces" / TRACE).write_text('{"vars": [], "states": []}')
    sealed = ledger.read_ledger()
    sealed.traces[TRACE] = hashlib.sha256((ran / "traces" / TRACE).read_bytes()).hexdigest()
    ledger.write(sealed)
    assert main(["claims", "--replay"]) == 15
    out = capsys.readouterr().out
    assert f"traces/{TRACE}: " in out and "K1, a search: violated; stale: its trace is missing" in out


def test_refresh_forgets_the_trace_of_what_no_longer_is_violated(ran: Path) -> None:
    of_the_ledger(ran, lambda d: d["records"]["check die_hard"]["results"]["goal_not_reached"].update(status="holds"))
    assert main(["claims", "K2", "--refresh"]) == 0
    assert not (ran / "traces" / TRACE).exists() and ledger.read_ledger().traces == {}


def test_files_that_are_missing_or_additional(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SECURITY.md, 12."""
    folder = ran / "traces"
    (folder / "deeper").mkdir()
    for other in ("other.itf.json", "deeper/a-search.itf.json"):
        shutil.copy(folder / TRACE, folder / other)
    assert main(["claims", "--json", str(ran / "out.json")]) == 17
    data = json.loads((ran / "out.json").read_text(encoding="utf-8"))
    assert data["integrity"] == {
        "differences": [
            "traces/deeper/a-search.itf.json: the ledger does not seal it",
            "traces/other.itf.json: the ledger does not seal it",
        ],
        "by_others": 0,
        "confirmed": True,
        "repeated": [],
        "replayed": None,
        "whole": True,
        "engines": ledger.engines_version(),
    }
    assert main(["claims", "K1"]) == 0  # the sealed trace is still there
    (folder / TRACE).unlink()
    assert main(["claims"]) == 15
    assert f"traces/{TRACE}: the ledger seals it, and it is missing\n" in capsys.readouterr().out


def test_refresh_leaves_a_file_that_it_did_not_write(ran: Path) -> None:
    mine = ran / "traces" / "die_hard--mine.itf.json"
    shutil.copy(ran / "traces" / TRACE, mine)
    (ran / "traces" / TRACE).unlink()
    assert main(["claims", "--refresh"]) == 17
    assert mine.is_file() and list(ledger.read_ledger().traces) == [TRACE]


def test_digests_of_claims_removed_from_the_ledger(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_the_ledger(ran, lambda data: data["claims"].clear())
    assert main(["claims"]) == 15
    out = capsys.readouterr().out
    assert out.count("stale: the ledger does not list the claim\n") == 2
    assert "0 of 2 readings are up to date" in out
    assert main(["claims", "--refresh"]) == 0
    assert "running" not in capsys.readouterr().err


def test_seals_removed_from_the_ledger(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_the_ledger(ran, lambda data: data.pop("traces"))
    assert main(["claims"]) == 15
    assert f"traces/{TRACE}: the ledger does not seal it\n" in capsys.readouterr().out


def test_a_file_of_claims_removed(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ran / "K.toml"
    path.rename(ran / "K.txt")
    (ran / "B.toml").write_text((ran / "K.txt").read_text().replace('id = "K', 'id = "B'), encoding="utf-8")
    assert main(["claims"]) == 15
    out = capsys.readouterr().out
    assert "claim K1: the ledger lists it, and no file of claims has it\n" in out
    assert "claim K2: the ledger lists it, and no file of claims has it\n" in out
    assert main(["claims", "--refresh"]) == 0
    assert "forgotten, for no file of claims has them: K1, K2" in capsys.readouterr().err
    assert list(ledger.read_ledger().claims) == ["B1", "B2"]


def by_others(folder: Path) -> None:
    """Another version of the engines decided everything."""
    now = ledger.engines_version()
    text = (folder / "ledger.json").read_text(encoding="utf-8")
    assert text.count(now) == 3
    (folder / "ledger.json").write_text(text.replace(now, "0123456789ab"), encoding="utf-8")


def test_an_interrupted_sample_is_no_drift(
    ran: Path, interrupted_runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first run that is repeated ends by Ctrl-C: what it did not decide differs from no verdict."""
    by_others(ran)
    assert (main(["claims", "--sample"]), len(interrupted_runs)) == (5, 1)
    assert capsys.readouterr().err.endswith("reassure: interrupted\n")


def test_engines_that_changed(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sample is repeated: here, both runs."""
    by_others(ran)
    said = "another version of the engines decided 2 readings, and this one repeated no sample: "
    said += "--sample repeats one, and --refresh records it"
    assert main(["claims"]) == 15
    assert f"{said}\n" in capsys.readouterr().out
    assert main(["claims", "K1", "--json", str(ran / "one.json")]) == 0
    assert f"note: {said.replace('2 readings', '1 readings')}\n" in capsys.readouterr().err
    integrity = json.loads((ran / "one.json").read_text(encoding="utf-8"))["integrity"]
    assert (integrity["by_others"], integrity["confirmed"], integrity["whole"]) == (1, False, False)
    assert main(["claims", "--sample"]) == 0
    out, err = capsys.readouterr()
    assert "these engines repeated 2 runs of another version, with the results of the ledger\n" in out
    assert sorted(err.splitlines()) == [
        "running again: check die_hard",
        "running again: check two_phase_commit managers=2",
    ]
    assert main(["claims"]) == 15  # nothing was noted
    assert main(["claims", "--refresh"]) == 0
    assert main(["claims"]) == 0
    capsys.readouterr()
    kept = ledger.read_ledger()
    assert kept.confirmed == ledger.engines_version()
    assert {record.engines for record in kept.records.values()} == {"0123456789ab"}  # who gave the results


def test_engines_that_give_other_results(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_others(ran)
    of_the_ledger(ran, lambda data: data["records"]["check two_phase_commit managers=2"]["stats"].update(distinct=57))
    assert main(["claims", "--sample"]) == 17
    out = capsys.readouterr().out
    assert "check two_phase_commit managers=2: distinct 56, and the ledger says 57\n" in out
    assert "these engines repeated 2 runs of another version; some results differ\n" in out
    assert main(["claims", "--refresh"]) == 0
    assert "repeating all 2 runs of other versions of the engines" in capsys.readouterr().err
    assert {record.engines for record in ledger.read_ledger().records.values()} == {ledger.engines_version()}


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (
            {"goal_not_reached": {"kind": "invariant", "status": "violated", "states": 6}},
            "goal_not_reached: violated, 7 states, and the ledger says violated, 6 states",
        ),
        ({}, "goal_not_reached: violated, 7 states, and the ledger says nothing"),
    ],
)
def test_what_a_run_says_otherwise(
    results: JsonObject, said: str, ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_others(ran)

    def change(data: Any) -> None:
        old = data["records"]["check die_hard"]["results"]
        data["records"]["check die_hard"]["results"] = {
            **{k: v for k, v in old.items() if k not in "goal_not_reached"},
            **results,
        }

    of_the_ledger(ran, change)
    kept = ledger.read_ledger()
    found = refresh.run_again({RunSpec("check", "die_hard"): set()}, kept, lambda text: None, Progress(quiet=True))
    assert (found.runs, found.differences) == (["check die_hard"], [f"check die_hard: {said}"])


def test_a_sample_is_cheap_and_has_every_kind_of_result() -> None:
    def record(status: str, generated: int) -> Record:
        results = {"p": RecordedResult("invariant", status)}
        return Record("", "native", "", "", stats={"generated": generated}, results=results)

    runs = {RunSpec("check", f"m{n}"): record("violated" if n % 2 else "holds", 10) for n in range(20)}
    dear = {RunSpec("check", "large"): record("vacuous", refresh.MOST_STEPS + 1)}
    dear[RunSpec("prove any number", "core")] = record("proved", 0)
    chosen = refresh.sample(runs | dear)
    assert [runs[run].results["p"].status for run in chosen] in (["violated", "holds"], ["holds", "violated"])
    assert refresh.sample(dict(reversed(runs.items()))) == chosen


def test_the_version_of_the_engines_is_of_their_text(tmp_path: Path) -> None:
    """An edit of a line changes it, one of a comment does not."""
    root = Path(checkers.__path__[0]).parent
    for folder in ("checkers", "spec"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=lambda _, names: {n for n in names if n == "java"})
    version = partial(ledger.engines_version.__wrapped__, tmp_path)
    assert version() == ledger.engines_version()
    decide = (
        "checkers/engines/reference/search.py",
        "checkers/request/vacuity.py",
        "checkers/traces/reconstruct.py",
        "checkers/traces/fairness.py",
        "spec/language/annotations.py",
    )
    for name, word, changes in [
        *((name, "NOTHING_IS_EVER_VIOLATED = True", True) for name in decide),
        (decide[0], "# A remark.", False),
        ("checkers/machine/terminal.py", "COLUMNS = 80", False),
        ("checkers/gate/junit.py", "COLUMNS = 80", False),
    ]:
        path = tmp_path / name
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}\n{word}\n", encoding="utf-8")
        assert (version() != ledger.engines_version()) == changes, name
        path.write_text(text, encoding="utf-8")
    assert version() == ledger.engines_version()


def test_the_version_is_of_all_that_decides() -> None:
    """Each exception is imported by what decides, so that none stands in the list for nothing."""
    root = Path(checkers.__path__[0]).parent
    deciding = {str(path.relative_to(root)) for path in ledger.deciding_files(root)}
    assert deciding >= {"checkers/check.py", "checkers/request/result.py", "checkers/machine/stop.py"}
    exceptions = ledger.DECIDES_NOTHING
    assert not deciding & exceptions
    reached = {str(path.relative_to(root)) for path in ledger.deciding_files(root, frozenset())}
    assert [name for name in sorted(exceptions) if not any(path.startswith(name) for path in reached)] == []


def test_the_project_is_as_its_ledger_pins_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the engines are: those who change them need not refresh the ledger at once."""
    assert main(["claims"]) in (0, 15)
    assert "counterexamples/" not in capsys.readouterr().out


def test_a_gate_with_claims(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It pins the number of claims: one that is removed everywhere is seen too."""
    gate = ran / "traces" / "gate.toml"
    gate.write_text(
        '[[check]]\nkind = "claims"\nsample = true\nreplay = true\nexpect = "pass"\n'
        "pin = { claims = 2, readings = 2 }\n",
        encoding="utf-8",
    )
    assert main(["gate", str(gate), "-j1"]) == 0
    (ran / "K.toml").write_text(TOY[: TOY.index("[[claim]]", 20)], encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    capsys.readouterr()
    assert main(["gate", str(gate), "-j1"]) == 17
    out = capsys.readouterr().out
    assert "claims 1, pinned 2" in out and "readings 1, pinned 2" in out
    replaced(ran / "traces" / TRACE, '"states"', '"states" ')
    assert main(["gate", str(gate), "-j1"]) == 15
    assert "expected pass, got expectation-mismatch" in capsys.readouterr().out
