"""The legal Python of a model: statements and functions, and the elaboration of a whole model into `spec.frontend.ir`.

`lower_model(bound)` walks every function reachable from an action or a property, names resolved by object. It either
refuses (all refusals in one go, `SubsetError`) or returns what each engine translates: a model that elaborates is one
that every engine accepts. Records, optionals and loops over finite sorts are gone by then.
One module, since a declaration is elaborated by running the statements of its function.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

from reassure.spec.frontend.calls import Calls, Guard
from reassure.spec.frontend.expressions import Check, Frame, Refusal, Refused
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.remembered import MOST, hints_of, signature_of
from reassure.spec.frontend.symbolic_values import POISON, Bag, Mismatch, Poison, Record, Scalar, Static, Sym, describe
from reassure.spec.language.types import BagType, BoolType, RecordType, SetType, Type
from reassure.spec.language.vocabulary import Action, Property, refuse
from reassure.spec.semantics.interpreter import BoundModel


class SubsetError(Exception):
    """The model uses Python outside the language; `refusals` lists every place."""

    def __init__(self, refusals: list[Refusal]) -> None:
        self.refusals = sorted(refusals, key=lambda r: (r.file, r.line, r.column))
        super().__init__("\n".join(str(r) for r in self.refusals))


@dataclass(frozen=True)
class Leaf:
    """One scalar of the state: its path, the type it has there, and the declared bound it may leave."""

    path: str
    type: Type


@dataclass(frozen=True)
class Parameter:
    """A parameter of an action: its type, and what it is drawn from if not from all values of the type.

    leaves: its scalars, in layout order. drawn: a set node, or the slots of a message set.
    """

    name: str
    type: Type
    leaves: tuple[Node, ...]
    drawn: Node | tuple[Node, ...] | None


@dataclass(frozen=True)
class LoweredAction:
    """A lowered action or initial function.

    checks: in program order; the first that fails makes it not enabled or an error. clips: then, the conditions
    under which the step leaves a bound, in field order: (path, condition, declared). next: the new leaves.
    """

    name: str
    params: tuple[Parameter, ...]
    checks: tuple[Check, ...]
    clips: tuple[tuple[str, Node, bool], ...]
    next: tuple[Node, ...]


@dataclass(frozen=True)
class Formula:
    """A lowered claim. For a step it reads the leaves of `before` and, as variables with a prime, of `after`."""

    name: str
    claim: Property | None
    condition: Node
    checks: tuple[Check, ...]
    goal: Node | None = None


@dataclass
class LoweredModel:
    """A model under one configuration, in the form that engines translate."""

    bound: BoundModel
    graph: Graph
    leaves: tuple[Leaf, ...]
    initials: tuple[LoweredAction, ...]
    actions: tuple[LoweredAction, ...]
    states: tuple[Formula, ...]
    """Claims over one state: invariants, state covers, leads-to (with `goal`)."""
    steps: tuple[tuple[Formula, ...], ...]
    """For each action, the claims over its steps."""
    terminals: tuple[Formula, ...]
    ordered_sorts: frozenset[type] = field(default_factory=frozenset)
    guards: tuple[Guard, ...] = ()
    """With switches: the guards of the text; node `switch` with data k says that guard k is left out."""

    def only(self, wanted: Callable[[str], bool]) -> LoweredModel:
        """The same model with the claims whose name is wanted: what is not asked for is not evaluated."""
        states = tuple(f for f in self.states if wanted(f.name))
        steps = tuple(tuple(f for f in about if wanted(f.name)) for about in self.steps)
        deadlock = self.bound.model.deadlock and wanted("deadlock")
        return dataclasses.replace(self, states=states, steps=steps, terminals=self.terminals if deadlock else ())

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of what is evaluated in states and steps; "deadlock" where it is told from an end."""
        names = {f.name for f in self.states} | {f.name for about in self.steps for f in about}
        return tuple(sorted(names | ({"deadlock"} if self.terminals else set())))


@cache
def _module(path: str) -> tuple[ast.Module, list[str]]:
    text = Path(path).read_text(encoding="utf-8")
    return ast.parse(text), text.splitlines()


