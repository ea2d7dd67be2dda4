"""The digest of a model's text: what it means, not how it is written down.

It is taken over the syntax trees of the modules that a model is made of. Docstrings, comments, formatting and the names
of files do not count: a module that is imported counts by its own digest, wherever it lies. Traces, certificates, the
ledger and run directories carry the digest; where it differs, what they say is of another text.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple, cast

import reassure
from reassure.checkers.machine.own_files import KeptFiles, cache_folder, stamp
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Model

OURS = "reassure"
"""The package of the language and of the models that come with it, wherever it is installed."""
LANGUAGE = "reassure.spec"
"""The package that defines the names a model imports from `reassure` itself."""
STANDARD_LIBRARY = str(Path(dataclasses.__file__).parent)
SAME_MEANING = {
    # annotations.py: an annotation that was refused is such a value; all that is refused is told at once
    "209418cd1c437a9e6b9796f1c26f07035d0c42954ca2f8b6a846c1591d9dbfcb":
        "36c8608fa7a270d7046e23946b56e42b47cfb140d5302840d04a0f7abdc9278d",
    # types.py: sequences of records and numbers, tuples as keys and values, sets of numbers: no earlier model has these
    "0540fb20ab761746c317a1b8fe0e928912db1cec3f126648b0fc7a8175b18d3a":
        "9405e49cd92fce1af428e4841dc9c6955b05f4b2ccfc0fc1df030cb0d8999f23",
    # declarations.py: a decorator of its own classes; a tuple that is a value has no fields to watch
    "2a290625028d5e813613a42fe729a9889389c1c60caf294b0a9116882750a140":
        "64609c410ef455fc4894da4effad879c3bba16447271de227874abb17f6cc2fe",
    # vocabulary.py: a variant knows the model that it was made of; it may add guards, change fairness and rules
    "142e14fe2781e816eb8c77f6596a153ed3e61ac77a8c67310cc0bbfc67aff760":
        "90c3cc2313de66164118b53cc0a2129f714594a86ec788b08e709b0bfc0bf5db",
    # interpreter.py: what is wrong with several declarations is told at once
    "25caeb68227517be4db0767dbd32c85b79b1eb2de774a5b8bc4c4d335394602d":
        "a63e1e649e7f1a8894d7003f6caa40ab66e05212910061b0610dbea2860bea87",
    # variants.py: when it imports what one message needs
    "e0b93dc0cce6be1d0b6815ccb63e3c47fd1e3618807cb9a761e7671c3af30170":
        "21d9a460a26bc25e3c00a591547f49df4a54990ced4dc748e0b090b9917bdf67",
    # light_dataclasses.py: the `__init__` of a class is made with its first object
    "280d1bdc5f7c1270cf4f222ab1b5057056b183528ebbc61f3e55678e7bbaad52":
        "cef6508734ccb9b9b138d0709a67701c571d5474f31fa412867c20ba6a947aca",
}  # fmt: skip
"""Digests of texts of the language, each with that of an earlier text in which every model means the same."""


def digest(model: Model) -> str:
    """SHA-256, in hexadecimal, of a model's text: its own modules and what they import, but for libraries."""
    return digest_of_modules(_modules(model))


def digest_and_modules(*models: Model, more: Iterable[str] = ()) -> tuple[str, list[str]]:
    """As `digest`, of models and more modules together, and the names of the modules whose text is in it."""
    digests = _ModuleDigests()
    return digests.of_all({*more, *(name for model in models for name in _modules(model))}), list(digests.by_module)


def module_files(model: Model) -> list[Path]:
    """The files of a model's own modules and of those that they import, but for the language and libraries."""
    digests = _ModuleDigests()
    for name in sorted(_modules(model)):
        digests.of(name)
    own = [name for name in digests.by_module if not name.startswith(LANGUAGE) and source(name) is not None]
    return sorted(Path(file) for name in own if (file := getattr(sys.modules.get(name), "__file__", None)))


def _modules(model: Model) -> set[str]:
    """Modules that declare a model."""
    start = {model.module, model.state.__module__, model.config.__module__}
    return start | {d.function.__module__ for d in model.declarations()}


