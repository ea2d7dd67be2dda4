"""Expressions of the command line as claims, and what is outside of the language as editors read it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest import mock

import pytest

from reassure.checkers.cli.commands.lint import lint
from reassure.checkers.explorer import evaluation, worker
from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.spec.frontend import lowering
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.command import said
from tests.helpers.counter_model import BY_TWO
from tests.helpers.lease_model import LEASE


@pytest.fixture
def lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("lease.py").write_text(LEASE)
    return "lease.py"


def test_expressions_are_checked(lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In place of the model's own claims, and also by name beside them; the trace is that of a violation."""
    asked = [
        "--invariant=s.given <= 2",
        "--invariant=s.holder is None or s.given == 2",
        "--step=after.given >= before.given",
    ]
    code, out, _ = said(capsys, "check", lease, *asked, "--property=some_are_left", "--json=r.json", "--trace-dir=t")
    assert code == 12
    rows = {p["name"]: p["status"] for p in json.loads(Path("r.json").read_text())["properties"]}
    assert rows == {"some_are_left": "holds", "invariant_1": "holds", "invariant_2": "violated", "step_1": "holds"}
    assert "lease: invariant_2 is violated after 1 step\n  s.holder is None or s.given == 2\n" in out
    again = next(line for line in out.splitlines() if line.startswith("again: "))
    assert "'--invariant=s.given <= 2'" in again and "--property=some_are_left" in again
    assert "invariant_1" not in again
    code, out, err = said(capsys, "replay", "t/lease--invariant_2.itf.json", "--model=lease.py")
    assert (code, "accepts the trace: 1 step" in out, "of the expression s.holder is None" in out + err) == (
        5,
        True,
        True,
    )


