"""What the answer of a check depends on, as one digest: `reassure gate --changed` takes an answer only under the same.

It is made of the check's command, the text of its models and the values that they reach, the files that it reads, this
program, and the versions of what it stands on.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

import reassure
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.request.digest import digest_and_modules
from reassure.checkers.request.import_file import changed_since_import
from reassure.checkers.request.model_loader import UnknownModel, load
from reassure.checkers.request.outside_values import values_of
from reassure.spec.language.vocabulary import LanguageError

SCHEMA = 3
STANDS_ON = ("llvmlite", "z3-solver", "numpy", "networkx")


@dataclass(frozen=True)
class ModelKey:
    """What a model means, as digests: of its text, and of the values that it reaches."""

    sha256: str
    values: str


Known = dict[str, ModelKey | None]
"""The keys of models, by name or path: for checks whose keys are made at one time."""


def answer_key(check: Check, ran: str | None = None, known: Known | None = None) -> str | None:
    """The digest of all that a check's answer depends on.

    ran: the digest of the model that the answer is of, if it says so. known: is asked for the keys of models, and gets
    them. None if the digest cannot be said: of a kind whose answer depends on more, of a model that cannot be loaded,
    of one whose files are being changed, and of one whose functions may read more when they are called.
    """
    if not check.about.by_digest:
        return None
    try:
        models = [_of_model(name, {} if known is None else known) for name in check.models]
        files = [_of_file(path) for path in check.files()]
    except (UnknownModel, LanguageError, OSError):
        return None
    keys = [key for key in models if key is not None]
    if len(keys) < len(models) or (ran is not None and ran not in [key.sha256 for key in keys]):
        return None
    text = json.dumps([SCHEMA, check.words(), [astuple(key) for key in keys], files, _program()])
    return hashlib.sha256(text.encode()).hexdigest()


def _of_model(name: str, known: Known) -> ModelKey | None:
    if name not in known:
        model = load(name)
        sha256, modules = digest_and_modules(model)
        values = values_of(model)
        unsaid = changed_since_import(modules) is not None or values.read_when_called
        known[name] = None if unsaid else ModelKey(sha256, values.sha256)
    return known[name]


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
