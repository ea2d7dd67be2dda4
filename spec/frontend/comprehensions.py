"""Comprehensions: every element with its condition, and in which order what is in it is evaluated.

What ranges over a finite sort is unrolled here; a selection from a set becomes operations on its mask.

Also here: the range of a comprehension: the members of an iterable, the loop's variable, its filters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from reassure.spec.frontend import map_keys, number_sets
from reassure.spec.frontend.context import Context, exclude
from reassure.spec.frontend.evaluation import (
    filtered,
    keyword,
    lower,
    lower_operand,
    lower_present,
    lower_scalar,
    of_other_names,
    peek,
    positional,
    refuse_options,
)
from reassure.spec.frontend.introspection import Refused, over_range
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Check
from reassure.spec.frontend.operations import may_hold_together
from reassure.spec.frontend.sets_and_sequences import items_of, occupied, seq_len, seq_set, set_of, unpack_slot
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Columns,
    Empty,
    Loose,
    NumberSet,
    Poison,
    Scalar,
    Static,
    Sym,
    Tuple,
    describe,
)
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import IdType, IntType, SeqType, SetType, Type, unbounded

Item = tuple[Node, Sym]
"""A value and the condition under which it is there."""
LONGEST_RANGE = 4096
"""Numbers of a range, at most: each becomes a copy of the expression."""
NO_ORDER = "a set has no order", "iterate over `sorted(...)` or a tuple"
"""A set where an order is needed, and the remedy."""


def members_of(context: Context, node: ast.expr, ordered: bool) -> tuple[list[Item], bool]:
    """The members an iterable may have, each with its condition, and whether they come in a defined order.

    ordered: refuse what has none.
    """
    g = context.graph
    if isinstance(node, ast.Call):
        if calls(context, node, sorted):
            found = sorted_source(context, node)
            if isinstance(found, NumberSet):
                return number_sets.items(g, found), True
            mask = found.node
            assert isinstance(mask.type, SetType) and isinstance(mask.type.item, IdType)
            if unbounded(mask.type.item):
                raise context.refuse(node, *of_any_number(mask.type.item))
            context.reads_order(mask.type.item.sort)
            return _set_members(g, mask), True
        if calls(context, node, range):
            return _range(context, node), True
        if calls(context, node, enumerate):
            return _enumerated(context, node), True
        if calls(context, node, reversed):
            (sequence,) = positional(context, node, 1, 1)
            return list(reversed(members_of(context, sequence, True)[0])), True
    if isinstance(node, ast.Tuple):
        return [(g.true, lower_present(context, e)) for e in node.elts], True
    source = lower_operand(context, node)
    if isinstance(source, Poison):
        raise Refused
    if isinstance(source, Empty):
        return [], True
    if isinstance(source, Scalar) and isinstance(source.type, SetType | SeqType) and unbounded(source.type.item):
        raise context.refuse(node, *of_any_number(source.type.item))
    if isinstance(source, Scalar) and isinstance(source.type, SeqType):
        return _sequence_items(g, source.node, source.type), True
    if isinstance(source, Columns):
        return list(source.places), True
    if isinstance(source, Tuple):
        return [(g.true, item) for item in source.items], True
    if ordered:
        raise context.refuse(node, *NO_ORDER)
    if isinstance(source, Scalar) and isinstance(source.type, SetType):
        return _set_members(g, source.node), False
    if isinstance(source, NumberSet):
        return number_sets.items(g, source), False
    if isinstance(source, Bag):
        slots = source.looked_into()
        return [(occupied(g, s), unpack_slot(g, source.item, s)) for s in slots], False
    if isinstance(source, Loose):
        return _distinct(context, source), False
    raise context.refuse(node, f"iteration over {describe(source)}", f"iterate over {map_keys.iterable(node, source)}")


def of_any_number(item: Type) -> tuple[str, str]:
    """The problem of going through the members of a sort one by one, and the remedy."""
    what = f"this comprehension or loop over {item}, of which there may be any number"
    each = "write any, all, sum or `frozenset(x for x in s if ...)` over one set each, as `any(any(...) for x in s)`"
    return what, f"{each}, of what cannot fail; or --set a number of them"


def calls(context: Context, node: ast.Call, builtin: object) -> bool:
    """Whether a call is one of this built-in function."""
    target = peek(context, node.func)
    return isinstance(target, Static) and target.value is builtin


def sorted_source(context: Context, node: ast.Call) -> Scalar | NumberSet:
    """The set under `sorted(...)`: of ids, as a mask, or of numbers."""
    refuse_options(context, node)
    (argument,) = positional(context, node, 1, 1)
    if isinstance(argument, ast.Call) and calls(context, argument, range):
        (argument,) = over_range(node, sorted)[1].args
    # A generator is gone through as the set that it gives.
    lower_set = context.constructs.set_displays[ast.SetComp]
    generator = isinstance(argument, ast.GeneratorExp)
    source = lower_set(context, argument) if generator else lower_operand(context, argument)
    if isinstance(source, Scalar) and isinstance(source.type, SetType):
        if not isinstance(source.type.item, IdType):
            raise context.refuse(node, "sorted() of this", "only ids have an order here")
        context.reads_order(source.type.item.sort, source.node)
        return source
    if isinstance(source, NumberSet):
        return source
    raise context.refuse(node, f"sorted() of {describe(source)}", "it sorts a set of ids or numbers")


def _distinct(context: Context, source: Loose) -> list[Item]:
    """The records of a display, each once."""
    g = context.graph
    distinct: list[Item] = []
    for i, (condition, record) in enumerate(source.members):
        repeated = [g.and_(c, context.symbols.equal(record, other)) for c, other in source.members[:i]]
        distinct.append((g.and_(condition, g.not_(g.or_(*repeated))), record))
    return distinct


def _set_members(g: Graph, mask: Node) -> list[Item]:
    assert isinstance(mask.type, SetType)
    return [(g.member(i, mask), Scalar(i)) for i in g.indices(mask.type.item)]


def _sequence_items(g: Graph, sequence: Node, kind: SeqType) -> list[Item]:
    length = seq_len(g, sequence)
    return [
        (g.lt(g.num(i), length), Scalar(g.op("seq_get", kind.item, (sequence, g.num(i))))) for i in range(kind.length)
    ]


def _range(context: Context, node: ast.Call) -> list[Item]:
    g = context.graph
    if len(node.args) == 3:
        remedy = "write a filter, `if i % 2 == 0`, or `reversed(range(low, high))` to count down"
        raise context.refuse(node, f"`{ast.unparse(node)}`, which has a step", remedy)
    bounds = [lower_scalar(context, a, IntType) for a in positional(context, node, 1, 2)]
    start, stop = bounds if len(bounds) == 2 else (g.num(0), bounds[0])
    # What is known says nothing where nothing gets: a constant is itself there, so that a map stays total.
    low, high = (b.data if b.op == "const" else context.bounds(b)[i] for i, b in enumerate((start, stop)))
    numbers = range(low, high)
    if len(numbers) > LONGEST_RANGE:
        remedy = f"at most {LONGEST_RANGE}: bound it before, as `min({ast.unparse(node.args[-1])}, 10)` does"
        raise context.refuse(node, f"a range of {len(numbers)} numbers", remedy)
    return [(g.and_(g.le(start, g.num(i)), g.lt(g.num(i), stop)), Scalar(g.num(i))) for i in numbers]


def _enumerated(context: Context, node: ast.Call) -> list[Item]:
    """`enumerate(iterable, start)`: each element with its number."""
    arguments = positional(context, node, 1, 2, "start")
    g, items = context.graph, members_of(context, arguments[0], True)[0]
    if isinstance(peek(context, arguments[0]), Columns):  # an item is there only if those before are
        items = [(g.and_(*(there for there, _ in items[: i + 1])), value) for i, (_, value) in enumerate(items)]
    first = arguments[1] if len(arguments) == 2 else keyword(node, "start")
    number = g.num(0) if first is None else lower_scalar(context, first, IntType)
    pairs: list[Item] = []
    for i, (condition, value) in enumerate(items):
        pairs.append((condition, Tuple((Scalar(number), value))))
        is_prefix = i + 1 < len(items) and _is_prefix(condition, items[i + 1][0])
        number = g.arith("add", number, g.num(1) if is_prefix else g.ite(condition, g.num(1), g.num(0)))
    return pairs


def _is_prefix(here: Node, after: Node) -> bool:
    """Whether an element is there wherever the next one is, as of a sequence or of `range(n)`."""
    both = here.op == after.op == "lt" and here.args[1] is after.args[1]
    return both and here.args[0].op == after.args[0].op == "const"


def is_names(target: ast.expr) -> bool:
    """Whether a target is a name, or a tuple of such targets."""
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(is_names, target.elts)))


def named(context: Context, target: ast.expr, value: Sym) -> dict[str, Sym]:
    """The values of a target's names: of one name, or of as many as a tuple has items, which may be tuples."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(value, Poison):
        raise Refused
    parts = items_of(context.graph, value)
    names = target.elts if isinstance(target, ast.Tuple) and is_names(target) else []
    if not names or parts is None or len(names) != len(parts):
        what = "this loop variable" if not names else f"`{ast.unparse(target)}` for {describe(value)}"
        raise context.refuse(target, what, "one name, or as many names as a tuple has items")
    return {name: v for e, part in zip(names, parts, strict=True) for name, v in named(context, e, part).items()}


