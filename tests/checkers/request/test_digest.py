"""The digest changes with what a model means, and with nothing else."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import reassure
from reassure.checkers.request import digest as text_digest
from reassure.checkers.request.digest import SAME_MEANING, _ModuleDigests, digest, module_files, program_digest, source
from reassure.checkers.request.model_loader import load_model

MODEL = '''"""A counter."""
from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, initial, invariant, replace, require
from rules import step

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(1, 5)] = 3

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 5)]
    """How far it counted."""

@initial
def start(c: Config) -> State:
    return State(0)

@action(who="clock")
def tick(s: State) -> State:
    """Counts."""
    require(s.n < 3)  # not further
    return replace(s, n=s.n + step())

@invariant
def small(s: State) -> bool:
    """It stays small."""
    return s.n <= 3

MODEL = Model.of(__name__, state=State, config=Config)
'''
RULES = '"""What a step is."""\n\ndef step() -> int:\n    return 1\n'
numbers = itertools.count()


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """The digest of a model's text with the text of the module that it imports."""

    def digest_of(model: str = MODEL, rules: str = RULES, name: str = "counter", imported: str = "rules") -> str:
        folder = tmp_path / f"v{next(numbers)}"
        folder.mkdir()
        (folder / f"{name}.py").write_text(model)
        (folder / f"{imported}.py").write_text(rules)
        with monkeypatch.context() as patch:
            for module in (name, imported):
                patch.delitem(sys.modules, module, raising=False)
            patch.syspath_prepend(str(folder))
            made = digest(load_model(str(folder / f"{name}.py")))
            for module in (name, imported):
                patch.delitem(sys.modules, module, raising=False)
        return made

    return digest_of


def test_words_do_not_count(taken) -> None:  # type: ignore[no-untyped-def]
    expected = taken()
    assert len(expected) == 64
    assert taken(MODEL.replace('"""Counts."""', '"""Goes on by a step."""')) == expected
    assert taken(MODEL.replace('    """Counts."""\n', "")) == expected
    assert taken(MODEL.replace("  # not further", "")) == expected
    assert taken(MODEL.replace("s.n < 3", "(s.n   <   3)")) == expected
    assert taken(MODEL.replace('    """How far it counted."""\n', "")) == expected
    assert taken(rules=RULES.replace("What a step is.", "A step.")) == expected


def test_names_of_files_do_not_count(taken) -> None:  # type: ignore[no-untyped-def]
    moved = taken(MODEL.replace("from rules import", "from moved_rules import"), imported="moved_rules")
    assert moved == taken() == taken(name="renamed_counter")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s.n < 3", "s.n <= 3"),
        ("s.n < 3", "3 > s.n"),
        ("Range(0, 5)", "Range(0, 6)"),
        ('who="clock"', 'who="wall"'),
        ("def small", "def tiny"),
        ("top: Annotated[int, Range(1, 5)] = 3", "top: Annotated[int, Range(1, 5)] = 4"),
        ("s.n + step()", "s.n - step()"),
    ],
)
def test_meaning_counts(old: str, new: str, taken) -> None:  # type: ignore[no-untyped-def]
    assert old in MODEL
    assert taken(MODEL.replace(old, new)) != taken()


def test_what_is_imported_counts(taken) -> None:  # type: ignore[no-untyped-def]
    assert taken(rules=RULES.replace("return 1", "return 2")) != taken()
    assert taken(rules=RULES.replace("return 1", "return True")) != taken()


