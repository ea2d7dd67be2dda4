"""The version of the engines that give the ledger's verdicts: a digest of their text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from reassure import checkers, spec
from reassure.checkers.request.digest import digest_of_files

FOLDERS = ("engines/native", "engines/reference", "engines/symbolic", "encoding")
FILES = (
    "check.py", "request/digest.py", "request/engine_results.py", "request/import_file.py", "machine/memory.py",
    "request/model_loader.py", "request/options.py", "request/prepare.py", "request/result.py", "machine/stop.py", "request/vacuity.py",
    "traces/fairness.py", "traces/lasso.py", "traces/raising.py", "traces/reconstruct.py",
)  # fmt: skip
OF_SPEC = ("frontend", "language", "semantics")
DIGITS = 12


@cache
def engines_version() -> str:
    """The first digits of the digest of what every verdict depends on, beside the text of its model.

    That is: the engines that the ledger uses, the translation of models, the code of states, and what gives each
    property its status. Docstrings, comments and formatting do not count, nor do the versions of the libraries.
    """
    of_checkers, of_spec = Path(checkers.__path__[0]), Path(spec.__path__[0])
    folders = [*(of_checkers / name for name in FOLDERS), *(of_spec / name for name in OF_SPEC)]
    return digest_of_files(folders, (of_checkers / name for name in FILES))[:DIGITS]
