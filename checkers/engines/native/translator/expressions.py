"""Expressions of kernels -> LLVM IR. What is static is computed here; the rest becomes instructions."""

from __future__ import annotations

import ast
import operator
import typing
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from reassure.checkers.engines.native.translator import language
from reassure.checkers.engines.native.translator.types import (
    BOOL,
    INT,
    NONE,
    WORDS,
    Blocks,
    KernelRefusal,
    KernelValue,
    Signature,
    Type,
    fields_of,
    flattened,
    is_static,
    line_of_kernel,
    parameter_names,
    static_truth,
    static_value,
    type_of,
)

_INTRINSICS: dict[object, str] = {
    getattr(language, name): name
    for name in (
        "wrap", "popcount", "lowest", "highest", "scaled", "load_acquire", "store_release", "compare_and_swap",
        "prefetch", "words_from", "compare_line",
    )
}  # fmt: skip
_BINARY: dict[type, tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("ashr", operator.rshift),
}
_COMPARISONS: dict[type, tuple[str, Callable[[int, int], bool]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("slt", operator.lt),
    ast.LtE: ("sle", operator.le),
    ast.Gt: ("sgt", operator.gt),
    ast.GtE: ("sge", operator.ge),
}
_ON_WORDS = ("load_acquire", "store_release", "compare_and_swap", "prefetch", "words_from", "compare_line")

Specialise = Callable[[FunctionType, Sequence["KernelValue | None"], Sequence[Type], str], Signature]
"""(kernel, values of its static parameters, types of the others, place of the call) -> its translation."""


class Expressions:
    """Translates the expressions of one function; keeps its variables."""

    def __init__(self, function: FunctionType, blocks: Blocks, specialise: Specialise) -> None:
        self.function, self.blocks, self.specialise = function, blocks, specialise
        self.variables: dict[str, KernelValue | Type] = {}
        """By name: a static value, or the type of a variable with slots `%name.0`, ..."""
        self.line = function.__code__.co_firstlineno
        """The line that is being translated."""

    def refusal(self, reason: str) -> KernelRefusal:
        return KernelRefusal(f"{line_of_kernel(self.function, self.line)}: {reason}")

    def annotated(self, annotation: Any) -> Type:
        try:
            return type_of(annotation, None)
        except ValueError as error:
            raise self.refusal(str(error)) from None

    def result(self, kind: Type, instruction: str) -> KernelValue:
        """Appends an instruction; its result as a value."""
        return KernelValue(kind, (self.blocks.emit(instruction),))

    def assign(self, name: str, value: KernelValue) -> None:
        """Writes a variable, which gets its type from its first value."""
        kind = self.variables.get(name)
        if isinstance(kind, KernelValue):
            raise self.refusal(f"{name} is static and cannot be assigned")
        if kind is None:
            if value.type == NONE:
                raise self.refusal(f"{name} would get no value")
            kind = self.variables[name] = value.type
            self.blocks.slot(f"%{name}", kind)
        value = self.converted(value, kind)
        self.fits(value)
        for k, (part, llvm) in enumerate(zip(value.parts, flattened([kind]), strict=True)):
            self.blocks.effect(f"store {llvm} {part}, ptr %{name}.{k}")

    def read(self, name: str) -> KernelValue:
        variable = self.variables[name]
        if isinstance(variable, KernelValue):
            return variable
        parts = [self.blocks.emit(f"load {t}, ptr %{name}.{k}") for k, t in enumerate(flattened([variable]))]
        return KernelValue(variable, tuple(parts))

    def converted(self, value: KernelValue, kind: Type) -> KernelValue:
        """A value as another type: a bool as an int, integers as a state or tuple of the same size."""
        if value.type == kind:
            return value
        if kind == INT and value.type == BOOL:
            if value.static is not None:
                return static_value(value.static)
            return self.result(INT, f"zext i1 {value.parts[0]} to i64")
        if kind.in_parts and value.type.in_parts and kind.size == value.type.size:
            return KernelValue(kind, value.parts)
        raise self.refusal(f"{value.type} where {kind} is needed")

    def value(self, node: ast.expr) -> KernelValue:
        """The value of an expression."""
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            raise self.refusal(f"{type(node).__name__} is not an expression of the language")
        return method(self, node)

    def integer(self, node: ast.expr) -> KernelValue:
        return self.converted(self.value(node), INT)

    def condition(self, node: ast.expr) -> KernelValue:
        """The truth of an expression: an int is true unless it is 0."""
        value = self.value(node)
        if value.type not in (INT, BOOL):
            raise self.refusal(f"a {value.type} as a condition")
        if value.static is not None:
            return static_truth(value.static)
        if value.type == BOOL:
            return value
        return self.result(BOOL, f"icmp ne i64 {value.parts[0]}, 0")

    def _constant(self, node: ast.Constant) -> KernelValue:
        if isinstance(node.value, bool):
            return static_truth(node.value)
        if isinstance(node.value, int):
            return static_value(node.value)
        raise self.refusal(f"{node.value!r} is not an integer")

    def _name(self, node: ast.Name) -> KernelValue:
        if node.id in self.variables:
            return self.read(node.id)
        number = self.function.__globals__.get(node.id)
        if isinstance(number, int):
            return static_value(int(number))
        raise self.refusal(
            f"{node.id} is neither a variable that was assigned before nor an integer constant of the module"
        )

    def _binary_operation(self, node: ast.BinOp) -> KernelValue:
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def binary(self, op: ast.operator, left: KernelValue, right: KernelValue) -> KernelValue:
        if type(op) not in _BINARY:
            raise self.refusal(f"no operator {type(op).__name__}")
        instruction, compute = _BINARY[type(op)]
        if left.static is not None and right.static is not None:
            return static_value(compute(left.static, right.static))
        if instruction in ("and", "or", "xor") and left.type == right.type == BOOL:
            return self.result(BOOL, f"{instruction} i1 {left.parts[0]}, {right.parts[0]}")
        if instruction in ("shl", "ashr") and right.static is not None and not 0 <= right.static < 64:
            raise self.refusal(f"a shift by {right.static}")
        a, b = self.operands((left, right), (INT, INT))
        return self.result(INT, f"{instruction} i64 {a.parts[0]}, {b.parts[0]}")

    def operands(self, values: Sequence[KernelValue], kinds: Sequence[Type]) -> list[KernelValue]:
        """Values as operands of an instruction or call, which takes these types."""
        operands = [self.converted(value, kind) for value, kind in zip(values, kinds, strict=True)]
        for operand in operands:
            self.fits(operand)
        return operands

    def fits(self, value: KernelValue) -> None:
        if value.static is not None and not -(1 << 63) <= value.static < 1 << 63:
            raise self.refusal(f"{value.static} does not fit 64 bits")

    def _unary_operation(self, node: ast.UnaryOp) -> KernelValue:
        if isinstance(node.op, ast.Not):
            condition = self.condition(node.operand)
            if condition.static is not None:
                return static_truth(not condition.static)
            return self.result(BOOL, f"xor i1 {condition.parts[0]}, true")
        value = self.integer(node.operand)
        if value.static is not None:
            return static_value(-value.static if isinstance(node.op, ast.USub) else ~value.static)
        if isinstance(node.op, ast.USub):
            return self.result(INT, f"sub i64 0, {value.parts[0]}")
        if isinstance(node.op, ast.Invert):
            return self.result(INT, f"xor i64 {value.parts[0]}, -1")
        raise self.refusal("no unary plus")

    def _compare(self, node: ast.Compare) -> KernelValue:
        if len(node.ops) == 1:
            return self.comparison(node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        # Operands of a chain are evaluated once each; those of kernels have no effects, so that all may be.
        values = [self.value(node.left), *(self.value(c) for c in node.comparators)]
        parts = [self.comparison(op, values[i], values[i + 1]) for i, op in enumerate(node.ops)]
        whole = parts[0]
        for part in parts[1:]:
            whole = self.result(BOOL, f"and i1 {whole.parts[0]}, {part.parts[0]}")
        return whole

    def comparison(self, op: ast.cmpop, left: KernelValue, right: KernelValue) -> KernelValue:
        if type(op) not in _COMPARISONS:
            raise self.refusal(f"no comparison {type(op).__name__}")
        instruction, compute = _COMPARISONS[type(op)]
        if left.static is not None and right.static is not None:
            return static_truth(compute(left.static, right.static))
        a, b = self.operands((left, right), (INT, INT))
        return self.result(BOOL, f"icmp {instruction} i64 {a.parts[0]}, {b.parts[0]}")

    def _boolean(self, node: ast.BoolOp) -> KernelValue:
        tests = [lambda n=n: self.truth(n) for n in node.values]
        return self.chain(tests, isinstance(node.op, ast.And))

    def truth(self, node: ast.expr) -> KernelValue:
        """An operand of `and` or `or`, which in Python give an operand back: so each is a bool."""
        value = self.value(node)
        if value.type != BOOL:
            raise self.refusal("and, or take comparisons: they do not give a bool for anything else")
        return value

    def chain(self, tests: Sequence[Callable[[], KernelValue]], conjunction: bool) -> KernelValue:
        """`and` or `or` of conditions: each is evaluated only if those before it leave the result open."""
        slot, end, branched = f"%chain.{self.blocks.label()}", self.blocks.label(), False
        decided = static_truth(conjunction)
        last = decided
        for number, test in enumerate(tests):
            last = test()
            if last.static is not None:
                if bool(last.static) != conjunction:
                    break  # decides the rest
                last = decided
                continue
            if number == len(tests) - 1:
                break
            if not branched:
                self.blocks.slot(slot, BOOL)
                branched = True
            self.blocks.effect(f"store i1 {last.parts[0]}, ptr {slot}.0")
            following = self.blocks.label()
            self.blocks.branch(last.parts[0], *((following, end) if conjunction else (end, following)))
            self.blocks.start(following)
        if not branched:
            return last
        self.blocks.effect(f"store i1 {last.parts[0]}, ptr {slot}.0")
        self.blocks.begin(end)
        return self.result(BOOL, f"load i1, ptr {slot}.0")

    def _choice(self, node: ast.IfExp) -> KernelValue:
        condition = self.condition(node.test)
        if condition.static is not None:
            return self.value(node.body if condition.static else node.orelse)
        yes, no, end = self.blocks.label(), self.blocks.label(), self.blocks.label()
        slot = f"%choice.{end}"
        self.blocks.slot(slot, INT)
        self.blocks.branch(condition.parts[0], yes, no)
        for label, side in ((yes, node.body), (no, node.orelse)):
            self.blocks.start(label)
            value = self.integer(side)
            self.fits(value)
            self.blocks.effect(f"store i64 {value.parts[0]}, ptr {slot}.0")
            self.blocks.end(f"br label %{end}")
        self.blocks.start(end)
        return self.result(INT, f"load i64, ptr {slot}.0")

    def element(self, node: ast.Subscript) -> str:
        """A pointer to an element of an array."""
        array = self.value(node.value)
        if array.type != WORDS:
            raise self.refusal(f"an element of a {array.type}")
        return self.address(array, self.integer(node.slice))

    def address(self, array: KernelValue, index: KernelValue) -> str:
        return self.blocks.emit(f"getelementptr inbounds i64, ptr {array.parts[0]}, i64 {index.parts[0]}")

    def _subscript(self, node: ast.Subscript) -> KernelValue:
        if isinstance(node.slice, ast.Slice):
            raise self.refusal("no slices")
        base = self.value(node.value)
        index = self.integer(node.slice)
        if base.type.in_parts:
            if index.static is None or not 0 <= index.static < base.type.size:
                raise self.refusal(f"the index of a {base.type} is static and below its size")
            return KernelValue(INT, (base.parts[index.static],))
        if base.type != WORDS:
            raise self.refusal(f"an element of a {base.type}")
        return self.result(INT, f"load i64, ptr {self.address(base, index)}")

    def field(self, node: ast.Attribute) -> tuple[Type, str]:
        """Type and address of a field."""
        base = self.value(node.value)
        if base.type.cls is None:
            raise self.refusal(f"an attribute of a {base.type}")
        fields = fields_of(base.type.cls)
        if node.attr not in fields:
            raise self.refusal(f"{base.type} has no field {node.attr}")
        number = list(fields).index(node.attr)
        return fields[node.attr], self.blocks.emit(f"getelementptr inbounds i64, ptr {base.parts[0]}, i64 {number}")

    def _attribute(self, node: ast.Attribute) -> KernelValue:
        kind, pointer = self.field(node)
        return self.result(kind, f"load {kind.llvm()}, ptr {pointer}")

    def _tuple(self, node: ast.Tuple) -> KernelValue:
        values = [self.integer(item) for item in node.elts]
        return KernelValue(Type("tuple", len(values)), tuple(v.parts[0] for v in values))

    def bounds(self, node: ast.expr) -> tuple[KernelValue, KernelValue, int]:
        """Low, high and step of a call of `range`."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
            raise self.refusal("loops are over range(...)")
        values = [self.integer(a) for a in node.args]
        step = values[2].static if len(values) == 3 else 1
        if not step:
            raise self.refusal("the step of a range is static and not 0")
        return (static_value(0), values[0], 1) if len(values) == 1 else (values[0], values[1], step)

    def _call(self, node: ast.Call) -> KernelValue:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.refusal("arguments are positional")
        if isinstance(node.func, ast.Name) and node.func.id not in self.variables:
            name = node.func.id
            target = self.function.__globals__.get(name)
            if target in _INTRINSICS:
                return self.intrinsic(_INTRINSICS[target], node.args)
            if language.is_kernel(target):
                assert isinstance(target, FunctionType)
                return self.call(target, node.args)
            if target is None and name in ("min", "max"):
                if len(node.args) != 2:
                    raise self.refusal(f"{name} takes two arguments")
                a, b = (self.integer(x) for x in node.args)
                return self.result(INT, f"call i64 @llvm.s{name}.i64(i64 {a.parts[0]}, i64 {b.parts[0]})")
            if target is None and name == "len":
                value = self.value(node.args[0])
                if value.type.kind != "state":
                    raise self.refusal(f"len of a {value.type}")
                return static_value(value.type.size)
            if target is None and name in ("any", "all", "tuple"):
                return self.comprehension(name, node.args)
            raise self.refusal(f"{name} is neither a kernel nor an intrinsic")
        target = self.value(node.func)
        if target.type.function is None:
            raise self.refusal(f"a call of a {target.type}")
        kinds, result = target.type.function
        return self.invoke(target.parts[0], [self.value(a) for a in node.args], kinds, result)

    def call(self, function: FunctionType, arguments: Sequence[ast.expr]) -> KernelValue:
        """A call of a kernel, whose specialisation is translated first."""
        hints = typing.get_type_hints(function, include_extras=True)
        names = parameter_names(function)
        if len(names) != len(arguments):
            raise self.refusal(f"{function.__name__} takes {len(names)} arguments")
        static: list[KernelValue | None] = []
        values: list[KernelValue] = []
        for name, node in zip(names, arguments, strict=True):
            value = self.value(node)
            if is_static(hints[name]):
                if value.static is None:
                    raise self.refusal(f"{name} of {function.__name__} is static")
                static.append(value)
            else:
                static.append(None)
                size = value.type.size if value.type.in_parts else None
                values.append(self.converted(value, type_of(hints[name], size)))
        types = [v.type for v in values]
        signature = self.specialise(function, static, types, line_of_kernel(self.function, self.line))
        return self.invoke(f"@{signature.name}", values, types, signature.result)

    def invoke(self, callee: str, values: Sequence[KernelValue], kinds: Sequence[Type], result: Type) -> KernelValue:
        """A call of something with an address."""
        if len(values) != len(kinds):
            raise self.refusal(f"{len(values)} arguments, not {len(kinds)}")
        parts = [p for v in self.operands(values, kinds) for p in v.parts]
        text = ", ".join(f"{t} {p}" for t, p in zip(flattened(kinds), parts, strict=True))
        call = f"call {result.llvm()} {callee}({text})"
        if result == NONE:
            self.blocks.effect(call)
            return KernelValue(NONE, ())
        whole = self.blocks.emit(call)
        if not result.in_parts:
            return KernelValue(result, (whole,))
        kind = result.llvm()
        taken = (self.blocks.emit(f"extractvalue {kind} {whole}, {k}") for k in range(result.size))
        return KernelValue(result, tuple(taken))

    def comprehension(self, name: str, arguments: Sequence[ast.expr]) -> KernelValue:
        """`any`, `all` or `tuple` of one expression over a static range."""
        argument = arguments[0] if len(arguments) == 1 else None
        reason = f"{name} is of one expression for a name in a static range"
        if not isinstance(argument, ast.GeneratorExp) or len(argument.generators) > 1 or argument.generators[0].ifs:
            raise self.refusal(reason)
        generator, item = argument.generators[0], argument.elt
        low, high, step = self.bounds(generator.iter)
        if low.static is None or high.static is None or not isinstance(generator.target, ast.Name):
            raise self.refusal(reason)
        counter = generator.target.id
        if counter in self.variables:
            raise self.refusal(f"{counter} is a variable already")

        def at(number: int, read: Callable[[ast.expr], KernelValue]) -> KernelValue:
            self.variables[counter] = static_value(number)
            value = read(item)
            del self.variables[counter]
            return value

        numbers = range(low.static, high.static, step)
        if name == "tuple":
            parts = [at(n, self.integer).parts[0] for n in numbers]
            return KernelValue(Type("state", len(parts)), tuple(parts))
        tests = [lambda n=n: at(n, self.condition) for n in numbers]
        return self.chain(tests, name == "all")

    def intrinsic(self, name: str, arguments: Sequence[ast.expr]) -> KernelValue:
        """Instructions for a function of `kernel_language`."""
        values = [self.value(a) for a in arguments]
        if name == "wrap":
            value = self.converted(values[0], INT)
            return value if value.static is None else static_value(language.wrap(value.static))
        kinds: list[Type] = [WORDS if i == 0 and name in _ON_WORDS else INT for i in range(len(values))]
        values = self.operands(values, kinds)
        parts = [v.parts[0] for v in values]
        if name in _ON_WORDS:
            pointer = self.address(values[0], values[1])
            if name == "words_from":
                return KernelValue(WORDS, (pointer,))
            if name == "load_acquire":
                return self.result(INT, f"load atomic i64, ptr {pointer} acquire, align 8")
            if name == "store_release":
                self.blocks.effect(f"store atomic i64 {parts[2]}, ptr {pointer} release, align 8")
                return KernelValue(NONE, ())
            if name == "prefetch":
                self.blocks.effect(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 1, i32 2, i32 1)")
                return KernelValue(NONE, ())
            if name == "compare_line":
                return KernelValue(INT, (self.compared_line(pointer, parts[2], parts[3]),))
            pair = self.blocks.emit(f"cmpxchg ptr {pointer}, i64 {parts[2]}, i64 {parts[3]} acq_rel acquire, align 8")
            return self.result(INT, f"extractvalue {{i64, i1}} {pair}, 0")
        if name == "popcount":
            return self.result(INT, f"call i64 @llvm.ctpop.i64(i64 {parts[0]})")
        if name == "scaled":
            a, b = (self.blocks.emit(f"zext i64 {p} to i128") for p in parts)
            high = self.blocks.emit(f"lshr i128 {self.blocks.emit(f'mul i128 {a}, {b}')}, 64")
            return self.result(INT, f"trunc i128 {high} to i64")
        counting = "cttz" if name == "lowest" else "ctlz"
        zeros = self.blocks.emit(f"call i64 @llvm.{counting}.i64(i64 {parts[0]}, i1 false)")
        if name == "highest":
            zeros = self.blocks.emit(f"sub i64 63, {zeros}")
        return self.result(INT, f"and i64 {zeros}, 63")

    def compared_line(self, pointer: str, value: str, mask: str) -> str:
        """Instructions for `kernel_language.compare_line`, on a vector of `LANES` words."""
        emit, size = self.blocks.emit, language.LANES
        lanes = f"<{size} x i64>"

        def in_all(number: str) -> str:
            first = emit(f"insertelement {lanes} poison, i64 {number}, i64 0")
            return emit(f"shufflevector {lanes} {first}, {lanes} poison, <{size} x i32> zeroinitializer")

        def zeros(vector: str) -> str:
            """Bit k: lane k is 0."""
            equal = emit(f"icmp eq {lanes} {vector}, zeroinitializer")
            return emit(f"zext i{size} {emit(f'bitcast <{size} x i1> {equal} to i{size}')} to i64")

        words = emit(f"load volatile {lanes}, ptr {pointer}, align 8")
        differences = emit(f"sub {lanes} {in_all(value)}, {words}")
        same = zeros(emit(f"and {lanes} {differences}, {in_all(mask)}"))
        return emit(f"or i64 {same}, {emit(f'shl i64 {zeros(words)}, {size}')}")


_EXPRESSIONS: dict[type, Callable[[Expressions, Any], KernelValue]] = {
    ast.Constant: Expressions._constant, ast.Name: Expressions._name, ast.BinOp: Expressions._binary_operation,
    ast.UnaryOp: Expressions._unary_operation, ast.Compare: Expressions._compare, ast.BoolOp: Expressions._boolean,
    ast.IfExp: Expressions._choice, ast.Subscript: Expressions._subscript, ast.Attribute: Expressions._attribute,
    ast.Tuple: Expressions._tuple, ast.Call: Expressions._call,
}  # fmt: skip
