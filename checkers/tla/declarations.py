"""Declarations as definitions: actions, initial functions, properties, fairness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from reassure.checkers.tla.bodies import Assigns, context_of, value_of_tree
from reassure.checkers.tla.calls import apply
from reassure.checkers.tla.context import Context, Definition, ModuleScope, Value, known, signature
from reassure.checkers.tla.kinds import has_bounds, kind_of_annotation
from reassure.checkers.tla.terms import (
    FALSE,
    TRUE,
    Term,
    atom,
    call,
    conjunction,
    disjunction,
    implies,
    infix,
    let,
    prime,
    quantified,
    used,
    without_constants,
)
from reassure.spec.frontend.introspection import cached_hints, find_source
from reassure.spec.language.declarations import given_to, only_of_guards
from reassure.spec.language.vocabulary import Action, Initial, Property

STATE = atom("state")


@dataclass(frozen=True)
class Formula:
    """An action or an initial function as an operator. domains: each parameter's name and what it ranges over."""

    name: str
    domains: tuple[tuple[str, str, Term], ...]
    """The parameter in the text, in the module, and the set."""
    types: dict[str, Term] = field(default_factory=dict)
    """Of parameters that are drawn from the state, all values of their types."""

    def one(self) -> Term:
        """The operator with its parameters."""
        return call(self.name, *(atom(local) for _, local, _ in self.domains))

    def some(self, each: tuple[str, ...] = ()) -> Term:
        r"""That it is so of some parameters, but for those of `each`."""
        return self._over("exists", each, self.one())

    def every(self, body: Term) -> Term:
        """That something is so for all parameters with which it is so."""
        return self._over("forall", (), implies(self.one(), body))

    def _over(self, op: str, but: tuple[str, ...], body: Term) -> Term:
        for name, local, domain in reversed(self.domains):
            if name not in but:
                body = quantified(op, local, domain, body)
            elif name in self.types:
                body = conjunction((infix(r"\in", atom(local), domain), body))
        return body


