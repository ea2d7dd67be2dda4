"""Calls of built-in functions that make one value of many: any, all, sum, len, min, max, next, tuple, frozenset."""

from __future__ import annotations

import ast

from reassure.spec.frontend.comprehensions import Comprehensions, Item
from reassure.spec.frontend.expressions import Refused
from reassure.spec.frontend.ir import Node, items
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
    MapOf,
    Poison,
    Scalar,
    Static,
    Sym,
    describe,
)
from reassure.spec.language.types import (
    BoolType,
    IdType,
    IntType,
    SeqType,
    SetType,
)


class Default:
    """The default of max, min or next. Python evaluates it before the elements, whether it is wanted or not."""

    def __init__(self, builtins: Aggregates, node: ast.expr | None) -> None:
        self.builtins, self.node = builtins, node
        self.value: Sym | None = None

    def evaluate(self) -> None:
        """Elaborates it here."""
        if self.node is not None:
            self.value = self.builtins.expr(self.node)


class Aggregates(Comprehensions):
    """Elaborates calls of the built-in functions."""

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


__all__ = ["Aggregates"]
