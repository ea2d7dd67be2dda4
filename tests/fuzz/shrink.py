"""A smaller model with the same kind of difference: declarations, statements and expressions are taken away in turn."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

from tests.fuzz.generate import Source

Judge = Callable[[Source], bool]
"""Whether a model still shows the difference."""


def shrunk(source: Source, judge: Judge, seconds: float) -> Source:
    """The smallest model found that the judge still accepts, in the time given."""
    end = time.monotonic() + seconds
    changed = True
    if len(source.files) > 1:
        alone = Source(dict([next(iter(source.files.items()))]))
        source = alone if judge(alone) else source
    while changed and time.monotonic() < end:
        changed = False
        for stem in reversed(list(source.files)):
            for step in (_deletions, _fields, _arguments, _replacements):
                source, smaller = _pass(source, stem, step, judge, end)
                changed = changed or smaller
    return source


Edit = Callable[[ast.Module], None]
Step = Callable[[ast.Module], Iterator[Edit]]


def _pass(source: Source, stem: str, step: Step, judge: Judge, end: float) -> tuple[Source, bool]:
    """Tries every edit of one kind; those that keep the difference stay."""
    smaller, at = False, 0
    while time.monotonic() < end:
        tree = ast.parse(source.files[stem])
        edits = list(step(tree))
        if at >= len(edits):
            break
        edits[at](tree)
        try:
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        except Exception:  # an edit may leave a tree that is not a program
            at += 1
            continue
        made = Source({**source.files, stem: text})
        if len(text) < len(ast.unparse(ast.parse(source.files[stem]))) + 1 and judge(made):
            source, smaller = made, True
        else:
            at += 1
    return source, smaller


def _deletions(tree: ast.Module) -> Iterator[Edit]:
    """Statements, the last first; of an `if` also what it leaves when a branch is taken."""
    blocks = [n for n in ast.walk(tree) if isinstance(getattr(n, "body", None), list)]
    for block in blocks:
        for name in ("body", "orelse"):
            body = getattr(block, name, None)
            if not isinstance(body, list):
                continue
            for statement in reversed(body):
                if isinstance(statement, ast.ImportFrom | ast.Import):
                    continue
                yield lambda _, b=body, s=statement: b.remove(s) or (b.append(ast.Pass()) if not b else None)
                if isinstance(statement, ast.If):
                    yield lambda _, b=body, s=statement: _inline(b, s, s.body)
                    if statement.orelse:
                        yield lambda _, b=body, s=statement: _inline(b, s, s.orelse)


def _inline(body: list[ast.stmt], statement: ast.stmt, instead: list[ast.stmt]) -> None:
    at = body.index(statement)
    body[at : at + 1] = instead


def _fields(tree: ast.Module) -> Iterator[Edit]:
    """A field of a record, with what the records' makers give it by name or position."""
    for cls in [n for n in tree.body if isinstance(n, ast.ClassDef)]:
        fields = [f for f in cls.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)]
        for at, f in enumerate(fields):
            yield lambda t, c=cls, f=f, at=at: _without_field(t, c, f, at)


def _without_field(tree: ast.Module, cls: ast.ClassDef, field: ast.AnnAssign, at: int) -> None:
    assert isinstance(field.target, ast.Name)
    name = field.target.id
    cls.body.remove(field)
    if not cls.body:
        cls.body.append(ast.Pass())
    for call in [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]:
        if call.func.id == cls.name and len(call.args) > at:  # type: ignore[attr-defined]
            del call.args[at]
        call.keywords = [k for k in call.keywords if k.arg != name]


def _arguments(tree: ast.Module) -> Iterator[Edit]:
    """Keywords of calls and decorators, parameters with what is given for them, operands, clauses."""
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.Call):
            for k in list(node.keywords):
                yield lambda _, n=node, k=k: n.keywords.remove(k)
        if isinstance(node, ast.FunctionDef):
            for a in list(node.args.args):
                yield lambda t, n=node, a=a: _without_parameter(t, n, a)
            for d in list(node.decorator_list):
                if isinstance(d, ast.Call) and not d.args and not d.keywords:
                    yield lambda _, n=node, d=d: n.decorator_list.__setitem__(n.decorator_list.index(d), d.func)
        if isinstance(node, ast.BoolOp) and len(node.values) > 2:
            for v in list(node.values):
                yield lambda _, n=node, v=v: n.values.remove(v)
        if isinstance(node, ast.comprehension):
            for test in list(node.ifs):
                yield lambda _, n=node, v=test: n.ifs.remove(v)
        if isinstance(node, ast.GeneratorExp | ast.SetComp) and len(node.generators) > 1:
            for g in list(node.generators):
                yield lambda _, n=node, g=g: n.generators.remove(g)
        if isinstance(node, ast.Set | ast.Tuple) and len(node.elts) > 1:
            for e in list(node.elts):
                yield lambda _, n=node, e=e: n.elts.remove(e)


def _without_parameter(tree: ast.Module, function: ast.FunctionDef, argument: ast.arg) -> None:
    at = function.args.args.index(argument)
    first = len(function.args.args) - len(function.args.defaults)
    if at >= first:
        del function.args.defaults[at - first]
    del function.args.args[at]
    for call in [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]:
        if call.func.id == function.name:  # type: ignore[attr-defined]
            if len(call.args) > at:
                del call.args[at]
            call.keywords = [k for k in call.keywords if k.arg != argument.arg]


def _replacements(tree: ast.Module) -> Iterator[Edit]:
    """An expression becomes a constant, one of its parts, or what the helper that it calls returns."""
    returns = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef) and len(f.body) == 1}
    for parent in list(ast.walk(tree)):
        for name, value in ast.iter_fields(parent):
            for at, child in enumerate(value) if isinstance(value, list) else [(-1, value)]:
                if not isinstance(child, ast.expr) or isinstance(getattr(child, "ctx", None), ast.Store):
                    continue
                if isinstance(parent, ast.FunctionDef | ast.arg):
                    continue
                for instead in _smaller(child, returns):
                    yield lambda _, p=parent, n=name, at=at, e=instead: _put(p, n, at, e)


def _put(parent: ast.AST, name: str, at: int, instead: ast.expr) -> None:
    if at < 0:
        setattr(parent, name, instead)
    else:
        getattr(parent, name)[at] = instead


CONSTANTS = ("0", "1", "True", "False", "None", "()", "frozenset()")


def _smaller(node: ast.expr, returns: dict[str, ast.FunctionDef]) -> Iterator[ast.expr]:
    size = len(ast.unparse(node))
    for text in CONSTANTS:
        if len(text) < size:
            yield ast.parse(text, mode="eval").body
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for smaller in {node.value // 2, node.value - 1}:
            if 0 <= smaller < node.value:
                yield ast.Constant(smaller)
    for part in ast.walk(node):
        if isinstance(part, ast.expr) and part is not node and not isinstance(part, ast.Constant):
            yield copy.deepcopy(part)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in returns:
        made = _called(node, returns[node.func.id])
        if made is not None:
            yield made


def _called(call: ast.Call, function: ast.FunctionDef) -> ast.expr | None:
    """The expression that a function returns, its arguments put in."""
    if not isinstance(function.body[0], ast.Return) or function.body[0].value is None:
        return None
    names = [a.arg for a in function.args.args]
    given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(given.get(node.id, node))

    made = Put().visit(copy.deepcopy(function.body[0].value))
    return made if isinstance(made, ast.expr) else None
