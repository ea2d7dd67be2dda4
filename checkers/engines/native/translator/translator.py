"""Kernels -> LLVM IR: the syntax tree of a function in the language of kernels, statement by statement, as IR text.

The language: parameters and results annotated with `int`, `bool`, `Words`, `State`, `Static`, a dataclass of these, a
`Callable`, or a tuple of integers; assignments; `if`, `while`, `for ... in range(...)`, `break`, `continue`, `return`;
integer operators except division; comparisons, `and`, `or`, `not`, conditional expressions; `min`, `max`, `len` of a
state, `any`, `all` and `tuple` over a static range; calls of kernels, of intrinsics and of function values.

What is static (literals, module constants, `Static` parameters, `len` of a state, and arithmetic on them) is computed
here: an `if` on it keeps one branch, a short `range` of it is unrolled. Each variable is a stack slot; LLVM's passes
turn these into registers. Everything else is refused with file and line.

Also here: statements of kernels -> LLVM IR: an `if` on what is static keeps one branch, a short static `range` is
unrolled.
"""

from __future__ import annotations

import ast
import linecache
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from reassure.checkers.engines.native.translator import language
from reassure.checkers.engines.native.translator.expressions import Expressions
from reassure.checkers.engines.native.translator.language import UNROLLED
from reassure.checkers.engines.native.translator.types import (
    BOOL,
    INT,
    NONE,
    Blocks,
    KernelRefusal,
    KernelValue,
    Signature,
    Type,
    flattened,
    is_static,
    line_of_kernel,
    parameter_names,
    static_value,
    type_of,
)


@dataclass
class _Loop:
    """The labels that `continue` and `break` go to."""

    again: str
    end: str


