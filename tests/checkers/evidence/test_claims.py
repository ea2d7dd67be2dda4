"""The claims of the documents: their files, and that the ledger says what the checkers find."""

from __future__ import annotations

import json
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers import publish as evidence
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import function
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.stop import BY_USER
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.cli.main import main
from reassure.checkers.evidence import command, ledger, refresh, subjects, verdicts
from reassure.checkers.evidence import pages as ledger_page
from reassure.checkers.evidence.run_spec import RunSpec
from reassure.spec import claims
from reassure.spec.kafka.shared_properties import PROMISES
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import read_itf

CLAIM = """
[[claim]]
id = "K1"
document = "a.txt"
statement = "Something."
"""
READING = """
[[claim.reading]]
name = "as printed"
model = "kraft"
properties = ["leader_is_in_sync"]
method = "check"
expect = "holds"
"""
CASES = """
[[claim.reading]]
name = "by cases"
function = "models.examples:all_of_them"
method = "enumerate"
expect = "holds"
"""


def of(text: str, folder: Path, name: str = "K.toml") -> list[claims.Claim]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return claims.read([path])


def test_a_reading_for_each_release(tmp_path: Path) -> None:
    """One entry, a reading and an expectation a release; the title of the file is that of its claims."""
    by_release = READING.replace('expect = "holds"', 'column = "kafka"\nreleases = ["4.2", "4.4"]\n')
    by_release += 'expect = { "4.2" = "holds", "4.4" = "violated" }'
    (claim,) = of('title = "A document"' + CLAIM + 'lines = "3-5"\nours = true' + READING + by_release, tmp_path)
    assert (claim.title, claim.lines, claim.ours) == ("A document", "3-5", True)
    assert ledger_page.where(claim) == "A document, lines 3-5 (ours: the document does not say it)"
    assert [(r.name, r.column, r.set, r.expect) for r in claim.readings] == [
        ("as printed", "document", {}, "holds"),
        ("as printed, Kafka 4.2", "kafka", {"release": "4.2"}, "holds"),
        ("as printed, Kafka 4.4", "kafka", {"release": "4.4"}, "violated"),
    ]


def test_a_claim_stands_by_the_readings_of_its_text(tmp_path: Path) -> None:
    """What Kafka does, or a mutant, makes no text ambiguous."""
    (claim,) = of(CLAIM + READING + READING.replace("as printed", "a mutant") + 'column = "mutant"', tmp_path)
    decided_by = RunSpec.of(claim.readings[0])
    holds, violated = verdicts.ReadingVerdict.HOLDS, verdicts.ReadingVerdict.VIOLATED
    answers = [verdicts.Answer(r, decided_by, None, v) for r, v in zip(claim.readings, (holds, violated), strict=True)]
    assert verdicts.Entry(claim, answers).standing is verdicts.Standing.VERIFIED
    assert verdicts.Entry(claim, answers[1:]).standing is verdicts.Standing.REFUTED


def test_claims_are_read(tmp_path: Path) -> None:
    (claim,) = of(CLAIM + "liveness = true" + READING + 'set = { brokers = 4, unclean = "off" }' + CASES, tmp_path)
    assert (claim.id, claim.document, claim.statement, claim.liveness) == ("K1", "a.txt", "Something.", True)
    run, cases = claim.readings
    assert (run.model, run.set, run.properties) == (
        "kraft",
        {"brokers": 4, "unclean": "off"},
        ("leader_is_in_sync",),
    )
    assert (cases.method, cases.function, cases.model) == ("enumerate", "models.examples:all_of_them", None)


def test_claims_are_ordered_by_number(tmp_path: Path) -> None:
    text = "".join(CLAIM.replace("K1", f"K{n}") + READING for n in (10, 9))
    assert [c.id for c in of(text, tmp_path)] == ["K9", "K10"]


