"""The TLA+ module of a model, and the configuration that TLC reads with it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from reassure.checkers.tla.bodies import define
from reassure.checkers.tla.context import (
    BOUND_IN_HELPERS,
    HELPERS,
    NOTES,
    Definition,
    Lessons,
    ModuleScope,
    Translators,
)
from reassure.checkers.tla.declarations import Declarations
from reassure.checkers.tla.expressions import translate
from reassure.checkers.tla.kinds import Untranslatable, constant_of_kind
from reassure.checkers.tla.term_types import ApalacheTypes
from reassure.checkers.tla.terms import (
    Term,
    atom,
    block,
    conjunction,
    disjunction,
    filled_lines,
    hanging,
    infix,
    negation,
    prime,
    used,
)
from reassure.spec.frontend.introspection import cached_hints
from reassure.spec.language.annotations import resolve
from reassure.spec.language.types import BoolType, EnumType, IntType
from reassure.spec.semantics.interpreter import BoundModel

STEP_OR_END = "In place of Next, without -deadlock{}, TLC searches for deadlocks faster than by NoDeadlock."
STANDARD = {
    "Integers": "",
    "Sequences": r"\b(?:Seq|Len|Append|Head|Tail|SubSeq|SelectSeq)\(|\\o\b",
    "FiniteSets": r"\b(?:Cardinality|IsFiniteSet)\(",
}
"""The standard modules, by what a module that needs them has in its text."""
WIDTH = 99
"""Columns of the module."""
TRANSLATORS = Translators(translate, define)


@dataclass
class TlaModule:
    """A model as TLA+. names: the definition of each property, cover and `deadlock`, by its name."""

    name: str
    text: str
    cfg: str
    constants: dict[str, str]
    names: dict[str, str]
    variables: dict[str, str]
    """The variable of each field of the state."""
    steps: frozenset[str] = frozenset()
    """Properties and covers that are over steps."""
    temporal: frozenset[str] = frozenset()
    computed: tuple[str, ...] = ()
    formulas: dict[str, str] = field(default_factory=dict)
    """Of properties over steps and covers, the temporal formula that TLC checks."""
    nones: tuple[str, ...] = ()
    """The constants for optionals that are not there, one for each type; for TLC, one model value."""


def export(bound: BoundModel) -> TlaModule:
    """The module of a model; `Untranslatable` names a construct that has no translation."""
    lessons = Lessons()
    for _ in range(100):
        writer = ModuleWriter(ModuleScope(bound, lessons, TRANSLATORS))
        exported = writer.write()
        if not writer.scope.again:
            return exported
    raise Untranslatable(f"{bound.model.name}, whose names never settle,")


class ModuleWriter:
    """Translates the declarations of a model in their order, and writes them."""

    def __init__(self, scope: ModuleScope) -> None:
        self.scope, self.model, self.bound = scope, scope.bound.model, scope.bound
        self.declarations, self.types = Declarations(scope), ApalacheTypes()
        self.roots: list[str] = []
        self.opening: list[str] = []
        """The definitions before which the module has a line."""
        self.nones: dict[str, str] = {}
        """The constants for optionals that are not there, with their types."""

    def write(self) -> TlaModule:
        """The module and its configuration."""
        scope, declared, model = self.scope, self.declarations, self.model
        names: dict[str, str] = {}
        free, limited = declared.types()
        initial = disjunction([declared.initial(i) for i in model.initials])
        for action in model.actions:
            declared.action(action)
        steps = disjunction([f.some() for f in declared.actions.values()])
        self.opening.append("InBounds" if limited else "TypeOK")
        if limited:
            self.add("InBounds", conjunction(limited), "A step that leaves it is cut off: it has no next state.")
            self.add("TypeOK", conjunction([*free, atom("InBounds")]))
            self.add("Init", conjunction([initial, atom("InBounds")]))
            self.add("Step", steps)
            self.add("Next", conjunction([atom("Step"), prime(atom("InBounds"))]))
        else:
            self.add("TypeOK", conjunction(free))
            self.add("Init", initial)
            self.add("Next", steps)
        fairness = declared.fairness()
        spec = [atom("Init"), atom("[][Next]_vars")]
        if fairness:
            self.add("Fairness", conjunction(fairness))
            spec.append(atom("Fairness"))
        self.add("Spec", conjunction(spec))
        over_steps, temporal, formulas = set(), set(), {}
        before = len(scope.definitions)
        for claim in [*self.bound.properties, *self.bound.covers]:
            if claim.temporal:
                body = declared.temporal(claim)
                temporal.add(claim.name)
            elif claim.over_steps:
                body = declared.on_step(claim)
                over_steps.add(claim.name)
            else:
                body = declared.on_state(claim)
            names[claim.name] = declared.define(claim.name, body, claim.doc)
            self.roots.append(names[claim.name])
            formula = self.formula(claim.name, names[claim.name], claim.kind == "cover", claim.over_steps)
            if formula:
                formulas[claim.name] = formula
        self.opening += [d.name for d in scope.definitions[before : before + 1]]
        if model.deadlock:
            ends = [declared.on_state_of(t.function) for t in model.terminals]
            step = "Step" if limited else "Next"
            enabled = Term("prefix", (atom(step),), ("ENABLED",))
            self.add(
                "NoDeadlock", disjunction([*ends, enabled]), "A run ends only where it may." if ends else "No run ends."
            )
            if ends:
                ended = conjunction([disjunction(ends), Term("unchanged", (), ("vars",))])
                note = STEP_OR_END.format(" and with the constraint InBounds" if limited else "")
                self.add("StepOrEnd", disjunction([atom(step), ended]), note)
            names["deadlock"] = "NoDeadlock"
        constants = self.constants()
        text = self.text()
        return TlaModule(
            model.name, text, self.cfg(constants, names, temporal, formulas), constants, names,
            dict(scope.variables), frozenset(over_steps), frozenset(temporal), tuple(sorted(scope.computed)), formulas,
            tuple(self.nones),
        )  # fmt: skip

    def add(self, name: str, body: Term, doc: str = "") -> None:
        """Adds a definition with a name of its own."""
        self.scope.define(Definition(name, (), body, doc))
        self.roots.append(name)

    def formula(self, name: str, definition: str, cover: bool, over_steps: bool) -> str:
        """The temporal formula of a property over steps, or that a cover is never reached."""
        if not cover and not over_steps:
            return ""
        body = negation(atom(definition)) if cover else atom(definition)
        whole = self.scope.name(f"never_{name}" if cover else f"always_{name}")
        self.add(whole, atom(f"[][{body}]_vars") if over_steps else body)
        return whole

    # -- the text ------------------------------------------------------------------------------------------

    def constants(self) -> dict[str, str]:
        """The constants with their values."""
        values = {}
        for f in fields(self.model.config):
            found = constant_of_kind(getattr(self.bound.config, f.name))
            if found is None or found[0].op not in ("atom", "neg", "set"):
                raise Untranslatable(f"the value of {f.name} in the configuration")
            if found[0].op == "neg":  # the configuration file takes no negative number
                name = f"Minus{found[0].parts[0]}"
                if name not in self.scope.taken:
                    self.scope.name(name)
                    self.add(name, found[0], "For the configuration file, which takes no negative numbers.")
                values[self.scope.constants[f.name]] = f"<- {name}"
            else:
                values[self.scope.constants[f.name]] = f"= {found[0]}"
        return values

    def text(self) -> str:
        """The module."""
        scope = self.scope
        definitions = self.needed()
        mentioned = used(*(d.body for d in definitions))
        constants, variables = self._constant_lines(), self._variable_lines()
        if "None" in mentioned or "= None" in self.constants().values():
            self.nones = {"None": "Int"}
            state = {n: self.types.of(hint) for n, hint in cached_hints(self.model.state).items()}
            declared = {scope.variables[n]: kind for n, kind in state.items()}
            declared |= {scope.constants[n]: self.types.of(h) for n, h in cached_hints(self.model.config).items()}
            definitions, nones = self.types.with_typed_nones(definitions, declared, state, scope.name)
            self.nones = nones or self.nones
        constants += self._none_lines()
        first = constants[0] if any("$" in kind for kind in self.nones.values()) else variables[0]
        first[1:1] = [
            line for name, items in self.types.records.items() for line in _annotation(f"typeAlias: {name} =", *items)
        ]
        lines = [f"{' MODULE ' + self.model.name + ' ':-^{WIDTH}}"]
        doc = inspect.getdoc(sys.modules.get(self.model.module)) if self.model.module in sys.modules else ""
        lines += comment(doc or "")
        at_extends = len(lines)
        lines += self._declared("CONSTANTS", constants)
        lines += self._assumptions()
        lines += self._declared("VARIABLES", variables)
        lines += [*filled_lines("vars == <<", list(scope.variables.values()), ">>", WIDTH), ""]
        helpers = [h for h in HELPERS if h in scope.helpers and h in mentioned | self._needs(mentioned)]
        for name in helpers:
            parameters, body = (
                BOUND_IN_HELPERS.sub(lambda found: scope.bound_name(found[0]), text)
                for text in (", ".join(HELPERS[name][0]), HELPERS[name][1])
            )
            head = f"{name}({parameters}) =="
            lines += [*comment(NOTES.get(name, "")), f"{head}{body if body[0] == chr(10) else ' ' + body}", ""]
        for definition in definitions:
            if definition.name in (definitions[0].name, *self.opening):
                lines += ["-" * WIDTH, ""]
            lines += self._definition(definition)
        body = "\n".join(line for line in lines[at_extends:] if not line.lstrip().startswith(r"\*"))
        extended = [name for name, operators in STANDARD.items() if re.search(operators, body)]
        lines[at_extends:at_extends] = [f"EXTENDS {', '.join(extended)}", ""]
        return "\n".join([*lines, "=" * WIDTH, ""])

    def _needs(self, mentioned: frozenset[str]) -> set[str]:
        return {n for h in mentioned if h in HELPERS for n in HELPERS[h][2]}

    def needed(self) -> list[Definition]:
        """The definitions that what is declared needs, in their order."""
        by_name = {d.name: d for d in self.scope.definitions}
        scope = self.scope
        pending = [*self.roots, *(f.name for f in self.declarations.actions.values())]
        wanted: set[str] = set()
        while pending:
            name = pending.pop()
            if name in wanted or name not in by_name:
                continue
            wanted.add(name)
            pending += used(by_name[name].body)
        chosen = [d for d in scope.definitions if d.name in wanted]
        mentioned = used(*(d.body for d in chosen))
        variables = [(n, atom(v)) for n, v in scope.variables.items()]
        extra = []
        if "state" in mentioned:
            whole = Term("record", tuple(v for _, v in variables), tuple(n for n, _ in variables))
            extra.append(Definition("state", (), whole, "The variables as one record."))
        new = scope.bound_name("s")
        for name, primed in (("Becomes", True), ("StartsAs", False)):
            if name in mentioned:
                parts = [infix("=", prime(v) if primed else v, Term("field", (atom(new),), (n,))) for n, v in variables]
                doc = "The state after the step." if primed else ""
                extra.append(Definition(name, (new,), conjunction(parts), doc))
        return extra + chosen

    def _declared(self, keyword: str, lines: list[list[str]]) -> list[str]:
        """Names with their comments, separated by commas."""
        if not lines:
            return []
        out = [keyword]
        for number, (name, *notes) in enumerate(lines):
            out += ["    " + note for note in notes]
            out.append(f"    {name}" + ("," if number < len(lines) - 1 else ""))
        return [*out, ""]

    def _constant_lines(self) -> list[list[str]]:
        hints, docs = cached_hints(self.model.config), field_docs(self.model.config)
        return [
            [tla_name, *_annotation("type", self.types.of(hints[name])), *comment(docs.get(name, ""))]
            for name, tla_name in self.scope.constants.items()
        ]

    def _none_lines(self) -> list[list[str]]:
        lines = []
        for name, kind in self.nones.items():
            what = "value" if name == "None" else name[2:3].lower() + name[3:].rstrip("_0123456789")
            note = comment(f"Where an optional {what} is not there; a model value.")
            lines.append([name, *_annotation("type", kind), *note])
        return lines

    def _variable_lines(self) -> list[list[str]]:
        hints, docs = cached_hints(self.model.state), field_docs(self.model.state)
        return [
            [v, *_annotation("type", self.types.of(hints[n])), *comment(docs.get(n, ""))]
            for n, v in self.scope.variables.items()
        ]

    def _assumptions(self) -> list[str]:
        """The ranges of the constants."""
        hints, parts = cached_hints(self.model.config), []
        for name, tla_name in self.scope.constants.items():
            kind, value = resolve(hints[name], self.bound.config), constant_of_kind(getattr(self.bound.config, name))
            assert value
            if self.scope.computed:
                parts.append(infix("=", atom(tla_name), value[0]))
            elif isinstance(kind, IntType):
                low, high = (constant_of_kind(n) for n in (kind.low, kind.high))
                assert low and high
                parts.append(infix(r"\in", atom(tla_name), infix("..", low[0], high[0])))
            elif isinstance(kind, BoolType):
                parts.append(infix(r"\in", atom(tla_name), atom("BOOLEAN")))
            elif isinstance(kind, EnumType):
                members = tuple(atom(f'"{m.name}"') for m in kind.sort)
                parts.append(infix(r"\in", atom(tla_name), Term("set", members)))
        if not parts:
            return []
        return [*hanging("ASSUME ", block(conjunction(parts), 90)), ""]

    def _definition(self, definition: Definition) -> list[str]:
        lines = comment(definition.doc)
        body = block(definition.body, WIDTH - 4)
        if len(body) == 1 and len(definition.head) + len(body[0]) < WIDTH - 5:
            return [*lines, f"{definition.head} == {body[0]}", ""]
        head = [f"{definition.head} =="]
        if len(head[0]) > WIDTH:
            head = filled_lines(f"{definition.name}(", definition.parameters, ") ==", WIDTH)
        return [*lines, *head, *("    " + line for line in body), ""]

    def cfg(
        self, constants: dict[str, str], names: dict[str, str], temporal: set[str], formulas: dict[str, str]
    ) -> str:
        """The configuration: every property; covers as comments."""
        kinds = {p.name: p.kind for p in [*self.bound.properties, *self.bound.covers]}
        invariants = ["TypeOK", *(d for n, d in names.items() if kinds.get(n) == "invariant")]
        properties = [formulas.get(n, names[n]) for n, k in kinds.items() if k == "step" or n in temporal]
        covers = [(f, n) for n, f in formulas.items() if kinds[n] == "cover"]
        lines = cfg_head(constants, self.nones)
        lines += ["INVARIANTS", *(f"    {name}" for name in invariants)]
        if properties:
            lines += ["PROPERTIES", *(f"    {name}" for name in properties)]
        if "deadlock" in names:
            lines += [r"\* Slow in large models:", r"\* INVARIANT NoDeadlock"]
        if covers:
            lines += [r"\* Covers: TLC reaches one if it says that this is violated."]
            over = {p.name: p.over_steps for p in self.bound.covers}
            lines += [rf"\* {'PROPERTY' if over[n] else 'INVARIANT'} {f}" for f, n in covers]
        return "\n".join([*lines, ""])


def cfg_head(constants: dict[str, str], nones: Iterable[str]) -> list[str]:
    """The constants of a configuration, and the specification."""
    values = {**constants, **dict.fromkeys(nones, "= None")}
    lines = ["CONSTANTS", *(f"    {name} {value}" for name, value in values.items())] if values else []
    return [*lines, r"\* Run TLC with -deadlock, which turns its own search for deadlocks off.", "SPECIFICATION Spec"]


def comment(text: str) -> list[str]:
    """A docstring as a comment; dots that lead to a word at the end of a line become brackets."""
    paragraphs: list[str] = []
    for line in inspect.cleandoc(text).splitlines() if text else []:
        is_item = paragraphs and paragraphs[-1].startswith(ITEMS)
        goes_on = paragraphs and paragraphs[-1] and line and not line.startswith(ITEMS)
        if goes_on and (is_item or not line.startswith(" ")):
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line)
    lines = []
    for one in (re.sub(r" \.{3,} (.*)$", r" (\1)", paragraph) for paragraph in paragraphs):
        indent = "  " if one.startswith(ITEMS) else ""
        lines += textwrap.wrap(one, WIDTH - 7, subsequent_indent=indent) or [""]
    return [rf"\* {line}".rstrip() for line in lines]


ITEMS = ("- ", "* ")


def _annotation(head: str, *items: str) -> list[str]:
    """An annotation for Apalache: a type, or the fields of a record."""
    if head == "type":
        return [rf"\* @type: {items[0]};"]
    whole = rf"\* @{head} {{ {', '.join(items)} }};"
    if len(whole) < WIDTH - 4:
        return [whole]
    return [rf"\* @{head} {{", *(rf"\*     {item}," for item in items[:-1]), rf"\*     {items[-1]}", r"\* };"]


def field_docs(cls: type) -> dict[str, str]:
    """The texts that stand below the fields of a dataclass and of those that it extends."""
    docs: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        except (OSError, TypeError, IndexError, SyntaxError):
            continue
        assert isinstance(tree, ast.ClassDef)
        for node, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(below, ast.Expr):
                if isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
                    docs[node.target.id] = below.value.value
    return docs
