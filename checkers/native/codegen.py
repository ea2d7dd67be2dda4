"""IR -> Numba source: the kernel of one model under one configuration, as the text of a module.

Each action becomes a function of the packed words of a state. Guards stand in the outermost parameter loop that they
allow; guards on membership and subsets become enumerations of just the members or subsets; what does not depend on a
parameter is computed before its loop. Order and number of the enabled transitions stay those of the plain Python.
All values are int64; nothing in a kernel allocates or raises.
One module, since the loop a value is computed in depends on its expression and its action.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Code, Field, Layout, codes, is_index, placed
from reassure.checkers.native.owner_text import origin_words, owner_text
from reassure.checkers.native.search_text import STATE_CLAIMS, STEP_BITS, search_text
from reassure.checkers.native.table_text import table_text
from reassure.checkers.native.walk_text import walk_text
from reassure.spec.frontend.expressions import Check
from reassure.spec.frontend.ir import Graph, Node, items
from reassure.spec.frontend.lowering import Formula, LoweredAction, LoweredModel, Parameter
from reassure.spec.language.types import BoolType, IntType, OptionType, RecordType, SeqType, SetType, Type, bits_of
from reassure.spec.language.vocabulary import LanguageError

HEADER = '''"""Kernel of {title}, generated; do not edit."""
from numba import njit

from reassure.checkers.native.intrinsics import (
    compare_and_swap, highest, load, lowest, popcount, prefetch, scaled, store,
    seq_cat, seq_drop, seq_first, seq_get, seq_keep, seq_set, seq_sorted, seq_take,
)

W = {words}
ACTIONS = {actions}
MAX_SUCCESSORS = {successors}
STATE_FLAGS = {state_flags}
STEP_FLAGS = {step_flags}
STEP_WORDS = {step_words}
CLIPS = {clips}
PARAMETER_WORDS = {parameter_words}
'''


Flag = tuple[int, int]
"""Word and bit: word 0 is of the claims over states, the others of those over steps."""
DEAD: Flag = (0, 62)
"""A state with nothing enabled that is not terminal."""


@dataclass
class Kernel:
    """The generated text and what its numbers mean."""

    source: str
    layout: Layout
    state_flags: tuple[str, ...]
    """Names of the claims over states, by bit: an invariant that fails, a cover that holds; `terminal` last."""
    step_flags: tuple[str, ...]
    clips: tuple[tuple[str, bool], ...]
    """Bounds that steps may leave, by number: path and whether it is declared."""
    actions: tuple[str, ...]
    max_successors: int
    guards: tuple[tuple[str, Check], ...] = ()
    """With switches: every guard with its action; `tally[SWITCH] = i + 1` turns guard i off."""
    parameter_words: int | None = None
    """Words for the parameters of a step; None: successors come without."""
    parameters: tuple[tuple[Field, ...], ...] = ()
    """By action: where its parameters' scalars are in those words."""

    @property
    def row_words(self) -> int:
        """Words of a successor: the state, its action and the claims over the step, its parameters."""
        return self.layout.words + step_words(len(self.step_flags)) + (self.parameter_words or 0)

    @property
    def wide_words(self) -> int:
        """Words of a wide row: see `checkers.native.owner_text`."""
        return self.layout.words + 1 + origin_words(self.layout.words, self.parameter_words)

    @property
    def claim_words(self) -> int:
        """Words for what was hit: claims over states, then over steps."""
        return 1 + step_words(len(self.step_flags))

    def flags(self) -> dict[str, Flag]:
        """Where the search notes that a claim was hit."""
        found = {name: (0, bit) for bit, name in enumerate(self.state_flags[:-1])}
        for number, name in enumerate(self.step_flags):
            word, bit = divmod(number, STEP_BITS)
            found[name] = (1 + word, bit)
        return {**found, "deadlock": DEAD}