def digest_of_modules(names: Iterable[str]) -> str:
    """SHA-256, in hexadecimal, of the text of imported modules, whatever their order and their names."""
    return _ModuleDigests().of_all(names)


def digest_of_files(folders: Iterable[Path], files: Iterable[Path] = ()) -> str:
    """SHA-256, in hexadecimal, of the text of files and of all modules below folders, whatever their names."""
    paths = {path for folder in folders for path in folder.rglob("*.py")} | set(files)
    parts = (_parsed(path.read_text(encoding="utf-8")).parts for path in paths)
    return _sha256(" ".join(sorted(_sha256(" ".join(map(_word, of_one))) for of_one in parts)))


class _Import(NamedTuple):
    """An `import` or `from ... import`, as it stands in a text."""

    text: str
    level: int | None
    """Of a `from`: how many dots it has; None of an `import`."""
    module: str
    """Of a `from`: what follows the dots."""
    names: list[tuple[str, str]]
    """Each imported name, and the name that it gets."""

    @classmethod
    def of(cls, node: ast.Import | ast.ImportFrom) -> _Import:
        """A syntax tree of one."""
        names = [(alias.name, alias.asname or alias.name) for alias in node.names]
        if isinstance(node, ast.Import):
            return cls(ast.unparse(node), None, "", names)
        return cls(ast.unparse(node), node.level, node.module or "", names)


def words_of(nodes: Sequence[ast.AST]) -> str:
    """Syntax trees, such as those of statements, as text without docstrings, comments and formatting."""
    return " ".join(_word(part) for node in nodes if not _is_text_only(node) for part in _tree(node, [], []))


def _word(part: str | _Import | ast.Import | ast.ImportFrom) -> str:
    if isinstance(part, _Import):
        return part.text
    return part if isinstance(part, str) else ast.unparse(part)


class _ModuleDigests:
    """Digests of modules, each found once."""

    def __init__(self) -> None:
        self.by_module: dict[str, str] = {}

    def of_all(self, names: Iterable[str]) -> str:
        """One digest of several modules, whatever their order."""
        return _sha256(" ".join(sorted({self.of(name) for name in sorted(names)})))

    def of(self, name: str) -> str:
        """The digest of a module of ours; of a library, its name."""
        if name == OURS:
            name = LANGUAGE  # the rest of the package is imported when it is first used, and is not part of a model
        if name not in self.by_module:
            self.by_module[name] = "cycle"  # what a module says of one that imports it is in the other's text
            text = source(name)
            own = name if text is None else _sha256(" ".join(self._words(text, name)))
            self.by_module[name] = SAME_MEANING.get(own, own)
        return self.by_module[name]

    def _words(self, text: str, module: str) -> Iterator[str]:
        for part in _parsed(text).parts:
            if isinstance(part, str):
                yield part
            elif part.level is not None:
                yield from self._imported_names(part, part.level, module)
            else:
                for name, given in part.names:
                    yield f"(import {self.of(name)} {given})"

    def _imported_names(self, part: _Import, level: int, module: str) -> Iterator[str]:
        dotted = "." * level + part.module
        base = importlib.util.resolve_name(dotted, _package(module)) if level else dotted
        for name, given in part.names:
            inner = f"{base}.{name}"
            if isinstance(getattr(sys.modules.get(base), name, None), ModuleType) and inner in sys.modules:
                yield f"(import {self.of(inner)} {given})"
            else:
                yield f"(from {self.of(base)} {name} {given})"


def place_in_text(text: str, code: CodeType) -> str | None:
    """The place of a function in the text that its code is from, by which two functions of one name differ.

    That is a digest of the text without its imports, and the number of the definition in it. None if it is not there.
    """
    module = _parsed(text)
    for definition in module.definitions.get((code.co_name, code.co_firstlineno), ()):
        if definition.body is None or _is_within(code, definition.body):
            return f"{module.sha256} {definition.number}"
    return None


