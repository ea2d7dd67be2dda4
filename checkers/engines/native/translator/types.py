"""The values of kernels, and the types that annotations name.

Also here: the instructions of one function in LLVM IR, block by block.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Annotated, Any

from reassure.checkers.engines.native.translator import language
from reassure.spec.language.light_dataclasses import dataclass


class KernelRefusal(Exception):
    """A function is not written in the language of kernels; the message names file, line and reason."""


@dataclass(frozen=True)
class Type:
    """The type of a value. kind: int, bool, words, state, struct, function, tuple, none."""

    kind: str
    size: int = 0
    """Words of a state; values of a tuple."""
    cls: type | None = None
    """The dataclass of a struct."""
    function: tuple[tuple[Type, ...], Type] | None = None
    """Parameters and result of a function value."""

    @property
    def in_parts(self) -> bool:
        """Whether each of its words is a part by itself."""
        return self.kind in ("state", "tuple")

    def llvm(self) -> str:
        """The type's name in LLVM IR."""
        if self.in_parts:
            return "{" + ", ".join(["i64"] * self.size) + "}"
        return {"int": "i64", "bool": "i1", "none": "void"}.get(self.kind, "ptr")

    def __str__(self) -> str:
        return self.cls.__name__ if self.cls else self.kind


INT, BOOL, WORDS, NONE = Type("int"), Type("bool"), Type("words"), Type("none")


@dataclass(frozen=True)
class KernelValue:
    """The value of an expression: its type, the names of its parts in LLVM IR, and its number if that is static."""

    type: Type
    parts: tuple[str, ...]
    static: int | None = None


def static_value(number: int) -> KernelValue:
    """The value of a number that is known at translation."""
    return KernelValue(INT, (str(number),), number)


def static_truth(truth: object) -> KernelValue:
    """The value of a condition that is known at translation."""
    return KernelValue(BOOL, ("true" if truth else "false",), int(bool(truth)))


def is_static(annotation: object) -> bool:
    """Whether a parameter is annotated `Static`."""
    return typing.get_origin(annotation) is Annotated and language.STATIC in typing.get_args(annotation)


def type_of(annotation: Any, words: int | None) -> Type:
    """The type that an annotation stands for; `ValueError` if none. words: of a state, if that is known."""
    if annotation in (int, bool):
        return INT if annotation is int else BOOL
    if annotation is None or annotation is type(None):
        return NONE
    if annotation is language.Words:
        return WORDS
    if annotation == language.State:
        if words is None:
            raise ValueError("a state of unknown size")
        return Type("state", words)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return Type("struct", cls=annotation)
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and arguments and all(a is int for a in arguments):
        return Type("tuple", len(arguments))
    if typing.get_origin(annotation) is not None and len(arguments) == 2 and isinstance(arguments[0], list):
        return Type("function", function=(tuple(type_of(a, words) for a in arguments[0]), type_of(arguments[1], words)))
    raise ValueError(f"no type of the language: {annotation}")


@functools.cache
def fields_of(cls: type) -> dict[str, Type]:
    """The fields of a dataclass in order. In memory each takes eight bytes: an integer or an address."""
    hints = typing.get_type_hints(cls)
    return {f.name: type_of(hints[f.name], None) for f in dataclasses.fields(cls)}


@dataclass(frozen=True)
class Signature:
    """One specialisation of a kernel in LLVM IR."""

    name: str
    parameters: tuple[Type, ...]
    """Of the parameters that are not static."""
    result: Type


def parameter_names(function: FunctionType) -> tuple[str, ...]:
    """The names of a function's parameters."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def flattened(types: Sequence[Type]) -> Iterator[str]:
    """The LLVM types of parameters, each word of a state by itself."""
    for t in types:
        yield from ["i64"] * t.size if t.in_parts else [t.llvm()]


def line_of_kernel(function: FunctionType, line: int | None = None) -> str:
    """File and line of a function, or of a line in it."""
    return f"{function.__code__.co_filename}:{line or function.__code__.co_firstlineno}"


class Blocks:
    """The text of a function's body. Every variable has a stack slot, which LLVM's passes turn into registers."""

    def __init__(self) -> None:
        self.slots: list[str] = []
        """The stack slots of all variables, at the start of the function."""
        self.lines: list[str] = []
        self.count = 0
        self.ended = False
        """Whether the current block has its last instruction."""

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def label(self) -> str:
        self.count += 1
        return f"b{self.count}"

    def emit(self, instruction: str) -> str:
        """Appends an instruction; returns the name of its result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def effect(self, instruction: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def end(self, instruction: str) -> None:
        """Ends the current block, unless it has ended."""
        if not self.ended:
            self.effect(instruction)
        self.ended = True

    def begin(self, label: str) -> None:
        """Begins a block."""
        self.end(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.ended = False

    def start(self, label: str) -> None:
        """Begins a block that the one before does not run into."""
        self.lines.append(f"{label}:")
        self.ended = False

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.end(f"br i1 {condition}, label %{yes}, label %{no}")

    def slot(self, name: str, kind: Type) -> None:
        self.slots += [f"  {name}.{k} = alloca {t}" for k, t in enumerate(flattened([kind]))]

    def jumps_to(self, label: str, since: int = 0) -> bool:
        """Whether some block, from a line on, ends with a jump to a label."""
        target = f"label %{label}"
        return any(line.endswith(target) or f"{target}," in line for line in self.lines[since:])
