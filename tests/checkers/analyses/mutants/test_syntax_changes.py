"""The changes of a function: which there are, and that the text itself stays as it is."""

from __future__ import annotations

import ast
import textwrap

import pytest

from reassure.checkers.analyses.mutants.mutants import syntax_changes
from reassure.checkers.traces.outcomes import code_of, replaced

CHANGES = [
    ("return a and b and c", [
        ("conjunct dropped", "a", "", "return b and c"),
        ("conjunct dropped", "b", "", "return a and c"),
        ("conjunct dropped", "c", "", "return a and b"),
        ("connective exchanged", "a and b and c", "a or b or c", "return a or b or c"),
    ]),
    ("return a or not b", [
        ("alternative dropped", "a", "", "return not b"),
        ("alternative dropped", "not b", "", "return a"),
        ("connective exchanged", "a or not b", "a and (not b)", "return a and (not b)"),
        ("negation dropped", "not b", "b", "return a or b"),
    ]),
    ("return a <= b < c", [
        ("comparison exchanged", "a <= b < c", "a < b < c", "return a < b < c"),
        ("comparison exchanged", "a <= b < c", "a <= b <= c", "return a <= b <= c"),
    ]),
    ("return a != b", [("comparison exchanged", "a != b", "a == b", "return a == b")]),
    ("return a in b", [("comparison exchanged", "a in b", "a not in b", "return a not in b")]),
    ("return a is not None", [("comparison exchanged", "a is not None", "a is None", "return a is None")]),
    ("return a | b & c", [
        ("operation exchanged", "a | b & c", "a & (b & c)", "return a & (b & c)"),
        ("operation exchanged", "b & c", "b | c", "return a | (b | c)"),
    ]),
    ("return a - b", [("subtraction dropped", "a - b", "a", "return a")]),
    ("return a - 2", [
        ("constant changed", "2", "3", "return a - 3"),
        ("constant changed", "2", "1", "return a - 1"),
    ]),
    ("return a + 0", [
        ("operation exchanged", "a + 0", "a - 0", "return a - 0"),
        ("constant changed", "0", "1", "return a + 1"),
        ("constant changed", "0", "-1", "return a + -1"),
    ]),
    ("return f(a, True)", [("constant changed", "True", "False", "return f(a, False)")]),
    ("return replace(a, x=b, y=c)", [
        ("assignment left out", "x=b", "", "return replace(a, y=c)"),
        ("assignment left out", "y=c", "", "return replace(a, x=b)"),
    ]),
    ("return replace(a, x=b)", [("assignment left out", "x=b", "", "return a")]),
    ("require(f(a), 'why 1')", [("guard dropped", "f(a)", "", "require(True, 'why 1')")]),
    ("return any(b for b in a if f(b))", [
        ("function exchanged", "any((b for b in a if f(b)))", "all((b for b in a if f(b)))",
         "return all((b for b in a if f(b)))"),
        ("filter dropped", "f(b)", "", "return any((b for b in a if True))"),
    ]),
    ("return b if f(a) else c", [("condition negated", "f(a)", "not f(a)", "return b if not f(a) else c")]),
    ("return f'{a + 1}'", []),
]  # fmt: skip


def definition(body: str) -> ast.FunctionDef:
    text = '@decorated(1)\ndef f(a: Range(0, 3), b=1, c: int = 2) -> Range(0, 1):\n    "Has 1 line."\n    ' + body
    tree = ast.parse(textwrap.dedent(text)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


@pytest.mark.parametrize(("body", "expected"), CHANGES, ids=[body for body, _ in CHANGES])
def test_changes(body: str, expected: list[tuple[str, str, str, str]]) -> None:
    tree = definition(body)
    before = ast.dump(tree)
    found = [(c.kind, c.before, c.after, ast.unparse(c.definition.body[-1])) for c in syntax_changes(tree)]
    assert found == expected
    assert ast.dump(tree) == before
    assert all(ast.unparse(c.definition.args) == ast.unparse(tree.args) for c in syntax_changes(tree))


def test_changes_come_in_the_order_of_the_text_with_their_places() -> None:
    tree = definition("x = a < b\n    return x, c - 1")
    assert [(c.line, c.column, c.after) for c in syntax_changes(tree)] == [(4, 8, "a <= b"), (5, 18, "2"), (5, 18, "0")]


def test_a_replaced_node_leaves_the_rest_shared() -> None:
    tree = definition("return f(a), g(b)")
    old = next(n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "b")
    after = replaced(tree, old, ast.Name("c", ast.Load()))
    assert ast.unparse(after.body[-1]) == "return (f(a), g(c))"
    assert after.body[0] is tree.body[0] and after.args is tree.args
    assert replaced(tree, ast.Name("z", ast.Load()), old) is tree


def test_the_code_of_a_changed_function_runs_in_its_own_module() -> None:
    assert outside(1) == 3
    tree = ast.parse("@no_such_decorator\ndef outside(x: No) -> Such:\n    return x + ADDED - 1").body[0]
    assert isinstance(tree, ast.FunctionDef)
    code = code_of(outside, tree)
    assert type(outside)(code, outside.__globals__)(1) == 2


ADDED = 2


def outside(x: int) -> int:
    return x + ADDED


def test_a_function_within_another_is_not_changed() -> None:
    y = 1

    def inner() -> int:
        return y

    tree = ast.parse("def inner():\n    return 2").body[0]
    assert isinstance(tree, ast.FunctionDef)
    with pytest.raises(LookupError, match="inner is made within another function"):
        code_of(inner, tree)
