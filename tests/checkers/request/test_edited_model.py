"""A model's file that is edited while a command reads it: no verdict of one text under the digest of another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import reassure
from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.frontend.lowering import lower_model
from tests.helpers.command import said

TEXT = """
from dataclasses import dataclass
from reassure import *

@dataclass(frozen=True)
class Config:
    pass

@dataclass(frozen=True)
class State:
    on: bool = False

@initial
def start() -> State:
    return State()

@action(who="x")
def switch(s: State) -> State:
    return replace(s, on=not s.on)

@invariant
def never_on(s: State) -> bool:
    return not s.on

MODEL = Model.of(__name__, state=State, config=Config)
"""
EDIT = """
from pathlib import Path
text = Path(__file__).read_text()
Path(__file__).write_text(text.replace("return not s.on", "return s.on or True").partition("# edited below")[0])
"""


@pytest.mark.parametrize("words", [["check"], ["check", "--engine", "reference"], ["prove"], ["guards"], ["stuck"]])
def test_an_edit_between_import_and_translation_is_no_answer(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "edited.py"
    path.write_text(f"{TEXT}# edited below{EDIT}")
    sys.modules.pop("edited", None)
    code, _, err = said(capsys, words[0], str(path), *words[1:])
    assert (code, err) == (153, f"reassure: {path} was changed while it was read: run the command again\n")
    sys.modules.pop("edited", None)
    assert said(capsys, "check", str(path), "--quiet")[0] == 0


def test_a_model_that_is_edited_between_two_checks_of_one_process(tmp_path: Path) -> None:
    """As in a notebook: what is translated is the text that was imported last, also if both texts have one length."""
    path, seen = tmp_path / "by_turns.py", []
    for guarded in (True, False, True):
        path.write_text(TEXT.replace("    return not s.on\n", f"    return {'    True' if guarded else 'not s.on'}\n"))
        result = reassure.check(path)
        seen.append((result.verdict, result.identity.model_sha256))
    assert [verdict for verdict, _ in seen] == ["vacuous", "safety-violation", "vacuous"]
    assert seen[0] == seen[2] and seen[0][1] != seen[1][1]


def test_what_is_translated_is_what_was_imported(tmp_path: Path) -> None:
    """Though the file is another in between, and as it was again when it is looked at."""
    path = tmp_path / "aba.py"
    path.write_text(TEXT)
    bound, _ = prepare_plain(str(path), [])
    path.write_text(TEXT.replace("return not s.on", "return     s.on"))
    lowered = lower_model(bound)
    assert [formula.condition.op for formula in lowered.state_formulas] == ["not"]
