"""The signature, the annotations and the source of functions, which lowering asks for again and again.

Also here: the methods that a name of an attribute may mean.

Also here: refusals: a construct outside the language, its place, and what to write instead.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Container, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

from reassure.spec.language.annotations import Hints, each_hint
from reassure.spec.language.light_dataclasses import dataclass

REMEMBERED = 4096
"""Functions and classes whose answers are kept."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@lru_cache(REMEMBERED)
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function, or the fields that a class is made of."""
    return inspect.signature(function)


@lru_cache(REMEMBERED)
def cached_hints(function: Callable[..., Any]) -> Hints:
    """The annotations of a function or class, with what is noted in them."""
    return each_hint(function)


@lru_cache(256)
def _parsed(text: str) -> tuple[ast.Module, list[str]]:
    """The syntax tree and the lines of a text."""
    return ast.parse(text), text.splitlines()


def _text(function: FunctionType, path: str) -> str:
    """The text that a function was compiled from, if its module's loader keeps it: its file may be another by now."""
    loader = function.__globals__.get("__loader__")
    if loader is not None and getattr(loader, "path", None) == path and hasattr(loader, "get_source"):
        text = loader.get_source(loader.name)
        if text is not None:
            return str(text)
    return Path(path).read_text(encoding="utf-8")


@lru_cache(REMEMBERED)
def find_source(function: FunctionType) -> tuple[Definition, str, list[str]]:
    """The syntax tree of a function or lambda, its file and the file's lines; `OSError` if there is none."""
    path = inspect.getsourcefile(function)
    if path is None:
        raise OSError(f"{function.__name__} has no source")
    tree, lines = _parsed(_text(function, path))
    if function.__name__ == "<lambda>":
        return _find_lambda(function, tree, path), path, lines
    first_line, name = function.__code__.co_firstlineno, function.__code__.co_name  # another name may have been given
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            if first_line in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return node, path, lines
    raise OSError(f"{function.__name__} is not in {path}")


def _find_lambda(function: FunctionType, tree: ast.Module, path: str) -> ast.Lambda:
    """The innermost lambda whose body has all the places that the function's instructions come from."""
    places = [(p[0], p[2]) for p in function.__code__.co_positions() if p[0] is not None and p[2]]
    candidates = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            body = node.body
            start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
            if all(start <= (line, column or 0) <= end for line, column in places if line and column):
                candidates.append(node)
    if not candidates:
        raise OSError(f"a lambda of {path}:{function.__code__.co_firstlineno} was not found")
    return max(candidates, key=lambda n: (n.lineno, n.col_offset))


def methods_named(function: FunctionType, names: Container[str], config: type) -> list[FunctionType]:
    """The methods and properties that a function's text may mean by these names of attributes.

    They are those of all classes in its module, and in the modules that its classes and functions come from: which
    class a value is of is not known here. config: the configuration, whose properties are constants.
    """
    methods = _methods_of(_Namespace(function.__globals__))
    return [m for name, owner, m in methods if name in names and not issubclass(config, owner)]


class _Namespace:
    """The names of a module; equal to another one of the same module."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Namespace) and self.names is other.names

    def __hash__(self) -> int:
        return id(self.names)


@lru_cache(REMEMBERED)
def _methods_of(namespace: _Namespace) -> list[tuple[str, type, FunctionType]]:
    """The methods and properties of the classes that a module can mention: the name, the class, the function."""
    methods: dict[tuple[str, type], FunctionType] = {}
    seen: set[int] = set()
    pending: list[Mapping[str, Any]] = [namespace.names]
    while pending:
        names = pending.pop()
        if id(names) in seen:
            continue
        seen.add(id(names))
        for value in list(names.values()):
            value = getattr(value, "function", value) if hasattr(type(value), "__dataclass_fields__") else value
            if isinstance(value, FunctionType) and _is_text_of_a_model(value):
                pending.append(value.__globals__)
            elif isinstance(value, type) and _is_text_of_a_model(value):
                pending.append(vars(sys.modules[value.__module__]))
                for name, member in vars(value).items():
                    found = getattr(member, "fget", None) or getattr(member, "__func__", member)
                    if isinstance(found, FunctionType) and not name.startswith("_"):
                        methods[name, value] = found
    return [(name, owner, method) for (name, owner), method in methods.items()]


_LANGUAGE = ("reassure.spec.language", "reassure.spec.semantics", "reassure.spec.frontend")
"""Packages whose functions and classes are the language and no part of a model."""


def _is_text_of_a_model(value: FunctionType | type) -> bool:
    """Whether a function or a class is text of a model, and not of the language or a library."""
    module = sys.modules.get(value.__module__)
    file = getattr(module, "__file__", None) or ""
    library = value.__module__.split(".")[0] in sys.stdlib_module_names or "site-packages" in file
    return module is not None and not library and not value.__module__.startswith(_LANGUAGE)


@dataclass(frozen=True)
class Refusal:
    """A construct outside the language. line: counted from 1; column: from 0; source: the line's text."""

    file: str
    line: int
    column: int
    construct: str
    remedy: str
    source: str = field(default="", compare=False)

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}:{self.column + 1}: {self.construct}: {self.remedy}"
        return text + (f"\n    {self.source}\n    {' ' * self.column}^" if self.source else "")


class Refused(Exception):
    """Unwinds to the statement in which something was refused. The refusal is recorded already."""


class SubsetError(Exception):
    """The model uses Python outside the language; `refusals` lists every place."""

    def __init__(self, refusals: list[Refusal]) -> None:
        self.refusals = sorted(refusals, key=lambda r: (r.file, r.line, r.column))
        super().__init__("\n".join(str(r) for r in self.refusals))


OVER_RANGE = (frozenset, tuple, sum, len, sorted)
"""The functions of a range that are those of a comprehension over it."""


def over_range(node: ast.Call, function: Any) -> tuple[Any, ast.Call]:
    """A call of such a function, as `frozenset(range(k))`, with a comprehension: the function, and the call."""
    loop = ast.comprehension(ast.Name("i", ast.Store()), node.args[0], [], 0)
    element = ast.Constant(1) if function is len else ast.Name("i", ast.Load())
    call = ast.Call(node.func, [ast.GeneratorExp(element, [loop])], node.keywords)
    return sum if function is len else function, ast.fix_missing_locations(ast.copy_location(call, node))


MOST_OPERATIONS = 60_000
"""Operations of the largest model that is translated: eight times those of the largest that comes with the project."""


class TooLarge(SubsetError):
    """The model is in the language, and has more than `MOST_OPERATIONS` operations. It names the place."""
