"""Kernels -> LLVM IR: the syntax tree of a function in the language of kernels, statement by statement, as IR text.

The language: parameters and results annotated with `int`, `bool`, `Words`, `State`, `Static`, a dataclass of these, a
`Callable`, or a tuple of integers; assignments; `if`, `while`, `for ... in range(...)`, `break`, `continue`, `return`;
integer operators except division; comparisons, `and`, `or`, `not`, conditional expressions; `min`, `max`, `len` of a
state, `any`, `all` and `tuple` over a static range; calls of kernels, of intrinsics and of function values.

What is static (literals, module constants, `Static` parameters, `len` of a state, and arithmetic on them) is computed
here: an `if` on it keeps one branch, a short `range` of it is unrolled. Each variable is a stack slot; LLVM's passes
turn these into registers. Everything else is refused with file and line.
"""

from __future__ import annotations

import ast
import linecache
import typing
from collections.abc import Mapping, Sequence
from types import FunctionType

from reassure.checkers.engines.native.translator import language
from reassure.checkers.engines.native.translator.blocks import Blocks
from reassure.checkers.engines.native.translator.expressions import Expressions
from reassure.checkers.engines.native.translator.statements import Statements
from reassure.checkers.engines.native.translator.types import (
    BOOL,
    INT,
    NONE,
    KernelRefusal,
    KernelValue,
    Signature,
    Type,
    flattened,
    is_static,
    parameter_names,
    place,
    static_value,
    type_of,
)

_DECLARATIONS = """declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""


class Translator:
    """Translates kernels, each specialisation once, into the text of one LLVM module."""

    def __init__(self) -> None:
        self.signatures: dict[tuple[object, ...], Signature] = {}
        self.texts: list[str] = []
        self.in_progress: list[object] = []

    def export(self, function: FunctionType, name: str, static: Mapping[str, int]) -> Signature:
        """Makes a kernel callable from outside under a name. static: values of its `Static` parameters.

        States among its parameters have `static["words"]` words, each an argument of its own. The exported function
        returns nothing or an i64.
        """
        hints = typing.get_type_hints(function, include_extras=True)
        names = parameter_names(function)
        try:
            types = [type_of(hints[n], static.get("words")) for n in names if not is_static(hints[n])]
        except (ValueError, KeyError) as error:
            raise KernelRefusal(f"{place(function)}: {error}") from None
        values = [static_value(static[n]) if is_static(hints[n]) else None for n in names]
        inner = self.specialise(function, values, types, place(function))
        arguments = [f"{t} %a{i}" for i, t in enumerate(flattened(types))]
        lines = [f"define {'void' if inner.result == NONE else 'i64'} @{name}({', '.join(arguments)}) nounwind {{"]
        call = f"call {inner.result.llvm()} @{inner.name}({', '.join(arguments)})"
        if inner.result == NONE:
            lines += [f"  {call}", "  ret void"]
        elif inner.result == INT:
            lines += [f"  %r = {call}", "  ret i64 %r"]
        elif inner.result == BOOL:
            lines += [f"  %r = {call}", "  %w = zext i1 %r to i64", "  ret i64 %w"]
        else:
            raise KernelRefusal(f"{place(function)}: an exported kernel returns an int, a bool or nothing")
        self.texts.append("\n".join([*lines, "}", ""]))
        return Signature(name, inner.parameters, inner.result)

    def text(self) -> str:
        """The module: every function that was translated, and the declarations they need."""
        return "\n".join([_DECLARATIONS, *self.texts])

    def specialise(
        self, function: FunctionType, static: Sequence[KernelValue | None], types: Sequence[Type], where: str
    ) -> Signature:
        """The specialisation of a kernel for the values of its static parameters and the types of the others."""
        numbers = tuple(None if v is None else v.static for v in static)
        key = (function, numbers, tuple(types))
        if key not in self.signatures:
            if function in self.in_progress:
                raise KernelRefusal(f"{where}: {function.__name__} calls itself")
            self.in_progress.append(function)
            sizes = [str(n) for n in numbers if n is not None] + [str(t.size) for t in types if t.kind == "state"]
            name = ".".join([function.__module__.rpartition(".")[2], function.__name__, *sizes])
            self.signatures[key], text = self.translated(function, numbers, types, name)
            self.texts.append(text)
            self.in_progress.pop()
        return self.signatures[key]

    def translated(
        self, function: FunctionType, static: Sequence[int | None], types: Sequence[Type], name: str
    ) -> tuple[Signature, str]:
        """The signature and the text of one specialisation, under this name."""
        node, blocks = definition(function), Blocks()
        expressions = Expressions(function, blocks, self.specialise)
        expressions.line = node.lineno
        if function.__closure__ or node.args.vararg or node.args.kwonlyargs or node.args.kwarg or node.args.defaults:
            raise expressions.refusal("a kernel has positional parameters only, no defaults and no closure")
        arguments, remaining = [], list(types)
        for parameter, number in zip(parameter_names(function), static, strict=True):
            if number is not None:
                expressions.variables[parameter] = static_value(number)
                continue
            kind = remaining.pop(0)
            parts = list(flattened([kind]))
            names = [f"%arg.{parameter}.{k}" for k in range(len(parts))]
            arguments += [f"{t} {n}" for t, n in zip(parts, names, strict=True)]
            expressions.assign(parameter, KernelValue(kind, tuple(names)))
        declared = typing.get_type_hints(function, include_extras=True).get("return")
        statements = Statements(
            expressions, blocks, None if declared == language.State else expressions.annotated(declared)
        )
        statements.block(node.body)
        if not blocks.ended:
            if statements.result != NONE:
                raise expressions.refusal(f"{function.__name__} may end without a result")
            blocks.end("ret void")
        result = statements.result
        assert result is not None
        attributes = "alwaysinline nounwind" if language.is_inlined(function) else "noinline nounwind"
        head = f"define internal {result.llvm()} @{name}({', '.join(arguments)}) {attributes} {{"
        text = "\n".join([head, "entry:", *blocks.slots, *blocks.lines, "}", ""])
        return Signature(name, tuple(types), result), text


def definition(function: FunctionType) -> ast.FunctionDef:
    """The syntax tree of a function, with the line numbers of its file."""
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename, function.__globals__))
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            if code.co_firstlineno in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return node
    raise KernelRefusal(f"{place(function)}: no source for {function.__name__}")


_trees: dict[int, ast.Module] = {}


def _parsed(source: str) -> ast.Module:
    key = hash(source)
    if key not in _trees:
        _trees[key] = ast.parse(source)
    return _trees[key]
