"""`reassure claims` on a ledger of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.check import CheckRequest
from reassure.checkers.cli.main import main
from reassure.checkers.gate.gate_file import Check, read_gate_file
from reassure.checkers.gate.run_check import answer_key
from reassure.checkers.ledger import integrity, recorded_run
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.result import CheckResult
from reassure.models.kip542_throttle import cases as throttle_cases
from reassure.spec import claims
from reassure.spec.claims import Outcome
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.claim_text import CASES, CLAIM, replaced
from tests.helpers.html_page import read_page
from tests.helpers.outside_models import SOURCES, counter, set_step


def test_nothing_is_run_without_refresh(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--full"]) == 15
    out = capsys.readouterr().out
    assert "a search: not run  die_hard\n        goal_not_reached\n        never run" in out
    assert out.endswith("2 claims: 2 not run\n\nexpectation-mismatch (exit code 15)\nagain: reassure claims --full\n")
    assert not (toys / "ledger.json").exists()


def test_refresh_runs_what_is_due_and_nothing_twice(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--refresh", "--full"]) == 0
    out, err = capsys.readouterr()
    assert [line for line in err.splitlines() if line.startswith("running")] == [
        "running: check die_hard",
        "running: check two_phase_commit managers=2",
        "running: prove core",
    ]
    assert "a search: violated  die_hard (goal=4)\n" in out
    assert "refuted: goal_not_reached after 6 steps" in out
    assert "trace: traces/K1/a-search.itf.json" in out
    assert "verified: all of 56 states, 8 levels" in out
    assert "proved, however many steps are taken\n" in out
    ending = "pass (exit code 0)\nagain: reassure claims --full --refresh\n"
    assert out.endswith(f"2 claims: 1 proved, 1 refuted\n\n{ending}")
    assert [p.relative_to(toys).as_posix() for p in (toys / "traces").rglob("*.json")] == [
        "traces/K1/a-search.itf.json"
    ]
    before = (toys / "ledger.json").read_text(encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    assert capsys.readouterr().err == ""
    assert (toys / "ledger.json").read_text(encoding="utf-8") == before


def test_a_line_for_each_claim_first(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then what somebody has to look at, the counts, and the exit code. A claim that is named is told in full."""
    assert main(["claims"]) == 15
    assert capsys.readouterr().out.splitlines() == [
        "toys.txt",
        "  K1  not run  Four gallons | cannot be measured.",
        "  K2  not run  Everybody commits, or nobody.",
        "",
        "K1, a search: not run: never run",
        "K2, two managers: not run: never run",
        "K2, by proof: not run: never run",
        "",
        "2 claims: 2 not run",
        "0 of 3 readings are up to date and have the expected verdict",
        "`reassure claims ID` prints a claim's readings, --full all; --table compares protocols; "
        "--refresh runs what is missing or stale",
        "",
        "expectation-mismatch (exit code 15)",
        "again: reassure claims",
    ]
    assert main(["claims", "K1"]) == 15
    named = capsys.readouterr().out
    assert named.startswith("K1  not run  toys.txt\n")
    assert "K2" not in named
    assert main(["claims", "--claim", "K1"]) == 15
    assert capsys.readouterr().out == named.replace(
        "again: reassure claims K1\n", "again: reassure claims --claim=K1\n"
    )