@contextmanager
def naming(context: Context, target: ast.expr, value: Sym) -> Iterator[None]:
    """Within, the variables of a comprehension's loop have values."""
    given, frame = named(context, target, value), context.frame
    hidden, not_none = {name: frame.variables.get(name) for name in given}, frame.not_none
    frame.variables.update(given)
    frame.not_none = of_other_names(not_none, given)
    try:
        yield
    finally:
        frame.not_none = not_none
        for name, before in hidden.items():
            if before is None:
                del frame.variables[name]
            else:
                frame.variables[name] = before


Comprehension = ast.GeneratorExp | ast.SetComp | ast.DictComp
Ends = Callable[[Sym], Node]
"""The condition under which an element ends a comprehension, so that Python does not look at the rest."""


@dataclass
class Selection:
    """A comprehension over one set: the set, and for each index its condition and element."""

    source: Node
    indices: list[Node]
    conditions: list[Node]
    elements: list[Sym]

    @property
    def item(self) -> Type:
        """The type of the members."""
        return self.indices[0].type

    @property
    def identity(self) -> bool:
        """Whether the elements are the members themselves."""
        return all(isinstance(e, Scalar) and e.node is i for i, e in zip(self.indices, self.elements, strict=True))


@dataclass
class Turn:
    """One turn of the innermost iterable of a comprehension: the checks on the way there and in it, and elements."""

    checks: list[Check]
    items: list[Item]
    reached: tuple[Node, ...] = ()
    """The conditions of the turns around it."""