def test_a_digest_changes_with_the_entry(tmp_path: Path) -> None:
    digests = [
        of(text, tmp_path)[0].digest()
        for text in (CLAIM + READING, CLAIM + READING.replace("holds", "violated"), CLAIM + READING)
    ]
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "K.toml: a file of claims is a title and a list of [[claim]] tables"),
        ("claim = 1", "K.toml: a file of claims is a title and a list of [[claim]] tables"),
        ("claim = [", "K.toml is no TOML"),
        (CLAIM, "K.toml, K1: reading is missing; it is a list of [[claim.reading]] tables, at least one"),
        (CLAIM + "reading = []", "reading is a list of [[claim.reading]] tables, at least one, not []"),
        (CLAIM + 'liveness = "no"' + READING, "K.toml, K1: liveness is true or false, not 'no'"),
        (CLAIM + "weight = 1" + READING, "K.toml, K1: unknown key weight"),
        (CLAIM.replace("K1", "k1") + READING, "id is an id such as B4, not 'k1'"),
        (CLAIM.replace("K1", "B1") + READING, "K.toml, B1: claims of K.toml are called K1, K2"),
        (CLAIM.replace('document = "a.txt"', "") + READING, "K.toml, K1: document is missing"),
        (CLAIM.replace("Something.", " ") + READING, "statement is a sentence, not ' '"),
        (CLAIM + READING + CLAIM + READING, "K.toml, K1: there is one of that id in K.toml"),
        (CLAIM + READING + READING, "two readings are called 'as printed'"),
        (CLAIM + READING + "modle = 1", "K.toml, K1, reading 'as printed': unknown key modle"),
        (CLAIM + READING.replace("check", "guess"), "method is one of check, prove, enumerate, not 'guess'"),
        (
            CLAIM + READING.replace("holds", "true"),
            "or a table of them by release, not 'true'",
        ),
        (CLAIM + READING + 'column = "rumour"', "column is one of document, kafka, mutant, not 'rumour'"),
        (CLAIM + READING + "releases = []", "releases is a list of releases of Kafka"),
        (CLAIM + READING.replace('"holds"', '{ "4.2" = "holds" }'), "a table of expectations goes with releases"),
        (
            CLAIM + READING.replace('"holds"', '{ "4.2" = "holds" }\nreleases = ["4.2", "4.4"]'),
            "K.toml, K1: expect is a table of 4.2, releases are 4.2, 4.4",
        ),
        (CLAIM + READING.replace('["leader_is_in_sync"]', "[]"), "properties is a list of different properties"),
        (CLAIM + READING.replace('model = "kraft"', ""), "reading 'as printed': model is missing"),
        (CLAIM + READING + "set = { brokers = 1.5 }", "set is a table of configuration values"),
        (CLAIM + READING + 'function = "a:b"', "function does not go with method check"),
        (CLAIM + CASES + 'model = "kraft"', "model does not go with method enumerate"),
        (
            CLAIM + CASES.replace(":", "."),
            'function is a function such as "kip36_racks.placement_cases:spread"',
        ),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(claims.ClaimError) as caught:
        of(text, tmp_path)
    assert said in str(caught.value)


