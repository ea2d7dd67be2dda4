"""What models mean, as digests that are kept from one run to the next: a model that is as it was is not imported.

A text alone does not say what a model means: values may come from the environment, or from a file. So digests are kept
only of the models that come with the project, and only where all values are in the text: every module of theirs imports
libraries whose functions give the same for the same arguments, and calls no built-in function that does not. They are
believed once two processes have found the same, as long as no file of the model and no folder with one was written.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import symtable
import sys
from collections.abc import Iterable, Iterator, Sequence

import reassure.spec
from reassure.checkers.request.digest import KEPT, OURS, digest_and_modules, file_of, program_digest, source
from reassure.checkers.request.import_file import changed_since_import
from reassure.checkers.request.model_loader import find, function, load, module_of_function
from reassure.checkers.request.outside_values import IMPURE, KNOWN, PURE, values_of
from reassure.spec.language.light_dataclasses import dataclass

OF_THE_PROGRAM = (*KNOWN, "reassure.spec.claims")
"""Modules whose text is not a model's. Importing them reads nothing."""
LIBRARIES = PURE | {"__future__"}
NAMES_OF_OBJECTS = frozenset({"__all__", "__annotations__", "__members__", "__name__", "__post_init__"})
"""Names between underscores that say nothing of the machine, the process or the place of a file."""
ENOUGH = 2
"""Processes that must have found the same."""

Seen = list[list[str | int]]
"""Files and folders as they are: path, number, size, when they were written and when they came there (ns)."""


@dataclass(frozen=True)
class Meaning:
    """What models and functions mean together, as digests: of their text, and of the values that they reach."""

    sha256: str
    values: str


def meaning(models: Sequence[str], functions: Sequence[str] = ()) -> Meaning | None:
    """The meaning of models, by name or path, and of functions, `package.module:name`.

    None where no digest says it: a function may read more when it is called, or a file was written since it was
    imported. Raises `UnknownModel` or `LanguageError` for what cannot be loaded.
    """
    program, paths = program_digest(("spec", "checkers")), [str(find(name)) for name in models]
    asked = (program, sys.version, paths, list(functions))
    key = "m" + hashlib.sha256(repr(asked).encode()).hexdigest()[:39]
    kept = None if program is None else KEPT.read(key)
    facts = {} if kept is None else json.loads(kept)
    if facts and facts["times"] >= ENOUGH and facts["seen"] == _seen(row[0] for row in facts["seen"]):
        return Meaning(*facts["meaning"])
    loaded, called = [load(name) for name in models], [function(name) for name in functions]
    sha256, modules = digest_and_modules(*loaded, more=map(module_of_function, functions))
    values = values_of(*loaded, *called)
    files = None if program is None else _files_of_plain_text(modules)
    seen = _seen({*files, *map(os.path.dirname, files)}) if files is not None else []
    if changed_since_import(modules) is not None or values.read_when_called:
        return None
    found = Meaning(sha256, values.sha256)
    if seen:
        same = facts and (facts["meaning"], facts["seen"]) == ([found.sha256, found.values], seen)
        times = facts["times"] + 1 if same else 1
        about = {"meaning": [found.sha256, found.values], "seen": seen, "times": times}
        KEPT.write(key, json.dumps(about).encode())
    return found


def _seen(paths: Iterable[str | int]) -> Seen:
    """Files and folders as they are; without those that are not there."""
    rows: Seen = []
    for path in sorted(map(str, paths)):
        try:
            of = os.stat(path)
        except OSError:
            continue
        rows.append([path, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns])
    return rows


def _files_of_plain_text(modules: Iterable[str]) -> list[str] | None:
    """The files of modules, and of the packages that they are in; None unless their text says all values."""
    own = {name for name in modules if source(name) is not None and not _of_the_program(name)}
    own |= {package for name in own for package in _packages(name) if not _of_the_program(package)}
    files = []
    for name in own:
        text, file = source(name), file_of(name)
        if not name.startswith(f"{OURS}.") or text is None or file is None or not os.path.isfile(file):
            return None
        if not says_all_values(text):
            return None
        files.append(file)
    return files


def _of_the_program(name: str) -> bool:
    return name in (OURS, reassure.spec.__name__) or name.startswith(OF_THE_PROGRAM)


def _packages(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


def says_all_values(text: str) -> bool:
    """Whether a module's text, executed again, gives the same values, those of other modules of the project aside."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            if not all(_is_known(alias.name) for alias in node.names):
                return False
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module == OURS:
                if not {alias.name for alias in node.names} <= {*reassure.spec.__all__}:
                    return False
            elif node.level == 0 and not _is_known(str(node.module)):
                return False
        elif isinstance(node, ast.Attribute) and _is_special(node.attr):
            return False
    return not any(map(_names_outside, _scopes(symtable.symtable(text, "", "exec"))))


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES or module.startswith(f"{OURS}.")


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in NAMES_OF_OBJECTS


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _scopes(inner)


def _names_outside(scope: symtable.SymbolTable) -> bool:
    """Whether a scope uses a built-in function whose result its arguments do not say, or a name of the interpreter."""
    used = [s for s in scope.get_symbols() if s.is_referenced()]
    names = {s.get_name() for s in used if s.is_global() or s.get_name() not in IMPURE} - {"__class__"}  # of `super()`
    return any(name in IMPURE or _is_special(name) for name in names)
