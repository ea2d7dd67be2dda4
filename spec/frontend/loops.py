"""`for` loops: one turn after the other, each as an `if` whose condition is that the iterable has this element.

What a turn leaves in variables is a choice among the ways out of it: its end, `continue`, or that it is not there.
`return` and `break` end a way; what follows is lowered under the condition that no turn before has left.

Also here: loops over sets. A set has no order, so that a loop over one is accepted only where another order gives the
same. That is so of

* a name that every turn changes by one operation for which the order of the operands does not count (`n += f(x)`,
  `up = up | {x}`, `ok = ok and f(x)`, `most = max(most, f(x))`, `m = m.put(x, ...)`), and that the loop does not read;
* a name that gets one value, which is the same in each turn (`found = True`);
* `return` of one value, which is the same in each turn;
* guards and errors, as in a comprehension: where a turn fails in one way, no other fails in another or ends the loop.

A name that the loop gives any other value has none that counts after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from reassure.spec.frontend.comprehensions import Item, Turn, failures, members_of, named, require_hidden_order
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import of_other_names
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import Check
from reassure.spec.frontend.operations import may_hold_together
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Empty,
    Loose,
    Mismatch,
    NumberSet,
    Poison,
    Record,
    Scalar,
    Sym,
    Unsettled,
)
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import IntType, SetType

Block = Callable[[Context, list[ast.stmt], list[Any]], bool]
"""Lowers statements, and says whether every path through them has ended. The list gets what is returned."""


@dataclass
class Exit:
    """A way on: the path to it, the variables there, and the access paths that are known not to be None."""

    path: Node
    variables: dict[str, Sym]
    not_none: frozenset[str]


@dataclass
class OpenLoop:
    """A loop that is being lowered: the ways that have ended by `continue` in this turn, or by `break`."""

    continued: list[Exit] = field(default_factory=list)
    broken: list[Exit] = field(default_factory=list)


def break_(context: Context, node: ast.Break, returns: list[Any]) -> bool:
    """`break`: the way goes on after the loop."""
    context.frame.loops[-1].broken.append(_here(context))
    return True


def continue_(context: Context, node: ast.Continue, returns: list[Any]) -> bool:
    """`continue`: the way goes on with the next turn."""
    context.frame.loops[-1].continued.append(_here(context))
    return True


def for_loop(context: Context, node: ast.For, returns: list[Any], block: Block) -> bool:
    """`for x in iterable: ...`, whether every path has ended after it."""
    frame = context.frame
    try:
        members, in_order = members_of(context, node.iter, False)
    except Refused:
        if not context.unreached:
            with context.behind_refused(*_stored(node.target)):
                look_behind(context, node.body, block)
        raise
    members = [member for member in members if member[0] is not context.graph.false]
    refused_before, frame.has_refusal = frame.has_refusal, False
    try:
        return _turns(context, node, members, in_order, returns, block)
    finally:
        frame.has_refusal |= refused_before


def _turns(
    context: Context, node: ast.For, members: list[Item], in_order: bool, returns: list[Any], block: Block
) -> bool:
    """The turns of a loop and its `else`; whether every path has ended after them."""
    frame = context.frame
    found: Judged | None = None
    if not in_order:
        found = judged(node, frame.variables)
        _probe(context, node, members, returns, block, found)
    before, loop, first = _here(context), OpenLoop(), len(returns)
    frame.loops.append(loop)
    try:
        ended = any(_turn(context, node, member, loop, returns, block) for member in members)
    finally:
        frame.loops.pop()
    if found is not None:
        frame.variables = {**frame.variables, **found.unsettled()}
        for way in loop.broken:
            way.variables = {**way.variables, **found.unsettled()}
    if node.orelse and not ended:
        ended = block(context, node.orelse, returns)
    ways = loop.broken if ended else [_here(context), *loop.broken]
    return _go_on(context, node, before, ways, [r.path for r in returns[first:]])


def look_behind(context: Context, body: list[ast.stmt], block: Block) -> bool:
    """Lowers a block behind something refused, for its refusals; whether every path has ended after it."""
    context.frame.loops.append(OpenLoop())
    try:
        return block(context, body, [])
    finally:
        context.frame.loops.pop()


def _here(context: Context) -> Exit:
    return Exit(context.path, context.frame.variables, context.frame.not_none)


def _turn(context: Context, node: ast.For, member: Item, loop: OpenLoop, returns: list[Any], block: Block) -> bool:
    """One turn; whether every path has ended in it."""
    g, frame, before = context.graph, context.frame, _here(context)
    condition, value = member
    first, broken, loop.continued = len(returns), len(loop.broken), []
    ended = _body(context, node, condition, value, returns, block)
    ways = [*loop.continued, *([] if ended else [_here(context)])]
    if condition is not g.true:
        ways.append(Exit(g.and_(before.path, g.not_(condition)), before.variables, before.not_none))
    left = [*(r.path for r in returns[first:]), *(way.path for way in loop.broken[broken:])]
    ended = _go_on(context, node, before, ways, left)
    if frame.has_refusal:  # of another turn there is nothing more to say
        raise Refused
    return ended


def _body(context: Context, node: ast.For, condition: Node, value: Sym, returns: list[Any], block: Block) -> bool:
    frame = context.frame
    frame.variables = dict(frame.variables)
    context.path = context.graph.and_(context.path, condition)
    for name, part in named(context, node.target, context.symbols.as_bag(value)).items():
        frame.variables[name] = part
        frame.not_none = of_other_names(frame.not_none, [name])
    return block(context, node.body, returns)


def _go_on(context: Context, node: ast.For, before: Exit, ways: list[Exit], left: list[Node]) -> bool:
    """Goes on after several ways that exclude each other; whether there is none. left: the paths that have ended."""
    g, frame = context.graph, context.frame
    ways = [way for way in ways if way.path is not g.false] or ways[:1]
    if not ways:
        context.path = before.path
        return True
    context.path = g.and_(before.path, *(g.not_(_since(context, before, path)) for path in left))
    *others, last = ways
    frame.variables, frame.not_none = dict(last.variables), last.not_none
    for way in reversed(others):
        frame.variables = merged(context, node, _since(context, before, way.path), way.variables, frame.variables)
        frame.not_none &= way.not_none
    return False


def _since(context: Context, before: Exit, path: Node) -> Node:
    """The condition that a path has beyond that of what was before it."""
    known = before.path.args if before.path.op == "and" else (before.path,)
    terms = path.args if path.op == "and" else (path,)
    return context.graph.and_(*(term for term in terms if term not in known))


def merged(
    context: Context, node: ast.stmt, taken: Node, here: dict[str, Sym], there: dict[str, Sym]
) -> dict[str, Sym]:
    """The variables after one of two ways: what only one of them has is unbound."""
    both: dict[str, Sym] = {}
    for name in here:
        if name in there:
            try:
                both[name] = context.symbols.choose(taken, here[name], there[name])
            except Mismatch as error:
                raise context.refuse(node, f"`{name}` is of two kinds after this", str(error)) from None
    return both


def _probe(
    context: Context,
    node: ast.For,
    members: list[Item],
    returns: list[Any],
    block: Block,
    found: Judged,
) -> None:
    """Lowers each turn of a loop over a set as if it came first, and refuses what would show the set's order."""
    frame, before, checkpoint, first = context.frame, _here(context), context.checkpoint(), len(returns)
    turns = []
    for condition, value in members:
        loop, start = OpenLoop(), len(context.checks)
        context.assured, context.path = checkpoint.assured, before.path
        frame.variables = {**before.variables, **found.carried()}
        frame.not_none = of_other_names(before.not_none, found.assigned)
        frame.loops.append(loop)
        try:
            _body(context, node, condition, value, returns, block)
        finally:
            frame.loops.pop()
        there = [(r.path, r.value) for r in returns[first:]]
        turns.append((context.checks[start:], there, [way.path for way in loop.broken]))
        del returns[first:]
        if frame.has_refusal:
            break
    context.path, frame.variables, frame.not_none = before.path, before.variables, before.not_none
    if frame.has_refusal:
        raise Refused
    require_no_order(context, node, turns, found)
    context.rollback(checkpoint)