def test_one_id_in_two_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "K.toml").write_text(CLAIM + READING, encoding="utf-8")
    with pytest.raises(claims.ClaimError, match=r"there is one of that id in K\.toml"):
        claims.read([tmp_path / "K.toml", tmp_path / "sub" / "K.toml"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(claims.ClaimError, match=r"Z\.toml: No such file"):
        claims.read([tmp_path / "Z.toml"])


# -- the claims of the project ------------------------------------------------------------------------------

NUMBERS = {"K": 24, "B": 10, "I": 6, "T": 7, "R": 7, "X": 3}
"""How many claims there are, by document."""
NOT_YET = {
    "K16": "the removed log, the leader's view of it and the truth are one thing in the model",
    "K18": "MinISR and unclean election do not change in the model",
}
"""Claims without a model that could decide them."""


@pytest.fixture(scope="module")
def found() -> list[verdicts.Entry]:
    return verdicts.entries(claims.read(), ledger.read())


def test_every_claim_is_there(found: list[verdicts.Entry]) -> None:
    assert {e.claim.id for e in found} == {
        f"{letter}{n}" for letter, most in NUMBERS.items() for n in range(1, most + 1)
    } - set(NOT_YET)


def test_the_ledger_is_fresh_and_says_what_is_expected(found: list[verdicts.Entry]) -> None:
    """Fails when a model, a claim or a verdict has changed without its record: `reassure claims --refresh`."""
    wrong = []
    for entry in found:
        for answer in entry.answers:
            where = f"{entry.claim.id}, {answer.reading.name}"
            if answer.stale:
                wrong.append(f"{where}: {answer.stale}")
            if answer.differs:
                wrong.append(f"{where}: {answer.verdict}, expected {answer.reading.expect}")
            if answer.unstated:
                wrong.append(f"{where}: {answer.verdict}, and no expectation")
    assert wrong == []


def test_only_liveness_is_not_checked(found: list[verdicts.Entry]) -> None:
    for entry in found:
        for answer in entry.answers:
            assert answer.verdict != "open", entry.claim.id
            assert answer.verdict != "not-checked" or entry.claim.liveness, entry.claim.id


def test_functions_still_say_what_the_ledger_says(found: list[verdicts.Entry]) -> None:
    """They are quick enough to be asked each time."""
    by_cases = [a for e in found for a in e.answers if a.reading.function is not None and a.record is not None]
    assert by_cases
    for answer in by_cases:
        outcome = function(str(answer.reading.function))[0]()
        assert answer.record is not None
        assert (outcome.holds, outcome.cases, outcome.bounds, outcome.counterexample or "") == (
            answer.verdict == "holds",
            answer.record.cases,
            answer.record.covered,
            answer.record.counterexample,
        )


def test_a_small_run_still_says_what_the_ledger_says(found: list[verdicts.Entry]) -> None:
    """The engines may change without a model's text doing so."""
    records = {a.run: a.record for e in found for a in e.answers if a.record is not None and a.run.method == "check"}
    wanted, record = min(records.items(), key=lambda pair: pair[1].stats["generated"])
    verdict, _ = run(
        CheckRequest(wanted.subject, list(wanted.settings), "reference", SearchOptions()), Progress(quiet=True)
    )
    stats = {"distinct": verdict.stats.distinct, "generated": verdict.stats.generated, "depth": verdict.stats.depth}
    assert stats == record.stats
    statuses = {p.name: (p.status, len(p.trace) if p.trace else None) for p in verdict.properties}
    statuses |= {c.name: ("reached" if c.reached else "not_reached", c.depth) for c in verdict.covers}
    assert statuses == {name: (r.status, r.states) for name, r in record.results.items()}


def test_every_refutation_has_its_trace(found: list[verdicts.Entry]) -> None:
    """As long as the record says; that it replays, and shows what it should, tests/test_docs.py asks of all of them."""
    told = 0
    for answer in (a for e in found for a in e.answers if a.verdict == "violated" and a.reading.function is None):
        assert answer.shown or "not_reached" in {r.status for r in answer.results.values()}
        for name, result in answer.shown.items():
            data = read_itf(answer.traces[name])
            assert (len(data["states"]), data["#meta"]["property"]) == (result.states, name)
            told += 1
    assert told >= 20


def test_the_table_has_no_empty_cell(found: list[verdicts.Entry]) -> None:
    rows = verdicts.table(found)
    assert len(rows) == 7
    for answer, cells in rows:
        limited = answer.run.subject in ("batching", "batching_literal", "reassignment_classic")
        names = [p.name for p in PROMISES if limited or p.name != "limits_are_kept"]
        assert list(answer.reading.properties) == names
        assert len(cells) == len(PROMISES)
        for promise, cell in zip(PROMISES, cells, strict=True):
            told = ledger_page.cell(answer, cell)
            if promise.name in names:
                assert told and cell is not None
            else:  # it would hold for want of any
                assert told == "has none"


def test_stories_of_claims_are_not_stale(found: list[verdicts.Entry]) -> None:
    made: dict[Path, str] = {}
    rows = evidence.traces_of_claims(found, made)
    assert len(made) == 2 * len(rows)
    assert len({row[2] for row in rows}) >= 20
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, path.name
    # What the gate gives is left to it.
    assert evidence.traces_of_claims(found, dict(made)) == []


def test_the_page_of_models_has_the_claims(found: list[verdicts.Entry]) -> None:
    text = (Path(__file__).parents[3] / "models" / "README.md").read_text(encoding="utf-8")
    assert evidence.claims_section(found) in text, "run `python -m reassure.checkers.publish`"


# -- the command, on a ledger of its own ----------------------------------------------------------------------

TOY = """
[[claim]]
id = "K1"
document = "toys.txt"
statement = "Four gallons | cannot be measured."
[[claim.reading]]
name = "a search"
model = "die_hard"
properties = ["goal_not_reached"]
method = "check"
expect = "violated"
note = "The riddle."

[[claim]]
id = "K2"
document = "toys.txt"
statement = "Everybody commits, or nobody."
[[claim.reading]]
name = "two managers"
model = "two_phase_commit"
set = { managers = 2 }
properties = ["consistent", "everybody_commits"]
method = "check"
expect = "holds"
[[claim.reading]]
name = "by proof"
model = "core"
properties = ["leader_in_isr", "reassignment_pending"]
method = "prove"
expect = "holds"
"""


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with claims of its own, and a ledger and traces beside them."""
    monkeypatch.setattr(claims, "FOLDER", tmp_path)
    monkeypatch.setattr(ledger, "PATHS", ledger.LedgerPaths(tmp_path / "ledger.json", tmp_path / "traces"))
    monkeypatch.setattr(command, "refresh", partial(refresh.refresh, engine="reference"))
    (tmp_path / "K.toml").write_text(TOY, encoding="utf-8")
    return tmp_path


def test_nothing_is_run_without_refresh(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 15
    out = capsys.readouterr().out
    assert "a search: not run  die_hard\n        goal_not_reached\n        never run" in out
    assert out.endswith("2 claims: 2 not run\n")
    assert not (toys / "ledger.json").exists()


def test_refresh_runs_what_is_due_and_nothing_twice(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--refresh"]) == 0
    out, err = capsys.readouterr()
    assert [line for line in err.splitlines() if line.startswith("running")] == [
        "running: check die_hard",
        "running: check two_phase_commit managers=2",
        "running: prove core",
    ]
    assert "a search: violated  die_hard (goal=4)\n" in out
    assert "refuted: goal_not_reached, trace of 7 states" in out
    assert "trace: traces/die_hard--goal_not_reached.itf.json" in out
    assert "verified: all of 56 states, 8 levels" in out
    assert "proved, however many steps are taken\n" in out
    assert out.endswith("2 claims: 1 proved, 1 refuted\n")
    assert sorted(p.name for p in (toys / "traces").iterdir()) == [
        "die_hard--goal_not_reached.itf.json",
        "die_hard--goal_not_reached.md",
        "two_phase_commit--managers-2--everybody_commits.itf.json",
        "two_phase_commit--managers-2--everybody_commits.md",
    ]
    before = (toys / "ledger.json").read_text(encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    assert capsys.readouterr().err == ""
    assert (toys / "ledger.json").read_text(encoding="utf-8") == before


@pytest.fixture
def ran(toys: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """As `toys`, refreshed, without the proof."""
    path = toys / "K.toml"
    path.write_text(TOY[: TOY.rindex("[[claim.reading]]")], encoding="utf-8")
    assert main(["claims", "--refresh"]) == 0
    capsys.readouterr()
    return toys


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


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
    assert "stale: its trace is missing, or of another text" in out
    assert "expected: holds" in out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"engine_version": "0.1.0"', '"engine_version": "0.0.9"', "found by version 0.0.9 of the engines"),
        ('"sha256": "', '"sha256": "0', "the text of die_hard has changed"),
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
    (ran / "traces" / "die_hard--goal_not_reached.itf.json").unlink()
    assert main(["claims"]) == 15
    assert main(["claims", "--refresh"]) == 0
    assert (ran / "traces" / "die_hard--goal_not_reached.itf.json").is_file()
    capsys.readouterr()


def test_an_interrupted_run_is_no_record(
    toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(asked: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
        verdict, bound = run(asked, progress)
        verdict.stopped = BY_USER
        return verdict, bound

    monkeypatch.setattr(refresh, "run", interrupted)
    assert main(["claims", "--refresh"]) == 5
    assert "interrupted" in capsys.readouterr().err
    assert not (toys / "ledger.json").exists()


def test_a_run_that_fails_is_named(
    toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(asked: CheckRequest, progress: Progress) -> tuple[CheckResult, BoundModel]:
        raise Failure(Exit.MODEL, "it raises ZeroDivisionError")

    monkeypatch.setattr(refresh, "run", failing)
    assert main(["claims", "--refresh", "--claim", "K1"]) == 150
    assert "check die_hard: it raises ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (claims.Outcome(True, 0, "none"), "went through no cases"),
        (claims.Outcome(True, 3, "all", "but this"), "a counterexample goes with what does not hold"),
        (claims.Outcome(False, 3, "all"), "a counterexample goes with what does not hold"),
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

    (toys / "K.toml").write_text(CLAIM + CASES.replace("models.examples", "kraft.worked_examples"), encoding="utf-8")
    for module in (refresh, subjects):
        monkeypatch.setattr(module, "function", lambda name: (call, "0" * 64))
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
    assert "ledger.json is no ledger" in capsys.readouterr().err


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
    trace = "traces/die_hard--goal_not_reached.itf.json"
    assert reading["properties"] == [
        {"name": "goal_not_reached", "kind": "invariant", "status": "violated", "states": 7, "trace": trace}
    ]
    capsys.readouterr()


def test_markdown(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--format", "md"]) == 0
    out = capsys.readouterr().out
    assert "### toys.txt" in out
    row = next(line for line in out.splitlines() if "die_hard" in line)
    assert "[goal_not_reached](traces/die_hard--goal_not_reached.md), trace of 7 states" in row
    assert "Four gallons \\| cannot be measured." in row


class Reader(HTMLParser):
    """What a page says, and whether its tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        for name, value in attrs:
            self.ids += [value] if name == "id" and value else []
            self.links += [value] if name in ("href", "src") and value else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    # Nothing from elsewhere, and every link leads somewhere.
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    assert "<script" not in text
    assert "@import" not in text
    assert "url(" not in text
    return reader


def test_page(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--format", "html"]) == 0
    text = capsys.readouterr().out
    reader = read_page(text)
    assert '<html lang="en">' in text
    assert "prefers-color-scheme: dark" in text
    assert "How it falls: goal_not_reached, 6 steps" in reader.text
    assert "hero: fill_big()big: 0 → 5" in reader.text
    assert "How it is reached: everybody_commits" in reader.text


def test_the_page_of_the_project(found: list[verdicts.Entry]) -> None:
    reader = read_page(ledger_page.page(found))
    for entry in found:
        assert entry.claim.id in reader.ids
        assert entry.claim.statement in reader.text
        assert ledger_page.title(entry.claim.document, found) in reader.text
    for promise in PROMISES:
        assert promise.name in reader.text


def test_every_document_has_a_title(found: list[verdicts.Entry]) -> None:
    assert all(e.claim.title for e in found)
    assert ledger_page.title("toys.txt", found) == "toys.txt"