@lru_cache(MOST)
def find_source(function: FunctionType) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, str, list[str]]:
    """The syntax tree of a function or lambda, its file and the file's lines; `OSError` if there is none."""
    path = inspect.getsourcefile(function)
    if path is None:
        raise OSError(f"{function.__name__} has no source")
    tree, lines = _module(path)
    first = function.__code__.co_firstlineno
    if function.__name__ != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function.__name__:
                if first in (node.lineno, *(d.lineno for d in node.decorator_list)):
                    return node, path, lines
        raise OSError(f"{function.__name__} is not in {path}")
    spots = [(p[0], p[2]) for p in function.__code__.co_positions() if p[0] is not None and p[2]]
    candidates = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            body = node.body
            start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
            if all(start <= (line, column or 0) <= end for line, column in spots if line and column):
                candidates.append(node)
    if not candidates:
        raise OSError(f"a lambda of {path}:{first} was not found")
    return max(candidates, key=lambda n: (n.lineno, n.col_offset)), path, lines


_STATEMENTS: dict[type, tuple[str, str]] = {
    ast.For: ("a for loop", "use a comprehension with any, all, sum, min, max, next, tuple or frozenset"),
    ast.While: ("a while loop", "a step is finite; write several actions"),
    ast.With: ("with", "a model has no resources"),
    ast.Try: ("try", "test the condition first"),
    ast.Raise: ("raise", "`require(...)` disables an action; a property returns False"),
    ast.Assert: ("assert", "use `require(...)` in an action, or an invariant"),
    ast.FunctionDef: ("a nested function", "define it in the module"),
    ast.ClassDef: ("a class in a function", "define it in the module"),
    ast.Global: ("global", "everything that changes is in the state"),
    ast.Nonlocal: ("nonlocal", "everything that changes is in the state"),
    ast.Import: ("an import in a function", "import at the top of the module"),
    ast.ImportFrom: ("an import in a function", "import at the top of the module"),
    ast.Delete: ("del", "values do not change"),
    ast.Match: ("match", "use if and elif"),
    ast.AsyncFunctionDef: ("async", "a model is plain functions"),
}