# -- loops over sets ------------------------------------------------------------------------------------------------

SORTED = "iterate over `sorted(...)` or a tuple"
SHORT = "and", "or"
"""Operations that leave out their second operand."""


@dataclass
class Judged:
    """The names that a loop over a set assigns. settled: those whose value after it does not depend on the order."""

    assigned: frozenset[str]
    sums: dict[str, str]
    """Names that each turn changes by one operation, and the operation."""
    settled: frozenset[str]

    def carried(self) -> dict[str, Sym]:
        """The names that a turn may not read before it gives them a value."""
        remedy = f"a set has no order: change it by `+=`, `|`, `and`, `max(...)` alone, or {SORTED}"
        return {n: Unsettled(f"`{n}` of the turn before", remedy) for n in self.assigned if n not in self.sums}

    def unsettled(self) -> dict[str, Sym]:
        """The names whose value after the loop depends on the order."""
        names = self.assigned - self.settled
        return {n: Unsettled(f"`{n}` after a loop over a set, whose last turn gave it a value", SORTED) for n in names}


def judged(node: ast.For, variables: dict[str, Sym]) -> Judged:
    """Judges the names that a loop assigns. variables: before the loop."""
    stores = _stored(node.target, *node.body)
    assigned = frozenset(stores)
    statements = [
        s for part in node.body for s in ast.walk(part) if isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign)
    ]
    sums: dict[str, str] = {}
    constants: set[str] = set()
    breaks = list(_breaks(node.body))
    for name in assigned:
        own = [s for s in statements if name in _stored(s)]
        if len(own) != stores.count(name) or name not in variables:
            continue  # it is a loop's variable as well, or a turn gives it its first value
        operations = {_operation(s, name, node.target) for s in own}
        reads = sum(isinstance(n, ast.Name) and n.id == name for part in node.body for n in ast.walk(part))
        within = sum(isinstance(n, ast.Name) and n.id == name for s in own for n in ast.walk(s))
        operation = _one_of(operations, variables[name])
        if operation is not None and reads == within:
            sums[name] = operation
            continue
        values = [s.value for s in own if isinstance(s, ast.Assign | ast.AnnAssign)]
        texts = {ast.unparse(v) if v is not None else "" for v in values}
        read = {n.id for v in values if v is not None for n in ast.walk(v) if isinstance(n, ast.Name)}
        if len(values) == len(own) and len(texts) == 1 and not read & assigned and values[0] is not None:
            constants.add(name)
    settled = sums.keys() | constants
    if breaks:  # what a turn before has done depends on the order, but for what stands right before each `break`
        before = [_stored(*block) for block in breaks]
        there_alone = sum(map(len, before)) == sum(name in constants for name in stores)
        settled = constants if there_alone and all(set(names) == constants for names in before) else set()
    return Judged(assigned, sums, frozenset(settled))