class Statements:
    """Translates the statements of one function."""

    def __init__(self, expressions: Expressions, blocks: Blocks, result: Type | None) -> None:
        """result: the type that the function returns; None: that of its first `return`."""
        self.expressions, self.blocks, self.result = expressions, blocks, result
        self.loops: list[_Loop] = []

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.blocks.ended:
                return  # what follows a return, break or continue
            self.expressions.line = statement.lineno
            method = _STATEMENTS.get(type(statement))
            if method is None:
                raise self.expressions.refusal(f"{type(statement).__name__} is not a statement of the language")
            method(self, statement)

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.expressions.value(node.value)

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.expressions.refusal("one target for each assignment")
        target = node.targets[0]
        source = node.value
        if isinstance(target, ast.Tuple) and isinstance(source, ast.Tuple) and len(target.elts) == len(source.elts):
            values = [self.expressions.value(item) for item in source.elts]
            for item, value in zip(target.elts, values, strict=True):
                self.write(item, value)
            return
        value = self.expressions.value(source)
        if isinstance(target, ast.Tuple):
            if not value.type.in_parts or len(target.elts) != value.type.size:
                raise self.expressions.refusal(f"{len(target.elts)} targets for a {value.type}")
            for item, part in zip(target.elts, value.parts, strict=True):
                self.write(item, KernelValue(INT, (part,)))
        else:
            self.write(target, value)

    def _annotated_assignment(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.expressions.refusal("a variable is assigned where it is annotated")
        value = self.expressions.value(node.value)
        if isinstance(node.annotation, ast.Name) and node.annotation.id == "Static":
            target, variables = node.target, self.expressions.variables
            if value.static is None or not isinstance(target, ast.Name) or target.id in variables:
                raise self.expressions.refusal("a static variable gets a static value, once")
            variables[target.id] = value
        else:
            self.write(node.target, value)

    def _augmented(self, node: ast.AugAssign) -> None:
        e = self.expressions
        if isinstance(node.target, ast.Subscript):
            pointer = e.element(node.target)
            old = e.result(INT, f"load i64, ptr {pointer}")
            new = e.converted(e.binary(node.op, old, e.value(node.value)), INT)
            self.blocks.effect(f"store i64 {new.parts[0]}, ptr {pointer}")
        else:
            self.write(node.target, e.binary(node.op, e.value(node.target), e.value(node.value)))

    def write(self, target: ast.expr, value: KernelValue) -> None:
        """Assigns a value to a variable, an element of an array or a field."""
        e = self.expressions
        if isinstance(target, ast.Name):
            e.assign(target.id, value)
            return
        if isinstance(target, ast.Subscript):
            pointer = e.element(target)
        elif isinstance(target, ast.Attribute):
            kind, pointer = e.field(target)
            if kind != INT:
                raise e.refusal("only fields of type int are assigned")
        else:
            raise e.refusal(f"no assignment to {type(target).__name__}")
        number = e.converted(value, INT)
        e.fits(number)
        self.blocks.effect(f"store i64 {number.parts[0]}, ptr {pointer}")

    def _if(self, node: ast.If) -> None:
        condition = self.expressions.condition(node.test)
        if condition.static is not None:
            self.block(node.body if condition.static else node.orelse)
            return
        yes, no, after = self.blocks.label(), self.blocks.label(), self.blocks.label()
        self.blocks.branch(condition.parts[0], yes, no)
        self.blocks.begin(yes)
        self.block(node.body)
        self.blocks.end(f"br label %{after}")
        self.blocks.start(no)
        self.block(node.orelse)
        reachable = not self.blocks.ended or self.blocks.jumps_to(after)
        self.blocks.end(f"br label %{after}")
        if reachable:
            self.blocks.start(after)

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.expressions.refusal("no else after a loop")
        again, body, end = self.blocks.label(), self.blocks.label(), self.blocks.label()
        self.blocks.begin(again)
        condition = self.expressions.condition(node.test)
        if condition.static is None:
            self.blocks.branch(condition.parts[0], body, end)
        elif condition.static:
            self.blocks.end(f"br label %{body}")
        else:
            raise self.expressions.refusal("a loop that is never entered")
        self.blocks.start(body)
        with self.loop(again, end) as left:
            self.block(node.body)
        self.blocks.end(f"br label %{again}")
        if condition.static is None or left():
            self.blocks.start(end)

    @contextmanager
    def loop(self, again: str, end: str) -> Iterator[Callable[[], bool]]:
        """The inside of a loop; gives a function that tells whether a `break` leaves it."""
        start = len(self.blocks.lines)
        self.loops.append(_Loop(again, end))
        yield lambda: self.blocks.jumps_to(end, start)
        self.loops.pop()

    def _for(self, node: ast.For) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise self.expressions.refusal("a for loop has one variable and no else")
        low, high, step = self.expressions.bounds(node.iter)
        if low.static is not None and high.static is not None:
            numbers = range(low.static, high.static, step)
            if len(numbers) <= UNROLLED:
                self.unrolled(node, numbers)
                return
        self.counted(node, low, high, step)

    def unrolled(self, node: ast.For, numbers: range) -> None:
        """One copy of the body for each number, in which the variable is static."""
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        before, end, left = self.expressions.variables.get(name), self.blocks.label(), False
        if isinstance(before, Type):
            raise self.expressions.refusal(
                f"{name} is a variable; the counter of an unrolled loop needs a name of its own"
            )
        for number in numbers:
            again = self.blocks.label()
            self.expressions.variables[name] = static_value(number)
            with self.loop(again, end) as broken:
                self.block(node.body)
            left = left or broken()
            self.blocks.begin(again)
        self.expressions.variables.pop(name, None)
        if left:
            self.blocks.begin(end)

    def counted(self, node: ast.For, low: KernelValue, high: KernelValue, step: int) -> None:
        """A loop at run time. Assignments to the variable in the body do not change the number of rounds."""
        assert isinstance(node.target, ast.Name)
        test, body, again, end = (self.blocks.label() for _ in range(4))
        counter = f"%counter.{test}"
        self.blocks.slot(counter, INT)
        self.blocks.effect(f"store i64 {low.parts[0]}, ptr {counter}.0")
        self.blocks.begin(test)
        now = self.blocks.emit(f"load i64, ptr {counter}.0")
        more = self.blocks.emit(f"icmp {'slt' if step > 0 else 'sgt'} i64 {now}, {high.parts[0]}")
        self.blocks.branch(more, body, end)
        self.blocks.start(body)
        self.expressions.assign(node.target.id, KernelValue(INT, (now,)))
        with self.loop(again, end):
            self.block(node.body)
        self.blocks.begin(again)
        following = self.blocks.emit(f"load i64, ptr {counter}.0")
        self.blocks.effect(f"store i64 {self.blocks.emit(f'add i64 {following}, {step}')}, ptr {counter}.0")
        self.blocks.end(f"br label %{test}")
        self.blocks.start(end)

    def _break(self, node: ast.Break) -> None:
        self.blocks.end(f"br label %{self.loops[-1].end}")

    def _continue(self, node: ast.Continue) -> None:
        self.blocks.end(f"br label %{self.loops[-1].again}")

    def _return(self, node: ast.Return) -> None:
        value = self.expressions.value(node.value) if node.value is not None else KernelValue(NONE, ())
        if self.result is None:
            self.result = Type("state", value.type.size) if value.type.in_parts else value.type
        value = self.expressions.converted(value, self.result)
        if self.result == NONE:
            self.blocks.end("ret void")
        elif len(value.parts) == 1 and not self.result.in_parts:
            self.blocks.end(f"ret {self.result.llvm()} {value.parts[0]}")
        else:
            whole, kind = "poison", self.result.llvm()
            for k, part in enumerate(value.parts):
                whole = self.blocks.emit(f"insertvalue {kind} {whole}, i64 {part}, {k}")
            self.blocks.end(f"ret {kind} {whole}")


_STATEMENTS: dict[type, Callable[[Statements, Any], None]] = {
    ast.Expr: Statements._expression, ast.Pass: Statements._pass, ast.Assign: Statements._assign,
    ast.AnnAssign: Statements._annotated_assignment, ast.AugAssign: Statements._augmented, ast.If: Statements._if,
    ast.While: Statements._while, ast.For: Statements._for, ast.Break: Statements._break,
    ast.Continue: Statements._continue, ast.Return: Statements._return,
}  # fmt: skip


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
            raise KernelRefusal(f"{line_of_kernel(function)}: {error}") from None
        values = [static_value(static[n]) if is_static(hints[n]) else None for n in names]
        inner = self.specialise(function, values, types, line_of_kernel(function))
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
            raise KernelRefusal(f"{line_of_kernel(function)}: an exported kernel returns an int, a bool or nothing")
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
    raise KernelRefusal(f"{line_of_kernel(function)}: no source for {function.__name__}")


_trees: dict[int, ast.Module] = {}


def _parsed(source: str) -> ast.Module:
    key = hash(source)
    if key not in _trees:
        _trees[key] = ast.parse(source)
    return _trees[key]