@dataclass
class Loop:
    """A comprehension while it is unrolled."""

    element: ast.expr
    ordered: bool
    """Whether only what has an order may be iterated over."""
    pairs: bool
    """Whether an element is a key and a value, of any two kinds."""
    one_by_one: bool = False
    """Whether what one element makes sure of holds for the next."""
    changed: Callable[[Sym], Sym] | None = None
    """What is evaluated of each element at once, in its place."""
    ends: Ends | None = None
    live: Node | None = None
    """One by one: the condition under which no element before has ended it."""
    in_order: bool = True
    """Whether everything it ranges over so far has an order."""
    turns: list[Turn] = field(default_factory=list)


def unroll(
    context: Context,
    node: Comprehension,
    element: ast.expr,
    ordered: bool = False,
    pairs: bool = False,
    ends: Ends | None = None,
    then: Callable[[], None] | None = None,
    changed: Callable[[Sym], Sym] | None = None,
) -> list[Item]:
    """All elements of a comprehension with the conditions under which they are there.

    then: what is evaluated once the first iterable has been. changed: of each element, what takes its place. Where the
    order of a set would show, this is refused.
    """
    loop = Loop(element, ordered, pairs, changed=changed)
    checkpoint = context.checkpoint()
    elements = _unrolled(context, node.generators, loop, then)
    if not any(turn.checks for turn in loop.turns):
        return elements
    if loop.in_order:
        # Something may fail, so that it matters what is evaluated before: once more, one element after the other.
        context.rollback(checkpoint)
        one_by_one = Loop(element, ordered, pairs, True, changed, ends, context.graph.true)
        return _unrolled(context, node.generators, one_by_one, then)
    require_hidden_order(context, node, loop.turns, ends)
    return elements