def _stored(*nodes: ast.AST) -> list[str]:
    """The names that get values, as often as they do; the variables of a comprehension are its own."""
    found = [n for node in nodes for n in ast.walk(node)]
    own = {id(n) for c in found if isinstance(c, ast.comprehension) for n in ast.walk(c.target)}
    return [n.id for n in found if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in own]


def _breaks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """For each `break` of a loop's own body: the assignments right before it."""
    for i, statement in enumerate(body):
        if isinstance(statement, ast.Break):
            first = i
            while first > 0 and isinstance(body[first - 1], ast.Assign | ast.AnnAssign):
                first -= 1
            yield body[first:i]
        elif isinstance(statement, ast.If):
            yield from _breaks(statement.body)
            yield from _breaks(statement.orelse)
        elif isinstance(statement, ast.For):  # a `break` in it is of that loop, but not in its `else`
            yield from _breaks(statement.orelse)


OPERATIONS: dict[type[ast.operator | ast.boolop], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.And: "and",
    ast.Or: "or",
}


def _operation(statement: ast.stmt, name: str, target: ast.expr) -> str:
    """The operation by which a statement changes a name: `n = n + f(x)`; empty if it is not of that form."""
    if isinstance(statement, ast.AugAssign):
        return "" if _mentions(statement.value, name) else OPERATIONS.get(type(statement.op), "")
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    if isinstance(statement, ast.Assign) and not (
        len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)
    ):
        return ""
    if isinstance(value, ast.BinOp) and type(value.op) in OPERATIONS:
        operation, first, second = OPERATIONS[type(value.op)], value.left, value.right
        if _is(first, name) and not _mentions(second, name):
            return operation
        return operation if _is(second, name) and not _mentions(first, name) and operation != "-" else ""
    if isinstance(value, ast.BoolOp):
        others = [v for v in value.values if not _is(v, name)]
        return OPERATIONS[type(value.op)] if _once(value.values, others, name) else ""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max"):
        others = [v for v in value.args if not _is(v, name)]
        fits = len(value.args) > 1 and not value.keywords and _once(value.args, others, name)
        return value.func.id if fits else ""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "put":
        return _put(value, name, target) if _is(value.func.value, name) else ""
    return ""


