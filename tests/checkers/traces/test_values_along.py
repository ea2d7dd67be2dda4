"""The value of an expression along a trace: `reassure show TRACE --value EXPRESSION`.

Also here: values as expressions of the language.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.traces.format_value import as_python
from tests.helpers.command import said
from tests.helpers.posting_model import posting, story


@pytest.fixture
def trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Six steps to four gallons."""
    words = ["check", "die_hard", "--engine=reference", f"--trace-dir={tmp_path}", "--quiet"]
    assert said(capsys, *words)[0] == 12
    return str(tmp_path / "die_hard--goal_not_reached.itf.json")


def test_values_where_they_change(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    """After the story, by the numbers of its steps; where the expression raises, that is its value."""
    code, out, _ = said(
        capsys, "show", trace, "--value=s.big + s.small", "--value=5 // s.big", "--value=s.big == c.goal"
    )
    assert code == 0
    story, *told = out.split("\n\n")
    assert story.startswith("die_hard: goal_not_reached is violated after 6 steps\n")
    assert told == [
        "s.big + s.small\n  0. 0\n  1. 5\n  3. 2\n  5. 7",
        "5 // s.big\n  0. raises ZeroDivisionError: integer division or modulo by zero\n  1. 1\n  2. 2\n"
        "  4. raises ZeroDivisionError: integer division or modulo by zero\n  5. 1",
        "s.big == c.goal\n  0. no\n  6. yes\n",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--value=s.big +"], "'s.big +' is not a Python expression: invalid syntax"),
        (["--value=big"], "'big': name 'big' is not defined; `s` is a state, `c` is the configuration"),
        (["--value=s.big", "--format=md"], "--value is for --format text, not md"),
    ],
)
def test_wrong_expressions(words: list[str], message: str, trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "show", trace, *words)
    assert (code, out, err) == (64, "", f"reassure: {message}\n")


def test_a_state_is_what_its_expression_says(tmp_path: Path) -> None:
    """With sets of records, maps, ids and optionals; sets are as the language takes them."""
    made = posting(tmp_path)
    trace, bound = story(made)
    for state in trace.states:
        text = as_python(state)
        assert eval(text, vars(made) | {"c": bound.config}) == state, text
    assert as_python(frozenset({made.Node(2), made.Node(1)})) == "frozenset({Node(1), Node(2)})"
