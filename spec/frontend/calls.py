"""Calls and comprehensions of the subset: the built-in functions a model may use, records, maps, other functions.

Everything that ranges over a finite sort is unrolled here; what ranges over a set becomes operations on its mask.
One module, since `any`, `sum` or `next` is elaborated together with its comprehension.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, is_dataclass
from types import FunctionType
from typing import Any, get_type_hints

from reassure.spec.frontend.conditions import exclude
from reassure.spec.frontend.expressions import Check, Expressions, Refused
from reassure.spec.frontend.ir import Node, items
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
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
from reassure.spec.language.types import (
    BoolType,
    DomainError,
    EnumType,
    IdType,
    IntType,
    SeqType,
    SetType,
    Type,
    own_method,
    resolve,
)
from reassure.spec.language.vocabulary import Action, Property, refuse, replace, require, some

Item = tuple[Node, Sym]
"""A value and the condition under which it is there."""
Comprehension = ast.GeneratorExp | ast.SetComp | ast.DictComp
MOST = 4096
"""Numbers of a range, at most: each becomes a copy of the expression."""


@dataclass(frozen=True)
class Guard:
    """A guard of the text: one conjunct of a `require`, or a `some` or `refuse`. part: which conjunct of how many."""

    file: str
    line: int
    column: int
    part: tuple[int, int]
    text: str


@dataclass
class Selection:
    """A comprehension over one set: the set, and for each index its condition and element."""

    source: Node
    item: Type
    conditions: list[Node]
    elements: list[Sym]

    @property
    def identity(self) -> bool:
        """Whether the elements are the members themselves."""
        return all(
            isinstance(e, Scalar) and e.node.op == "const" and e.type == self.item and e.node.data == i
            for i, e in enumerate(self.elements)
        )


@dataclass
class Turn:
    """What one member of the (outermost) iterable of a comprehension gives: the checks on the way, and elements."""

    checks: list[Check]
    items: list[Item]


@dataclass
class Loop:
    """A comprehension while it is unrolled. ordered: only what has an order may be iterated over.

    one_by_one: what one element makes sure of holds for the next, and what comes after one that `ends` it is not
    reached: `live` is the condition under which none has.
    """

    element: ast.expr
    ordered: bool
    pairs: bool
    one_by_one: bool = False
    ends: Callable[[Sym], Node] | None = None
    live: Node | None = None
    in_order: bool = True
    """Whether everything it ranges over has an order."""
    turns: list[Turn] = field(default_factory=list)


class Default:
    """The default of max, min or next. Python evaluates it before the elements, whether it is wanted or not."""

    def __init__(self, calls: Calls, node: ast.expr | None) -> None:
        self.calls, self.node = calls, node
        self.value: Sym | None = None

    def evaluate(self) -> None:
        """Elaborates it here."""
        if self.node is not None:
            self.value = self.calls.expr(self.node)


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that are joined by `and`, in the order in which they are written."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in conjuncts(value)]
    return [test]


class Calls(Expressions):
    """Elaborates calls and comprehensions."""

    guards: list[Guard] | None = None
    """The guards of the text that can be switched off, by number; None: none can."""

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

    def arguments(self, node: ast.Call, low: int, high: int, *keywords: str) -> list[ast.expr]:
        """Positional arguments, their number checked, and no keywords but the given ones."""
        unknown = [k.arg for k in node.keywords if k.arg not in keywords]
        if unknown or not low <= len(node.args) <= high:
            count = str(low) if low == high else f"{low} to {high}"
            raise self.refuse(node, f"`{ast.unparse(node)}`", f"it takes {count} arguments here")
        return node.args

    def keyword(self, node: ast.Call, name: str) -> ast.expr | None:
        return next((k.value for k in node.keywords if k.arg == name), None)

    def given(self, node: ast.Call, function: Callable[..., Any], takes: str) -> dict[str, Sym]:
        """The arguments of a call by the names of parameters, evaluated in the order in which they are written."""
        count = len(node.args)
        try:
            named: dict[str, Any] = {k.arg: count + i for i, k in enumerate(node.keywords) if k.arg is not None}
            places = inspect.signature(function).bind(*range(count), **named).arguments
        except TypeError:
            raise self.refuse(node, f"`{ast.unparse(node)}`", takes) from None
        names = {place: name for name, place in places.items()}
        written = [*node.args, *(k.value for k in node.keywords)]
        return {names[place]: self.expr(value) for place, value in enumerate(written)}

    # -- guards -------------------------------------------------------------------------------------

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
        self.guard(node, self.switch(node, (0, 1), node))
        return Static(None)

    def switch(self, node: ast.Call, part: tuple[int, int], text: ast.expr) -> Node:
        """Whether a guard of the text is left out: false, but where each of them can be switched off."""
        if self.guards is None:
            return self.g.false
        found = Guard(self.frame.file, node.lineno, node.col_offset, part, ast.unparse(text))
        if found not in self.guards:
            self.guards.append(found)
        return self.g.op("switch", BoolType(), (), self.guards.index(found))

    # -- records, ids, maps -----------------------------------------------------------------------

    def _field_type(self, cls: type, name: str) -> Type | None:
        # A record that is only a helper's result may have fields of no finite type.
        try:
            return resolve(get_type_hints(cls, include_extras=True)[name], self.config)
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

    # -- comprehensions -----------------------------------------------------------------------------

    def iterate(self, node: ast.expr, ordered: bool) -> tuple[list[Item], bool]:
        """The members an iterable may have, each with its condition, and whether they come in a defined order.

        ordered: refuse what has none.
        """
        g = self.g
        if isinstance(node, ast.Call):
            target = self.peek(node.func)
            if isinstance(target, Static) and target.value is sorted:
                return self._members(self.sorted_set(node)), True
            if isinstance(target, Static) and target.value is range:
                return self._range(node), True
        if isinstance(node, ast.Tuple):
            return [(g.true, self.solid(e)) for e in node.elts], True
        source = self.operand(node)
        if isinstance(source, Poison):
            raise Refused
        if isinstance(source, Empty):
            return [], True
        if isinstance(source, Scalar) and isinstance(source.type, SeqType):
            return self._positions(source.node, source.type), True
        if ordered:
            raise self.refuse(node, "a set has no order", "iterate over `sorted(...)` or a tuple")
        if isinstance(source, Scalar) and isinstance(source.type, SetType):
            return self._members(source.node), False
        if isinstance(source, Bag):
            slots = self.symbols.looked_into(source).slots
            return [(self.symbols.occupied(s), self.symbols.unpack_slot(source.item, s)) for s in slots], False
        if isinstance(source, Loose):
            return self._distinct(source), False
        raise self.refuse(node, f"iteration over {describe(source)}", "iterate over a set, a tuple or `every(Sort, c)`")

    def _distinct(self, source: Loose) -> list[Item]:
        """The records of a display, each once."""
        g = self.g
        found: list[Item] = []
        for i, (condition, record) in enumerate(source.members):
            same = [g.and_(c, self.symbols.equal(record, r)) for c, r in source.members[:i]]
            found.append((g.and_(condition, g.not_(g.or_(*same))), record))
        return found

    def _members(self, source: Node) -> list[Item]:
        assert isinstance(source.type, SetType)
        item, g = source.type.item, self.g
        return [(g.member(i, source), Scalar(i)) for i in (g.const(k, item) for k in range(items(item)))]

    def _positions(self, source: Node, kind: SeqType) -> list[Item]:
        g, length = self.g, self.seq_len(source)
        return [
            (g.lt(g.num(i), length), Scalar(g.op("seq_get", kind.item, (source, g.num(i))))) for i in range(kind.length)
        ]

    def _range(self, node: ast.Call) -> list[Item]:
        bounds = [self.scalar(a, IntType) for a in self.arguments(node, 1, 2)]
        if any(b.op != "const" for b in bounds):
            raise self.refuse(node, "a range whose bounds are no constants", "use constants or the configuration")
        numbers = range(*(b.data for b in bounds))
        if len(numbers) > MOST:
            raise self.refuse(node, f"a range of {len(numbers)} numbers", f"at most {MOST}")
        return [(self.g.true, Scalar(self.g.num(i))) for i in numbers]

    def sorted_set(self, node: ast.Call) -> Node:
        """The set under `sorted(...)`."""
        (argument,) = self.arguments(node, 1, 1)
        source = self.set_from(argument) if isinstance(argument, ast.GeneratorExp) else self.operand(argument)
        if isinstance(source, Scalar) and isinstance(source.type, SetType):
            if not isinstance(source.type.item, IdType):
                raise self.refuse(node, "sorted() of this", "only ids have an order here")
            self.ordered_sorts.add(source.type.item.sort)
            return source.node
        raise self.refuse(node, f"sorted() of {describe(source)}", "it sorts a set of ids")

    @contextmanager
    def naming(self, target: ast.expr, value: Sym) -> Any:
        if not isinstance(target, ast.Name):
            raise self.refuse(target, "this loop variable", "one name")
        frame, missing = self.frame, object()
        saved: Any = frame.env.get(target.id, missing)
        known = frame.known
        frame.env[target.id] = value
        frame.known = frozenset(k for k in known if k.split(".")[0] != target.id)
        try:
            yield
        finally:
            frame.known = known
            if saved is missing:
                del frame.env[target.id]
            else:
                frame.env[target.id] = saved

    def unroll(
        self,
        node: Comprehension,
        element: ast.expr,
        ordered: bool = False,
        pairs: bool = False,
        ends: Callable[[Sym], Node] | None = None,
        then: Callable[[], None] | None = None,
    ) -> list[Item]:
        """All elements of a comprehension with the conditions under which they are there.

        ends: the condition under which an element ends it, so that Python does not look at the rest. then: what is
        evaluated once the first iterable has been. Where the order of a set would show, this is refused.
        """
        loop = Loop(element, ordered, pairs)
        mark = self.mark()
        found = self._unrolled(node.generators, loop, then)
        if not any(turn.checks for turn in loop.turns):
            return found
        if loop.in_order:
            # Something may fail, so that it matters what is evaluated before: once more, one element after the other.
            self.rollback(mark)
            return self._unrolled(node.generators, Loop(element, ordered, pairs, True, ends, self.g.true), then)
        self.order_hidden(node, loop.turns, ends)
        return found

    def _unrolled(
        self, generators: list[ast.comprehension], loop: Loop, then: Callable[[], None] | None, inner: bool = False
    ) -> list[Item]:
        first, *rest = generators
        if first.is_async:
            raise self.refuse(loop.element, "async", "a model is plain functions")
        members, in_order = self.iterate(first.iter, loop.ordered)
        loop.in_order = loop.in_order and in_order
        if then is not None:
            then()
        found: list[Item] = []
        before, start = self.passed, len(self.checks)
        for condition, value in members:
            number = len(self.checks)
            if not loop.one_by_one and not inner:
                self.passed = before
            here = condition if loop.live is None else self.g.and_(loop.live, condition)
            with self.under(here), self.naming(first.target, value), self._filtered(first.ifs) as kept:
                items = self._unrolled(rest, loop, None, True) if rest else [(self.g.true, self._element(loop))]
            there = [(self.g.and_(condition, kept, c), v) for c, v in items]
            there = [(c, v) for c, v in there if c is not self.g.false]
            found += there
            if not inner:
                loop.turns.append(Turn(self.checks[number:], there))
        if not loop.one_by_one and not inner:
            guards = [c.condition for c in self.checks[start:] if c.kind == "require"]
            self.passed = self.g.and_(before, *guards)
        return found

    def _element(self, loop: Loop) -> Sym:
        element = loop.element
        if loop.pairs and isinstance(element, ast.Tuple):
            return Static(tuple(self.expr(e) for e in element.elts))
        value = self.expr(element)
        if loop.ends is not None and loop.live is not None:
            loop.live = self.g.and_(loop.live, self.g.not_(self.g.and_(self.path, loop.ends(value))))
        return value

    def order_hidden(self, node: ast.expr, turns: list[Turn], ends: Callable[[Sym], Node] | None) -> None:
        """Refuses a comprehension over a set in which one member may fail where another, if it came first, would end
        it or fail in another way: a set has no order."""
        g = self.g
        stops: list[list[tuple[str, Node]]] = []
        for turn in turns:
            held = [c.condition for c in turn.checks]
            found = [(c.kind, g.and_(g.not_(c.condition), *held[:i])) for i, c in enumerate(turn.checks)]
            if ends is not None:
                over = g.or_(*(g.and_(c, ends(v)) for c, v in turn.items))
                found.append(("end", g.and_(over, *held)))
            stops.append(found)
        for i, mine in enumerate(stops):
            others = [stop for j, theirs in enumerate(stops) if j != i for stop in theirs]
            for kind, fails in mine:
                if kind != "end" and any(k != kind and not exclude(g, fails, stop) for k, stop in others):
                    what = "what may fail in a comprehension over a set, whose order would show"
                    raise self.refuse(node, what, "test before it that it cannot fail, or iterate over `sorted(...)`")

    @contextmanager
    def _filtered(self, tests: list[ast.expr]) -> Any:
        """Within, the filters of a comprehension hold; yields their conjunction."""
        saved, known, kept = self.path, self.frame.known, self.g.true
        try:
            for test in tests:
                term = self.boolean(test)
                self.frame.known |= self.facts(test, True)
                self.path = self.g.and_(self.path, term)
                kept = self.g.and_(kept, term)
            yield kept
        finally:
            self.path, self.frame.known = saved, known

    def select(
        self, node: Comprehension, ordered: bool = False, then: Callable[[], None] | None = None, early: bool = False
    ) -> Selection | None:
        """The comprehension as a selection from one set (or, where order is wanted, a sorted one), if it is one.

        early: an element may end it, so that it is none where something in it may fail.
        """
        if len(node.generators) != 1 or not isinstance(node, ast.GeneratorExp | ast.SetComp):
            return None
        (generator,) = node.generators
        mark = self.mark()
        sorted_call = isinstance(generator.iter, ast.Call) and isinstance(t := self.peek(generator.iter.func), Static)
        if sorted_call and isinstance(t, Static) and t.value is sorted and isinstance(generator.iter, ast.Call):
            source = self.sorted_set(generator.iter)
        else:
            value = self.peek(generator.iter)
            if not isinstance(value, Scalar) or not isinstance(value.type, SetType | SeqType):
                return None
            if ordered and isinstance(value.type, SetType):
                raise self.refuse(generator.iter, "a set has no order", "iterate over `sorted(...)` or a tuple")
            value = self.solid(generator.iter)
            assert isinstance(value, Scalar)
            source = self.seq_set(value.node) if isinstance(value.type, SeqType) else value.node
        if then is not None:
            then()
        assert isinstance(source.type, SetType)
        item = source.type.item
        conditions, elements, turns = [], [], []
        before, start = self.passed, len(self.checks)
        for k in range(items(item)):
            self.passed, number = before, len(self.checks)
            index = self.g.const(k, item)
            with self.under(self.g.member(index, source)), self.naming(generator.target, Scalar(index)):
                with self._filtered(generator.ifs) as kept:
                    elements.append(self.expr(node.elt))
                conditions.append(kept)
            turns.append(Turn(self.checks[number:], []))
        if len(self.checks) > start:
            if early:
                self.rollback(mark)
                return None
            self.order_hidden(node, turns, None)
            guards = [c.condition for c in self.checks[start:] if c.kind == "require"]
            self.passed = self.g.and_(before, *guards)
        return Selection(source, item, conditions, elements)

    def chosen(self, found: Selection) -> Node:
        """The subset that a selection keeps."""
        return self.g.inter(found.source, self.g.build(found.item, found.conditions))

    def set_from(self, node: ast.GeneratorExp | ast.SetComp) -> Sym:
        """The set that a comprehension makes."""
        found = self.select(node)
        if found is not None and found.identity:
            return Scalar(self.chosen(found))
        members = self.unroll(node, node.elt)
        if any(isinstance(v, Poison) for _, v in members):
            return POISON
        return self.symbols.set_of(members)

    def _truths(self, node: ast.Call, conjunction: bool) -> Sym:
        (argument,) = self.arguments(node, 1, 1)
        if not isinstance(argument, ast.GeneratorExp):
            raise self.refuse(node, "any/all of this", "write `any(condition for x in set)`")
        g = self.g
        wrapped = ast.GeneratorExp(elt=argument.elt, generators=argument.generators)
        ast.copy_location(wrapped, argument)
        found = self.select(wrapped, early=True)
        if found is not None:
            terms = [self._truth(argument.elt, e) for e in found.elements]
            if found.source.op != "const":
                # Over a set that is not known: one operation on masks.
                pairs = list(zip(found.conditions, terms, strict=True))
                if conjunction:
                    missing = g.minus(found.source, g.build(found.item, [g.implies(c, t) for c, t in pairs]))
                    return Scalar(g.eq(missing, g.const(0, missing.type)))
                matching = g.inter(found.source, g.build(found.item, [g.and_(c, t) for c, t in pairs]))
                return Scalar(g.not_(g.eq(matching, g.const(0, matching.type))))
            members = [
                (g.and_(g.member(g.const(i, found.item), found.source), c), t)
                for i, (c, t) in enumerate(zip(found.conditions, terms, strict=True))
            ]
        else:

            def ends(value: Sym) -> Node:
                truth = self._truth(argument.elt, value)
                return g.not_(truth) if conjunction else truth

            found_ = self.unroll(argument, argument.elt, ends=ends)
            members = [(c, self._truth(argument.elt, v)) for c, v in found_]
        if conjunction:
            return Scalar(g.and_(*(g.implies(c, t) for c, t in members)))
        return Scalar(g.or_(*(g.and_(c, t) for c, t in members)))

    def _truth(self, node: ast.expr, value: Sym) -> Node:
        if isinstance(value, Scalar) and isinstance(value.type, BoolType):
            return value.node
        if isinstance(value, Poison):
            raise Refused
        raise self.refuse(node, f"{describe(value)} as a condition", "only bools are conditions")

    def _sum(self, node: ast.Call) -> Sym:
        (argument,) = self.arguments(node, 1, 1)
        if not isinstance(argument, ast.GeneratorExp):
            raise self.refuse(node, "sum() of this", "write `sum(number for x in set)`")
        g = self.g
        source = self.peek(argument.generators[0].iter)
        over_set = isinstance(source, Scalar) and isinstance(source.type, SetType)
        found = self.select(argument) if over_set else None
        if found is not None and all(isinstance(e, Scalar) and e.node is g.num(1) for e in found.elements):
            return Scalar(g.card(self.chosen(found)))
        total = g.num(0)
        for condition, value in self.unroll(argument, argument.elt):
            if not isinstance(value, Scalar) or not isinstance(value.type, IntType):
                raise self.refuse(argument.elt, f"a sum of {describe(value)}", "sum ints; count with `sum(1 for ...)`")
            total = g.arith("add", total, g.ite(condition, value.node, g.num(0)))
        return Scalar(total)

    def _len(self, node: ast.Call) -> Sym:
        value = self.symbols.as_bag(self.operand(self.arguments(node, 1, 1)[0]))
        if isinstance(value, Empty):
            return Scalar(self.g.num(0))
        if isinstance(value, Scalar) and isinstance(value.type, SetType):
            return Scalar(self.g.card(value.node))
        if isinstance(value, Scalar) and isinstance(value.type, SeqType):
            return Scalar(self.seq_len(value.node))
        if isinstance(value, Bag):
            total = self.g.num(0)
            for slot in self.symbols.looked_into(value).slots:
                total = self.g.arith(
                    "add", total, self.g.ite(self.symbols.occupied(slot), self.g.num(1), self.g.num(0))
                )
            return Scalar(total)
        if isinstance(value, Poison):
            return value
        raise self.refuse(node, f"len() of {describe(value)}", "sets and tuples have a length")

    def _extreme(self, node: ast.Call, name: str) -> Sym:
        arguments = self.arguments(node, 1, 8, "default")
        default = Default(self, self.keyword(node, "default"))
        op = "lowest" if name == "min" else "highest"
        if len(arguments) > 1:
            if default.node is not None:
                raise self.refuse(node, f"`{ast.unparse(node)}`", "a default is for one set")
            result = self.scalar(arguments[0], IntType, IdType)
            for other in arguments[1:]:
                result = self._better(node, name, result, self.scalar(other, IntType, IdType))
            return Scalar(result)
        (argument,) = arguments
        g = self.g
        if isinstance(argument, ast.GeneratorExp):
            mark = self.mark()
            found = self.select(argument, then=default.evaluate)
            if found is None or not (found.identity and isinstance(found.item, IdType)):
                self.rollback(mark)
                return self._best(node, name, self.unroll(argument, argument.elt, then=default.evaluate), default)
            chosen = self.chosen(found)
        else:
            source = self.operand(argument)
            if isinstance(source, Poison):
                return source
            if not isinstance(source, Scalar) or not isinstance(source.type, SetType):
                raise self.refuse(node, f"{name}() of {describe(source)}", "a set of ids, or several ints")
            default.evaluate()
            chosen = source.node
        assert isinstance(chosen.type, SetType)
        if not isinstance(chosen.type.item, IdType):
            raise self.refuse(node, f"{name}() of a set of {chosen.type.item}", "only ids have an order here")
        self.ordered_sorts.add(chosen.type.item.sort)
        some_left = g.not_(g.eq(chosen, g.const(0, chosen.type)))
        return self._or_default(node, some_left, Scalar(g.extreme(op, chosen)), default)

    def _best(self, node: ast.Call, name: str, found: list[Item], default: Default) -> Sym:
        g, exists, best = self.g, self.g.false, None
        for condition, value in found:
            if not isinstance(value, Scalar) or not isinstance(value.type, IntType | IdType):
                raise self.refuse(node, f"{name}() of {describe(value)}", "ints or ids")
            if best is None:
                best = value.node
            else:
                better = self._better(node, name, best, value.node)
                best = g.ite(condition, g.ite(exists, better, value.node), best)
            exists = g.or_(exists, condition)
        return self._or_default(node, exists, POISON if best is None else Scalar(best), default)

    def _better(self, node: ast.Call, name: str, a: Node, b: Node) -> Node:
        if isinstance(a.type, IntType) and isinstance(b.type, IntType):
            return self.g.arith(name, a, b)
        if a.type != b.type or not isinstance(a.type, IdType):
            raise self.refuse(node, f"{name}() of values of two sorts", "of one sort")
        self.ordered_sorts.add(a.type.sort)
        first = self.g.lt(a, b)
        return self.g.ite(first, a, b) if name == "min" else self.g.ite(first, b, a)

    def _or_default(self, node: ast.Call, exists: Node, value: Sym, default: Default) -> Sym:
        if default.value is not None:
            return default.value if exists is self.g.false else self.symbols.choose(exists, value, default.value)
        if isinstance(value, Poison) and self.path is not self.g.false:
            raise self.refuse(node, f"`{ast.unparse(node)}` of nothing", "it always raises; give it a default")
        self.check("error", node, exists)
        return value

    def _next(self, node: ast.Call) -> Sym:
        arguments = self.arguments(node, 1, 2)
        argument = arguments[0]
        default = Default(self, arguments[1] if len(arguments) == 2 else None)
        if not isinstance(argument, ast.GeneratorExp) or len(argument.generators) != 1:
            raise self.refuse(node, "next() of this", "write `next((x for x in seq if condition), None)`")
        g = self.g
        found = self.select(argument, ordered=True, then=default.evaluate, early=True)
        if found is None:
            result: Sym = POISON
            exists = g.false
            items_ = self.unroll(argument, argument.elt, True, ends=lambda _: g.true, then=default.evaluate)
            for condition, value in reversed(items_):
                result = value if exists is g.false else self.symbols.choose(condition, value, result)
                exists = g.or_(exists, condition)
            return self._or_default(node, exists, result, default)
        chosen = self.chosen(found)
        seq = self.peek(argument.generators[0].iter)
        if isinstance(seq, Scalar) and isinstance(seq.type, SeqType):
            keep = g.build(found.item, found.conditions)
            index = g.op("seq_first", found.item, (seq.node, keep))
        else:
            index = g.extreme("lowest", chosen)
        exists = g.not_(g.eq(chosen, g.const(0, chosen.type)))
        result = Scalar(index)
        if not found.identity:
            result = self.lookup(MapOf(found.item, tuple(found.elements)), index)
        return self._or_default(node, exists, result, default)

    def _tuple(self, node: ast.Call) -> Sym:
        arguments = self.arguments(node, 0, 1)
        if not arguments:
            return Empty(True)
        (argument,) = arguments
        g = self.g
        if isinstance(argument, ast.Call):
            target = self.peek(argument.func)
            if isinstance(target, Static) and target.value is sorted:
                return self._from_sorted(self.sorted_set(argument))
        if isinstance(argument, ast.GeneratorExp):
            found = self.select(argument, ordered=True)
            if found is not None and found.identity:
                seq = self.peek(argument.generators[0].iter)
                if isinstance(seq, Scalar) and isinstance(seq.type, SeqType):
                    keep = g.build(found.item, found.conditions)
                    return Scalar(g.op("seq_keep", seq.type, (seq.node, keep)))
                return self._from_sorted(self.chosen(found))
            remedy = "keep members as they are: `tuple(x for x in seq if condition)`"
            raise self.refuse(node, "a tuple of changed members", remedy)
        value = self.solid(argument)
        if isinstance(value, Empty) or (isinstance(value, Scalar) and isinstance(value.type, SeqType)):
            return value
        raise self.refuse(node, f"tuple() of {describe(value)}", "write `tuple(sorted(set))`")

    def _from_sorted(self, source: Node) -> Sym:
        assert isinstance(source.type, SetType)
        item = source.type.item
        return Scalar(self.g.op("seq_sorted", SeqType(item, items(item)), (source,)))

    def _frozenset(self, node: ast.Call) -> Sym:
        arguments = self.arguments(node, 0, 1)
        if not arguments:
            return Empty(False)
        (argument,) = arguments
        if isinstance(argument, ast.GeneratorExp):
            return self.set_from(argument)
        if isinstance(argument, ast.Tuple | ast.List):
            return self.symbols.set_of([(self.g.true, self.solid(e)) for e in argument.elts])
        value = self.operand(argument)
        if isinstance(value, Scalar) and isinstance(value.type, SeqType):
            return Scalar(self.seq_set(value.node))
        if isinstance(value, Empty):
            return Empty(False)
        if isinstance(value, Bag | Loose | Poison) or (isinstance(value, Scalar) and isinstance(value.type, SetType)):
            return value
        raise self.refuse(node, f"frozenset() of {describe(value)}", "a set, a tuple or a comprehension")

    def _abs(self, node: ast.Call) -> Sym:
        value = self.scalar(self.arguments(node, 1, 1)[0], IntType)
        return Scalar(self.g.arith("max", value, self.g.arith("sub", self.g.num(0), value)))

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

__all__ = ["Calls"]
