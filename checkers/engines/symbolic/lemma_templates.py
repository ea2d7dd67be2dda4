"""Candidate lemmas over the fields of a state: relations that may always hold, to be weeded out by whoever uses them.

Atoms are bools, sets being empty, optionals being absent, counters at zero; relations are those between two sets of one
sort (within, apart), a member and a set, two numbers (at most). A relation may stand alone or under an atom. Messages
in flight are taken apart: what is said of one holds where there is one. Every lemma has a text in the model's words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from reassure.checkers.encoding.state_layout import codes
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Leaf, LoweredModel
from reassure.spec.frontend.symbolic_values import scalar_leaves
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    ANY,
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    bits_of,
    unbounded,
)

MOST = 150_000
"""Candidates made, at the most."""


@dataclass(frozen=True)
class Lemma:
    """A condition over a state, and how to say it."""

    text: str
    node: Node


@dataclass(frozen=True)
class Part:
    """A scalar (or something made of some) with its name; `condition` is when it means anything."""

    text: str
    node: Node
    condition: Node | None = None
    condition_text: str = ""


class Fields:
    """The parts of a state, by what they are."""

    def __init__(self, model: LoweredModel, kind: RecordType | None = None) -> None:
        """kind: of the states, of a model for any number."""
        self.graph: Graph = model.graph
        self.any_number = kind is not None
        self.sets: list[Part] = []
        self.ids: list[Part] = []
        self.bools: list[Part] = []
        self.ints: list[Part] = []
        self.present: list[Part] = []
        self.seqs: list[Part] = []
        self.maps: dict[str, list[Part]] = {}
        """Entries of maps with id keys, by name: of the state, and of messages."""
        self.enums: list[Part] = []
        self.numbers: list[Part] = []
        """Free numbers of the configuration."""
        leaves = iter(model.leaves)
        self._take(kind or model.bound.type, leaves, None, "")

    def _take(self, kind: Type, leaves: Iterator[Leaf], condition: Node | None, condition_text: str) -> None:
        g = self.graph
        if isinstance(kind, RecordType):
            for _, inner in kind.fields:
                self._take(inner, leaves, condition, condition_text)
        elif isinstance(kind, MapType) and unbounded(kind.key):
            for _ in scalar_leaves(kind.value):
                leaf = next(leaves)
                self._table(_name(leaf.path), g.var(leaf.path, leaf.type), leaf.type, condition, condition_text)
        elif isinstance(kind, MapType):
            for _ in range(kind.key.count):
                self._take(kind.value, leaves, condition, condition_text)
        elif isinstance(kind, ColumnsType):
            for _ in range(kind.length):
                self._take(kind.place, leaves, condition, condition_text)
        elif isinstance(kind, NumbersType):
            for number in kind.item.values():
                leaf = next(leaves)
                name = _name(leaf.path).removesuffix(f"[{number}]")
                inside = Part(f"{number} in {name}", g.var(leaf.path, leaf.type), condition, condition_text)
                self.bools.append(inside)
        elif isinstance(kind, OptionType):
            leaf = next(leaves)
            there = g.var(leaf.path, leaf.type)
            name = _name(leaf.path)
            self.present.append(Part(name, there, condition, condition_text))
            self._take(kind.inner, leaves, there, f"{name} is not None")
        elif isinstance(kind, BagType):
            for i in range(kind.size):
                leaf = next(leaves)
                slot = g.var(leaf.path, leaf.type)
                there = g.not_(g.eq(slot, g.num(0)))
                name = _name(leaf.path)
                self.present.append(Part(f"{name}#{i}", there))
                self._message(kind.item, slot, there, f"{name}#{i}")
        else:
            leaf = next(leaves)
            node = g.var(leaf.path, leaf.type)
            self._scalar(_name(leaf.path), node, kind, condition, condition_text)

    def _message(self, kind: RecordType, slot: Node, there: Node, name: str) -> None:
        g = self.graph
        record = g.op("record", kind, (slot,))
        if self.any_number:
            parts = scalar_leaves(kind)
            optional = {path.rstrip("?") for path, _ in parts if path.endswith("?")}
            for number, (path, inner_kind) in enumerate(parts):
                if path.rstrip("?") not in optional and "#" not in path:
                    inner = g.op("unpack", inner_kind, (record,), number)
                    take = self._table if isinstance(inner_kind, MapType) else self._scalar
                    take(f"{name}.{path}", inner, inner_kind, there, f"{name} is there")
            return
        names = [path.rstrip("?") for path, _ in scalar_leaves(kind)]
        for code in codes(kind):
            inner = g.op("unpack", code.type, (record,), code.leaf)
            if not code.optional and "#" not in names[code.leaf]:  # slots of a message set are numbers of nothing
                self._scalar(f"{name}.{names[code.leaf]}", inner, code.type, there, f"{name} is there")

    def _table(self, name: str, table: Node, kind: Type, condition: Node | None, condition_text: str) -> None:
        """A map from a sort of any number of members: its numbers, or the sets of the members with each other value."""
        assert isinstance(kind, MapType)
        g, key = self.graph, self.graph.key(kind.key)
        entry, name = g.at(table, key), name.replace("[*]", "")
        if isinstance(kind.value, IntType):
            self.maps[f"{name}"] = [Part(f"{name}[*]", entry, condition, condition_text)]
        elif isinstance(kind.value, BoolType):
            self.sets.append(Part(f"those with {name}", g.those(kind.key, key, entry), condition, condition_text))
        elif isinstance(kind.value, EnumType):
            for index, one in enumerate(kind.value.sort):
                having = g.those(kind.key, key, g.eq(entry, g.const(index, kind.value)))
                self.sets.append(Part(f"those with {name} {one.name}", having, condition, condition_text))

    def _scalar(self, name: str, node: Node, kind: Type, condition: Node | None, condition_text: str) -> None:
        part = Part(name, node, condition, condition_text)
        if isinstance(kind, BoolType):
            self.bools.append(part)
        elif isinstance(kind, IntType) and name.endswith("]"):
            self.maps.setdefault(name.split("[")[0], []).append(part)
        elif isinstance(kind, IntType):
            self.ints.append(part)
        elif isinstance(kind, SetType):
            self.sets.append(part)
        elif isinstance(kind, SeqType) and bits_of(kind.item):
            self.seqs.append(part)
            members = self.graph.op("seq_set", SetType(kind.item), (node,))
            self.sets.append(Part(f"set({name})", members, condition, condition_text))
        elif isinstance(kind, IdType | EnumType):
            self.ids.append(part)
            if isinstance(kind, EnumType):
                self.enums.append(part)


def _name(path: str) -> str:
    return path.lstrip(".").split("#")[0].rstrip("?!")


def candidates(
    model: LoweredModel,
    holds: Callable[[Node], bool],
    kind: RecordType | None = None,
    numbers: Iterable[Node] = (),
    compared: set[Node] | None = None,
) -> list[Lemma]:
    """Those that `holds` accepts, without the ones that follow from simpler ones among them.

    holds: whether a condition is true in all states at hand. kind: of the states, of a model for any number; numbers:
    its free ones; compared: what is compared with sizes, if it is not what the graph has so far.
    """
    g, f = model.graph, Fields(model, kind)
    f.numbers += [Part(f"c.{node.data}", node) for node in numbers]
    atoms = list(_atoms(g, f, _counts(model, f, g.compared_with("card") if compared is None else compared)))
    seen: set[Node] = {g.true, g.false}
    lemmas: list[Lemma] = []

    def take(lemma: Lemma) -> None:
        if lemma.node in seen or (lemma.node.op == "or" and any(t in true for t in lemma.node.args)):
            return
        seen.add(lemma.node)
        if holds(lemma.node):
            lemmas.append(lemma)

    true: set[Node] = set()
    plain = [*_relations(g, f), *_sequences(g, f), *_up_to_date(g, f)]
    for lemma in [*plain, *(_under(g, [a.part], a.node, a.text) for a in atoms)]:
        take(lemma)
    true = {lemma.node for lemma in lemmas}
    implications = 0
    others = list(_others(g, f, atoms))
    for atom in (a for a in atoms if a.premise):
        for other in others:
            implied = _implied(g, atom, other)
            node = implied.node
            if implications < MOST and not any(t in true for t in (node.args if node.op == "or" else (node,))):
                implications += 1
                take(implied)
    return lemmas


def _others(g: Graph, f: Fields, atoms: list[Atom]) -> Iterator[Lemma]:
    """What may stand under an atom."""
    yield from _relations(g, f, wide=False)
    yield from _sequences(g, f)
    yield from _up_to_date(g, f)
    yield from (_under(g, [a.part], a.node, a.text) for a in atoms)


def _implied(g: Graph, atom: Atom, other: Lemma) -> Lemma:
    """A lemma under an atom."""
    premise = atom.node if atom.part.condition is None else g.and_(atom.part.condition, atom.node)
    return Lemma(f"{atom.text} implies {other.text}", g.or_(g.not_(premise), other.node))


class Templates:
    """All lemmas that the templates make of a model, by their texts. kind, numbers: as for `candidates`."""

    def __init__(self, model: LoweredModel, kind: RecordType | None = None, numbers: Iterable[Node] = ()) -> None:
        g, f = model.graph, Fields(model, kind)
        f.numbers += [Part(f"c.{node.data}", node) for node in numbers]
        atoms = list(_atoms(g, f, _counts(model, f, None)))
        self.graph = g
        self._alone, self._others = defaultdict[str, list[Lemma]](list), defaultdict[str, list[Lemma]](list)
        self._premises = defaultdict[str, list[Atom]](list)
        others = list(_others(g, f, atoms))
        for lemma in [*_relations(g, f), *others]:
            self._alone[lemma.text].append(lemma)
        for lemma in others:
            self._others[lemma.text].append(lemma)
        for atom in (a for a in atoms if a.premise):
            self._premises[atom.text].append(atom)

    def named(self, text: str) -> list[Node]:
        """The conditions that the templates call so: none, one, or several where two fields have one name."""
        premise, _, other = text.partition(" implies ")
        lemmas = [*self._alone.get(text, ())]
        for atom in self._premises.get(premise, ()):
            lemmas += [_implied(self.graph, atom, lemma) for lemma in self._others.get(other, ())]
        return list(dict.fromkeys(lemma.node for lemma in lemmas))


@dataclass(frozen=True)
class Atom:
    """A condition on one part of the state."""

    text: str
    node: Node
    part: Part
    premise: bool = True
    """Whether other lemmas may stand under it."""


def _under(g: Graph, parts: list[Part], node: Node, text: str) -> Lemma:
    """A relation where its parts mean something."""
    conditions = {p.condition: p.condition_text for p in parts if p.condition is not None}
    for condition in conditions:
        node = g.or_(g.not_(condition), node)
    conditions_text = " and ".join(sorted(conditions.values()))
    return Lemma(f"({text} if {conditions_text})" if conditions_text else text, node)


def _counts(model: LoweredModel, f: Fields, compared: set[Node] | None) -> list[Part]:
    """The numbers that a set may have at least: of the configuration; for any number those that are compared with
    sizes. compared: None for all."""
    if not f.any_number:
        values = {v for v in vars(model.bound.config).values() if type(v) is int}
        return [Part(str(k), model.graph.num(k)) for k in sorted(values)]
    return [p for p in (*f.ints, *f.numbers) if p.condition is None and (compared is None or p.node in compared)]


def _relations(g: Graph, f: Fields, wide: bool = True) -> Iterator[Lemma]:
    """wide: also of sets less others."""
    sets = [*f.sets, *(p for p in _differences(g, f) if wide or "|" in p.text)]
    for a, b in permutations(sets, 2):
        if a.node.type == b.node.type and (a in f.sets or (wide and b in f.sets)):
            yield _under(g, [a, b], g.subset(a.node, b.node), f"{a.text} <= {b.text}")
    for a, b in combinations(f.sets, 2):
        if a.node.type == b.node.type:
            empty = g.eq(g.inter(a.node, b.node), g.const(0, a.node.type))
            yield _under(g, [a, b], empty, f"{a.text} and {b.text} are disjoint")
    for a, b in ((a, b) for a in f.sets for b in f.sets):
        if (
            a.condition is not None and b.condition is None and a.node.type == b.node.type
        ):  # a message that asks for a change
            yield _under(g, [a], g.not_(g.eq(a.node, b.node)), f"{a.text} != {b.text}")
    for x in f.ids:
        for a in sets:
            assert isinstance(a.node.type, SetType)
            if a.node.type.item == x.node.type:
                inside = g.member(x.node, a.node)
                yield _under(g, [x, a], inside, f"{x.text} in {a.text}")
                yield _under(g, [x, a], g.not_(inside), f"{x.text} not in {a.text}")
    for x, y in combinations(f.ids, 2):
        if x.node.type == y.node.type:
            yield _under(g, [x, y], g.eq(x.node, y.node), f"{x.text} == {y.text}")
    for x, y in permutations([*f.ints, *(f.numbers if wide else ())], 2):
        yield _under(g, [x, y], g.le(x.node, y.node), f"{x.text} <= {y.text}")


def _sequences(g: Graph, f: Fields) -> Iterator[Lemma]:
    """One sequence is another, or what another leaves without a set; for any number, it has no item twice."""
    for a in f.seqs if f.any_number else ():
        assert isinstance(a.node.type, SeqType)
        members = g.op("seq_set", SetType(a.node.type.item), (a.node,))
        length = g.op("seq_len", IntType(0, a.node.type.length), (a.node,))
        yield _under(g, [a], g.eq(g.card(members), length), f"{a.text} has no item twice")
    for a, b in permutations(f.seqs, 2):
        if a.node.type != b.node.type or (a.condition, b.condition) != (None, None):
            continue
        yield Lemma(f"{a.text} == {b.text}", g.eq(a.node, b.node))
        for s in f.sets:
            assert isinstance(a.node.type, SeqType)
            if s.condition is None and s.node.type == SetType(a.node.type.item):
                rest = g.minus(g.full(a.node.type.item), s.node)
                remaining = g.op("seq_keep", a.node.type, (a.node, rest))
                yield Lemma(f"{a.text} without {s.text} == {b.text}", g.eq(remaining, b.node))


def _up_to_date(g: Graph, f: Fields) -> Iterator[Lemma]:
    """A message's set lies within one of the state, but for members whose entry in a map is another by now."""
    messages = [p for p in f.sets if p.condition is not None]
    for a in messages:
        assert isinstance(a.node.type, SetType)
        prefix = a.text.rsplit(".", 1)[0]
        for name, entries in f.maps.items():
            current = f.maps.get(name.removeprefix(prefix + "."), [])
            keys = g.indices(a.node.type.item) if not f.any_number else [g.key(a.node.type.item)]
            if not name.startswith(prefix) or len(entries) != len(current) or len(entries) != len(keys):
                continue
            for e, c in zip(entries, current, strict=True):
                sort = a.node.type.item
                yield _under(g, [e, c], g.every(sort, g.le(e.node, c.node)), f"{e.text} <= {c.text}")
                yield _under(g, [e, c], g.every(sort, g.le(c.node, e.node)), f"{c.text} <= {e.text}")
            same = [g.eq(e.node, c.node) for e, c in zip(entries, current, strict=True)]
            fresh = g.inter(a.node, g.selected(keys, same))
            for b in f.sets:
                if b.condition is None and b.node.type == a.node.type:
                    short = name.removeprefix(prefix + ".")
                    yield _under(g, [a], g.subset(fresh, b.node), f"{a.text} with the same {short} <= {b.text}")