def _is_within(code: CodeType, body: tuple[int, int, int, int]) -> bool:
    """Whether all instructions of a lambda come from within a body."""
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    return all(body[:2] <= place <= body[2:] for place in places)


class _Definition(NamedTuple):
    """A function or a lambda of a text."""

    name: str
    line: int
    """The first one, as the code object has it."""
    number: int
    """Among the definitions of the text."""
    body: tuple[int, int, int, int] | None
    """Of a lambda: the line and the column where its body begins, and those where it ends."""

    @classmethod
    def of(cls, number: int, node: _Function) -> _Definition:
        """A syntax tree of one."""
        if isinstance(node, ast.Lambda):
            body = node.body
            span = (body.lineno, body.col_offset, body.end_lineno or 0, body.end_col_offset or 0)
            return cls("<lambda>", node.lineno, number, span)
        return cls(node.name, min((d.lineno for d in node.decorator_list), default=node.lineno), number, None)


@dataclass(frozen=True)
class _Parsed:
    """The syntax tree of a module as words, and its imports where they stand: what those mean is another text's."""

    parts: tuple[str | _Import, ...]
    definitions: dict[tuple[str, int], list[_Definition]]
    """By name and first line: its functions and lambdas, the inner ones first."""

    @functools.cached_property
    def sha256(self) -> str:
        """Of the words, without the imports."""
        return _sha256(" ".join(part for part in self.parts if isinstance(part, str)))

    @classmethod
    def of(cls, parts: Iterable[str | _Import], definitions: Iterable[_Definition]) -> _Parsed:
        """definitions: the inner ones first."""
        by_place: dict[tuple[str, int], list[_Definition]] = {}
        for definition in definitions:
            by_place.setdefault((definition.name, definition.line), []).append(definition)
        return cls(tuple(parts), by_place)

    def kept(self) -> bytes:
        """As it is kept on disk."""
        return json.dumps([self.parts, [d for of_place in self.definitions.values() for d in of_place]]).encode()

    @classmethod
    def from_kept(cls, text: bytes) -> _Parsed:
        """What `kept` wrote."""
        parts, definitions = json.loads(text)
        imports = (p if isinstance(p, str) else _Import(p[0], p[1], p[2], [(n, g) for n, g in p[3]]) for p in parts)
        return cls.of(imports, (_Definition(n, line, at, body and tuple(body)) for n, line, at, body in definitions))


KEPT = KeptFiles(lambda: cache_folder("texts"), b"reassure text 1\n", ".words", 600)
LONG = 2_000
"""Characters of a text from which on its words are kept on disk."""


@functools.cache
def program_digest(names: tuple[str, ...] = ("spec", "checkers")) -> str | None:
    """The digest of the text of these packages as this process first reads it; None if they are not in folders.

    It is kept for the files as they are: a text is read again when its file was written, or is another one.
    """
    [program] = reassure.__path__
    try:
        files = [(name, *one) for name in names for one in sorted(_files(f"{program}/{name}"))]
        key = "p" + hashlib.sha256(repr((program, files)).encode()).hexdigest()[:39]
        if (kept := KEPT.read(key)) is not None:
            return kept.decode()
        digest = hashlib.sha256()
        for name, file, _ in files:
            text = Path(program, name, file).read_bytes()
            digest.update(f"{file} {len(text)}\n".encode() + text)
    except OSError:
        return None
    KEPT.write(key, digest.hexdigest().encode())
    return digest.hexdigest()


