"""The version of the engines that give the ledger's verdicts: a digest of their text."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from reassure import checkers
from reassure.checkers.request.digest import digest_of_files

STARTS = (
    "checkers/check.py",
    "checkers/engines",
    "checkers/encoding",
    "spec/frontend",
    "spec/language",
    "spec/semantics",
)
"""The files and folders, below the package, whose imports are followed."""
DECIDES_NOTHING = frozenset(
    {
        "checkers/engines/spark",
        "checkers/machine/atomic_files.py",
        "checkers/machine/exit_codes.py",
        "checkers/machine/missing_file.py",
        "checkers/machine/only_answers.py",
        "checkers/machine/own_files.py",
        "checkers/machine/own_process.py",
        "checkers/machine/polled_interrupts.py",
        "checkers/machine/progress.py",
        "checkers/machine/terminal.py",
        "checkers/request/argument_types.py",
        "checkers/request/declared.py",
        "checkers/request/meaning.py",
        "checkers/request/run_identity.py",
        "checkers/request/run_record.py",
        "checkers/request/shared_options.py",
        "checkers/traces/expression_claims.py",
        "checkers/traces/format_value.py",
        "checkers/traces/values_along.py",
    }
)
"""Imported files and folders that ask for a run, end it or tell it, and the engine that the ledger does not use."""
IMPORT = re.compile(r"^\s*from (reassure\.(?:checkers|spec)[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
"""An import of this program: the module, and the names. Text is enough: `ast` takes ten times as long."""
DIGITS = 12


@cache
def engines_version() -> str:
    """The first digits of the digest of what every verdict depends on, beside the text of its model.

    That is: the engines that the ledger uses, and all that they import, but for `DECIDES_NOTHING`. Docstrings, comments
    and formatting do not count, nor do the versions of the libraries.
    """
    return digest_of_files([], deciding_files(Path(checkers.__path__[0]).parent))[:DIGITS]


def deciding_files(package: Path) -> list[Path]:
    """The files of the engines, and those of this program that they import, straight or through others; sorted."""
    started = (package / start for start in STARTS)
    open_files = [file for start in started for file in (start.rglob("*.py") if start.is_dir() else [start])]
    files: set[Path] = set()
    while open_files:
        file = open_files.pop()
        if file not in files and not _decides_nothing(file, package):
            files.add(file)
            open_files += _imported(file, package)
    return sorted(files)


def _decides_nothing(file: Path, package: Path) -> bool:
    inner = file.relative_to(package)
    return any(str(part) in DECIDES_NOTHING for part in (inner, *inner.parents))


def _imported(file: Path, package: Path) -> list[Path]:
    """The files of this program that a file imports, wherever in it."""
    names = []
    for module, imported in IMPORT.findall(file.read_text(encoding="utf-8")):
        names += [module, *(f"{module}.{name}" for name in re.findall(r"\w+", imported))]
    paths = (package.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names)
    return [path for path in paths if path.is_file()]
