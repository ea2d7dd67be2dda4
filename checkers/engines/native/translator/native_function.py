"""Kernels as machine code behind their own signatures: `native(f)` takes the arguments of `f` and does what `f` does.

Every kernel in its module's `EXPORTED` can be compiled; if it has a `Static` parameter, that is `words`, the words of a
state. Those of one module are compiled together, once for each number of words, when one of them is first called with
it; the machine code is kept on disk. Arrays are numpy arrays of int64, or words of `word_rows`. A dataclass is passed
as a block of eight-byte fields; its integer fields are read back. Calls release the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import hashlib
import linecache
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from reassure.checkers.engines.native.translator import language as kernel_language
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.engines.native.translator.types import is_static, parameter_names
from reassure.checkers.engines.native.translator.word_rows import address_of

P = ParamSpec("P")
R = TypeVar("R")
TRANSLATOR = ("language", "types", "expressions", "translator", "native_function")
"""The modules that make machine code of kernels; part of the key that it is stored under."""
LEVEL = 2
"""LLVM's optimisation level for shared kernels."""


class ModelFunction:
    """A function of a model's machine code, by its address; kernels call it as a function value."""

    def __init__(self, address: int, arguments: str) -> None:
        """arguments: a letter for each, `w` for words and `i` for an integer."""
        self.address, self.arguments = address, arguments
        kinds = [ctypes.c_void_p if letter == "w" else ctypes.c_int64 for letter in arguments]
        self.function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(address)

    def __call__(self, *arguments: Any) -> int:
        """Calls it from Python."""
        numbers = [address_of(a) if k == "w" else a for a, k in zip(arguments, self.arguments, strict=True)]
        return int(self.function(*numbers))