def _unrolled(
    context: Context,
    generators: list[ast.comprehension],
    loop: Loop,
    then: Callable[[], None] | None,
    around: Turn | None = None,
) -> list[Item]:
    """around: of an inner iterable, the turn that it is gone through in."""
    g, entered = context.graph, len(context.checks)
    first, *rest = generators
    if first.is_async:
        raise context.refuse(loop.element, "async", "a model is plain functions")
    members, in_order = members_of(context, first.iter, loop.ordered)
    loop.in_order = loop.in_order and in_order
    if then is not None:
        then()
    way = Turn([], [])
    if around is not None:
        way = Turn([*around.checks, *context.checks[entered:]], [], around.reached)
        loop.turns.append(way)
    elements: list[Item] = []
    assured, first_check = context.assured, len(context.checks)
    for condition, value in members:
        turn_start = len(context.checks)
        if not loop.one_by_one:
            context.assured = assured
        reached = condition if loop.live is None else g.and_(loop.live, condition)
        there: list[Item] = []
        with context.under(reached), naming(context, first.target, value), filtered(context, first.ifs) as passed:
            if rest:
                turn = Turn([*way.checks, *context.checks[turn_start:]], [], (*way.reached, condition, passed))
                items_of_rest = _unrolled(context, rest, loop, None, turn)
            else:
                items_of_rest = [(g.true, _element(context, loop))]
            there = [(g.and_(condition, passed, c), v) for c, v in items_of_rest]
        there = [(c, v) for c, v in there if c is not g.false and not context.symbols.lacking(v)]
        elements += there
        if not rest:
            loop.turns.append(Turn([*way.checks, *context.checks[turn_start:]], there, way.reached))
    if not loop.one_by_one:
        _assure_all(context, assured, first_check)
    return elements


def _assure_all(context: Context, assured: Node, first_check: int) -> None:
    """After all turns, each of which was lowered as if it were the first: every guard of them has passed."""
    guards = [c.condition for c in context.checks[first_check:] if c.kind == "require"]
    context.assured = context.graph.and_(assured, *guards)


def _element(context: Context, loop: Loop) -> Sym:
    element = loop.element
    if loop.pairs and isinstance(element, ast.Tuple):
        return Static(tuple(lower(context, e) for e in element.elts))
    value = lower(context, element)
    if loop.changed is not None:
        value = loop.changed(value)
    if loop.ends is not None and loop.live is not None:
        g = context.graph
        loop.live = g.and_(loop.live, g.not_(g.and_(context.path, loop.ends(value))))
    return value


def failures(g: Graph, checks: list[Check]) -> list[tuple[str, Node]]:
    """For each check of a turn its kind, and when it is the first that does not hold."""
    conditions = [c.condition for c in checks]
    return [(c.kind, g.and_(g.not_(c.condition), *conditions[:i])) for i, c in enumerate(checks)]