def _once(operands: list[ast.expr], others: list[ast.expr], name: str) -> bool:
    return len(others) == len(operands) - 1 and not any(_mentions(v, name) for v in others)


def _put(call: ast.Call, name: str, target: ast.expr) -> str:
    """The operation of a map that gets another value of the loop's variable; empty if another value of it is read too.

    The key is the variable or a tuple with it in one place, which is part of the operation: no other turn puts or reads
    a value of such a key.
    """
    if not isinstance(target, ast.Name) or len(call.args) != 2:
        return ""
    value = call.args[1]
    reads = sum(_is(n, name) for n in ast.walk(value))
    own = [n.slice for n in ast.walk(value) if isinstance(n, ast.Subscript) and _is(n.value, name)]
    (place, *others) = (_place_of(key, target.id) for key in (call.args[0], *own))
    if place is None or reads != len(own) or any(other != place for other in others):
        return ""
    return "put" if place < 0 else f"put at place {place + 1}"


def _place_of(key: ast.expr, name: str) -> int | None:
    """The place of a name in a key, -1 if the key is the name itself; None if it is nowhere."""
    if _is(key, name):
        return -1
    places = [i for i, part in enumerate(key.elts) if _is(part, name)] if isinstance(key, ast.Tuple) else []
    return places[0] if places else None


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _mentions(node: ast.expr, name: str) -> bool:
    return any(_is(n, name) for n in ast.walk(node))


def _one_of(operations: set[str], value: Sym) -> str | None:
    """The operation by which all changes of a value commute; None if they do not."""
    number = isinstance(value, Scalar) and isinstance(value.type, IntType)
    of_bits = isinstance(value, Scalar) and isinstance(value.type, SetType)
    of_sets = of_bits or isinstance(value, Bag | Loose | Empty | NumberSet)
    if "" in operations or (len(operations) > 1 and not (number and operations == {"+", "-"})):
        return None
    operation = min(operations)
    if (operation in "+*" and not number) or (operation == "-" and not (number or of_sets)):
        return None  # tuples are put together in an order
    return operation


TurnOfSet = tuple[list[Check], list[tuple[Node, Sym]], list[Node]]
"""The checks of a turn, what it returns with the path to it, and the paths to `break`."""


def require_no_order(context: Context, node: ast.For, turns: list[TurnOfSet], found: Judged) -> None:
    """Refuses a loop over a set whose turns return different values, or fail in different ways."""
    g = context.graph
    returned = [value for _, values, _ in turns for _, value in values]
    if any(not _same(context, returned[0], value) for value in returned[1:]):
        what = "a loop over a set that returns one value in one turn and another in another"
        raise context.refuse(node, what, f"a set has no order: return one value, or {SORTED}")
    of_turns = []
    for checks, values, broken in turns:
        ends: list[tuple[Node, Sym]] = [*values, *((path, values[0][1] if values else UNUSED) for path in broken)]
        of_turns.append(Turn(checks, ends))
    short = [n for n, operation in found.sums.items() if operation in SHORT]
    if short and any(may_hold_together([fails]) for checks, _, _ in turns for _, fails in failures(g, checks)):
        what = f"what may fail in a loop over a set that changes `{short[0]}` by `{found.sums[short[0]]}`"
        raise context.refuse(node, what, f"test before it that it cannot fail, or {SORTED}")
    if returned and any(broken for _, _, broken in turns):
        raise context.refuse(node, "`return` and `break` in one loop over a set", f"a set has no order: {SORTED}")
    require_hidden_order(context, node.iter, of_turns, lambda _: g.true)


UNUSED: Sym = Empty(False)
"""What stands for the value of a `break`, which has none."""


def _same(context: Context, a: Sym, b: Sym) -> bool:
    """Whether two values are the same in every state, as far as is seen; what is refused is as good as the same."""
    if isinstance(a, Poison) or isinstance(b, Poison):
        return True
    if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls:
        return all(_same(context, value, b.fields[name]) for name, value in a.fields.items())
    try:
        return a is b or context.symbols.equal(a, b) is context.graph.true
    except Mismatch:
        return False
