"""Values as expressions of the language."""

from __future__ import annotations

from pathlib import Path

from reassure.checkers.traces.format_value import as_python
from tests.helpers.posting_model import posting, story


def test_a_state_is_what_its_expression_says(tmp_path: Path) -> None:
    """With sets of records, maps, ids and optionals; sets are as the language takes them."""
    made = posting(tmp_path)
    trace, bound = story(made)
    for state in trace.states:
        text = as_python(state)
        assert eval(text, vars(made) | {"c": bound.config}) == state, text
    assert as_python(frozenset({made.Node(2), made.Node(1)})) == "frozenset({Node(1), Node(2)})"