def require_hidden_order(context: Context, node: ast.expr, turns: list[Turn], ends: Ends | None) -> None:
    """Refuses a comprehension over a set in which one member may fail where another, if it came first, would end
    it or fail in another way: a set has no order."""
    g = context.graph
    stops_of_turns: list[list[tuple[str, Node]]] = []
    for turn in turns:
        stops = failures(g, turn.checks)
        if ends is not None:
            over = g.or_(*(g.and_(c, ends(v)) for c, v in turn.items))
            stops.append(("end", g.and_(over, *(c.condition for c in turn.checks), *turn.reached)))
        stops_of_turns.append(stops)
    for i, stops in enumerate(stops_of_turns):
        others = [stop for j, theirs in enumerate(stops_of_turns) if j != i for stop in theirs]
        for kind, fails in stops:
            against = [stop for k, stop in others if kind not in ("end", k) and not exclude(g, fails, stop)]
            if against and may_hold_together([fails]) and any(may_hold_together((fails, stop)) for stop in against):
                what = "what may fail in a comprehension or loop over a set, whose order would show"
                raise context.refuse(node, what, "test before it that it cannot fail, or iterate over `sorted(...)`")


def select(
    context: Context,
    node: Comprehension,
    ordered: bool = False,
    then: Callable[[], None] | None = None,
    early: bool = False,
) -> Selection | None:
    """The comprehension as a selection from one set (or, where order is wanted, a sorted one), if it is one.

    then: called when the set is lowered. early: the caller may stop at an element, so that a comprehension with an
    element that may fail is not a selection.
    """
    if len(node.generators) != 1 or not isinstance(node, ast.GeneratorExp | ast.SetComp):
        return None
    (generator,) = node.generators
    checkpoint = context.checkpoint()
    source = _selected_from(context, generator.iter, ordered)
    if source is None:
        return None
    if then is not None:
        then()
    assert isinstance(source.type, SetType)
    g, indices = context.graph, context.graph.indices(source.type.item)
    conditions, elements, turns = [], [], []
    assured, first_check = context.assured, len(context.checks)
    for index in indices:
        context.assured, turn_start = assured, len(context.checks)
        condition: Node = g.false
        element: Sym = POISON
        with (
            context.binding(index),
            context.under(g.member(index, source)),
            naming(context, generator.target, Scalar(index)),
            filtered(context, generator.ifs) as passed,
        ):
            condition, element = passed, lower(context, node.elt)
        conditions.append(condition)
        elements.append(element)
        turns.append(Turn(context.checks[turn_start:], []))
    lacks_value = any(map(context.symbols.lacking, elements))
    if lacks_value or len(context.checks) > first_check:
        # An element lacks a value where no member is: only unrolling leaves it out.
        if lacks_value or early:
            context.rollback(checkpoint)
            return None
        require_hidden_order(context, node, turns, None)
        _assure_all(context, assured, first_check)
    return Selection(source, indices, conditions, elements)


def _selected_from(context: Context, node: ast.expr, ordered: bool) -> Node | None:
    """The set that an iterable is, or that a sequence has; None for another iterable."""
    if isinstance(node, ast.Call) and calls(context, node, sorted):
        checkpoint = context.checkpoint()
        found = sorted_source(context, node)
        if isinstance(found, Scalar):
            return found.node
        context.rollback(checkpoint)
        return None
    value = peek(context, node)
    if not isinstance(value, Scalar) or not isinstance(value.type, SetType | SeqType):
        return None
    if ordered and isinstance(value.type, SetType):
        raise context.refuse(node, *NO_ORDER)
    value = lower_present(context, node)
    assert isinstance(value, Scalar)
    return seq_set(context.graph, value.node) if isinstance(value.type, SeqType) else value.node


def subset_of(context: Context, selection: Selection) -> Node:
    """The subset that a selection keeps."""
    g = context.graph
    return g.inter(selection.source, g.selected(selection.indices, selection.conditions))


def set_comprehension(context: Context, node: ast.GeneratorExp | ast.SetComp) -> Sym:
    """The set that a comprehension makes."""
    selection = select(context, node)
    if selection is not None and selection.identity:
        return Scalar(subset_of(context, selection))
    members = unroll(context, node, node.elt)
    if any(isinstance(v, Poison) for _, v in members):
        return POISON
    return set_of(context.graph, members)