class Statements(Calls):
    """Elaborates function bodies: assignments, conditions, early returns."""

    def call_function(self, node: ast.Call, function: FunctionType) -> Sym:
        if any(f.function is function for f in self.frames):
            raise self.refuse(node, f"`{function.__name__}` calls itself", "recursion is not in the language")
        parameters = signature_of(function).parameters
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
            raise self.refuse(node, f"`*args` or `**kwargs` of `{function.__name__}`", "name every parameter")
        takes = f"{function.__name__} takes ({', '.join(parameters)})"
        given = self.given(node, function, takes)
        try:
            return self.run(function, given)
        except OSError as error:
            raise self.refuse(node, f"a call of `{function.__name__}`", f"its source is not at hand: {error}") from None

    def run(self, function: FunctionType, given: dict[str, Sym]) -> Sym:
        """The value of a call under the current path; `OSError` if the function has no source."""
        tree, path, lines = find_source(function)
        env = dict(given)
        for name, p in signature_of(function).parameters.items():
            if name not in env and p.default is not inspect.Parameter.empty:
                env[name] = self.symbols.lift(p.default)
        self.frames.append(Frame(function, path, lines, env))
        saved = self.path
        try:
            if isinstance(tree, ast.Lambda):
                return self.expr(tree.body)
            return self._body(tree)
        except (Refused, Mismatch):
            return POISON
        finally:
            self.frames.pop()
            self.path = saved

    def _body(self, tree: ast.FunctionDef | ast.AsyncFunctionDef) -> Sym:
        arguments = tree.args
        if isinstance(tree, ast.AsyncFunctionDef):
            raise self.refuse(tree, *_STATEMENTS[ast.AsyncFunctionDef])
        if arguments.vararg or arguments.kwarg:
            raise self.refuse(tree, "`*args` or `**kwargs`", "name every parameter")
        returned: list[tuple[Node, Sym]] = []
        ended = self._block(tree.body, returned)
        if self.frame.broken:
            return POISON
        if not ended:
            raise self.refuse(tree, f"`{tree.name}` may end without a value", "return on every path")
        if not returned:
            raise self.refuse(tree, f"`{tree.name}` never returns", "return a value on some path")
        result = self.symbols.as_bag(returned[-1][1])
        earlier = [self.g.not_(c) for c, _ in returned]
        for i, (condition, value) in reversed(list(enumerate(returned[:-1]))):
            # Where an earlier return was taken this choice is not looked at.
            terms = condition.args if condition.op == "and" else (condition,)
            condition = self.g.and_(*(t for t in terms if t not in earlier[:i]))
            try:
                result = self.symbols.choose(condition, value, result)
            except Mismatch as error:
                raise self.refuse(tree, f"`{tree.name}` returns different kinds of value", str(error)) from None
        return result

    def _block(self, body: list[ast.stmt], returned: list[tuple[Node, Sym]]) -> bool:
        """Elaborates statements; True when every path through them has ended."""
        for statement in body:
            try:
                if self._statement(statement, returned):
                    return True
            except (Refused, Mismatch) as error:
                if isinstance(error, Mismatch):
                    self.refuse(statement, "types do not fit", str(error))
                # Recorded; go on, so that all refusals come in one go.
                for name in _assigned(statement):
                    self.frame.env[name] = POISON
                self.frame.broken = True
                if isinstance(statement, ast.Return):
                    returned.append((self.path, POISON))
                    return True
        return False

    def _statement(self, node: ast.stmt, returned: list[tuple[Node, Sym]]) -> bool:
        if isinstance(node, ast.Return):
            if node.value is None:
                raise self.refuse(node, "return without a value", "return the next state or the value")
            returned.append((self.path, self.symbols.as_bag(self.expr(node.value))))
            return True
        if isinstance(node, ast.Pass):
            return False
        if isinstance(node, ast.If):
            return self._if(node, returned)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            return self._assign(node)
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                raise self.refuse(node, "changing a part of a value", "use `replace(...)`")
            old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
            whole = ast.copy_location(ast.BinOp(old, node.op, node.value), node)
            self._bind(node.target.id, self.symbols.as_bag(self.expr(whole)), frozenset())
            return False
        if isinstance(node, ast.Expr):
            return self._expression_statement(node)
        construct, remedy = _STATEMENTS.get(type(node), (type(node).__name__, "this is not in the language"))
        raise self.refuse(node, construct, remedy)

    def _expression_statement(self, node: ast.Expr) -> bool:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return False  # a docstring
        if not isinstance(node.value, ast.Call):
            raise self.refuse(node, "an expression without effect", "assign or return it")
        value = self.expr(node.value)
        if isinstance(value, Static) and value.value is None:
            # `refuse()` ends the path: whatever follows is not reached.
            return self._is_refuse(node.value)
        raise self.refuse(node, "a call whose value is not used", "assign or return it")

    def _is_refuse(self, call: ast.Call) -> bool:
        target = self.peek(call.func)
        return isinstance(target, Static) and target.value is refuse

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None:
            raise self.refuse(node, "a name without a value", "give it one")
        target = targets[0]
        if len(targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            names = [t.id for t in target.elts if isinstance(t, ast.Name)]
            if len(names) == len(target.elts) == len(node.value.elts):
                values = [self.symbols.as_bag(self.expr(e)) for e in node.value.elts]
                for name, one in zip(names, values, strict=True):
                    self._bind(name, one, frozenset())
                return False
        if len(targets) != 1 or not isinstance(target, ast.Name):
            if isinstance(target, ast.Attribute | ast.Subscript):
                raise self.refuse(node, f"changing `{ast.unparse(target)}`", "values do not change: use `replace(...)`")
            raise self.refuse(node, "unpacking", "assign one name; return a record instead of a tuple")
        value = self.symbols.as_bag(self.expr(node.value))
        # An alias of something known not to be None is known too, for `expr` has unwrapped it.
        self._bind(target.id, value, frozenset())
        return False

    def _bind(self, name: str, value: Sym, facts: frozenset[str]) -> None:
        frame = self.frame
        frame.env[name] = value
        frame.known = frozenset(k for k in frame.known if k.split(".")[0] != name) | facts

    def _if(self, node: ast.If, returned: list[tuple[Node, Sym]]) -> bool:
        frame, before = self.frame, self.path
        test = self.boolean(node.test)
        true_facts, false_facts = self.facts(node.test, True), self.facts(node.test, False)
        env, known = frame.env, frame.known

        def branch(
            condition: Node, facts: frozenset[str], body: list[ast.stmt]
        ) -> tuple[bool, dict[str, Sym], frozenset[str], Node]:
            frame.env, frame.known = dict(env), known | facts
            self.path = self.g.and_(before, condition)
            entry = self.path
            ended = self._block(body, returned)
            return ended, frame.env, frame.known, before if self.path is entry else self.path

        yes, yes_env, yes_known, yes_path = branch(test, true_facts, node.body)
        no, no_env, no_known, no_path = branch(self.g.not_(test), false_facts, node.orelse)
        if yes and no:
            self.path = before
            return True
        if yes or no:
            frame.env, frame.known = (no_env, no_known) if yes else (yes_env, yes_known)
            remaining = self.g.not_(test) if yes else test
            inner = no_path if yes else yes_path
            self.path = self.g.and_(before, remaining) if inner is before else inner
            return False
        merged: dict[str, Sym] = {}
        for name in yes_env:
            if name in no_env:
                try:
                    merged[name] = self.symbols.choose(test, yes_env[name], no_env[name])
                except Mismatch as error:
                    raise self.refuse(node, f"`{name}` is of two kinds after this", str(error)) from None
        frame.env, frame.known = merged, yes_known & no_known
        if yes_path is before and no_path is before:
            self.path = before
        else:
            g = self.g
            yes_live = g.and_(before, test) if yes_path is before else yes_path
            no_live = g.and_(before, g.not_(test)) if no_path is before else no_path
            self.path = g.or_(yes_live, no_live)
        return False


def _assigned(statement: ast.stmt) -> list[str]:
    return [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


class Elaborator(Statements):
    """Elaborates the declarations of a bound model."""

    def __init__(self, bound: BoundModel, switches: bool = False) -> None:
        super().__init__(Graph(), bound.config)
        self.bound = bound
        self.guards = {} if switches else None
        self.state = self.symbols.of_type(bound.type, self.g.var)
        self.after = self.symbols.of_type(bound.type, lambda path, kind: self.g.var(path + "'", kind))

    def fresh(self, guards: bool) -> None:
        self.checks, self.path, self.passed, self.guards_allowed = [], self.g.true, self.g.true, guards

    def arguments_of(self, function: FunctionType, state: list[Sym], params: dict[str, Sym]) -> dict[str, Sym]:
        """Arguments by name: the state(s) first, then the configuration by its type, then parameters."""
        hints = hints_of(function)
        given: dict[str, Sym] = {}
        for i, name in enumerate(signature_of(function).parameters):
            if i < len(state):
                given[name] = state[i]
            elif name in params:
                given[name] = params[name]
            elif hints.get(name) is Action:
                given[name] = params["<action>"]
            else:
                given[name] = Static(self.config)
        return given

    def outcome(self, name: str, function: FunctionType, members: MappingProxyType[str, Any] | None) -> LoweredAction:
        """Lowers an action (with `members`) or an initial function."""
        self.declaration = name
        # Python evaluates what the parameters are drawn from before it calls the function.
        self.fresh(guards=False)
        params, values = [], {}
        for pname, kind in self.bound.parameters(name):
            drawn = None
            if members and pname in members:
                drawn = self._drawn(members[pname], kind)

            def leaf(path: str, t: Type, pname: str = pname) -> Node:
                return self.g.param(pname, path, t)

            value = self.symbols.of_type(kind, leaf)
            if isinstance(kind, RecordType) and isinstance(drawn, tuple):
                slot = self.g.param(pname, "#", BagSlot.of(self, kind))
                value = self.symbols.unpack_slot(kind, slot)
                params.append(Parameter(pname, kind, (slot,), drawn))
            else:
                params.append(Parameter(pname, kind, tuple(self.symbols.leaves(value, kind)), drawn))
            values[pname] = value
        drawing = self.g.and_(*(c.condition for c in self.checks))
        params = [dataclasses.replace(p, drawn=self._drawn_or_any(drawing, p.drawn)) for p in params]
        self.guards_allowed = True
        self.passed = self.g.and_(*(self._some_member(p.drawn) for p in params))
        before = [self.state] if members is not None else []
        result = self.run(function, self.arguments_of(function, before, values))
        if self.refusals:
            return LoweredAction(name, tuple(params), (), (), ())
        if members is None:
            result = self._lifted(result)
        try:
            fitted = self.symbols.fit(result, self.bound.type)
        except Mismatch as error:
            self._misfit(function, str(error))
            return LoweredAction(name, tuple(params), (), (), ())
        clips = tuple(self.symbols.excess(fitted, self.bound.type, ""))
        nodes = tuple(self.symbols.leaves(fitted, self.bound.type))
        return LoweredAction(name, tuple(params), tuple(self.checks), clips, nodes)

    def _lifted(self, result: Sym) -> Sym:
        """An initial state of a class that the model's extends gets the further fields' defaults."""
        cls: Any = self.bound.model.state
        if isinstance(result, Record) and result.cls is not cls and issubclass(cls, result.cls):
            extra = [f for f in dataclasses.fields(cls) if f.name not in result.fields]
            made = {f.name: self.symbols.lift(f.default) for f in extra}
            return Record(cls, {**result.fields, **made})
        return result

    def _misfit(self, function: FunctionType, why: str) -> None:
        tree, path, lines = find_source(function)
        self.frames.append(Frame(function, path, lines, {}))
        self.refuse(tree, f"what `{function.__name__}` returns", why)
        self.frames.pop()

    def _drawn(self, function: Callable[..., Any], kind: Type) -> Node | tuple[Node, ...]:
        """The set that a parameter of a type is drawn from."""
        assert isinstance(function, FunctionType)
        try:
            value = self.symbols.as_bag(self.run(function, self.arguments_of(function, [self.state], {})))
            if isinstance(value, Bag) and value.item == kind:
                return self.symbols.looked_into(value).slots
        except Mismatch as error:
            self._misfit(function, str(error))
            return ()
        if isinstance(value, Scalar) and isinstance(value.type, SetType) and value.type.item == kind:
            return value.node
        if isinstance(value, Bag) or (isinstance(value, Scalar) and isinstance(value.type, SetType)):
            self._misfit(function, f"a parameter has the type of the set's members: {describe(value)} has no {kind}")
        elif not isinstance(value, Poison):
            self._misfit(function, f"a parameter is drawn from a set, not from {describe(value)}")
        return ()

    def _drawn_or_any(self, drawing: Node, drawn: Node | tuple[Node, ...] | None) -> Node | tuple[Node, ...] | None:
        """The set drawn from; with some member where `drawing` fails, as Python raises there even if it is empty."""
        g = self.g
        if isinstance(drawn, tuple):
            return tuple(g.ite(drawing, slot, g.num(1)) for slot in drawn[:1]) + drawn[1:]
        if drawn is None or not isinstance(drawn.type, SetType):
            return drawn
        return g.ite(drawing, drawn, g.full(drawn.type.item))

    def _some_member(self, drawn: Node | tuple[Node, ...] | None) -> Node:
        """Whether a parameter has a value: if not, the action is not even called."""
        g = self.g
        if isinstance(drawn, tuple):
            return g.or_(*(self.symbols.occupied(slot) for slot in drawn))
        return g.true if drawn is None else g.not_(g.eq(drawn, g.const(0, drawn.type)))

    def view(self, function: FunctionType, first: str, state: Sym) -> Sym:
        """The state, or the view of it that the function's first parameter wants."""
        wanted: Any = hints_of(function).get(first)
        view = self.bound.views.get(wanted)
        if view is None or wanted is self.bound.model.state:
            return state
        assert isinstance(view, FunctionType)
        return self.run(view, self.arguments_of(view, [state], {}))

    def state_formula(self, name: str, claim: Property | None, function: Any, unless: Node | None = None) -> Formula:
        """unless: the condition under which Python does not ask for it."""
        self.fresh(guards=False)
        if unless is not None:
            self.path = self.g.not_(unless)
        condition = self._over_state(function)
        goal = self._over_state(claim.goal) if claim is not None and claim.goal is not None else None
        return Formula(name, claim, condition, tuple(self.checks), goal)

    def _over_state(self, function: Any) -> Node:
        assert isinstance(function, FunctionType)
        first = next(iter(signature_of(function).parameters))
        state = self.view(function, first, self.state)
        return self._bool(function, self.run(function, self.arguments_of(function, [state], {})))

    def _bool(self, function: FunctionType, value: Sym) -> Node:
        if isinstance(value, Scalar) and isinstance(value.type, BoolType):
            return value.node
        if not isinstance(value, Poison):
            self._misfit(function, f"a bool is needed, not {describe(value)}")
        return self.g.false

    def step_formula(self, claim: Property, action: Action, params: dict[str, Sym]) -> Formula:
        self.fresh(guards=False)
        function = claim.function
        assert isinstance(function, FunctionType)
        states = {n: self.view(function, n, s) for n, s in (("before", self.state), ("after", self.after))}
        known = {**params, **states, "<action>": Static(action)}
        value = self.run(function, self.arguments_of(function, [], known))
        return Formula(claim.name, claim, self._bool(function, value), tuple(self.checks))

    def model(self) -> LoweredModel:
        bound, model = self.bound, self.bound.model
        initials = tuple(self.outcome(i.name, i.function, None) for i in model.initials)  # type: ignore[arg-type]
        actions = tuple(self.outcome(a.name, a.function, a.members) for a in model.actions)  # type: ignore[arg-type]
        claims = [*bound.properties, *bound.covers]
        states = tuple(self.state_formula(p.name, p, p.function) for p in claims if not p.over_steps)
        steps = []
        for declared, lowered in zip(model.actions, actions, strict=True):
            about = [p for p in claims if p.over_steps and bound.concerns(p, declared)]
            params = {p.name: self._param_value(p) for p in lowered.params}
            steps.append(tuple(self.step_formula(p, declared, params) for p in about))
        terminals: list[Formula] = []
        for t in model.terminals:
            found = self.g.or_(*(f.condition for f in terminals))
            terminals.append(self.state_formula(t.name, None, t.function, unless=found))
        if self.refusals:
            raise SubsetError(self.refusals)
        leaves: list[Leaf] = []

        def collect(path: str, kind: Type) -> Node:
            leaves.append(Leaf(path, kind))
            return self.g.var(path, kind)

        self.symbols.of_type(bound.type, collect)
        guards = tuple(dataclasses.replace(g, reached_by=tuple(by)) for g, by in (self.guards or {}).items())
        return LoweredModel(
            bound, self.g, tuple(leaves), initials, actions, states, tuple(steps), tuple(terminals),
            frozenset(self.ordered_sorts), guards,
        )  # fmt: skip

    def _param_value(self, p: Parameter) -> Sym:
        if isinstance(p.type, RecordType) and isinstance(p.drawn, tuple):
            return self.symbols.unpack_slot(p.type, p.leaves[0])
        return self.symbols.of_type(p.type, lambda path, t: self.g.param(p.name, path, t))


class BagSlot:
    """The type of one slot of a message set of records."""

    @staticmethod
    def of(elaborator: Elaborator, kind: RecordType) -> Type:
        slots = elaborator.symbols.of_type(BagType(kind, 1), elaborator.g.var, "<slot>")
        assert isinstance(slots, Bag)
        return slots.slots[0].type


def lower_model(bound: BoundModel, switches: bool = False) -> LoweredModel:
    """The model in the form that engines translate; raises `SubsetError` with every refusal.

    switches: each guard of the text can be left out.
    """
    return Elaborator(bound, switches).model()


def check(bound: BoundModel) -> list[Refusal]:
    """Every place where the model leaves the language; empty for a legal model."""
    try:
        lower_model(bound)
    except SubsetError as error:
        return error.refusals
    return []
