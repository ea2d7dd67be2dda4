"""The outcomes of guards and branches that plain Python comes to: a model's actions, compiled once more.

Each conjunct of a `require`, each `some` and each condition of an `if` reports its value; nothing else changes.

Also here: functions of a model that run a changed body while an action or an initial function runs, in plain Python.

The function object stays: whoever calls it, by whatever name, runs the other code. Claims and views run the text.
"""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from reassure.checkers.machine.polled_interrupts import patched_code
from reassure.checkers.request.digest import source
from reassure.spec.frontend.introspection import Definition, find_source, methods_named
from reassure.spec.language.vocabulary import Action, GuardRefused, Initial, require, some
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params


class ChangedModel(BoundModel):
    """A bound model in which one function has another body."""

    def __init__(self, bound: BoundModel, function: FunctionType, code: CodeType) -> None:
        self._function, self._code = function, code
        super().__init__(bound.model, bound.config)

    def _run(self, name: str, *arguments: Any) -> Any:
        with patched_code(self._function, self._code):
            return super()._run(name, *arguments)


def code_of(function: FunctionType, definition: ast.FunctionDef) -> CodeType:
    """The code of a function with a changed definition. Raises `LookupError` if it is made within another function."""
    if function.__code__.co_freevars:
        raise LookupError(f"{function.__name__} is made within another function")
    plain = copy.copy(definition)
    plain.decorator_list = []
    namespace: dict[str, FunctionType] = {}
    future = ast.parse("from __future__ import annotations").body
    tree = ast.fix_missing_locations(ast.Module([*future, plain], []))
    exec(compile(tree, function.__code__.co_filename, "exec"), dict(function.__globals__), namespace)
    return namespace[definition.name].__code__


def replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> Any:
    """The tree with one node in the place of another. The given tree stays as it is; both share what is equal."""
    if tree is old:
        return new
    changes: dict[str, object] = {}
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            after = replaced(value, old, new)
            if after is not value:
                changes[name] = after
        elif isinstance(value, list):
            items = [replaced(item, old, new) if isinstance(item, ast.AST) else item for item in value]
            if any(a is not b for a, b in zip(items, value, strict=True)):
                changes[name] = items
    return _with_fields(tree, changes) if changes else tree


def _with_fields(tree: ast.AST, changes: Mapping[str, object]) -> ast.AST:
    changed = copy.copy(tree)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


REPORT = "__reassure_outcome__"
"""The name by which instrumented code calls the recorder, while it runs."""
LANGUAGE = ("reassure.spec.language", "reassure.spec.semantics", "reassure.spec.frontend")
"""Packages whose functions are the language and no part of a model."""


@dataclass(frozen=True, order=True)
class Site:
    """A condition of the text. kind: "guard" or "branch". optional: it is whether a value is there (`some`)."""

    file: str
    line: int
    column: int
    part: int
    kind: str
    text: str
    optional: bool = False

    def outcome(self, value: bool) -> str:
        """An outcome, for people."""
        place = f"{Path(self.file).name}:{self.line}"
        if self.kind == "guard":
            return f"{place} {self.text}: {'holds' if value else 'fails'}"
        return f"{place} if {self.text}: {'true' if value else 'false'}"


Outcome = tuple[Site, bool]


@dataclass
class StateOutcomes:
    """The outcomes that plain Python comes to in one state."""

    tried: dict[Outcome, tuple[str, Params]] = field(default_factory=dict)
    """Of every action with every value of its parameters; with the first that comes to it."""
    taken: list[tuple[str, Params, frozenset[Outcome]]] = field(default_factory=list)
    """Of each step within the bounds."""


