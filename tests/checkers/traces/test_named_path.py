"""A path as text: what is written is read back; a model has all of it, or the part that it has is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.request.model_loader import names
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.traces.named_path import NamedStep, follow_path, from_text, named_path, named_step, to_text
from reassure.spec.semantics.interpreter import Clipped
from reassure.spec.semantics.trace import TraceError

WORDS = st.from_regex(r"[a-z_][a-z_0-9]{0,8}", fullmatch=True)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["true", "null", "a/b", "x,y=(z)"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
STEPS = st.builds(NamedStep, WORDS, st.dictionaries(WORDS, VALUES, max_size=3))


@settings(max_examples=50, deadline=None)
@given(st.lists(STEPS, max_size=4))
def test_a_path_is_read_as_it_was_written(path: list[NamedStep]) -> None:
    text = to_text(path)
    assert from_text(text) == path
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.~%()[],=/")


def test_values_are_words_or_json() -> None:
    path = [NamedStep("start", {"mode": "OFF", "n": 1, "isr": [0, 1], "text": "null"}), NamedStep("stop")]
    assert to_text(path) == "start(mode=OFF,n=1,isr=[0%2C1],text=%22null%22)/stop"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b", "'a b' is not a step; write action or action(parameter=value)"),
        ("a//b", "'' is not a step"),
        ("a(x)", "write each parameter once, as name=value"),
        ("a(x=1,x=2)", "write each parameter once, as name=value"),
        ("a(x=[1)", "'[1' is neither a word nor JSON"),
    ],
)
def test_what_is_no_path_is_told(text: str, words: str) -> None:
    with pytest.raises(TraceError) as told:
        from_text(text)
    assert words in str(told.value)


def first_steps(model: str, count: int) -> tuple[Any, list[NamedStep]]:
    """A path of a model: the last step that each state has."""
    bound, _ = prepare_plain(model, [])
    declared, params, state = list(bound.initial_states())[-1]
    path = [named_step(declared.name, params, bound)]
    for _ in range(count):
        step = [s for s in bound.steps(state) if not isinstance(s.after, Clipped)][-1]
        path.append(named_step(step.action.name, step.params, bound))
        state = step.after
    return bound, path


@pytest.mark.parametrize("model", [name for name, path in names().items() if path.parent.name != "mutants"])
def test_every_model_has_the_paths_it_writes(model: str) -> None:
    """Whatever the types of its parameters."""
    bound, path = first_steps(model, 4)
    followed = follow_path(from_text(to_text(path)), bound)
    assert followed.problem is None
    assert followed.trace is not None
    assert named_path(followed.trace, bound) == path