def test_so_many_readings_to_look_at(
    toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(integrity, "REMARKS", 1)
    assert main(["claims"]) == 15
    assert (
        "K1, a search: not run: never run\n2 more readings to look at (--full names all)\n" in capsys.readouterr().out
    )


def test_another_verdict_than_expected(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(ran / "K.toml", 'expect = "violated"', 'expect = "holds"')
    assert main(["claims"]) == 15  # the entry is another, too
    out, _ = capsys.readouterr()
    assert "stale: the claim has changed" in out
    assert "expected: holds" in out
    assert main(["claims", "--refresh"]) == 17
    assert "running" not in capsys.readouterr().err


def test_a_verdict_that_changed_in_the_ledger(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(
        ran / "ledger.json",
        '"consistent": {"kind": "invariant", "status": "holds"}',
        '"consistent": {"kind": "invariant", "status": "violated", "states": 3}',
    )
    assert main(["claims", "--claim", "K2"]) == 15  # its trace is not there
    out = capsys.readouterr().out
    assert "stale: its trace is missing" in out
    assert "expected: holds" in out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"engine_version": "0.1.0"', '"engine_version": "0.0.9"', "found by version 0.0.9 of the engines"),
        ('"sha256": "', '"sha256": "0', "the text of die_hard has changed"),
        (
            '"values": "',
            '"values": "0',
            "the values that die_hard has from outside of its text are not those of the run",
        ),
        (
            '"values": "',
            '"engines": "',
            "the values that die_hard has from outside of its text are not those of the run",
        ),
        ('"goal_not_reached": {', '"other": {', "run before, but not for all of this"),
    ],
)
def test_stale_records_are_shown(ran: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(ran / "ledger.json", old, new)
    assert main(["claims", "--claim", "K1"]) == 15
    assert said in capsys.readouterr().out
    assert main(["claims", "--refresh"]) == 0
    assert "running: check die_hard" in capsys.readouterr().err


def test_a_missing_trace_is_made_again(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ran / "traces" / "K1" / "a-search.itf.json").unlink()
    assert main(["claims"]) == 15
    assert main(["claims", "--refresh"]) == 0
    assert (ran / "traces" / "K1" / "a-search.itf.json").is_file()
    capsys.readouterr()


@pytest.mark.usefixtures("interrupted_runs")
def test_an_interrupted_run_is_no_record(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--refresh"]) == 5
    assert "interrupted" in capsys.readouterr().err
    assert not (toys / "ledger.json").exists()


def test_a_run_that_fails_is_named(
    toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(asked: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
        raise Failure(Exit.MODEL, "it raises ZeroDivisionError")

    monkeypatch.setattr(recorded_run, "run", failing)
    assert main(["claims", "--refresh", "--claim", "K1"]) == 150
    assert "check die_hard: it raises ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (claims.Outcome(True, 0, "none"), "went through no cases"),
        (claims.Outcome(True, 3, "all", "but this"), "a counterexample is given if and only if the claim is violated"),
        (claims.Outcome(False, 3, "all"), "a counterexample is given if and only if the claim is violated"),
        (None, "went through no cases"),
        (ZeroDivisionError("by zero"), "raises ZeroDivisionError: by zero"),
    ],
)
def test_a_function_that_answers_wrongly(
    outcome: Any, said: str, toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call() -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    text = CLAIM + CASES.replace("models.examples:all_of_them", "kip542_throttle.cases:values_accepted_additive")
    (toys / "K.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(throttle_cases, "values_accepted_additive", call)
    assert main(["claims", "--refresh"]) == 150
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (
            "kraft.worked_examples:nothing",
            64,
            "kraft.worked_examples has no function nothing",
        ),
        ("unwritten:anything", 15, ""),
    ],
)
def test_functions_that_are_not_there(
    name: str, code: int, said: str, toys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (toys / "K.toml").write_text(CLAIM + CASES.replace("models.examples:all_of_them", name), encoding="utf-8")
    assert main(["claims"]) == code
    out, err = capsys.readouterr()
    assert said in err
    assert code == 64 or "no module unwritten yet" in out


def test_records_that_no_claim_needs_are_forgotten(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ran / "K.toml").read_text(encoding="utf-8")
    (ran / "K.toml").write_text(text[: text.rindex("[[claim]]")], encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    data = json.loads((ran / "ledger.json").read_text(encoding="utf-8"))
    assert (list(data["records"]), list(data["claims"])) == (["check die_hard"], ["K1"])
    capsys.readouterr()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"goal_not_reached"', '"goal_reached"', "die_hard has no property or cover goal_reached"),
        ('model = "die_hard"', 'model = "die_hard"\nset = { gaol = 3 }', "did you mean goal?"),
        ("managers = 2", "managers = 99", "managers=99: it is 1 to"),
        ('model = "die_hard"', 'modle = "die_hard"', "unknown key modle"),
    ],
)
def test_a_claim_that_nothing_can_decide(
    ran: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced(ran / "K.toml", old, new)
    assert main(["claims"]) == 64
    assert said in capsys.readouterr().err


def test_a_model_that_is_not_there_yet(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(ran / "K.toml", 'model = "die_hard"', 'model = "die_harder"')
    assert main(["claims", "--refresh"]) == 15
    out, err = capsys.readouterr()
    assert "skipped: check die_harder (no model die_harder yet)" in err
    assert "no model die_harder yet" in out


def test_a_reading_without_an_expectation(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(ran / "K.toml", 'expect = "violated"\n', "")
    assert main(["claims", "--refresh"]) == 15
    assert "no expectation is stated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--claim", "K9"], 64, "no claim K9; there are K1, K2"),
        (["K1", "K9"], 64, "no claim K9; there are K1, K2"),
        (["--table"], 64, "no claim X3; there are K1, K2"),
        (["--format", "pdf"], 64, "invalid choice"),
    ],
)
def test_wrong_words(ran: Path, words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", *words]) == code
    assert said in capsys.readouterr().err


def test_a_broken_ledger_is_named(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ran / "ledger.json").write_text("[]", encoding="utf-8")
    assert main(["claims"]) == 64
    assert "ledger.json is not a ledger" in capsys.readouterr().err


def test_no_claims(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (toys / "K.toml").unlink()
    assert main(["claims"]) == 6
    assert "there are no claims" in capsys.readouterr().err


def test_json(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--json", str(ran / "out.json")]) == 0
    data = json.loads((ran / "out.json").read_text(encoding="utf-8"))
    assert (data["schema"], data["exit_code"], data["verdict"]) == (1, 0, "pass")
    first, second = data["claims"]
    assert (first["id"], first["standing"], second["standing"]) == ("K1", "refuted", "verified")
    (reading,) = first["readings"]
    assert (reading["verdict"], reading["expect"], reading["config"]) == ("violated", "violated", {"goal": 4})
    trace = "traces/K1/a-search.itf.json"
    assert reading["properties"] == [
        {"name": "goal_not_reached", "kind": "invariant", "status": "violated", "states": 7, "trace": trace}
    ]
    capsys.readouterr()


def test_markdown(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--format", "md"]) == 0
    out = capsys.readouterr().out
    assert "### toys.txt" in out
    row = next(line for line in out.splitlines() if "die_hard" in line)
    assert "[goal_not_reached](traces/K1/a-search.itf.json) after 6 steps" in row
    assert "Four gallons \\| cannot be measured." in row


def test_page(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--format", "html"]) == 0
    text = capsys.readouterr().out
    reader = read_page(text)
    assert '<html lang="en">' in text
    assert "prefers-color-scheme: dark" in text
    assert "Counterexample: goal_not_reached, 6 steps" in reader.text
    assert "hero: fill_big()big: 0 → 5" in reader.text


WHOLE_RUNS = """
[[claim]]
id = "K1"
document = "toys.txt"
statement = "A leader comes back, and a reassignment ends."
liveness = true
[[claim.reading]]
name = "a leader"
model = "core_liveness"
properties = ["a_leader_comes_back"]
method = "check"
expect = "holds"
[[claim.reading]]
name = "a reassignment"
model = "core_liveness"
properties = ["a_pending_reassignment_ends"]
method = "check"
expect = "violated"
[[claim.reading]]
name = "a state"
model = "core_liveness"
properties = ["leader_in_isr"]
method = "check"
expect = "holds"
"""


def test_the_fairness_that_a_verdict_assumes(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stands beside what is said of whole runs, and of nothing else; on the page the loop's last step is shown."""
    (toys / "K.toml").write_text(WHOLE_RUNS, encoding="utf-8")
    assert main(["claims", "--refresh", "--full"]) == 0
    out, _ = capsys.readouterr()
    fair = "assuming weak fairness of unfence (each broker)"
    assert f"verified: all of 1,668 states, 13 levels, {fair}\n" in out
    assert f"refuted: a_pending_reassignment_ends by a run that never ends, {fair}\n" in out
    assert "verified: all of 1,668 states, 13 levels\n" in out
    assert main(["claims", "--format", "md"]) == 0
    assert f"13 levels, {fair} |" in capsys.readouterr().out
    assert main(["claims", "--format", "html"]) == 0
    reader = read_page(capsys.readouterr().out)
    assert "Counterexample: a_pending_reassignment_ends, 4 steps" in reader.text
    assert "steps 3 to 4 repeat for ever" in reader.text


def claims_check(folder: Path) -> Check:
    """The claims as a check of a gate, whose file is `gate/gate.toml`."""
    path = folder / "gate" / "gate.toml"
    path.parent.mkdir(exist_ok=True)
    (folder / "traces").mkdir(exist_ok=True)
    path.write_text('[[check]]\nkind = "claims"\nsample = true\nexpect = "pass"\n', encoding="utf-8")
    return read_gate_file(path).checks[0]


def test_a_gate_keeps_the_answer_until_something_changes_that_it_is_of(
    ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REASSURE_CACHE", str(ran / "cache"))
    check = claims_check(ran)
    words = ["gate", str(ran / "gate" / "gate.toml"), "--changed", "-j", "1"]
    for unchanged in (0, 1, 1):
        assert main(words) == 0
        assert capsys.readouterr().out.count("unchanged since") == unchanged
    key = answer_key(check)
    assert key is not None
    (trace,) = (ran / "traces").rglob("*.itf.json")
    for path in (ran / "K.toml", ran / "ledger.json", trace, trace.with_name("other.itf.json")):
        text = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text(f"{text or ''}\n", encoding="utf-8")
        assert answer_key(check) not in (None, key), path.name
        path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    assert answer_key(check) == key
    trace.unlink()
    assert main(words) == 15
    assert "its trace is missing" in capsys.readouterr().out
    replaced(ran / "K.toml", 'model = "die_hard"', 'model = "nowhere"')
    assert answer_key(check) is None
    (ran / "K.toml").write_text("claim = 1", encoding="utf-8")
    assert answer_key(check) is None


OUTSIDE = """
[[claim]]
id = "K1"
document = "toys.txt"
statement = "It stays within four."
[[claim.reading]]
name = "a search"
model = "COUNTER"
properties = ["within"]
method = "check"
expect = "holds"
"""


@pytest.mark.parametrize("source", SOURCES)
def test_a_value_from_outside_makes_a_verdict_stale(
    source: str, toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text and the configuration are those of the run, and the model is another."""
    (toys / "K.toml").write_text(OUTSIDE.replace("COUNTER", str(counter(toys, source))), encoding="utf-8")
    set_step(1, toys, monkeypatch)
    assert main(["claims", "--refresh"]) == 0
    assert main(["claims"]) == 0
    key = answer_key(claims_check(toys))
    capsys.readouterr()
    set_step(3, toys, monkeypatch)
    assert None not in (key, answer_key(claims_check(toys))) and answer_key(claims_check(toys)) != key
    assert main(["claims"]) == 15
    assert "from outside of its text are not those of the run" in capsys.readouterr().out
    assert main(["claims", "--refresh"]) == 15, "no trace is kept of a model that is a file"
    assert "K1, a search: violated" in capsys.readouterr().out
    set_step(1, toys, monkeypatch)
    assert main(["claims"]) == 15, "the run of the other step is the one that the ledger has"


def answer_from_outside() -> Outcome:
    """An enumeration that reads when it is called."""
    return Outcome(True, int(os.environ["STEP"]), "")


def test_an_enumeration_that_reads_when_it_is_called_is_refused(
    toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No digest has what it will read; what is read where a module is imported is in the digest."""
    text = CLAIM + CASES.replace("models.examples:all_of_them", "kip542_throttle.cases:values_accepted_additive")
    (toys / "K.toml").write_text(text, encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(throttle_cases, "values_accepted_additive", answer_from_outside)
    assert answer_key(claims_check(toys)) is None
    for words in (["claims"], ["claims", "--refresh"]):
        assert main(words) == 64
        assert "values_accepted_additive uses os, os._Environ when it is called" in capsys.readouterr().err