def native(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel as machine code."""
    return cast("Callable[P, R]", _native(function))


@cache
def _native(function: Any) -> Any:
    module = sys.modules[function.__module__]
    hints = typing.get_type_hints(function, include_extras=True)
    names = parameter_names(function)
    static = [i for i, name in enumerate(names) if is_static(hints[name])]
    states = [i for i, name in enumerate(names) if hints[name] == kernel_language.State]
    packers = [None if i in static else _packer(hints[name]) for i, name in enumerate(names)]
    returns = hints["return"]
    compiled: dict[int | None, Any] = {}

    def call(*arguments: Any) -> Any:
        words = arguments[static[0]] if static else len(arguments[states[0]]) if states else None
        target = compiled.get(words)
        if target is None:
            target = compiled[words] = _compiled(module, words)[function.__name__]
        numbers: list[Any] = []
        blocks: list[_Block] = []
        for value, pack in zip(arguments, packers, strict=True):
            if pack is not None:
                pack(value, numbers, blocks)
        result = target(*numbers)
        for block in blocks:
            block.read_back()
        return bool(result) if returns is bool else result

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def prepare_kernels(module: ModuleType, words: int | None = None) -> None:
    """Compiles the exported kernels of a module for states of so many words (None: those that read no states), or takes
    them from disk."""
    _compiled(module, words)


# -- arguments ---------------------------------------------------------------------------------------------------------


class _Block:
    """A dataclass as a block of memory."""

    def __init__(self, value: Any, fields: tuple[tuple[str, Any], ...]) -> None:
        self.value = value
        self.inner: list[_Block] = []
        numbers: list[int] = []
        for name, pack in fields:
            pack(getattr(value, name), numbers, self.inner)
        self.memory = (ctypes.c_int64 * len(numbers))(*numbers)
        self.integers = tuple((i, name) for i, (name, pack) in enumerate(fields) if pack is _pack_integer)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)

    def read_back(self) -> None:
        """Writes integers that the kernel changed back to the dataclass."""
        for i, name in self.integers:
            if getattr(self.value, name) != self.memory[i]:
                setattr(self.value, name, self.memory[i])


Packer = Callable[[Any, "list[Any]", "list[_Block]"], None]


def _pack_integer(value: Any, numbers: list[Any], blocks: list[_Block]) -> None:
    numbers.append(int(value))


def _pack_words(value: Any, numbers: list[Any], blocks: list[_Block]) -> None:
    numbers.append(address_of(value))


def _pack_state(value: Any, numbers: list[Any], blocks: list[_Block]) -> None:
    numbers.extend(int(word) for word in value)


def _pack_function(value: Any, numbers: list[Any], blocks: list[_Block]) -> None:
    numbers.append(value.address)


@cache
def _packer(annotation: Any) -> Packer:
    """The function that turns an argument with this annotation into the numbers that machine code takes."""
    if annotation in (int, bool):
        return _pack_integer
    if annotation is kernel_language.Words:
        return _pack_words
    if annotation == kernel_language.State:
        return _pack_state
    if not hasattr(annotation, "__dataclass_fields__"):
        return _pack_function
    hints = typing.get_type_hints(annotation)
    fields = tuple((name, _packer(hints[name])) for name in annotation.__dataclass_fields__)

    def pack(value: Any, numbers: list[Any], blocks: list[_Block]) -> None:
        block = _Block(value, fields)
        blocks.append(block)
        numbers.append(block.address)

    return pack


# -- compiling ---------------------------------------------------------------------------------------------------------


@cache
def _compiled(module: ModuleType, words: int | None) -> Mapping[str, Any]:
    """The exported kernels of a module as ctypes functions."""
    functions = exported(module, words)
    key = hashlib.sha256(repr((module.__name__, words, *_made_from(module))).encode()).hexdigest()
    addresses = llvm.compiled_functions(key, lambda: text_of(module, words), list(functions), LEVEL)
    return {name: _prototype(function, words)(addresses[name]) for name, function in functions.items()}


def exported(module: ModuleType, words: int | None) -> dict[str, FunctionType]:
    """The kernels of a module that are compiled for states of so many words (None: those that read no states)."""
    functions: dict[str, FunctionType] = {}
    for function in module.EXPORTED:
        hints = typing.get_type_hints(function, include_extras=True).values()
        for_states = any(is_static(hint) or hint == kernel_language.State for hint in hints)
        if for_states == (words is not None):
            functions[function.__name__] = function
    return functions


def text_of(module: ModuleType, words: int | None) -> str:
    """The LLVM IR of a module's exported kernels."""
    from reassure.checkers.engines.native.translator.translator import Translator

    translator = Translator()
    for name, function in exported(module, words).items():
        translator.export(function, name, {} if words is None else {"words": words})
    return translator.text()


def _prototype(function: FunctionType, words: int | None) -> Any:
    hints = typing.get_type_hints(function, include_extras=True)
    kinds: list[Any] = []
    for name in parameter_names(function):
        if not is_static(hints[name]):
            count = words or 0 if hints[name] == kernel_language.State else 1
            kinds += [ctypes.c_int64] * count  # an address is an integer of eight bytes
    result = None if hints["return"] is type(None) else ctypes.c_int64
    return ctypes.CFUNCTYPE(result, *kinds)


def _made_from(module: ModuleType) -> list[str]:
    """Everything that a module's kernels are made from: the text of their modules and of the translator, and the values
    of constants, which may be other modules'."""
    package, used = __name__.rpartition(".")[0], list(_used(module, set()))
    names = {f"{package}.{name}" for name in TRANSLATOR} | {m.__name__ for m in used}
    constants = [(m.__name__, name, x) for m in used for name, x in vars(m).items() if isinstance(x, int)]
    return [repr(sorted(constants)), *(_source(name) for name in sorted(names))]


def _source(name: str) -> str:
    """A module's text, also from a zip file."""
    import importlib.util

    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    loader: Any = spec.loader
    if hasattr(loader, "get_source"):
        return str(loader.get_source(name))
    return "".join(linecache.getlines(spec.origin))


def _used(module: ModuleType, known: set[str]) -> Iterator[ModuleType]:
    """A module and those whose kernels it calls."""
    known.add(module.__name__)
    yield module
    for value in list(vars(module).values()):
        if kernel_language.is_kernel(value) and value.__module__ not in known:
            yield from _used(sys.modules[value.__module__], known)