class Watched(BoundModel):
    """A bound model whose actions report what their guards and branches come to."""

    def __init__(self, bound: BoundModel) -> None:
        super().__init__(bound.model, bound.config)
        self.sites: list[Site] = []
        """By number, as the instrumented code has it."""
        self._last: set[Outcome] = set()
        self._tried: dict[Outcome, tuple[str, Params]] = {}
        self._patches: list[tuple[FunctionType, CodeType]] = []
        self.unread: list[FunctionType] = []
        """Functions whose text cannot be found, so that what their conditions come to is not reported."""
        self.reached_by: dict[Site, frozenset[str]] = {}
        """By condition: the actions that may come to it."""
        self._every_action = self._actions
        callers: dict[FunctionType, set[str]] = {}
        for action in bound.model.actions:
            for function in functions_of(action, bound.model.config):
                callers.setdefault(function, set()).add(action.name)
        self.added: dict[Any, set[str]] = {}
        """Guards that a variant added, each with the names of its actions."""
        for action in bound.model.actions:
            for guard in action.guards:
                self.added.setdefault(guard, set()).add(action.name)
        for guard, names in self.added.items():
            self._read_added(guard, frozenset(names))
        for function, names in callers.items():
            if function in self.added:
                continue
            before, definition = len(self.sites), _definition(function)
            if definition is None:
                self.unread.append(function)
                continue
            code = _instrumented(function, definition, self.sites)
            if code is not None:
                self._patches.append((function, code))
            self.reached_by |= dict.fromkeys(self.sites[before:], frozenset(names))

    def _read_added(self, guard: FunctionType, names: frozenset[str]) -> None:
        """Instruments a guard that is one expression."""
        tree = find_source(guard)[0]
        body = (
            [ast.Return(tree.body)] if isinstance(tree, ast.Lambda) else [s for s in tree.body if not is_docstring(s)]
        )
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None or guard.__code__.co_freevars:
            self.unread.append(guard)
            return
        before, marked = len(self.sites), _Marked(guard, self.sites)
        copied = ast.fix_missing_locations(copy.deepcopy(as_definition(tree, [ast.copy_location(body[0], tree)])))
        marked.visit(copied)
        returned = copied.body[0]
        assert isinstance(returned, ast.Return) and returned.value is not None
        returned.value = marked.conjuncts(returned.value, guard.__name__)
        self._patches.append((guard, code_of(guard, copied)))
        self.reached_by |= dict.fromkeys(self.sites[before:], names)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The actions report as long as this lasts."""

        def report(number: int, value: Any) -> Any:
            site = self.sites[number]
            self._last.add((site, value is not None if site.optional else bool(value)))
            return value

        with ExitStack() as stack:
            for function, code in self._patches:
                function.__globals__[REPORT] = report
                stack.callback(function.__globals__.pop, REPORT, None)
                stack.enter_context(patched_code(function, code))
            yield

    def outcomes(self, state: Any, actions: frozenset[str] | None = None) -> StateOutcomes:
        """The outcomes in a state, by these actions only if any are given; only while `watching`."""
        self._tried = {}
        self._actions = [(a, c) for a, c in self._every_action if actions is None or a.name in actions]
        try:
            taken = [
                (step.action.name, step.params, frozenset(self._last))
                for step in self.steps(state)
                if not isinstance(step.after, Clipped)
            ]
        finally:
            self._actions = self._every_action
        return StateOutcomes(self._tried, taken)

    def failing(self, state: Any, name: str, params: Params) -> frozenset[str] | None:
        """The texts of the guards that fail where an action is tried, none if it is enabled; only while `watching`.

        Empty where a parameter is not among the values that it is drawn from. Raises as `take` does.
        """
        self._last = set()
        try:
            self.take(state, name, params)
        except GuardRefused:
            return frozenset(site.text for site, value in self._last if site.kind == "guard" and not value)
        return None

    def _run(self, name: str, callee: Any, positional: tuple[Any, ...], params: Params) -> Any:
        self._last = set()
        try:
            return super()._run(name, callee, positional, params)
        finally:
            for outcome in self._last:
                self._tried.setdefault(outcome, (name, params))


def functions_of(step: Action | Initial, config: type) -> list[FunctionType]:
    """The functions of an action or an initial function, and what they call, but for the language and libraries."""
    functions: dict[FunctionType, None] = {}
    todo: list[Any] = [step.function, *(step.guards if isinstance(step, Action) else ())]
    while todo:
        function = todo.pop()
        if isinstance(function, Action):
            function = function.function
        if not isinstance(function, FunctionType) or function in functions or not is_of_a_model(function):
            continue
        functions[function] = None
        todo += [*_named_in(function), *methods_named(function, _names_in(function), config)]
    return list(functions)


def is_of_a_model(function: FunctionType) -> bool:
    """Whether a function is text of a model, and not of the language or a library."""
    module = function.__module__
    return not module.startswith(LANGUAGE) and source(module) is not None


def _named_in(function: FunctionType) -> Iterator[Any]:
    """The values that a function's code may mean by its global names, and by attributes of modules."""
    names = _names_in(function)
    for name in sorted(names):
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if value.__name__.split(".")[0] == function.__module__.split(".")[0]:
                yield from (getattr(value, inner, None) for inner in sorted(names))
        else:
            yield value