class Declarations:
    """The declarations of a model, translated one after the other into the definitions of a scope."""

    def __init__(self, scope: ModuleScope) -> None:
        self.scope, self.bound, self.model = scope, scope.bound, scope.bound.model
        self.state = Value(STATE, self.model.state, "before")
        self.after = Value(STATE, self.model.state, "after")
        self.actions: dict[str, Formula] = {}
        self.names: dict[str, str] = {}
        """The definition of each property, cover and terminal, by its name."""

    # -- actions and initial functions -----------------------------------------------------------------

    def initial(self, declared: Initial) -> Term:
        """Defines an initial function; the formula of all its states."""
        formula = self._step(declared.name, declared.function, {}, initial=True)
        return formula.some()

    def action(self, declared: Action) -> None:
        """Defines an action."""
        self.actions[declared.name] = self._step(
            declared.name, declared.function, dict(declared.members), guards=declared.guards
        )

    def _step(
        self,
        name: str,
        function: Any,
        drawn: dict[str, Callable[..., Any]],
        initial: bool = False,
        guards: tuple[Callable[..., Any], ...] = (),
    ) -> Formula:
        scope, hints = self.scope, cached_hints(function)
        definition = scope.name(name)
        probe = Context(scope, function, find_source(function)[1], {})
        variables: dict[str, Value] = {}
        domains: list[tuple[str, str, Term]] = []
        types: dict[str, Term] = {}
        for position, parameter in enumerate(signature(function)):
            if position == 0 and not initial:
                variables[parameter] = self.state
            elif scope.is_config(hints[parameter]):
                variables[parameter] = known(self.bound.config)
            else:
                local = probe.fresh(parameter)
                domain = scope.sets.of(hints[parameter])
                if parameter in drawn:
                    types[parameter] = domain
                    domain = self._of_state(probe, drawn[parameter]).term
                domains.append((parameter, local, domain))
                variables[parameter] = Value(atom(local), kind_of_annotation(hints[parameter]))
        context, tree = context_of(scope, function, variables)
        assigns = Assigns(context, primed=not initial)
        body = assigns.formula(tree)
        if guards:
            probe.guards = []
            given = variables | dict.fromkeys(only_of_guards(function, guards), known(self.bound.config))
            for guard in guards:
                assert isinstance(guard, FunctionType)
                term = apply(probe, find_source(guard)[0], guard, given_to(guard, given)).term
                probe.guards.append(term)
            body = conjunction([*(part for term in probe.guards for part in assigns.guards(term)), body])
        scope.define(Definition(definition, tuple(local for _, local, _ in domains), body, function.__doc__ or ""))
        return Formula(definition, tuple(domains), types)

    def _of_state(self, context: Context, function: Any) -> Value:
        """A function of the state and, if need be, the configuration."""
        return self._applied(context, function, [self.state])

    def _applied(self, context: Context, function: Any, states: list[Value]) -> Value:
        given = {}
        for position, name in enumerate(signature(function)):
            given[name] = states[position] if position < len(states) else known(self.bound.config)
        return apply(context, find_source(function)[0], function, given)

    # -- properties --------------------------------------------------------------------------------------

    def _viewed(self, context: Context, annotation: Any, state: Value) -> Value:
        """The state, or the view of it that a function wants."""
        view = self.bound.views.get(annotation)
        if view is None or annotation is self.model.state:
            return state
        seen = self._applied(context, view, [Value(state.term, state.kind, "before")])
        return Value(prime(seen.term) if state.moment == "after" else seen.term, kind_of_annotation(annotation))

    def condition(self, function: Any, given: dict[str, Value], in_use: frozenset[str] = frozenset()) -> Term:
        """The term of a declared function. given: arguments by the names of its parameters, "" the first one; others
        are the configuration. in_use: names that are bound around it.
        """
        scope, hints = self.scope, cached_hints(function)
        context = Context(scope, function, find_source(function)[1], {})
        context.in_use |= in_use
        variables: dict[str, Value] = {}
        views: list[tuple[str, Term]] = []
        for position, name in enumerate(signature(function)):
            value = given.get(name, given.get("") if position == 0 else None)
            if value is not None and value.moment:
                value = self._viewed(context, hints.get(name), value)
                if not value.moment:
                    local = context.fresh(name)
                    views.append((local, value.term))
                    value = Value(atom(local), value.kind)
            variables[name] = known(self.bound.config) if value is None else value
        inner, tree = context_of(scope, function, variables, context.in_use)
        body = value_of_tree(inner, tree) or FALSE
        for local, term in reversed(views):
            body = let(local, term, body)
        return without_constants(body)

    def on_state(self, declared: Property) -> Term:
        """The term of a property or cover over one state."""
        return self.on_state_of(declared.function)

    def on_state_of(self, function: Any) -> Term:
        """The term of a function of the state."""
        return self.condition(function, {"": self.state})

    def on_step(self, declared: Property) -> Term:
        """The term of a property over steps, or of a cover."""
        function, hints = declared.function, cached_hints(declared.function)
        given = {"before": self.state, "after": self.after}
        wants_action = next((n for n in signature(function) if hints.get(n) is Action), None)
        concerned = [a for a in self.model.actions if self.bound.concerns(declared, a)]
        free = [n for n in signature(function) if n not in given and n != wants_action]
        free = [n for n in free if not self.scope.is_config(hints.get(n))]
        cover = declared.kind == "cover"
        groups: dict[Term, list[Term]] = {}
        for action in concerned:
            formula = self.actions[action.name]
            values = {
                p: Value(atom(local), kind_of_annotation(cached_hints(action.function)[p]))
                for p, local, _ in formula.domains
            }
            more = {n: values[n] for n in free} | ({wants_action: known(action)} if wants_action else {})
            locals_ = frozenset(local for _, local, _ in formula.domains) if free else frozenset()
            body = self.condition(function, {**given, **more}, locals_)
            if free and used(body) & locals_:
                whole = (
                    formula._over("exists", (), conjunction((formula.one(), body))) if cover else formula.every(body)
                )
                groups.setdefault(whole, []).append(TRUE)
            else:
                groups.setdefault(body, []).append(formula.some())
        if len(groups) == 1 and len(concerned) == len(self.model.actions):
            (body,) = groups
            return body
        parts = []
        for body, steps in groups.items():
            taken = disjunction(steps)
            parts.append(conjunction((taken, body)) if cover else implies(taken, body))
        return disjunction(parts) if cover else conjunction(parts)

    def define(self, name: str, body: Term, doc: str, suffix: str = "") -> str:
        """Defines a property."""
        tla_name = self.scope.name(name + suffix)
        self.scope.define(Definition(tla_name, (), body, doc))
        return tla_name

    def temporal(self, declared: Property) -> Term:
        """The formula of a property about whole runs."""
        premise = self._of_states(self.on_state(declared))
        if declared.kind == "leads_to":
            return Term("infix", (premise, self._of_states(self._goal(declared))), ("~>",))
        return Term("prefix", (premise,), ("[]<>" if declared.kind == "recurrence" else "<>[]",))

    def _of_states(self, formula: Term) -> Term:
        """A formula as a part of one about whole runs, as TLC reads it.

        TLC's answer about `P ~> TRUE` is that it is violated. It evaluates the constant branches of an `IF` before the
        search, those that are never taken too, and takes some products with a `LET` for constants.
        """
        if _has_branches_or_products(formula):
            return quantified("exists", self.scope.bound_name("v"), Term("set", (atom("vars"),)), formula)
        bodies = {d.name: d.body for d in self.scope.definitions}
        pending, seen = [*used(formula)], {"state"}
        while pending:
            name = pending.pop()
            if name in self.scope.variables.values() or name == "state":
                return formula
            if name not in seen and name in bodies:
                pending += used(bodies[name])
            seen.add(name)
        same = infix("=", atom("vars"), atom("vars"))
        return same if formula == TRUE else Term("and", (formula, same))

    def _goal(self, declared: Property) -> Term:
        function: Any = declared.goal
        hints = cached_hints(function)
        first = next(iter(signature(function)))
        if hints.get(first) not in self.bound.views:
            context = Context(self.scope, function, find_source(function)[1], {})
            return self._applied(context, function, [self.state]).term
        return self.condition(function, {"": self.state})

    def fairness(self) -> list[Term]:
        """The assumptions of fairness."""
        terms = []
        for action in self.model.actions:
            if action.fair is None:
                continue
            formula, sign = self.actions[action.name], "WF" if action.fair == "weak" else "SF"
            body = call(f"{sign}_vars", formula.some(action.fair_each))
            for name, local, domain in reversed(formula.domains):
                if name in action.fair_each:
                    body = quantified("forall", local, formula.types.get(name, domain), body)
            terms.append(body)
        return terms

    # -- bounds --------------------------------------------------------------------------------------------

    def types(self) -> tuple[list[Term], list[Term]]:
        """What says that variables are of their types: of those without bounds, and of those with bounds."""
        hints = cached_hints(self.model.state)
        free: list[Term] = []
        limited: list[Term] = []
        for name, variable in self.scope.variables.items():
            term = self.scope.sets.typed(atom(variable), hints[name])
            (limited if has_bounds(hints[name]) else free).append(term)
        return free, limited


def _has_branches_or_products(term: Term) -> bool:
    return term.op == "if" or term.names == ("*",) or any(map(_has_branches_or_products, term.parts))
