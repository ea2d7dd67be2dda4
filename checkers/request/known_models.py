"""What models mean, as digests that are kept from one run to the next: a model that is as it was is not imported.

A text alone does not say what a model means: values may come from the environment, or from a file. So digests are kept
only where all values are in the text: every module of the model imports modules of this kind, and libraries whose
functions give the same for the same arguments, and calls no built-in function that does not. They are believed once two
processes have found the same, as long as no file of the model was written, and nothing came into a folder with one or
into one that Python looks for modules in.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import symtable
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

import reassure.spec
from reassure.checkers.machine.own_files import stamp
from reassure.checkers.request.digest import KEPT, OURS, digest_and_modules, file_of, program_digest, source
from reassure.checkers.request.import_file import changed_since_import, path_of_modules
from reassure.checkers.request.model_loader import find_model, function, load_model, module_of_function
from reassure.checkers.request.outside_values import IMPURE, KNOWN, PURE, values_of
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Model

OF_THE_PROGRAM = (*KNOWN, "reassure.spec.claims")
"""Modules whose text is not a model's. Importing them reads nothing."""
LIBRARIES = PURE | {"__future__"}
NAMES_OF_OBJECTS = frozenset({"__all__", "__annotations__", "__members__", "__name__", "__post_init__"})
"""Names between underscores that say nothing of the machine, the process or the place of a file."""
ENOUGH = 2
"""Processes that must have found the same."""

Seen = list[list[str | int]]
"""Files and folders as they are: path, and what it is like (`stamp`)."""


@dataclass(frozen=True)
class Meaning:
    """What models and functions mean together, as digests: of their text, and of the values that they reach."""

    sha256: str
    values: str


class _Kept(NamedTuple):
    """What is on disk. times: how many processes have found it, one after the other."""

    meaning: list[str]
    seen: Seen
    times: int

    @classmethod
    def under(cls, key: str | None) -> _Kept | None:
        """What is kept under a key, if anything is."""
        kept = None if key is None else KEPT.read(key)
        return None if kept is None else cls(*json.loads(kept))


def meaning(models: Sequence[str], functions: Sequence[str] = ()) -> Meaning | None:
    """The meaning of models, by name or path, and of functions, `package.module:name`.

    None where no digest says it: a function may read more when it is called, or a file was written since it was
    imported. Raises `UnknownModel` or `LanguageError` for what cannot be loaded.
    """
    return kept_meaning(models, functions) or found_meaning(models, [load_model(name) for name in models], functions)


def kept_meaning(models: Sequence[str], functions: Sequence[str] = ()) -> Meaning | None:
    """The meaning of models and functions that are not imported; None if it is not kept, or a file was written."""
    kept = _Kept.under(_key(models, functions))
    if kept is None or kept.times < ENOUGH or kept.seen != _seen(row[0] for row in kept.seen):
        return None
    return Meaning(*kept.meaning)


def found_meaning(models: Sequence[str], loaded: Sequence[Model], functions: Sequence[str] = ()) -> Meaning | None:
    """As `meaning`, of models that were loaded. It is kept."""
    sha256, modules = digest_and_modules(*loaded, more=map(module_of_function, functions))
    values = values_of(*loaded, *map(function, functions))
    key, files = _key(models, functions), _files_of_plain_text(modules)
    seen = [] if files is None else _seen({*files, *_folders(files), *path_of_modules()})
    if changed_since_import(modules) is not None or values.read_when_called:
        return None
    found = Meaning(sha256, values.sha256)
    if seen and key is not None:
        kept, digests = _Kept.under(key), [found.sha256, found.values]
        times = kept.times + 1 if kept is not None and (kept.meaning, kept.seen) == (digests, seen) else 1
        KEPT.write(key, json.dumps(_Kept(digests, seen, times)).encode())
    return found


def _key(models: Sequence[str], functions: Sequence[str]) -> str | None:
    """What the meaning of models is kept under; None where the program's text is not known, or the folder is gone."""
    try:
        program, folder = program_digest(), os.getcwd()
    except FileNotFoundError:
        return None
    if program is None:
        return None
    paths, interpreter = [str(find_model(name)) for name in models], (sys.version, tuple(sys.flags))
    asked = (program, interpreter, path_of_modules(), folder, paths, list(functions))
    return "m" + hashlib.sha256(repr(asked).encode()).hexdigest()[:39]


def _seen(paths: Iterable[str | int]) -> Seen:
    """Files and folders as they are, or that they are not there."""
    return [[path, *stamp(path)] for path in sorted(map(str, paths))]


def _files_of_plain_text(modules: Iterable[str]) -> list[str] | None:
    """The files of modules, and of the packages that they are in; None unless their text says all values."""
    own = {name for name in modules if source(name) is not None and not _of_the_program(name)}
    own |= {package for name in own for package in _packages(name) if not _of_the_program(package)}
    known = LIBRARIES | {OURS} | {name.partition(".")[0] for name in own}
    files = []
    for name in own:
        text, file = source(name), file_of(name)
        if text is None or file is None or not os.path.isfile(file) or not says_all_values(text, known):
            return None
        files.append(file)
    return files


def _folders(files: Iterable[str]) -> Iterator[str]:
    """The folders that files are in, and that the packages which they are part of are in."""
    for file in files:
        folder = os.path.dirname(file)
        yield folder
        while os.path.isfile(os.path.join(folder, "__init__.py")):
            folder = os.path.dirname(folder)
            yield folder


def _of_the_program(name: str) -> bool:
    return name in (OURS, reassure.spec.__name__) or name.startswith(OF_THE_PROGRAM)


def _packages(name: str) -> Iterator[str]:
    """The packages that a module is in. A file that lies by itself may have a name with a dot, and is in none."""
    while name := name.rpartition(".")[0]:
        if name in sys.modules:
            yield name


def says_all_values(text: str, known: Container[str]) -> bool:
    """Whether a module's text, executed again, gives the same values, those of other modules of the model aside.

    known: the libraries and packages that it may import.
    """
    for node in ast.walk(ast.parse(text)):
        imported: list[str] = []
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module != OURS:
                imported = [str(node.module)]
            elif not {alias.name for alias in node.names} <= {*reassure.spec.__all__}:
                return False
        elif isinstance(node, ast.Attribute) and _is_special(node.attr):
            return False
        if not all(name.partition(".")[0] in known and name != OURS for name in imported):
            return False
    return not any(map(_names_outside, _scopes(symtable.symtable(text, "", "exec"))))


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