def _names_in(function: FunctionType) -> set[str]:
    """The names of globals and of attributes in a function's code."""
    codes, names = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    return names


def _instrumented(function: FunctionType, definition: ast.FunctionDef, sites: list[Site]) -> CodeType | None:
    """The code of a function that reports; None if it has no condition. Adds to the sites."""
    before = len(sites)
    marked = _Marked(function, sites).visit(definition)
    return code_of(function, marked) if len(sites) > before else None


def _definition(function: FunctionType) -> ast.FunctionDef | None:
    """The text of a function of a module's top level, or of a class there, that reads no variable of another one; None
    for others."""
    if function.__code__.co_freevars:
        return None
    tree = ast.parse(source(function.__module__) or "")
    first = function.__code__.co_firstlineno
    return next(
        (
            node
            for node in definitions_of(tree)
            if isinstance(node, ast.FunctionDef)
            and node.name == function.__name__
            and min([node.lineno, *(d.lineno for d in node.decorator_list)]) == first
        ),
        None,
    )


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def as_definition(tree: Definition, body: list[ast.stmt]) -> ast.FunctionDef:
    """A lambda or a function, with another body, as a definition that can be compiled."""
    name = tree.name if isinstance(tree, ast.FunctionDef) else "condition"
    return ast.copy_location(ast.FunctionDef(name, tree.args, body, [], None, None), tree)


def definitions_of(tree: ast.Module) -> list[ast.stmt]:
    """The statements of a module, and those of its classes."""
    return [*tree.body, *(inner for node in tree.body if isinstance(node, ast.ClassDef) for inner in node.body)]


def has_conditions(function: FunctionType, kind: str) -> bool:
    """Whether the code of a function may come to a condition of a kind, "guard" or "branch"."""
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    if kind == "guard":
        return any({"require", "some"} & {*code.co_names, *code.co_freevars} for code in codes)
    return any("POP_JUMP" in operation.opname for code in codes for operation in dis.get_instructions(code))


class _Marked(ast.NodeTransformer):
    """Wraps each condition in a call that reports its value."""

    def __init__(self, function: FunctionType, sites: list[Site]) -> None:
        self.function, self.sites = function, sites

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        meant = self.function.__globals__.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if meant is require and node.args:
            node.args[0] = self.conjuncts(node.args[0], "require")
        elif meant is some and node.args:
            node.args[0] = self._wrapped(node.args[0], 0, "guard", f"some({_text(node.args[0])})", True)
        return node

    def conjuncts(self, test: ast.expr, name: str) -> ast.expr:
        """The conjuncts of a guard, each of which reports. name: of the function whose text it is in."""
        from reassure.spec.frontend.statements import conjuncts  # with which the whole front end is imported

        parts = conjuncts(test)
        wrapped = [self._wrapped(part, i, "guard", f"{name}({_text(part)})") for i, part in enumerate(parts)]
        return ast.BoolOp(ast.And(), wrapped) if len(wrapped) > 1 else wrapped[0]

    def visit_If(self, node: ast.If | ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = self._wrapped(node.test, 0, "branch", _text(node.test))
        return node

    visit_IfExp = visit_If

    def _wrapped(self, test: ast.expr, part: int, kind: str, text: str, optional: bool = False) -> ast.expr:
        file = self.function.__code__.co_filename
        self.sites.append(Site(file, test.lineno, test.col_offset, part, kind, text, optional))
        number = ast.Constant(len(self.sites) - 1)
        return ast.copy_location(ast.Call(ast.Name(REPORT, ast.Load()), [number, test], []), test)


class _Unmarked(ast.NodeTransformer):
    """Takes the reporting calls out again."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == REPORT:
            return cast(ast.AST, self.visit(node.args[1]))
        return self.generic_visit(node)


def _text(node: ast.expr) -> str:
    """An expression as it is written, whatever within it reports already."""
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return ast.unparse(_Unmarked().visit(copy))
