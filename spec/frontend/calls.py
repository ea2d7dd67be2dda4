"""Calls of the subset: guards, records, ids, maps, other functions of the model."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, is_dataclass
from types import FunctionType
from typing import Any

from reassure.spec.frontend.aggregates import Aggregates
from reassure.spec.frontend.expressions import Refused
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.remembered import hints_of, signature_of
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Empty,
    MapOf,
    Mismatch,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    describe,
)
from reassure.spec.language import values
from reassure.spec.language.annotations import own_method, resolve
from reassure.spec.language.types import BoolType, DomainError, EnumType, IdType, IntType, Type
from reassure.spec.language.vocabulary import Action, Property, refuse, replace, require, some


@dataclass(frozen=True)
class Guard:
    """A guard of the text: one conjunct of a `require`, or a `some`. part: which conjunct of how many."""

    file: str
    line: int
    column: int
    part: tuple[int, int]
    text: str
    reached_by: tuple[str, ...] = field(default=(), compare=False)
    """Names of the actions and initial functions that come by it."""


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that are joined by `and`, in the order in which they are written."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in conjuncts(value)]
    return [test]


class Calls(Aggregates):
    """Elaborates calls."""

    guards: dict[Guard, list[str]] | None = None
    """The guards of the text that can be left out, by number, with what comes by them; None: none can."""
    declaration: str = ""
    """The name of what is being lowered."""

    def _Call(self, node: ast.Call) -> Sym:
        if isinstance(node.func, ast.Attribute):
            base = self.peek(node.func.value)
            if isinstance(base, MapOf | Scalar | Bag | Record | Empty | Option):
                return self._method(node, node.func, base)
        callee = self.expr(node.func)
        if isinstance(callee, Poison):
            raise Refused
        if not isinstance(callee, Static):
            raise self.refuse(node, f"a call of {describe(callee)}", "only functions are called")
        target = callee.value
        for k in node.keywords:
            if k.arg is None:
                raise self.refuse(node, "`**`", "write the arguments out")
        try:
            handler = _HANDLERS.get(target)
        except TypeError:
            handler = None
        if handler is not None:
            return handler(self, node)
        if isinstance(target, Action | Property):
            target = target.function
        if isinstance(target, FunctionType) and target.__module__.split(".")[0] not in sys.stdlib_module_names:
            return self.call_function(node, target)
        if isinstance(target, type) and is_dataclass(target):
            return self._construct(node, target)
        if isinstance(target, type) and issubclass(target, values.Id):
            return self._id(node, target)
        name = getattr(target, "__name__", repr(target))
        raise self.refuse(node, f"a call of `{name}`", "call functions of the model, or " + _KNOWN)

    def _method(self, node: ast.Call, func: ast.Attribute, base: Sym) -> Sym:
        if isinstance(base, MapOf) and func.attr == "put" and len(node.args) == 2 and not node.keywords:
            base = self.solid(func.value)
            assert isinstance(base, MapOf)
            key = self.solid(node.args[0])
            if not isinstance(key, Scalar) or key.type != base.key:
                raise self.refuse(node.args[0], f"{describe(key)} as a key", f"keys are {base.key}")
            index, value = self.symbols.index(key), self.expr(node.args[1])
            g = self.g
            put = [
                self.symbols.choose(g.eq(index, g.const(k, base.key)), value, old) for k, old in enumerate(base.values)
            ]
            return MapOf(base.key, tuple(put))
        remedy = {
            "union": "write `a | b`",
            "intersection": "write `a & b`",
            "difference": "write `a - b`",
            "issubset": "write `a <= b`",
            "issuperset": "write `a >= b`",
            "isdisjoint": "write `a & b == frozenset()`",
            "index": "write a comprehension",
            "add": "sets do not change: write `s | {x}`",
            "append": "tuples do not change: write `t + (x,)`",
        }.get(func.attr, "write a function; the only method is `map.put(key, value)`")
        raise self.refuse(node, f"a method `.{func.attr}` of {describe(base)}", remedy)

    def given(self, node: ast.Call, function: Callable[..., Any], takes: str) -> dict[str, Sym]:
        """The arguments of a call by the names of parameters, evaluated in the order in which they are written."""
        count = len(node.args)
        try:
            named: dict[str, Any] = {k.arg: count + i for i, k in enumerate(node.keywords) if k.arg is not None}
            places = signature_of(function).bind(*range(count), **named).arguments
        except TypeError:
            raise self.refuse(node, f"`{ast.unparse(node)}`", takes) from None
        names = {place: name for name, place in places.items()}
        written = [*node.args, *(k.value for k in node.keywords)]
        return {names[place]: self.expr(value) for place, value in enumerate(written)}

    def guard(self, node: ast.Call, condition: Node, part: tuple[int, int] = (0, 1), text: str = "") -> None:
        if not self.guards_allowed:
            raise self.refuse(node, "a guard outside an action", "a property gives a bool; return it")
        self.check("require", node, condition, part, text)

    def _note(self, node: ast.Call, place: int) -> None:
        """Refuses a guard's note that is more than a text: nothing but Python would evaluate it."""
        note = node.args[place] if len(node.args) > place else self.keyword(node, "note")
        if note is not None and not (isinstance(note, ast.Constant) and isinstance(note.value, str)):
            raise self.refuse(note, f"`{ast.unparse(note)}` as a note", 'a note is a text: "why"')

    def _require(self, node: ast.Call) -> Sym:
        test = self.arguments(node, 1, 2, "note")[0]
        self._note(node, 1)
        if not self.guards_allowed:
            raise self.refuse(node, "a guard outside an action", "a property gives a bool; return it")
        parts = conjuncts(test)
        for number, part in enumerate(parts):
            place = number, len(parts)
            off = self.switch(node, place, part)
            with self.under(self.g.not_(off)):
                condition = self.boolean(part)
            self.guard(node, self.g.or_(off, condition), place, ast.unparse(part))
            self.frame.known |= self.facts(part, True)
        return Static(None)

    def _some(self, node: ast.Call) -> Sym:
        value = self.expr(self.arguments(node, 1, 2, "note")[0])
        self._note(node, 1)
        if isinstance(value, Option):
            if value.value is None:
                raise self.refuse(node, "some(None)", "it is never there: write `refuse()`")
            off = self.switch(node, (0, 1), node)
            self.guard(node, self.g.or_(off, value.present))
            return value.value
        return value

    def _refuse(self, node: ast.Call) -> Sym:
        self.arguments(node, 0, 1, "note")
        self._note(node, 0)
        self.guard(node, self.g.false)
        return Static(None)

    def switch(self, node: ast.Call, part: tuple[int, int], text: ast.expr) -> Node:
        """Whether a guard of the text is left out: false, but where each of them can be switched off."""
        if self.guards is None:
            return self.g.false
        found = Guard(self.frame.file, node.lineno, node.col_offset, part, ast.unparse(text))
        reached_by = self.guards.setdefault(found, [])
        if self.declaration not in reached_by:
            reached_by.append(self.declaration)
        return self.g.op("switch", BoolType(), (), list(self.guards).index(found))

    def _field_type(self, cls: type, name: str) -> Type | None:
        # A record that is only a helper's result may have fields of no finite type.
        try:
            return resolve(hints_of(cls)[name], self.config)
        except DomainError:
            return None

    def _fitted(self, node: ast.AST, cls: type, name: str, value: Sym) -> Sym:
        kind = self._field_type(cls, name)
        if kind is None or isinstance(value, Poison):
            return value
        try:
            return self.symbols.fit(value, kind)
        except Mismatch as error:
            raise self.refuse(node, f"{cls.__name__}.{name}", str(error)) from None

    def _construct(self, node: ast.Call, cls: type) -> Sym:
        known = {f.name: f for f in dataclasses.fields(cls)}
        odd = next((f.name for f in known.values() if not f.init or not f.compare), None) or own_method(cls)
        if odd is not None:
            raise self.refuse(node, f"{cls.__name__}, which has its own `{odd}`", "a record is just its fields")
        there = {*list(known)[: len(node.args)], *(k.arg for k in node.keywords)}
        missing = [n for n, f in known.items() if f.default is MISSING and n not in there]
        if missing and there <= set(known):
            raise self.refuse(node, f"{cls.__name__} without `{missing[0]}`", "give every field a value")
        given = self.given(node, cls, f"{cls.__name__} has the fields {', '.join(known)}")
        places: dict[str, ast.expr] = {**dict(zip(known, node.args, strict=False))}
        places |= {k.arg: k.value for k in node.keywords if k.arg is not None}
        made: dict[str, Sym] = {}
        for name, f in known.items():
            value = given[name] if name in given else self.symbols.lift(f.default)
            made[name] = self._fitted(places.get(name, node), cls, name, value)
        return Record(cls, made)

    def _replace(self, node: ast.Call) -> Sym:
        names = tuple(k.arg for k in node.keywords if k.arg is not None)
        base = self.solid(self.arguments(node, 1, 1, *names)[0])
        if isinstance(base, Poison):
            return base
        if not isinstance(base, Record):
            raise self.refuse(node, f"replace() of {describe(base)}", "it changes fields of a record")
        made = dict(base.fields)
        for k in node.keywords:
            if k.arg not in base.fields:
                raise self.refuse(k.value, f"no field `{k.arg}`", f"{base.cls.__name__} has {', '.join(base.fields)}")
            made[k.arg] = self._fitted(k.value, base.cls, k.arg, self.expr(k.value))
        return Record(base.cls, made)

    def _id(self, node: ast.Call, sort: type[values.Id]) -> Sym:
        argument = self.expr(self.arguments(node, 1, 1)[0])
        if isinstance(argument, Scalar) and isinstance(argument.type, IntType) and argument.node.op == "const":
            return self.symbols.lift(sort(argument.node.data))
        raise self.refuse(node, f"{sort.__name__}() of what is no constant", "ids are not calculated; use parameters")

    def _every(self, node: ast.Call) -> Sym:
        arguments = self.arguments(node, 1, 2, "config")
        config = arguments[1] if len(arguments) == 2 else self.keyword(node, "config")
        return Scalar(self.g.full(self._sort(node, arguments[0], config, "every(Broker, c)")))

    def _sort(self, node: ast.Call, sort: ast.expr, config: ast.expr | None, remedy: str) -> Type:
        """The sort that `every` or `fill` is of; an id sort is as large as the configuration says."""
        found = self.solid(sort)
        if not isinstance(found, Static):
            raise self.refuse(node, f"`{ast.unparse(sort)}` is no sort", remedy)
        given = None if config is None else self.expr(config)
        kind = resolve(found.value, self.config)
        if not isinstance(kind, IdType | EnumType | BoolType):
            raise self.refuse(node, f"`{ast.unparse(sort)}` is no sort", remedy)
        nothing = isinstance(given, Option) and given.value is None
        if (given is None or nothing) and isinstance(kind, IdType):
            raise self.refuse(node, f"{kind} without the configuration", remedy)
        if given is not None and not nothing and not (isinstance(given, Static) and given.value is self.config):
            raise self.refuse(node, "this as the configuration", remedy)
        return kind

    def _fill(self, node: ast.Call) -> Sym:
        sort, config, value = self.arguments(node, 3, 3)
        key = self._sort(node, sort, config, "fill(Broker, c, value)")
        return MapOf(key, (self.expr(value),) * key.count)

    def _map(self, node: ast.Call) -> Sym:
        (argument,) = self.arguments(node, 1, 1)
        if not isinstance(argument, ast.DictComp):
            raise self.refuse(node, "Map() of this", "write `Map({k: v for k in every(Sort, c)})`")
        pair = ast.Tuple(elts=[argument.key, argument.value], ctx=ast.Load())
        ast.copy_location(pair, argument)
        found: dict[int, Sym] = {}
        key: Type | None = None
        for condition, made in self.unroll(argument, pair, pairs=True):
            assert isinstance(made, Static)
            k, v = made.value
            if condition is not self.g.true or not isinstance(k, Scalar) or k.node.op != "const":
                raise self.refuse(node, "a map that is not total", "its keys are `k for k in every(Sort, c)`")
            key = k.type
            found[self.symbols.index(k).data] = v
        if key is None or sorted(found) != list(range(key.count)):
            raise self.refuse(node, "a map that is not total", "its keys are `k for k in every(Sort, c)`")
        return MapOf(key, tuple(found[i] for i in range(key.count)))

    def call_function(self, node: ast.Call, function: FunctionType) -> Sym:
        raise NotImplementedError


_HANDLERS: dict[Any, Callable[[Calls, ast.Call], Sym]] = {
    require: Calls._require,
    some: Calls._some,
    refuse: Calls._refuse,
    replace: Calls._replace,
    values.every: Calls._every,
    values.fill: Calls._fill,
    values.Map: Calls._map,
    any: lambda self, node: self._truths(node, False),
    all: lambda self, node: self._truths(node, True),
    sum: Calls._sum,
    len: Calls._len,
    min: lambda self, node: self._extreme(node, "min"),
    max: lambda self, node: self._extreme(node, "max"),
    next: Calls._next,
    tuple: Calls._tuple,
    frozenset: Calls._frozenset,
    abs: Calls._abs,
}
_KNOWN = "any, all, sum, len, min, max, next, sorted, tuple, frozenset, abs, replace, every, fill, Map"

__all__ = ["Calls", "Guard", "conjuncts"]
