"""What the answer of a check depends on, as one digest: `reassure gate --changed` takes an answer only under the same.

It is made of the check's command, the text of its models, the files that it reads, this program, and the versions of
what it stands on.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from functools import cache
from pathlib import Path

import reassure
from reassure.checkers.base.digest import digest_and_modules
from reassure.checkers.base.import_file import changed_since_import
from reassure.checkers.base.model_loader import UnknownModel, load
from reassure.checkers.gate.gate_file import Check
from reassure.spec.language.vocabulary import LanguageError

SCHEMA = 2
STANDS_ON = ("llvmlite", "z3-solver", "numpy", "networkx")


def answer_key(check: Check, ran: str | None = None) -> str | None:
    """The digest of all that a check's answer depends on.

    ran: the digest of the model that the answer is of, if it says so. None if the digest cannot be said: of a kind
    whose answer depends on more, of a model that cannot be loaded, and of one whose files are being changed.
    """
    if not check.about.by_digest:
        return None
    try:
        models = [_of_model(name) for name in check.models]
        files = [_of_file(path) for path in check.files()]
    except (UnknownModel, LanguageError, OSError):
        return None
    if None in models or (ran is not None and ran not in models):
        return None
    text = json.dumps([SCHEMA, check.words(), models, files, _program()])
    return hashlib.sha256(text.encode()).hexdigest()


def _of_model(name: str) -> str | None:
    sha256, modules = digest_and_modules(load(name))
    return sha256 if changed_since_import(modules) is None else None


@cache
def _program() -> str:
    """The digest of this program and of what it stands on."""
    sha256 = hashlib.sha256(sys.version.encode())
    for name in STANDS_ON:
        sha256.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    home = Path(reassure.__file__).parent
    for part in ("checkers", "spec"):
        for path in sorted((home / part).rglob("*.py")):
            sha256.update(path.read_bytes())
    return sha256.hexdigest()


def _of_file(path: Path) -> str:
    """The digest of a file; of a folder, the names and digests of what is in it."""
    if path.is_dir():
        return " ".join(f"{p.relative_to(path)!s}:{_of_file(p)}" for p in sorted(path.rglob("*")) if p.is_file())
    return hashlib.sha256(path.read_bytes()).hexdigest()
