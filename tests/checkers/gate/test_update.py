"""`--update`: pins change where they stand, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.gate.update import updated
from reassure.checkers.machine.exit_codes import Failure
from tests.helpers.command import reported, said

GATE = """# what we promise
[[check]]           # the riddle
engine = "reference"
model = "die_hard"
name = "pin = { distinct = 3 }"
pin = { generated = 98, distinct = 1_7 } # counts
expect = "safety-violation"   # as it should be
violated = { goal_not_reached = 6 }

[[check]]
model = "core"
engine = "reference"
expect = "pass"
[check.pin]
# levels
depth = 12
"""
NEW = """# what we promise
[[check]]           # the riddle
engine = "reference"
model = "die_hard"
name = "pin = { distinct = 3 }"
pin = { generated = 97, distinct = 16, depth = 8, clipped = 0, properties = "9fc1365e5a0b" } # counts
expect = "safety-violation"   # as it should be
violated = { goal_not_reached = 7 }

[[check]]
model = "core"
engine = "reference"
expect = "pass"
[check.pin]
# levels
depth = 13
distinct = 1668
generated = 7699
clipped = 0
properties = "22b03fd71082"
"""


@pytest.mark.parametrize("check", ['kind = "find"\nexpression = "False"', 'kind = "simulate"\nwalks = 1_000_000'])
def test_numbers_of_a_run_that_was_cut_short_are_no_pins(
    check: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the next run would be others."""
    budget = 0.3 if "find" in check else 1.0
    text = f'[[check]]\n{check}\nmodel = "core"\nset = {{ brokers = 6 }}\nbudget = {budget}\nexpect = "inconclusive"\n'
    (path := tmp_path / "g.toml").write_text(text)
    said(capsys, "gate", str(path), "--update", "-j", "1")
    assert "pin" not in path.read_text()


def test_a_run_with_another_verdict_is_not_what_the_pins_are_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[[check]]\nmodel = "die_hard"\nengine = "reference"\nexpect = "pass"\npin = { distinct = 3 }\n'
    (path := tmp_path / "g.toml").write_text(text)
    code, out, _ = said(capsys, "gate", str(path), "--update", "-j", "1")
    assert (code, path.read_text()) == (15, text)
    assert "of this run; of 1 with another verdict they are left as they are" in out


def test_pins_are_written_where_they_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    path.write_text(GATE)
    code, out, _ = reported(capsys, "gate", str(path), "--update", "-j", "1")
    assert path.read_text() == NEW
    assert code == 0, out
    assert "\nwith the new pins: " in out and out.endswith(", 0 failed\n")
    shown = [line for line in out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert shown == [
        "-pin = { generated = 98, distinct = 1_7 } # counts",
        '+pin = { generated = 97, distinct = 16, depth = 8, clipped = 0, properties = "9fc1365e5a0b" } # counts',
        "-violated = { goal_not_reached = 6 }",
        "+violated = { goal_not_reached = 7 }",
        "-depth = 12",
        "+depth = 13",
        "+distinct = 1668",
        "+generated = 7699",
        "+clipped = 0",
        '+properties = "22b03fd71082"',
    ]
    code, out, _ = said(capsys, "gate", str(path), "--update", "-j", "1")
    assert (code, path.read_text()) == (0, NEW)
    assert "nothing to change: the file has the pins and trace lengths of this run" in out
    assert "with the new pins" not in out


def test_a_check_without_pins_gets_all_of_its_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    entry = '[[check]]\nmodel = "die_hard"\nengine = "reference"\nexpect = "safety-violation"{}\n{}\n'
    unexpected = entry.format("", 'violated = ["other"]')
    path.write_text(entry.format(" # so it is", "[check.set]\ngoal = 4") + unexpected)
    said(capsys, "gate", str(path), "--update", "-j", "1")
    pins = 'pin = { distinct = 16, generated = 97, depth = 8, clipped = 0, properties = "9fc1365e5a0b" }'
    new = entry.format(f" # so it is\n{pins}", "[check.set]\ngoal = 4")
    assert path.read_text() == new + unexpected
    path.write_text(new)
    assert said(capsys, "gate", str(path), "-j", "1")[0] == 0


def test_a_dropped_invariant_is_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It changes no count: only the digest of the property list tells."""
    (tmp_path / "mine.py").write_text(
        "from reassure.models.examples import core\nMODEL = core.MODEL.without('isr_within_replicas')\n"
    )
    path = tmp_path / "g.toml"
    entry = '[[check]]\nmodel = "{}"\nengine = "reference"\nexpect = "pass"\npin = {{ properties = "22b03fd71082" }}\n'
    path.write_text(entry.format("core"))
    assert said(capsys, "gate", str(path), "-j", "1")[0] == 0
    path.write_text(entry.format("mine.py"))
    code, out, _ = said(capsys, "gate", str(path), "-j", "1")
    assert (code, "the properties, or their texts, are not as pinned" in out) == (17, True), out


def test_what_is_expected_is_never_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    text = '[[check]]\nmodel = "die_hard"\nengine = "reference"\nexpect = "pass"\npin = { distinct = 1 }\n'
    path.write_text(text)
    code, out, _ = said(capsys, "gate", str(path), "--update", "-j", "1")
    assert (code, path.read_text()) == (15, text), out
    text = text.replace('"pass"', '"safety-violation"').replace("pin = { distinct = 1 }", 'violated = ["other"]')
    path.write_text(text)
    code, out, _ = said(capsys, "gate", str(path), "--update", "-j", "1")
    assert (code, path.read_text()) == (15, text), out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("check = [{ model = 'core', expect = 'pass', pin = { depth = 1 } }]\n", "line [[check]]"),
        ('[[check]]\nmodel = "core"\npin.depth = 1\n', "no table pin"),
        ('[[check]]\nname = """\npin = { depth = 1 }\n"""\n[check.pin]\ndepth = 1\n', "cannot rewrite"),
    ],
)
def test_a_spelling_that_cannot_be_rewritten_is_refused(text: str, why: str) -> None:
    with pytest.raises(Failure, match=why.replace("[", r"\[")):
        updated(text, {0: {"pin": {"depth": 2}}})
