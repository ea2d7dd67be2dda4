"""The values that a model's functions, types and declarations reach, as one digest beside that of the text.

The text `STEP = int(os.environ.get("STEP", "1"))` is the same whatever STEP is, and the model is another: a value may
come from the environment, a file, a library, or a choice that a module makes when it is imported. The digest is taken
over all that the lowering can reach from a model, without lowering it: each declaration with its fields, each function
with its place in its module's text, its defaults, its closure, and what its names mean; each class with its fields,
their defaults, and what the names of its annotations mean; each value. Names are those of the code objects, so that a
branch that never runs counts too. Where the digest of the text and this one are equal, and the configuration, the model
is lowered to the same graph. What a function of the configuration gives is asked of the configuration itself.
"""

from __future__ import annotations

import dis
import hashlib
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, lru_cache, partial
from numbers import Number
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from reassure.checkers.request.digest import LANGUAGE, is_text, place_in_text
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.values import Id, Map
from reassure.spec.language.vocabulary import Action, Initial, Model, Property, Terminal
from reassure.spec.semantics.interpreter import BoundModel

PURE = frozenset({
    "_collections", "_functools", "_operator", "_struct", "abc", "bisect", "builtins", "collections", "copy",
    "dataclasses", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numbers",
    "operator", "re", "statistics", "string", "struct", "types", "typing",
})  # fmt: skip
"""Libraries whose functions give the same result for the same arguments."""
IMPURE = frozenset({
    "__import__", "breakpoint", "compile", "eval", "exec", "globals", "hash", "id", "input", "locals", "open", "vars",
})  # fmt: skip
"""Built-in functions whose result their arguments do not say."""
CONTAINERS = (tuple, list, frozenset, set, dict, types.MappingProxyType, Map)
DEEP = 6
"""Levels of containers in one word."""
KNOWN = tuple(f"{LANGUAGE}.{room}" for room in ("language", "frontend", "semantics"))
"""The language: its names say all."""
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented))
DECLARED = (Model, Action, Property, Initial, Terminal)
IMPORT_NAME = dis.opmap["IMPORT_NAME"]
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class OutsideValues:
    """The values that a model reaches.

    sha256: their digest, in hexadecimal. read_when_called: the names of what functions may read anew whenever they are
    called, such as `os.environ` in a property of the configuration: the digest without a configuration lacks it.
    """

    sha256: str
    read_when_called: tuple[str, ...] = ()


def values_of(*reached_from: Model | Callable[..., Any]) -> OutsideValues:
    """The values that models, in every configuration, and functions reach, all together."""
    walk = _Walk()
    for start in reached_from:
        walk.take(start)
    return walk.result()


def values_digest(bound: BoundModel) -> str:
    """The digest of the values that a model reaches under its configuration.

    It is the same for every configuration, unless functions read something when they are called: then it is also of
    what the configuration gives, and of which claims apply to it.
    """
    walk = _Walk()
    walk.take(bound.model)
    if not walk.outside:
        return walk.result().sha256
    walk.words += [f"when {claim.name}" for claim in bound.not_applicable]
    for name, value in _attributes(bound.config):
        walk.words.append(f"config {name} {walk.word(value)}")
    walk.empty()
    return walk.result().sha256


def _attributes(config: Any) -> Iterator[tuple[str, Any]]:
    """The fields, properties and other values of a configuration, by name."""
    for name in sorted(name for name in dir(config) if not _special(name)):
        try:
            value = getattr(config, name)
        except Exception as error:  # of a property, which is Python of any kind
            value = type(error).__name__
        if not isinstance(value, FunctionType | MethodType):
            yield name, value


