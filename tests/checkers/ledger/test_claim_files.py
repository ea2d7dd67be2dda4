"""Claims as their files have them, and what is wrong in one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.ledger import pages as ledger_page
from reassure.checkers.ledger import verdicts
from reassure.checkers.ledger.ledger import Record, RecordedResult
from reassure.checkers.ledger.subjects import RunSpec
from reassure.spec import claims
from tests.helpers.claim_text import CASES, CLAIM, READING

HOLDS = verdicts.ReadingVerdict.HOLDS


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
    answers = [
        verdicts.ReadingAnswer(r, decided_by, None, v) for r, v in zip(claim.readings, (holds, violated), strict=True)
    ]
    assert verdicts.Entry(claim, answers).standing is verdicts.Standing.VERIFIED
    assert verdicts.Entry(claim, answers[1:]).standing is verdicts.Standing.REFUTED


@pytest.mark.parametrize(
    ("more", "standing", "words"),
    [
        ("ambiguous = true", verdicts.Standing.AMBIGUOUS, "ambiguous: readings differ, 1 of 2 holds"),
        ("", verdicts.Standing.PARTLY, "holds in part, 1 of 2 holds"),
    ],
)
def test_a_claim_is_ambiguous_only_where_its_text_is(
    more: str, standing: verdicts.Standing, words: str, tmp_path: Path
) -> None:
    (claim,) = of(CLAIM + more + READING + READING.replace("as printed", "with more failures"), tmp_path)
    decided_by = RunSpec.of(claim.readings[0])
    both = (verdicts.ReadingVerdict.HOLDS, verdicts.ReadingVerdict.VIOLATED)
    answers = [verdicts.ReadingAnswer(r, decided_by, None, v) for r, v in zip(claim.readings, both, strict=True)]
    entry = verdicts.Entry(claim, answers)
    assert (entry.standing, ledger_page.standing(entry)) == (standing, words)


def test_a_claim_that_holds_of_the_text_says_so_if_kafka_violates_it(tmp_path: Path) -> None:
    """Else a promise of a document would be taken for one of Kafka's."""
    by_release = READING.replace("as printed", "as it is") + 'column = "kafka"\nreleases = ["4.2", "4.4"]'
    (claim,) = of(CLAIM + READING + by_release, tmp_path)
    decided_by = RunSpec.of(claim.readings[0])
    holds, violated = verdicts.ReadingVerdict.HOLDS, verdicts.ReadingVerdict.VIOLATED

    def told(*each: verdicts.ReadingVerdict) -> str:
        readings = claim.readings[-len(each) :]
        answers = [verdicts.ReadingAnswer(r, decided_by, None, v) for r, v in zip(readings, each, strict=True)]
        return ledger_page.standing(verdicts.Entry(claim, answers))

    assert told(holds, holds, violated) == "verified; Kafka violates it"
    assert told(holds, holds, holds) == "verified"
    assert told(holds, violated) == "holds in part, 1 of 2 holds"  # no text promises it


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


QUANTIFIED = CLAIM.replace("Something.", "All replicas, only some of them.")
SHOWN = 'quantifiers = [{ says = "All replicas", by = "a_move_ends" }, { says = "only some", because = "A bound." }]'


def test_quantifiers_are_named(tmp_path: Path) -> None:
    """A verdict does not depend on what is said of them."""
    reading = READING.replace('"leader_is_in_sync"', '"leader_is_in_sync", "a_move_ends"')
    (silent,), (claim,) = of(QUANTIFIED + reading, tmp_path), of(QUANTIFIED + SHOWN + reading, tmp_path)
    assert (silent.unnamed(), claim.unnamed()) == (
        ["All replicas, only some", "only some of them.", "some of them."],
        [],
    )
    assert silent.digest() == claim.digest()
    all_replicas, some = claim.quantifiers
    assert (all_replicas.by, some.because) == ("a_move_ends", "A bound.")

    def shown(status: str, column: str = "document", cases: int = 0) -> list[str]:
        record = Record("", "", "", "", cases=cases)
        answer = verdicts.ReadingAnswer(
            replace(claim.readings[0], column=column), RunSpec.of(claim.readings[0]), record, HOLDS
        )
        answer.results["a_move_ends"] = RecordedResult("cover", status)
        return verdicts.Entry(claim, [answer]).unshown()

    assert shown("reached") == shown("holds", cases=2) == []
    assert (
        shown("not_reached")
        == shown("holds")
        == shown("reached", "mutant")
        == shown("holds", cases=1)
        == ["All replicas"]
    )


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
        (CLAIM + "quantifiers = []" + READING, "quantifiers is a list of tables with says, and by or because, not []"),
        (CLAIM + 'quantifiers = [{ says = "Some" }]' + READING, "a list of tables with says, and by or because"),
        (QUANTIFIED + SHOWN + READING, "K.toml, K1: no reading has a_move_ends"),
        (CLAIM + SHOWN + READING, "K.toml, K1: the statement does not say 'All replicas'"),
        (CLAIM.replace("K1", "k1") + READING, "id is an id such as B4, not 'k1'"),
        (CLAIM.replace("K1", "B1") + READING, "K.toml, B1: claims of K.toml are called K1, K2"),
        (CLAIM.replace('document = "a.txt"', "") + READING, "K.toml, K1: document is missing"),
        (CLAIM.replace("Something.", " ") + READING, "statement is a sentence, not ' '"),
        (CLAIM + READING + CLAIM + READING, "K.toml, K1: there is one of that id in K.toml"),
        (CLAIM + READING + READING, "two readings are called 'as printed'"),
        (CLAIM + READING + "modle = 1", "K.toml, K1, reading 'as printed': unknown key modle"),
        (
            CLAIM + READING.replace("check", "guess"),
            "method is one of check, prove, prove any number, enumerate, not 'guess'",
        ),
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
