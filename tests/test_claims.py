"""The claims of the documents: their files, and that the ledger says what the checkers find."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec import claims

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
        ("", "K.toml: a file of claims is a list of [[claim]] tables"),
        ("claim = 1", "K.toml: a file of claims is a list of [[claim]] tables"),
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
        (CLAIM + READING.replace("holds", "true"), "expect is one of holds, violated, not 'true'"),
        (CLAIM + READING.replace('["leader_is_in_sync"]', "[]"), "properties is a list of different properties"),
        (CLAIM + READING.replace('model = "kraft"', ""), "reading 'as printed': model is missing"),
        (CLAIM + READING + "set = { brokers = 1.5 }", "set is a table of configuration values"),
        (CLAIM + READING + 'function = "a:b"', "function does not go with method check"),
        (CLAIM + CASES + 'model = "kraft"', "model does not go with method enumerate"),
        (CLAIM + CASES.replace(":", "."), 'function is a function such as "models.placement_claims:spread"'),
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