def _differences(g: Graph, f: Fields) -> Iterator[Part]:
    """Differences of two sets: of the state's own, not of messages'."""
    own = [p for p in f.sets if p.condition is None]
    for a, b in permutations(own, 2):
        if a.node.type == b.node.type:
            yield Part(f"({a.text} - {b.text})", g.minus(a.node, b.node))
    for a, b in combinations(own, 2):
        if a.node.type == b.node.type:
            yield Part(f"({a.text} | {b.text})", g.union(a.node, b.node))


def _atoms(g: Graph, f: Fields, counts: list[Part]) -> Iterator[Atom]:
    for p in f.bools:
        yield Atom(p.text, p.node, p)
        yield Atom(f"not {p.text}", g.not_(p.node), p)
    for p in f.present:
        bare = Part(p.text, p.node)
        yield Atom(f"{p.text} is there", p.node, bare)
        yield Atom(f"{p.text} is absent", g.not_(p.node), bare)
    for p in f.sets:
        assert isinstance(p.node.type, SetType)
        empty = g.eq(p.node, g.const(0, p.node.type))
        yield Atom(f"{p.text} is empty", empty, p, premise=p.condition is None)
        yield Atom(f"{p.text} is not empty", g.not_(empty), p, premise=p.condition is None)
        for k in counts:
            if k.node.op != "const" or 1 < k.node.data < p.node.type.item.count:
                enough = g.le(k.node, g.card(p.node))
                yield Atom(f"len({p.text}) >= {k.text}", enough, p)
                yield Atom(f"len({p.text}) < {k.text}", g.not_(enough), p)
        if unbounded(p.node.type.item):
            yield Atom(f"{p.text} has every {p.node.type.item}", g.eq(p.node, g.full(p.node.type.item)), p)
    for p in f.enums if f.any_number else ():
        assert isinstance(p.node.type, EnumType)
        for index, one in enumerate(p.node.type.sort):
            is_so = g.eq(p.node, g.const(index, p.node.type))
            yield Atom(f"{p.text} == {one.name}", is_so, p)
            yield Atom(f"{p.text} != {one.name}", g.not_(is_so), p)
    for x, y in combinations(f.ints, 2):
        if (x.condition is None) != (y.condition is None) and x.node.type == y.node.type:
            message = y if x.condition is None else x
            yield Atom(f"{x.text} == {y.text}", g.eq(x.node, y.node), message)
    for p in f.ints:
        assert isinstance(p.node.type, IntType)
        if p.node.type.low == -ANY:
            continue
        low = g.num(p.node.type.low)
        yield Atom(f"{p.text} == {p.node.type.low}", g.eq(p.node, low), p, premise=False)
        yield Atom(f"{p.text} > {p.node.type.low}", g.not_(g.eq(p.node, low)), p, premise=False)
