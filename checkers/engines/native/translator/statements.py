"""Statements of kernels -> LLVM IR: an `if` on what is static keeps one branch, a short static `range` is unrolled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from reassure.checkers.engines.native.translator.blocks import Blocks
from reassure.checkers.engines.native.translator.expressions import Expressions
from reassure.checkers.engines.native.translator.types import INT, NONE, KernelValue, Type, static_value

UNROLLED = 64
"""A static `range` of at most this many numbers is unrolled; a state's words are reached in no other way."""


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