def test_an_expression_takes_no_place_of_a_property(lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A violated property of the same name would not be asked."""
    Path(lease).write_text(LEASE.replace("some_are_left", "invariant_1"))
    code, _, err = said(capsys, "check", lease, "--invariant=s.given < 99", "--property=invariant_1")
    assert (code, "lease declares invariant_1, which is the name of an expression here" in err) == (64, True), err
    assert said(capsys, "check", lease, "--step=after.given >= before.given", "--engine=reference")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--invariant=s.givn < 1"], "`.givn` is not a field: did you mean `.given`?"),
        (["--invariant=s.given"], "the value of the expression: a bool is needed, not an int"),
        (["--invariant=s.given <"], "is not a Python expression"),
        (["--invariant=before.given < 1"], "an expression about a state `s` is needed"),
        (["--step=s.given < 1"], "an expression about a step: `before`, `after`, `action` is needed"),
        (["--invariant=nobody < 1"], "`s` is a state"),
        (["--invariant=s.given < 1", "--engine=spark"], "for the engines native and reference"),
    ],
)
def test_a_wrong_expression(words: list[str], message: str, lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", lease, *words)
    assert (code, message in err) == (64, True), err


READ = {
    "a comment": "X < 2 # ) that is (",
    "a comment after a carriage return": "X < 2\r# low",
    "a comment before": "# -*- coding: utf-16 -*-\nX < 2",
    "a line end": "X < 2\n",
    "a line end before": "\nX < 2",
    "line ends of Windows": "\r\nX < 2\r\n",
    "blanks before": "  X < 2",
    "a tab before": "\tX < 2",
    "a form feed": "X\f< 2",
    "a continued line": "X \\\n < 2",
    "two lines in parentheses": "(X\n< 2)",
    "parentheses": "(" * 150 + "X < 2" + ")" * 150,
    "nots": "not " * 196 + "X < 2",
    "a sum": "X" + " + 0" * 195 + " < 2",
    "a long conjunction": " and ".join(["X < 2"] * 600),
}
"""What is read as X < 2, which is false after two steps."""
REFUSED = {
    "nothing": ("", "is not a Python expression"),
    "blanks": ("  ", "is not a Python expression"),
    "a comment alone": ("# X < 2", "is not a Python expression"),
    "two lines": ("X\n< 2", "is not a Python expression"),
    "two expressions": ("X < 2\nX < 1", "is not a Python expression"),
    "two statements": ("X < 2; X < 1", "is not a Python expression"),
    "closed and opened again": ("X < 2) and (X < 1", "unmatched ')'"),
    "never closed": ("(X < 2", "'(' was never closed"),
    "never opened": ("X < 2)", "unmatched ')'"),
    "a continuation of nothing": ("X < 2 \\", "is not a Python expression"),
    "an assignment": ("X = 2", "is not a Python expression"),
    "a bare walrus": ("x := X", "is not a Python expression"),
    "a star": ("*X", "is not a Python expression"),
    "a statement": ("return X < 2", "is not a Python expression"),
    "a bare generator": ("X < y for y in (1,)", "is not a Python expression"),
    "yield": ("(yield X < 2)", "'yield' outside function"),
    "await": ("(await X)", "'await' outside function"),
    "a null byte": ("X < 2\0", "null bytes"),
    "no text": ("X < 2 # \udcff", "surrogates not allowed"),
    "another blank": ("X\xa0< 2", "invalid non-printable character"),
    "a long number": ("X < " + "9" * 5000, "is not a Python expression"),
    "nots": ("not " * 200 + "X < 2", "nests too deeply: at most 200 levels are read"),
    "thousands of nots": ("not " * 3000 + "X < 2", "nests too deeply: at most 200 levels are read"),
    "more nots than Python reads": ("not " * 100_000 + "X < 2", "nests too deeply: at most 200 levels are read"),
    "a sum": ("X" + " + 0" * 3000 + " < 2", "nests too deeply: at most 200 levels are read"),
    "signs": ("-" * 3000 + "X < 2", "nests too deeply: at most 200 levels are read"),
    "attributes": ("X" + ".a" * 3000 + " < 2", "nests too deeply: at most 200 levels are read"),
    "parentheses": ("(" * 300 + "X < 2" + ")" * 300, "is not a Python expression: too many nested parentheses"),
}
PLACES = {
    "check --invariant": (["check", "lease.py", "--engine=reference", "--invariant=E", "--json=r.json"], "s", 12),
    "check --step": (["check", "lease.py", "--engine=reference", "--step=E", "--json=r.json"], "after", 12),
    "find": (["find", "lease.py", "--no-guards", "--", "E"], "s", 0),
    "stuck": (["stuck", "lease.py", "E"], "s", 13),
    "show --value": (["show", "t/lease--deadlock.itf.json", "--model=lease.py", "--value=E"], "s", 0),
    "graph --by": (["graph", "lease.py", "--by=E", "--format=dot"], "s", 0),
    "traces --by": (["traces", "lease.py", "--cover=classes", "--by=E", "--out=suite"], "after", 0),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_unusual_expression(place: str, lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read once, in every place: with the answer of the plain one, or refused as usual."""
    words, names, code = PLACES[place]

    def answered(text: str) -> tuple[int, str, str]:
        return said(capsys, *(word.replace("E", text.replace("X", f"{names}.given")) for word in words))

    Path(lease).write_text(LEASE.replace("@terminal\ndef over(s: State) -> bool:\n    return s.holder is None\n", ""))
    assert said(capsys, "check", lease, "--engine=reference", "--trace-dir=t")[0] == 11
    for name, text in READ.items():
        got, out, err = answered(text)
        assert (name, got, "reassure: " in err) == (name, code, False), err
        if place.startswith("check"):
            (row,) = json.loads(Path("r.json").read_text())["properties"]
            assert (name, row["status"], row["depth"]) == (name, "violated", 4)
        elif place == "find":
            assert "found after 0 steps" in out
        elif place == "show --value":
            assert out.rstrip().endswith("\n  0. yes\n  3. no"), name
    for name, (text, message) in REFUSED.items():
        got, _, err = answered(text)
        assert (name, got, message in err) == (name, 64, True), err
        assert len(err) < 600, name


def test_an_unusual_expression_in_the_explorer(lease: str) -> None:
    source, path = ModelSource(lease, []), "free/grant(client=0)"
    assert evaluation._answer(source, path, "s.given < 1") == (["yes", "no"], "")
    for text in READ.values():
        assert evaluation._answer(source, path, text.replace("X", "s.given")) == (["yes", "yes"], "")
        found = worker._state_at(lease, [], SearchOptions(), text.replace("X", "s.given"), Progress(quiet=True))
        assert (found["state"], found["path"]) == ("found", "free")
    for text, message in REFUSED.values():
        values, problem = evaluation._answer(source, path, text.replace("X", "s.given"))
        assert (values, message in problem) == ([], True)
        with pytest.raises(Failure, match=re.escape(message)):
            worker._state_at(lease, [], SearchOptions(), text.replace("X", "s.given"), Progress(quiet=True))


def test_a_walrus_is_outside_the_language(lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["check", lease, "--invariant=(x := s.given) < 9"], ["find", lease, "(x := s.given) < 9"]):
        code, _, err = said(capsys, *words)
        assert (code, "`:=`: assign in a statement of its own" in err) == (64, True)


def test_a_model_that_nests_too_deeply(lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(lease).write_text(LEASE.replace("s.given <= 2", "s.given" + " + 0" * 1000 + " <= 2"))
    for words in (["check", lease], ["find", lease, "s.given < 1"], ["prove", lease]):
        code, _, err = said(capsys, *words)
        assert (code, err) == (150, "reassure: a model nests too deeply\n")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("s.given <= 2", "s.givn <= 2", "lease.py:33:12: `.givn` is "),
        ('size="clients"', 'size="nobody"', "lease.py:14:1: State.holder: "),
        ("MODEL =", "OTHER =", "lease.py:1:1: lease.py is "),
        ("from dataclasses", "from dataclass", "lease.py:2:1: lease.py cannot be imported: "),
    ],
)
def test_lint(old: str, new: str, line: str, lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.py").write_text(LEASE)
    assert said(capsys, "lint", "other.py") == (0, "", "")
    Path(lease).write_text(LEASE.replace(old, new))
    code, out, _ = said(capsys, "lint", lease, "other.py", "--json=places.json")
    assert (code, len(out.splitlines())) == (150, 1)
    assert out.startswith(line), out
    record = json.loads(Path("places.json").read_text())
    file, number, column, text = out.rstrip("\n").split(":", 3)
    (place,) = record["places"]
    assert place == {"file": file, "line": int(number), "column": int(column), "text": text.strip()}
    assert said(capsys, "lint", "leese.py")[:2] == (64, "leese.py:1:1: no file leese.py; did you mean lease.py?\n")


STEP = """
import os

STEP = float(os.environ["STEP"]) if "." in os.environ["STEP"] else int(os.environ["STEP"])
"""
COUNTS = BY_TWO.replace("s.n + 2", "s.n + STEP").replace("\n\n", f"{STEP}\n", 1)


def test_a_model_that_was_found_inside_is_not_translated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text, another value from outside, a damaged file: it is. What is refused is translated each time."""
    translated = list[str]()
    lower = lowering.lower_model

    def counted(bound: BoundModel) -> LoweredModel:
        translated.append(bound.model.name)
        return lower(bound)

    file = tmp_path / "rises.py"
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STEP", "1")

    def judged(text: str = COUNTS) -> tuple[int, int, int]:
        """The exit code, the number of places, how often a model was translated."""
        file.write_text(text, encoding="utf-8")
        translated.clear()
        with mock.patch.object(lowering, "lower_model", counted):
            code, places = lint(str(file))
        return code.value, len(places), len(translated)

    assert [judged(), judged(), judged(COUNTS + "# a remark\n")] == [(0, 0, 1), (0, 0, 0), (0, 0, 0)]
    refused = COUNTS.replace("return s.n < 2", "return id(s) < 2")
    assert [judged(refused), judged(refused), judged()] == [(150, 1, 1), (150, 1, 1), (0, 0, 0)]
    monkeypatch.setenv("STEP", "0.5")
    assert [judged(), judged()] == [(150, 1, 1), (150, 1, 1)]
    monkeypatch.setenv("STEP", "2")
    assert [judged(), judged()] == [(0, 0, 1), (0, 0, 0)]
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert lint("die_hard") == (Exit.OK, [])  # it lies elsewhere
    monkeypatch.chdir(tmp_path)
    for one in (tmp_path / "cache" / "texts").glob("l*.words"):
        one.write_bytes(one.read_bytes()[:-1])
    assert [judged(), judged()] == [(0, 0, 1), (0, 0, 0)]