class _Walk:
    """A walk through all that is reached: what can be shared or can reach itself is numbered, and described once."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.numbered: dict[int, int] = {}
        self.objects: list[Any] = []
        """By number; they stay alive, so that no other object gets the same id."""
        self.described = 0
        self.declared: set[int] = set()
        """The ids of functions whose annotations count: they say what a parameter may be."""
        self.names: dict[int, tuple[str, Any]] = {}
        """Of what its name describes, by id: the name, and the object, which stays alive."""
        self.outside: set[str] = set()
        self.texts: dict[str, bool] = {}
        """Of a module's name: whether what it defines is part of a model's text."""
        self.depth = 0

    def take(self, value: Any) -> None:
        """Describes a value, and all that it reaches."""
        self.words.append(self.word(value))
        self.empty()

    def empty(self) -> None:
        """Describes what was reached and is not described."""
        while self.described < len(self.objects):
            value = self.objects[self.described]
            self.words.append(f"#{self.described}")
            self.described += 1
            self.words += self._description(value)

    def result(self) -> OutsideValues:
        text = "\n".join(self.words)
        return OutsideValues(hashlib.sha256(text.encode()).hexdigest(), tuple(sorted(self.outside)))

    def _number(self, value: Any) -> str:
        number = self.numbered[id(value)] = len(self.objects)
        self.objects.append(value)
        return f"#{number}"

    # -- a value in words -----------------------------------------------------------------------------

    def word(self, value: Any) -> str:
        """A value as a word; the number of what is described by itself."""
        kind = type(value)
        if kind in PLAIN:
            return f"{kind.__name__}:{value!r}"
        number = self.numbered.get(id(value))
        if number is not None:
            return f"#{number}"
        if kind is FunctionType:
            inside = self._has_text(str(value.__module__), value.__globals__)
            return self._number(value) if inside else self._of_library(value)
        if isinstance(value, type):
            return self._number(value) if self._class_has_text(value) else self._of_library(value)
        if kind in DECLARED:
            return self._number(value)
        if self.depth >= DEEP and isinstance(value, CONTAINERS):
            return self._number(value)  # it may contain itself
        self.depth += 1
        word = self._whole(value)
        self.depth -= 1
        return word

    def _whole(self, value: Any) -> str:
        """A value that no number stands for."""
        kind = type(value)
        if isinstance(value, Enum):
            return f"({self.word(kind)} {value.name} {self.word(value.value)})"
        if isinstance(value, Id):
            return f"({self.word(kind)} {int(value)})"
        if isinstance(value, tuple | list):
            return f"({self.word(kind)} {self._all(value)})"
        if isinstance(value, frozenset | set):
            return f"({self.word(kind)} {self._all(sorted(value, key=_order))})"
        if isinstance(value, dict | types.MappingProxyType | Map):
            pairs = value.pairs() if isinstance(value, Map) else value.items()
            ordered = sorted(pairs, key=lambda pair: _order(pair[0]))
            return f"({self.word(kind)} {' '.join(f'{self.word(k)} {self.word(v)}' for k, v in ordered)})"
        if isinstance(value, ModuleType):
            return "module"
        origin = typing.get_origin(value)
        if origin is not None:
            noted = getattr(value, "__metadata__", ())
            return f"({self.word(origin)} {self._all((*typing.get_args(value), *noted))})"
        return self._of_object(value)

    def _of_object(self, value: Any) -> str:
        kind: Any = type(value)
        if isinstance(value, partial):
            return f"(partial {self._all((value.func, value.args, value.keywords))})"
        if isinstance(value, MethodType):
            return f"(method {self._all((value.__func__, value.__self__))})"
        if isinstance(value, property):
            return f"(property {self.word(value.fget)})"
        inner = getattr(value, "__func__", None) or getattr(value, "__wrapped__", None)
        inner = value.func if isinstance(value, cached_property) else inner
        if inner is not None:
            return f"({kind.__name__} {self.word(inner)})"
        if isinstance(value, str | bytes | int | float):  # of a class of its own
            base = next(b for b in (str, bytes, int, float) if isinstance(value, b))
            return f"({self.word(kind)} {base.__repr__(value)})"
        if is_dataclass(value):
            return f"({self.word(kind)} {self._all(getattr(value, name, None) for name in _field_names(kind))})"
        if self._class_has_text(kind):
            return self._number(value)
        if isinstance(value, Number | range):
            return f"({kind.__qualname__} {value!r})"
        return self._of_library(value)

    def _all(self, values: Iterable[Any]) -> str:
        return " ".join(self.word(value) for value in values)

    def _of_library(self, value: Any) -> str:
        """A function, class or object of the language or of a library, by its name or the name of its class."""
        known = self.names.get(id(value))
        if known is None:
            name, outside = _named_by(value)
            known = self.names[id(value)] = (name, value)
            if outside:
                self.outside.add(name)
        return known[0]

    def _has_text(self, module: str, namespace: Mapping[str, Any] | None) -> bool:
        """Whether what a module defines is part of a model's text, rather than of the language or a library."""
        inside = self.texts.get(module)
        if inside is None:
            file = None if namespace is None else namespace.get("__file__")
            of_text = namespace is None or is_text(module, file)  # None: it was forgotten, and libraries are not
            inside = self.texts[module] = of_text and not module.startswith(KNOWN)
        return inside

    def _class_has_text(self, cls: type) -> bool:
        inside = self.texts.get(cls.__module__)
        if inside is None:
            module = sys.modules.get(cls.__module__)
            inside = self._has_text(cls.__module__, None if module is None else vars(module))
        return inside

    # -- what is described by itself --------------------------------------------------------------------

    def _description(self, value: Any) -> Iterator[str]:
        if isinstance(value, FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, type):
            yield from self._of_class(value)
        elif type(value) in DECLARED:
            yield type(value).__name__
            self.declared |= {id(function) for function in _functions(value)}
            kind: Any = type(value)
            for name in _field_names(kind):
                if kind is not Model or name not in ("name", "module"):  # as it is called by its file
                    yield f"{name} {self.word(getattr(value, name))}"
        elif isinstance(value, CONTAINERS):
            self.depth = 0
            yield self._whole(value)
        else:
            yield self.word(type(value))
            slots = [slot for cls in type(value).__mro__ for slot in vars(cls).get("__slots__", ())]
            own = getattr(value, "__dict__", {})
            values = own | {s: getattr(value, s) for s in slots if not _special(s) and hasattr(value, s)}
            yield from (f"{name} {self.word(values[name])}" for name in sorted(values))

    def _of_function(self, function: FunctionType) -> Iterator[str]:
        place, names, reads = _text_of(function)
        self.outside.update(reads)
        yield f"function {place}"
        for default in (*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())):
            yield f"default {self.word(default)}"
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                yield f"{name} {self.word(cell.cell_contents)}"
            except ValueError:  # it is empty
                yield f"{name} nothing"
        yield from self._meanings(names, function.__globals__)
        if id(function) in self.declared:
            yield from self._annotations(function.__annotations__, function.__globals__)

    def _meanings(self, names: tuple[str, ...], known: Mapping[str, Any]) -> Iterator[str]:
        """What names mean in a module; of a module that one of them means, those of its attributes that are named."""
        for name in names:
            if name in known:
                value = known[name]
                yield f"{name} {self.word(value)}"
                if isinstance(value, ModuleType):
                    yield from self._named_in(value, names, {value})

    def _named_in(self, module: ModuleType, names: tuple[str, ...], seen: set[ModuleType]) -> Iterator[str]:
        if not self._has_text(module.__name__, vars(module)) and module.__name__.split(".")[0] not in PURE:
            self.outside.add(module.__name__)
        for name in names:
            value = getattr(module, name, None)
            if value is None or _special(name):
                continue
            yield f".{name} {self.word(value)}"
            if isinstance(value, ModuleType) and value not in seen:
                yield from self._named_in(value, names, seen | {value})

    def _annotations(self, annotations: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
        """What annotations are, or what the names in them mean where they are text."""
        for name, annotation in annotations.items():
            if not isinstance(annotation, str):
                yield f"{name}: {self.word(annotation)}"
                if "ForwardRef" not in (annotation := repr(annotation)):
                    continue
            yield from self._meanings(tuple(sorted(set(_IDENTIFIER.findall(annotation)))), known)

    def _of_class(self, cls: type) -> Iterator[str]:
        yield f"class {cls.__qualname__} {self._all(cls.__bases__)} {self.word(type(cls))}"
        if issubclass(cls, Enum):
            yield from (f"{member.name} {self.word(member.value)}" for member in cls)
            return
        known = _namespace(cls)
        yield from self._annotations(vars(cls).get("__annotations__", {}), known)
        if is_dataclass(cls):
            made = vars(cls).get("__dataclass_params__")
            yield f"dataclass {made and (made.frozen, made.eq, made.order)}"
            for f in fields(cls):
                yield f"{f.name} {self._all((f.default, f.default_factory, f.init, f.compare))}"
        for name, value in sorted(vars(cls).items()):
            written = isinstance(value, FunctionType) and value.__globals__ is known
            if not _special(name) or (written and value.__code__.co_filename != "<string>"):  # a dataclass's own
                yield f"{name} {self.word(value)}"


@lru_cache(1024)
def _field_names(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


def _functions(declared: Any) -> Iterator[Any]:
    """The functions that a model or a declaration of it is made of."""
    if isinstance(declared, Model):
        yield from declared.views
        return
    yield declared.function
    yield from (*declared.members.values(), *declared.guards) if isinstance(declared, Action) else ()
    yield from (declared.when, declared.goal) if isinstance(declared, Property) else ()


def _named_by(value: Any) -> tuple[str, bool]:
    named = value if isinstance(getattr(value, "__qualname__", None), str) else type(value)
    module, name = str(getattr(named, "__module__", None) or "builtins"), named.__qualname__
    pure = module.split(".")[0] in PURE or module.startswith(KNOWN)
    return f"{module}.{name}", not pure or (module == "builtins" and name in IMPURE)


def _namespace(cls: type) -> Mapping[str, Any]:
    """The names of the module that defines a class: of its functions, since another module may have its name by now."""
    functions = (f for f in vars(cls).values() if isinstance(f, FunctionType) and f.__module__ == cls.__module__)
    module = sys.modules.get(cls.__module__)
    return next((f.__globals__ for f in functions), {} if module is None else vars(module))


def _special(name: str) -> bool:
    """Whether a name is Python's own, or what pytest puts into a module whose assertions it rewrites."""
    return not name.isidentifier() or (name.startswith("__") and name.endswith("__")) or name == "_abc_impl"


def _order(value: Any) -> tuple[str, str]:
    """A key to sort the members of a set by: the same in every process."""
    name = getattr(value, "__qualname__", None) or getattr(value, "name", None)
    return str(name), _Walk().word(value)


@lru_cache(4096)
def _text_of(function: FunctionType) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The place of a function in the text of its module, all names in it, and what it may read when it is called."""
    code, names, reads = function.__code__, set[str](), set[str]()
    waiting: list[CodeType] = [code]
    while waiting:
        inner = waiting.pop()
        names.update(inner.co_names)
        waiting += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
        if IMPORT_NAME in inner.co_code[::2] or not IMPURE.isdisjoint(inner.co_names):
            reads |= {str(i.argval) for i in dis.get_instructions(inner) if _reads(i, function.__globals__)}
    text = _text_of_module(_Same(function.__globals__))
    place = place_in_text(text, code) if text is not None else None
    made = f"{code.co_code.hex()} {[c for c in code.co_consts if type(c) in PLAIN]}"  # by the program: of no text
    return place or made, tuple(sorted(name for name in names if not _special(name))), tuple(reads)


def _reads(instruction: dis.Instruction, known: Mapping[str, Any]) -> bool:
    """Whether an instruction gets a module, or a built-in function of `IMPURE`."""
    name = instruction.argval
    built_in = instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name in IMPURE and name not in known
    return built_in or instruction.opname == "IMPORT_NAME"


class _Same:
    """An object that is equal to itself alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(256)
def _text_of_module(namespace: _Same) -> str | None:
    """The text that the module of a namespace was made from."""
    loader, name = namespace.value.get("__loader__"), namespace.value.get("__name__")
    if hasattr(loader, "get_source"):
        text: str | None = loader.get_source(name)
        return text
    path = Path(str(namespace.value.get("__file__")))
    return path.read_text(encoding="utf-8") if path.suffix == ".py" and path.is_file() else None
