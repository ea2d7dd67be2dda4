"""The statements of the documents: all are there, each is judged or said why not, and what judges it is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from reassure.checkers.kafka.pages.findings_index import statement_page
from reassure.spec import claims
from reassure.spec.claims import statements
from reassure.spec.claims.statements import Coverage, Statement, of_file

COUNTS = {"K": 31, "B": 35, "I": 11, "T": 16, "R": 23}
"""How many statements each document has."""
SEEDS = Path(__file__).parents[5] / "shared" / "seeds"


def test_every_statement_has_a_row() -> None:
    letters = {c.document: c.id[0] for c in claims.read()}
    found = Counter(letters[s.document] for s in statements.read())
    assert (dict(found), found.total()) == (COUNTS, 116)


def test_a_row_is_judged_by_a_claim_of_its_document_or_says_why_not() -> None:
    by_id = {claim.id: claim for claim in claims.read()}
    for s in statements.read():
        assert s.claims or s.open, s
        assert {by_id[name].document for name in s.claims} <= {s.document}, s
        assert s.says.endswith((".", "?")), s


def test_lines_are_lines_of_the_document() -> None:
    if not SEEDS.is_dir():
        pytest.skip("the documents are not beside the checkout")
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SEEDS.glob("*.txt")}
    for s in statements.read():
        numbers = [int(n) for n in s.at.rstrip("abc").replace("/", "-").split("-") if n]
        assert all(1 <= n <= lengths[s.document] for n in numbers), s


FILE = """
title = "A document"
statements = [
  %s
]
[[claim]]
id = "K1"
document = "a.txt"
statement = "Something."
[[claim.reading]]
name = "as printed"
method = "check"
model = "kraft"
properties = ["leader_is_in_sync"]
"""
JUDGED = '{ at = "3", says = "It is so.", claims = ["K1"], by = ["leader_is_in_sync"] },'


def made(row: str, folder: Path) -> tuple[list[Statement], list[str]]:
    path = folder / "K.toml"
    path.write_text(FILE % row, encoding="utf-8")
    wrong: list[str] = []
    return of_file(path, claims.read([path]), wrong), wrong


def test_coverage(tmp_path: Path) -> None:
    partly = JUDGED.replace('"3"', '"4a"').replace(" },", ', open = "The rest." },')
    rows, wrong = made(JUDGED + partly + '{ at = "5/6-7", says = "And so.", open = "Nobody can." }', tmp_path)
    assert [s.coverage for s in rows] == [Coverage.COVERED, Coverage.PARTLY, Coverage.NOT]
    assert wrong == []
    page = statement_page(rows, {"K": "claims/README.md"})
    assert "Covered: 1 of 3." in page
    assert "3 statements: 1 covered, 1 partly, 1 not judged." in page
    assert "| 3 | It is so. | [K1](claims/README.md#k1): `leader_is_in_sync` | - |" in page
    assert "| 5/6-7 | And so. | - | Nobody can. |" in page


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{ at = "3", says = "So." }', "neither judged by a claim, nor said why not"),
        ('{ at = "3", says = "", open = "x" }', "says is missing"),
        ('{ at = "line 3", says = "So.", open = "x" }', 'at is a line such as "62b"'),
        (JUDGED.replace('["K1"]', '["K2"]'), "there is no claim K2"),
        (JUDGED.replace("is_in_sync", "sleeps"), "no reading of K1 has leader_sleeps"),
        (JUDGED.replace(', by = ["leader_is_in_sync"]', ""), "claims and by go together"),
        (JUDGED.replace("says", "said"), "unknown key said"),
        (JUDGED.replace('claims = ["K1"]', 'claims = "K1"'), "claims is a list"),
        (JUDGED + JUDGED, "statement at 3 is there twice"),
    ],
)
def test_wrong_rows(row: str, said: str, tmp_path: Path) -> None:
    _, wrong = made(row, tmp_path)
    assert len(wrong) >= 1 and said in " ".join(wrong)