def step_words(claims: int) -> int:
    """Words behind a successor: its action and the claims over steps."""
    return max(1, -(-claims // STEP_BITS))


def parameter_codes(params: tuple[Parameter, ...]) -> list[Code]:
    """How the parameters of an action are stored, one after the other; a member of a message set as one number."""
    found: list[Code] = []
    leaf = 0
    for p in params:
        if isinstance(p.drawn, tuple):
            bits = bits_of(p.type)
            found.append(Code(leaf, IntType(1, 1 << bits), False, bits))  # as in its slot, where 0 is none
        else:
            found += codes(p.type, leaf)
        leaf += len(p.leaves)
    return found


def substitute(graph: Graph, node: Node, given: dict[str, Node], made: dict[Node, Node]) -> Node:
    """The node with variables replaced by other nodes, simplified again."""
    if node in made:
        return made[node]
    if node.op == "var":
        result = given.get(node.data, node)
    elif not node.args:
        result = node
    else:
        args = tuple(substitute(graph, a, given, made) for a in node.args)
        result = node if args == node.args else rebuild(graph, node, args)
    made[node] = result
    return result


def rebuild(g: Graph, node: Node, args: tuple[Node, ...]) -> Node:
    """A node of the same operation on other arguments, through the simplifying constructors."""
    simple: dict[str, Callable[..., Node]] = {
        "not": g.not_, "and": g.and_, "or": g.or_, "eq": g.eq, "lt": g.lt, "ite": g.ite, "member": g.member,
        "single": g.single, "union": g.union, "inter": g.inter, "minus": g.minus, "card": g.card,
    }  # fmt: skip
    if node.op in simple:
        return simple[node.op](*args)
    if node.op in ("add", "sub", "mul", "floordiv", "mod", "min", "max"):
        return g.arith(node.op, *args)
    if node.op in ("lowest", "highest"):
        return g.extreme(node.op, args[0])
    if node.op == "build":
        assert isinstance(node.type, SetType)
        return g.build(node.type.item, list(args))
    return g.op(node.op, node.type, args, node.data)


def conjuncts(checks: tuple[Check, ...], as_written: bool) -> list[Check]:
    """Guards split at `and`, in order. as_written: only where the source has an `and` too."""
    found: list[Check] = []
    for check in checks:
        parts = check.condition.args if check.kind == "require" and check.condition.op == "and" else ()
        if as_written and len(parts) != len(written(check.text)):
            parts = ()
        for i, condition in enumerate(parts):
            found.append(replace(check, condition=condition, part=(i, len(parts))))
        if not parts:
            found.append(check)
    return found


def written(text: str) -> list[str]:
    """The conjuncts of a guard as they stand in the source."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return [text]
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name) and node.func.id == "require":
        node = node.args[0]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [ast.unparse(value) for value in node.values]
    return [ast.unparse(node)]


class Emitter:
    """Writes one function: expressions become assignments in the outermost loop they may stand in."""

    def __init__(self, layout: Layout, leaf_paths: tuple[str, ...], leave: str) -> None:
        self.layout = layout
        self.leave = leave
        """The statement that gives up outside any loop."""
        self.buffers: list[list[str]] = [[]]
        self.headers: list[str] = []
        self.names: dict[Node, str] = {}
        self.depth_of: dict[str, int] = {}
        self.count = 0
        self.where = {}
        for f in layout.fields:
            self.where[f.code.leaf] = f
        self.number = {path: i for i, path in enumerate(leaf_paths)}
        self.raw: dict[int, str] = {}

    @property
    def depth(self) -> int:
        return len(self.buffers) - 1

    def open_loop(self, name: str, header: str) -> None:
        self.buffers.append([])
        self.headers.append(header)
        self.depth_of[name] = self.depth

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, text: str, depth: int | None = None) -> None:
        self.buffers[self.depth if depth is None else depth].append(text)

    def give_up(self, depth: int) -> str:
        return "continue" if depth else self.leave

    def depth_of_node(self, node: Node) -> int:
        return max((self.depth_of[p] for p in node.params), default=0)

    def text(self) -> list[str]:
        found = []
        for d, buffer in enumerate(self.buffers):
            if d:
                found.append("    " * d + self.headers[d - 1])
            found += ["    " * (1 + d) + line for line in buffer]
        return found

    # -- expressions --------------------------------------------------------------------------------

    def ref(self, node: Node) -> str:
        """A name or literal for a node's value."""
        if node.op == "const":
            return self._literal(node)
        if node not in self.names:
            expression = self._expression(node)
            name = self.fresh()
            self.line(f"{name} = {expression}", self.depth_of_node(node))
            self.names[node] = name
        return self.names[node]

    def _literal(self, node: Node) -> str:
        if isinstance(node.type, BoolType):
            return "True" if node.data else "False"
        if isinstance(node.type, SeqType):
            k = bits_of(node.type.item)
            packed = sum(v << (i * k) for i, v in enumerate(node.data))
            return str(packed | len(node.data) << SEQ_LENGTH_AT)
        return str(int(node.data))

    def _leaf(self, leaf: int) -> str:
        """The stored number of the field that holds a leaf."""
        owner = leaf if leaf in self.where else leaf - 1
        if owner not in self.raw:
            f = self.where[owner]
            name = self.fresh("f")
            self.line(f"{name} = (w{f.word} >> {f.shift}) & {(1 << f.code.bits) - 1}", 0)
            self.raw[owner] = name
        return self.raw[owner]

    def _var(self, node: Node) -> str:
        leaf = self.number[node.data]
        f = self.where.get(leaf)
        if f is None:  # the value of an optional index; for None it must be zero
            stored = self._leaf(leaf)
            return f"max({stored} - 1, 0)" + _plus(self.where[leaf - 1].code.type)
        return decoded(self._leaf(leaf), f.code)

    def index(self, node: Node) -> str:
        """A node as an int, also if it is a bool."""
        return f"int64({self.ref(node)})" if isinstance(node.type, BoolType) else self.ref(node)

    def _expression(self, node: Node) -> str:
        op, args = node.op, node.args
        if op == "var":
            return self._var(node)
        if op == "param":
            raise AssertionError(f"parameter {node.data} outside its loop")
        if op == "ite":
            c, a, b = (self.ref(x) for x in args)
            return f"{a} if {c} else {b}"
        if op in _BOOL_CHAIN:
            return _BOOL_CHAIN[op].join(self.ref(a) for a in args)
        if op in _BINARY:
            a, b = (self.index(x) for x in args)
            return _BINARY[op].format(a=a, b=b)
        if op in _UNARY:
            return _UNARY[op].format(a=self.index(args[0]))
        if op == "build":
            return " | ".join(f"(int64({self.ref(a)}) << {i})" for i, a in enumerate(args))
        if op == "pack":
            assert isinstance(node.type, RecordType)
            word = "0"
            for code in codes(node.type):
                word = f"(({word} << {code.bits}) | {self.store(code, args)})"
            return word
        if op == "unpack":
            return self._unpack(args[0], node.data)
        return self._sequence(node)

    def _unpack(self, record: Node, leaf: int) -> str:
        assert isinstance(record.type, RecordType)
        shift, word = 0, self.ref(record)
        for code in reversed(codes(record.type)):
            stored = f"({word} >> {shift}) & {(1 << code.bits) - 1}"
            if code.optional and leaf == code.leaf:
                return f"(({stored}) != 0)"
            if code.optional and leaf == code.leaf + 1:
                return f"max(({stored}) - 1, 0)" + _plus(code.type)
            if leaf == code.leaf:
                return decoded(f"({stored})", code)
            shift += code.bits
        raise AssertionError("no such leaf")

    def store(self, code: Code, leaves: tuple[Node, ...]) -> str:
        """What is stored for a field, as an expression."""
        node = leaves[code.leaf]
        if code.optional:
            value = leaves[code.leaf + 1]
            inner = f"1 + {self.index(value)}" + _minus(code.type)
            if node.op == "const":
                return f"({inner})" if node.data else "0"
            return f"({inner} if {self.ref(node)} else 0)"
        if isinstance(code.type, SeqType):
            room = code.type.length * bits_of(code.type.item)
            word = self.ref(node)
            return f"(({word} & {(1 << room) - 1}) | (({word} >> {SEQ_LENGTH_AT}) << {room}))"
        return f"({self.index(node)}{_minus(code.type)})"

    def _sequence(self, node: Node) -> str:
        op, args = node.op, node.args
        kind = node.type if isinstance(node.type, SeqType) else args[0].type
        if op == "seq_sorted":
            assert isinstance(node.type, SeqType)
            return f"seq_sorted({self.ref(args[0])}, {bits_of(node.type.item)})"
        assert isinstance(kind, SeqType)
        k = bits_of(kind.item)
        if op == "seq_len":
            return f"{self.ref(args[0])} >> {SEQ_LENGTH_AT}"
        if op == "seq_of":
            parts = [f"({self.index(a)} << {i * k})" for i, a in enumerate(args)]
            return " | ".join([*parts, str(len(args) << SEQ_LENGTH_AT)])
        if op == "seq_get" and isinstance(node.type, BoolType):
            return f"seq_get({self.ref(args[0])}, {self.ref(args[1])}, {k}) != 0"
        if op in ("seq_get", "seq_keep", "seq_cat", "seq_set", "seq_first", "seq_drop", "seq_take"):
            return f"{op}({', '.join(self.ref(a) for a in args)}, {k})"
        raise AssertionError(f"no code for {op}")


_BOOL_CHAIN = {"and": " & ", "or": " | "}
_BINARY = {
    "eq": "{a} == {b}",
    "lt": "{a} < {b}",
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "mul": "{a} * {b}",
    "floordiv": "{a} // {b}",
    "mod": "{a} % {b}",
    "min": "min({a}, {b})",
    "max": "max({a}, {b})",
    "member": "(({b} >> {a}) & 1) != 0",
    "union": "{a} | {b}",
    "inter": "{a} & {b}",
    "minus": "{a} & ~{b}",
}
_UNARY = {
    "not": "not {a}",
    "single": "1 << {a}",
    "card": "popcount({a})",
    "lowest": "lowest({a})",
    "highest": "highest({a})",
    "slot": "{a} + 1",
    "record": "{a} - 1",
}


def _plus(kind: Type) -> str:
    return f" + {kind.low}" if isinstance(kind, IntType) and kind.low else ""


def _minus(kind: Type) -> str:
    return f" - {kind.low}" if isinstance(kind, IntType) and kind.low else ""


def decoded(stored: str, code: Code) -> str:
    """The leaf's value from the stored number."""
    if code.optional or isinstance(code.type, BoolType):
        return f"{stored} != 0"
    if isinstance(code.type, SeqType):
        room = code.type.length * bits_of(code.type.item)
        return f"({stored} & {(1 << room) - 1}) | (({stored} >> {room}) << {SEQ_LENGTH_AT})"
    return stored + _plus(code.type)


@dataclass
class Domain:
    """What a parameter ranges over, as far as guards narrow it: sets between two masks, or indices in a mask."""

    node: Node
    within: list[Node] = field(default_factory=list)
    without: list[Node] = field(default_factory=list)
    including: list[Node] = field(default_factory=list)
    include_items: list[Node] = field(default_factory=list)
    exclude_items: list[Node] = field(default_factory=list)
    only_items: list[Node] = field(default_factory=list)

    def absorb(self, condition: Node) -> bool:
        """Takes a guard that only narrows the enumeration; False if it must be tested."""
        p = self.node
        name = p.data[0]
        negated = condition.op == "not"
        inner = condition.args[0] if negated else condition
        a, b = (inner.args[0], inner.args[1]) if len(inner.args) == 2 else (inner, inner)

        def free(x: Node) -> bool:
            return name not in x.params

        if isinstance(p.type, SetType):
            if inner.op == "member" and b is p and free(a):
                (self.exclude_items if negated else self.include_items).append(a)
                return True
            if inner.op == "eq" and not negated:
                for x, y in ((a, b), (b, a)):
                    if x is p and free(y):
                        self.within.append(y)
                        self.including.append(y)
                        return True
                    if x.op == "const" and x.data == 0 and y.op in ("minus", "inter"):
                        left, right = y.args
                        if y.op == "minus" and left is p and free(right):
                            self.within.append(right)
                            return True
                        if y.op == "minus" and right is p and free(left):
                            self.including.append(left)
                            return True
                        for s, t in ((left, right), (right, left)):
                            if y.op == "inter" and s is p and free(t):
                                self.without.append(t)
                                return True
            return False
        if isinstance(p.type, BoolType | IntType | SeqType):
            return False
        if inner.op == "member" and a is p and free(b):
            (self.without if negated else self.within).append(b)
            return True
        if inner.op == "eq":
            for x, y in ((a, b), (b, a)):
                if x is p and free(y):
                    (self.exclude_items if negated else self.only_items).append(y)
                    return True
        return False

    def mask(self, e: Emitter, full: int) -> str:
        terms = [e.ref(n) for n in self.within]
        terms += [f"~{e.ref(n)}" for n in self.without]
        terms += [f"~(1 << {e.index(n)})" for n in self.exclude_items]
        terms += [f"(1 << {e.index(n)})" for n in self.only_items]
        return " & ".join([str(full), *terms])


class ActionWriter:
    """Writes the function of one action."""

    def __init__(
        self, kernel: KernelWriter, number: int, outcome: LoweredAction, formulas: tuple[Formula, ...]
    ) -> None:
        self.kernel = kernel
        self.number = number
        self.outcome = outcome
        self.formulas = formulas
        self.e = Emitter(kernel.layout, kernel.paths, "return n")
        self.successors = 1

    def write(self) -> list[str]:
        e, outcome = self.e, self.outcome
        left = conjuncts(outcome.checks, as_written=self.kernel.switches)
        pending: set[str] = set()
        for p in outcome.params:
            pending |= {p.name}
        domains: dict[Node, Domain] = {}
        for p in outcome.params:
            for leaf in p.leaves:
                domains[leaf] = Domain(leaf)
        if not self.kernel.switches:
            left = self._absorb(left, domains)
        left = self._test(left, pending)
        for p in outcome.params:
            self._loop(p, domains)
            pending.discard(p.name)
            left = self._test(left, pending)
        assert not left
        self._emit()
        words = ", ".join(f"w{i}" for i in range(self.kernel.layout.words))
        return [
            f"@njit(**OPTIONS)\ndef action_{self.number}({words}, out, n, tally, where):",
            *e.text(),
            "    return n",
            "",
        ]

    def _absorb(self, left: list[Check], domains: dict[Node, Domain]) -> list[Check]:
        kept: list[Check] = []
        order = {name: i for i, name in enumerate(p.name for p in self.outcome.params)}
        for check in left:
            # What stands after a possible error is tested where it stands, so that the error is not masked.
            if check.kind == "require" and not any(c.kind == "error" for c in kept) and check.condition.params:
                last = max(check.condition.params, key=order.__getitem__)
                own = [d for n, d in domains.items() if n.data[0] == last]
                if len(own) == 1 and own[0].node.data[1] == "" and own[0].absorb(check.condition):
                    continue
            kept.append(check)
        return kept

    def _test(self, left: list[Check], pending: set[str]) -> list[Check]:
        """Tests every guard that reads no parameter still to come."""
        e = self.e
        later: list[Check] = []
        for check in left:
            blocked = any(c.kind == "error" for c in later)
            if check.condition.params & pending or blocked:
                later.append(check)
                continue
            depth = e.depth
            condition = e.ref(check.condition)
            if check.kind == "require" and self.kernel.switches:
                self.kernel.guards.append((self.outcome.name, check))
                off = f"tally[SWITCH] == {len(self.kernel.guards)}"
                e.line(f"if not ({condition} or {off}): {e.give_up(depth)}")
            elif check.kind == "require":
                e.line(f"if not {condition}: {e.give_up(depth)}")
            else:
                e.line(f"if not {condition}:")
                e.line(f"    tally[ERROR] = where + 1; {e.give_up(depth)}")
        return later

    def _loop(self, p: Parameter, domains: dict[Node, Domain]) -> None:
        if isinstance(p.drawn, tuple):
            self._over_slots(p, p.drawn)
            return
        for code in codes(p.type):
            node = p.leaves[code.leaf]
            d = domains[node]
            if isinstance(p.drawn, Node):
                d.within.append(p.drawn)
            if isinstance(code.type, SetType) and not code.optional:
                self._over_subsets(p.name, node, d, items(code.type.item))
            elif code.optional:
                self._over_optional(p, code)
            elif isinstance(code.type, SeqType):
                self._over_sequences(p, code)
            elif is_index(code.type):
                self._over_indices(p.name, node, d, code.type)
            else:
                raise AssertionError(f"no loop over {code.type}")

    def _over_indices(self, name: str, node: Node, d: Domain, kind: Type) -> None:
        e, count = self.e, kind.count
        self.successors *= count
        v = e.fresh("p")
        narrowed = d.within or d.without or d.exclude_items or d.only_items
        if narrowed:
            m = e.fresh("m")
            mask = d.mask(e, (1 << count) - 1)
            e.line(f"{m} = {mask}")
            e.open_loop(name, f"while {m} != 0:")
            e.line(f"{v} = lowest({m})")
            e.line(f"{m} &= {m} - 1")
        else:
            i = e.fresh("i")
            e.open_loop(name, f"for {i} in range({count}):")
            e.line(f"{v} = {i} != 0" if isinstance(kind, BoolType) else f"{v} = int64({i})" + _plus(kind))
        e.names[node] = v

    def _over_subsets(self, name: str, node: Node, d: Domain, count: int) -> None:
        e = self.e
        self.successors *= 1 << count
        upper, lower, free = e.fresh("u"), e.fresh("l"), e.fresh("s")
        d2 = Domain(node, d.within, d.without, exclude_items=d.exclude_items)
        e.line(f"{upper} = {d2.mask(e, (1 << count) - 1)}")
        bits = [e.ref(n) for n in d.including] + [f"(1 << {e.index(n)})" for n in d.include_items]
        e.line(f"{lower} = {' | '.join(bits) or '0'}")
        if bits:
            e.line(f"if ({lower} & ~{upper}) != 0: {e.give_up(e.depth)}")
        e.line(f"{free} = {upper} & ~{lower}")
        current, following, go, v = e.fresh("c"), e.fresh("x"), e.fresh("g"), e.fresh("p")
        e.line(f"{following} = 0")
        e.line(f"{go} = True")
        e.open_loop(name, f"while {go}:")
        e.line(f"{current} = {following}")
        e.line(f"{following} = ({current} - {free}) & {free}")
        e.line(f"{go} = {following} != 0")
        e.line(f"{v} = {current} | {lower}")
        e.names[node] = v

    def _over_optional(self, p: Parameter, code: Code) -> None:
        e = self.e
        self.successors *= code.type.count + 1
        i, present, value = e.fresh("i"), e.fresh("p"), e.fresh("p")
        e.open_loop(p.name, f"for {i} in range({code.type.count + 1}):")
        e.line(f"{present} = {i} != 0")
        e.line(f"{value} = max(int64({i}) - 1, 0)" + _plus(code.type))
        for node, name in ((p.leaves[code.leaf], present), (p.leaves[code.leaf + 1], value)):
            e.names[node] = name
        # The value leaf may sit under a choice made while packing; its parameter node is what others read.
        e.names[self.kernel.graph.param(p.name, p.leaves[code.leaf].data[1][:-1], code.type)] = value

    def _over_sequences(self, p: Parameter, code: Code) -> None:
        """All sequences, shorter first, the last item weighing most: an odometer over the packed word."""
        e, kind = self.e, code.type
        assert isinstance(kind, SeqType)
        self.successors *= kind.count
        k, base = bits_of(kind.item), kind.item.count
        length, number, rest, v, j = (e.fresh("q") for _ in range(5))
        e.open_loop(p.name, f"for {length} in range({kind.length + 1}):")
        e.open_loop(p.name, f"for {number} in range({base} ** {length}):")
        e.line(f"{rest} = int64({number})")
        e.line(f"{v} = int64({length}) << {SEQ_LENGTH_AT}")
        e.line(f"for {j} in range({length}):")
        e.line(f"    {v} |= ({rest} % {base}) << ({j} * {k})")
        e.line(f"    {rest} //= {base}")
        e.names[p.leaves[code.leaf]] = v

    def _over_slots(self, p: Parameter, slots: tuple[Node, ...]) -> None:
        """Members of a message set, ascending: its slots from the last to the first."""
        e = self.e
        self.successors *= max(1, len(slots))
        i, v = e.fresh("i"), e.fresh("p")
        refs = [e.ref(s) for s in slots]
        e.open_loop(p.name, f"for {i} in range({len(slots)}):")
        choice = refs[0] if refs else "0"
        for k in range(1, len(refs)):
            choice = f"({refs[k]} if {i} == {len(refs) - 1 - k} else {choice})"
        e.line(f"{v} = {choice}")
        e.line(f"if {v} == 0: continue")
        e.names[p.leaves[0]] = v

    def _emit(self) -> None:
        e, outcome, kernel = self.e, self.outcome, self.kernel
        for path, condition, declared in outcome.clips:
            number = kernel.clip_number(path, declared)
            e.line(f"if {e.ref(condition)}:")
            e.line(
                f"    tally[CLIP_AT + {number}] += 1; tally[CLIPS_TOTAL] += 1; tally[{self.number}] += 1; "
                + e.give_up(e.depth)
            )
        words = [self._word(w) for w in range(kernel.layout.words)]
        flags = self._flags()
        for w, text in enumerate(words):
            e.line(f"out[n, {w}] = {text}")
        for w, text in enumerate(flags):
            e.line(f"out[n, {kernel.layout.words + w}] = {text}")
        for w, text in enumerate(self._parameters()):
            e.line(f"out[n, {kernel.layout.words + len(flags) + w}] = {text}")
        e.line("n += 1")

    def _parameters(self) -> list[str]:
        """The words that say with which parameters the step was taken."""
        if self.kernel.parameter_words is None:
            return []
        leaves = tuple(leaf for p in self.outcome.params for leaf in p.leaves)
        words = ["0"] * self.kernel.parameter_words
        for f in self.kernel.parameters[self.number]:
            words[f.word] += f" | ({self.e.store(f.code, leaves)} << {f.shift})"
        return words

    def _word(self, w: int) -> str:
        """The expression for one word of the next state; fields that stay are copied in one piece."""
        e, leaves = self.e, self.outcome.next
        keep, parts = 0, []
        for f in self.kernel.layout.fields:
            if f.word != w:
                continue
            numbers = [f.code.leaf, f.code.leaf + 1] if f.code.optional else [f.code.leaf]
            if all(leaves[i].op == "var" and leaves[i].data == self.kernel.paths[i] for i in numbers):
                keep |= ((1 << f.code.bits) - 1) << f.shift
                continue
            parts.append(f"({e.store(f.code, leaves)} << {f.shift})")
        if keep:
            signed = keep - (1 << 64) if keep >> 63 else keep
            parts.insert(0, f"(w{w} & {signed})")
        return " | ".join(parts) or "0"

    def _flags(self) -> list[str]:
        e, kernel = self.e, self.kernel
        terms: list[list[str]] = [["0"] for _ in range(step_words(len(kernel.step_flags)))]
        terms[0] = [str(self.number)]
        after = {path + "'": node for path, node in zip(kernel.paths, self.outcome.next, strict=True)}
        made: dict[Node, Node] = {}
        for formula in self.formulas:
            assert formula.claim is not None
            condition = substitute(kernel.graph, formula.condition, after, made)
            for check in formula.checks:
                safe = substitute(kernel.graph, check.condition, after, made)
                if safe is not kernel.graph.true:
                    e.line(f"if not {e.ref(safe)}: tally[ERROR] = where + 1")
            wanted = condition if formula.claim.kind == "cover" else kernel.graph.not_(condition)
            if wanted is kernel.graph.false:
                continue
            word, bit = divmod(kernel.step_flags.index(formula.name), STEP_BITS)
            terms[word].append(f"(int64({e.ref(wanted)}) << {16 + bit})")
        return [" | ".join(words) for words in terms]


class KernelWriter:
    """Writes the module of one model."""

    def __init__(self, model: LoweredModel, layout: Layout, switches: bool = False, parameters: bool = False) -> None:
        self.switches = switches
        places = [placed(parameter_codes(a.params)) for a in model.actions] if parameters else []
        self.parameters = tuple(fields for fields, _ in places)
        self.parameter_words = max((words for _, words in places), default=0) if parameters else None
        self.guards: list[tuple[str, Check]] = []
        self.model = model
        self.graph = model.graph
        self.layout = layout
        self.paths = tuple(leaf.path for leaf in model.leaves)
        self.clips: list[tuple[str, bool]] = []
        named: list[str] = []
        for formulas in model.steps:
            named += [f.name for f in formulas if f.name not in named]
        self.step_flags = tuple(named)

    def clip_number(self, path: str, declared: bool) -> int:
        if (path, declared) not in self.clips:
            self.clips.append((path, declared))
        return self.clips.index((path, declared))

    def write(self) -> Kernel:
        model, layout = self.model, self.layout
        body: list[str] = []
        successors = 0
        for number, (outcome, formulas) in enumerate(zip(model.actions, model.steps, strict=True)):
            writer = ActionWriter(self, number, outcome, formulas)
            body += writer.write()
            successors += writer.successors
        state_flags, check = self._check()
        count = len(model.actions)
        title = model.bound.model.name
        header = HEADER.format(
            title=title,
            words=layout.words,
            actions=count,
            successors=successors,
            state_flags=len(state_flags),
            step_flags=len(self.step_flags),
            step_words=step_words(len(self.step_flags)),
            clips=len(self.clips),
            parameter_words=self.parameter_words or 0,
        )
        error = count + len(self.clips)
        constants = [
            f"CLIP_AT = {count}",
            f"ERROR = {error}",
            f"CLIPS_TOTAL = {error + 1}",
            f"GENERATED = {error + 2}",
            f"SWITCH = {error + 3}",
            f"TALLY = {error + 4}",
            "",
        ]
        parts = [header, *constants, OPTIONS, *body, *check, *self._expand(count)]
        parts += [table_text(layout.words), search_text(layout.words), walk_text(layout.words)]
        parts += [owner_text(layout.words, self.parameter_words)]
        source = "\n".join(parts)
        return Kernel(
            source, layout, state_flags, self.step_flags, tuple(self.clips),
            tuple(a.name for a in model.actions), successors, tuple(self.guards), self.parameter_words, self.parameters,
        )  # fmt: skip

    def _words(self) -> list[str]:
        return [f"    w{i} = int64(frontier[i, {i}])" for i in range(self.layout.words)]

    def _expand(self, count: int) -> list[str]:
        words = ", ".join(f"w{i}" for i in range(self.layout.words))
        lines = ["@njit(forceinline=True, **OPTIONS)", "def expand(frontier, i, out, n, tally):"]
        lines += [f"    w{k} = int64(frontier[i, {k}])" for k in range(self.layout.words)]
        for number in range(count):
            lines.append(f"    m = action_{number}({words}, out, n, tally, i)")
            lines.append(f"    tally[{number}] += m - n")
            lines.append("    n = m")
        return [*lines, "    return n", ""]

    def _check(self) -> tuple[tuple[str, ...], list[str]]:
        """The function that judges a state: one bit for each claim, `terminal` last."""
        e = Emitter(self.layout, self.paths, "return 0")
        names: list[str] = []
        terms: list[str] = []
        g = self.graph
        for formula in self.model.states:
            assert formula.claim is not None
            if formula.claim.kind == "leads_to":
                continue
            wanted = formula.condition if formula.claim.kind == "cover" else g.not_(formula.condition)
            self._errors(e, formula)
            terms.append(f"(int64({e.ref(wanted)}) << {len(names)})")
            names.append(formula.name)
        for formula in self.model.terminals:
            self._errors(e, formula)
        ending = g.or_(*(f.condition for f in self.model.terminals))
        terms.append(f"(int64({e.ref(ending)}) << {len(names)})")
        names.append("terminal")
        if len(names) > STATE_CLAIMS + 1:
            raise LanguageError(
                f"{len(names) - 1} invariants and covers of states: at most {STATE_CLAIMS} are possible"
            )
        lines = ["@njit(forceinline=True, **OPTIONS)", "def check(frontier, i, tally):"]
        lines += [f"    w{k} = int64(frontier[i, {k}])" for k in range(self.layout.words)]
        lines += ["    where = i", *e.text(), f"    return {' | '.join(terms)}", ""]
        return tuple(names), lines

    def _errors(self, e: Emitter, formula: Formula) -> None:
        for check in formula.checks:
            e.line(f"if not {e.ref(check.condition)}: tally[ERROR] = where + 1")


OPTIONS = 'OPTIONS = {"nogil": True, "error_model": "numpy", "cache": True}\nfrom numba import int64\n'


def generate(model: LoweredModel, layout: Layout, switches: bool = False, parameters: bool = False) -> Kernel:
    """The kernel of an elaborated model.

    switches: each guard can be turned off; slower. parameters: successors come with the parameters of their step.
    """
    return KernelWriter(model, layout, switches, parameters).write()


__all__ = ["Kernel", "OptionType", "generate"]