def _files(folder: str, below: str = "") -> Iterator[tuple[str, tuple[int, ...]]]:
    """The texts below a folder: path, and what it is like (`stamp`)."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield below + entry.name, stamp(entry.path)
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _files(entry.path, f"{below}{entry.name}/")


@functools.cache
def _maker() -> str | None:
    """The SHA-256 of the text of this module, which makes the words; None where it is not in a file."""
    try:
        return _sha256(Path(__file__).read_text(encoding="utf-8"))
    except OSError:
        return None


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> _Parsed:
    """Kept for each text: a process that loads many models reads most of their modules again and again."""
    maker = _maker() if len(text) >= LONG else None
    if maker is None:
        return _parse(text)
    key = hashlib.sha256(repr((maker, sys.version, text)).encode()).hexdigest()
    kept = KEPT.read(key)
    if kept is not None:
        return _Parsed.from_kept(kept)
    parsed = _parse(text)
    KEPT.write(key, parsed.kept())
    return parsed


def _parse(text: str) -> _Parsed:
    parts: list[str | _Import] = []
    words: list[str] = []
    functions: list[_Function] = []
    for word in _tree(ast.parse(text), [], functions):
        if isinstance(word, str):
            words.append(word)
            continue
        if words:
            parts.append(" ".join(words))
        parts.append(_Import.of(word))
        words = []
    definitions = [_Definition.of(number, node) for number, node in enumerate(functions)]
    return _Parsed.of((*parts, " ".join(words)), reversed(definitions))


_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Words = list[str | ast.Import | ast.ImportFrom]
_FIELDS: dict[type[ast.AST], tuple[tuple[str, str, bool], ...]] = {}
"""Of a kind of node, as far as its fields count: a field, its word, and whether None in it is a value."""


def _tree(node: ast.AST, words: _Words, definitions: list[_Function]) -> _Words:
    """The tree as words. Empty fields are left out: Python versions differ in which they have.

    definitions: gets the functions and lambdas of the tree, the outer ones first.
    """
    kind = type(node)
    if kind is ast.ImportFrom or kind is ast.Import:
        words.append(node)  # type: ignore[arg-type]
        return words
    if kind in _DEFINITIONS:
        definitions.append(node)  # type: ignore[arg-type]
    fields = _FIELDS.get(kind)
    if fields is None:
        counted = [f for f in kind._fields if f not in ("kind", "type_comment")]
        fields = tuple((f, f"{f}=", kind is ast.Constant and f == "value") for f in counted)
        _FIELDS[kind] = fields
    words.append(f"({kind.__name__}")
    for field, word, none_counts in fields:
        value = getattr(node, field, None)
        if value == [] or (value is None and not none_counts):
            continue
        words.append(word)
        if isinstance(value, ast.AST):
            _tree(value, words, definitions)
        elif isinstance(value, list):
            words.append("[")
            for item in value:
                if isinstance(item, ast.AST):
                    if not _is_text_only(item):
                        _tree(item, words, definitions)
                else:
                    words.append(f"{type(item).__name__}:{item!r}")
            words.append("]")
        else:
            words.append(f"{type(value).__name__}:{value!r}")
    words.append(")")
    return words


def source(name: str) -> str | None:
    """The text of a module of a model, also from a zip; None of a library or what is not a Python text.

    What is imported only inside a function, or for types, may not be loaded: whether it is must not count.
    """
    module = sys.modules.get(name)
    loader, path = getattr(module, "__loader__", None), getattr(module, "__file__", None)
    if module is None:
        spec = _spec(name)
        loader, path = (spec.loader, spec.origin) if spec is not None else (None, None)
    if path is None or not is_text(name, path):
        return None
    read = getattr(loader, "get_source", None)
    if read is not None:
        return cast(str | None, read(name))
    # pytest imports the modules of a plugin's package by a loader of its own, which gives no text
    return Path(path).read_text(encoding="utf-8") if path.endswith(".py") and Path(path).is_file() else None


def file_of(name: str) -> str | None:
    """The file of a module, imported or not."""
    module = sys.modules.get(name)
    if module is not None:
        return getattr(module, "__file__", None)
    spec = _spec(name)
    return spec.origin if spec is not None else None


def is_text(name: str, path: str | None) -> bool:
    """Whether a module of a name, from a file, is ours or of a model, rather than of a library."""
    if path is None:
        return False
    return name.split(".")[0] == OURS or not (path.startswith(STANDARD_LIBRARY) or "site-packages" in path)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _package(name: str) -> str | None:
    module = sys.modules.get(name)
    return module.__package__ if module is not None else name.rpartition(".")[0]


def _is_text_only(item: object) -> bool:
    """Whether a statement is a string by itself: a docstring, of a module, class, function or attribute."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