def test_shipped_models_differ() -> None:
    names = ("kraft", "kraft_kafka", "core", "die_hard", "epoch_unchecked", "retarget_unchecked")
    assert len({digest(load_model(name)) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["kraft", "die_hard", "batching"])
def test_what_else_is_loaded_does_not_count(name: str) -> None:
    """One process loads the model alone; the other has used the whole API and another engine before."""
    text = (
        "from reassure.checkers.request import digest, model_loader\n"
        f"print(digest.digest(model_loader.load_model({name!r})))"
    )
    engine = "reassure.checkers.engines.symbolic.prover"
    before = f"import reassure, {engine}; reassure.check('die_hard', engine='reference')\n"
    alone, among = (
        subprocess.run(
            [sys.executable, "-c", words], env=dict(os.environ), capture_output=True, text=True, check=True
        ).stdout
        for words in (text, before + text)
    )
    assert alone == among
    assert len(alone.strip()) == 64


def test_the_files_of_a_model_are_its_own_and_those_it_imports() -> None:
    assert [path.name for path in module_files(load_model("core_liveness"))] == ["core.py", "core_liveness.py"]


def test_an_import_inside_a_function_counts_whether_loaded_or_not(taken) -> None:  # type: ignore[no-untyped-def]
    late = RULES.replace("    return 1", "    import graphlib, later_on\n    return 1")
    assert taken(rules=late) != taken()
    assert taken(rules=late) == taken(rules=late)


def test_a_loader_without_text_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of pytest, for the modules of a package with a plugin."""
    model = load_model("two_phase_commit")
    before = digest(model)
    monkeypatch.setattr(sys.modules[model.module], "__loader__", object())
    assert source(model.module) is not None
    assert digest(model) == before


def test_a_text_of_the_language_that_changes_no_meaning_keeps_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the table is of a text that is there now, and all of them are taken away with it."""
    language = ("annotations", "types", "declarations", "vocabulary")
    changed = [f"reassure.spec.language.{name}" for name in language]
    changed.append("reassure.spec.semantics.interpreter")
    changed += [f"reassure.spec.language.{name}" for name in ("variants", "light_dataclasses")]
    kept = dict(SAME_MEANING)
    assert [_ModuleDigests().of(name) for name in changed] == list(kept.values())
    monkeypatch.setattr("reassure.checkers.request.digest.SAME_MEANING", {})
    assert _ModuleDigests().of(changed[-1]) == list(kept)[-1]
    assert not {_ModuleDigests().of(name) for name in changed} & set(kept.values())


LONG_TEXT = (
    "import os, json as j\nfrom . import near\nfrom ..far.away import thing as other, more\nfrom x import *\n\n"
    + "\n".join(f"def f{n}(a: int) -> int:\n    return a + {n} if a else len('\u00e9')\n" for n in range(60))
    + "several = [lambda a: a, lambda a: (lambda b: b)(a)]\n"
)


def kept_files(folder: Path) -> list[Path]:
    return [path for path in (folder / "texts").glob("*") if not path.name.startswith(".")]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where words of texts are kept; none are known to this process."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    text_digest._parsed.cache_clear()
    return tmp_path


def test_words_of_a_text_are_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is what parsing gives, imports included; the next process parses nothing."""
    made = text_digest._parsed(LONG_TEXT)
    assert made == text_digest._parse(LONG_TEXT)
    assert [part.text for part in made.parts if not isinstance(part, str)] == LONG_TEXT.splitlines()[:4]
    assert len(kept_files(kept)) == 1
    text_digest._parsed.cache_clear()

    def refuse(text: str) -> None:
        raise AssertionError("parsed again")

    with monkeypatch.context() as patch:
        patch.setattr(text_digest, "_parse", refuse)
        assert text_digest._parsed(LONG_TEXT) == made
        with pytest.raises(AssertionError):
            text_digest._parsed(LONG_TEXT + "\n")
        with pytest.raises(AssertionError):
            text_digest._parsed("x = 1\n")
    text_digest._parsed("x = 1\n")
    assert len(kept_files(kept)) == 1


def test_words_that_are_damaged_or_of_another_text_are_not_used(kept: Path) -> None:
    made = text_digest._parsed(LONG_TEXT)
    (path,) = kept_files(kept)
    whole = path.read_bytes()
    other = text_digest._parsed(LONG_TEXT.replace("f7", "g7"))
    assert other != made
    (second,) = set(kept_files(kept)) - {path}
    for content in (whole[:-1], whole.replace(b"f7", b"g7"), b"", second.read_bytes()):
        path.write_bytes(content)
        text_digest._parsed.cache_clear()
        assert text_digest._parsed(LONG_TEXT) == made
    path.chmod(0o666)
    text_digest._parsed.cache_clear()
    assert text_digest._parsed(LONG_TEXT) == made


def test_a_text_that_is_not_in_a_file_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is of the text of the module that makes the words."""
    monkeypatch.setattr(text_digest, "_maker", lambda: None)
    assert text_digest._parsed(LONG_TEXT) == text_digest._parse(LONG_TEXT)
    assert not (kept / "texts").exists()


def test_the_digest_of_the_programs_text_is_kept_for_the_files_as_they_are(kept: Path, tmp_path: Path) -> None:
    """Of the same length and time of writing, added, renamed, taken away: the text is read again, and is another."""
    program = tmp_path / "program"
    (program / "spec" / "below").mkdir(parents=True)
    (program / "spec" / "__pycache__").mkdir()
    one, two = program / "spec" / "one.py", program / "spec" / "below" / "two.py"

    def now(reads: bool) -> str | None:
        refuse = AssertionError("read again")
        with mock.patch.object(reassure, "__path__", [str(program)]):
            if reads:
                return program_digest.__wrapped__(("spec",))
            with mock.patch.object(Path, "read_bytes", side_effect=refuse):
                return program_digest.__wrapped__(("spec",))

    one.write_text("a = 1\n")
    two.write_text("b = 2\n")
    first = now(reads=True)
    assert now(reads=False) == first
    (program / "spec" / "__pycache__" / "one.py").write_text("c = 3\n")
    (program / "spec" / "notes.md").write_text("words\n")
    assert now(reads=False) == first
    before = one.stat()
    one.write_text("a = 9\n")
    os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(AssertionError, match="read again"):
        now(reads=False)
    seen = [first, now(reads=True)]
    two.rename(two.with_name("other.py"))
    seen.append(now(reads=True))
    one.unlink()
    seen.append(now(reads=True))
    assert len(set(seen)) == 4
    one.write_text("a = 1\n")
    two.with_name("other.py").rename(two)
    assert now(reads=True) == first
    for file in kept_files(kept):
        file.write_bytes(b"")
    assert now(reads=True) == first
    with mock.patch.object(reassure, "__path__", [str(program)]):
        assert program_digest.__wrapped__(("spec", "nothing_like_that")) is None
