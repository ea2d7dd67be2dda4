"""Every construct of the language as TLA+: without TLC it is translated, with TLC its steps are those of Python."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from reassure.checkers.tla.module import export
from tests.helpers.constructs import TABLES, bound_model
from tests.helpers.drawn_states import drawn
from tests.helpers.native_steps import plain_steps
from tests.helpers.tlc_jar import steps_by_tlc, tlc

NAMES = [n.split(" |")[0].replace(" ", "_") for n in TABLES]


@pytest.fixture(autouse=True)
def numbers_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLC's integers have 32 bits: the wide ranges of some tables are narrower here."""
    for name, (prelude, text) in TABLES.items():
        monkeypatch.setitem(TABLES, name, (re.sub(r"1 << (58|60|61)", "1 << 12", prelude), text))


@pytest.mark.parametrize("name", TABLES, ids=NAMES)
def test_every_construct_is_translated(name: str, tmp_path: Path) -> None:
    text = export(bound_model(name, tmp_path)).text
    assert "\nact" in text
    assert "?" not in text


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES, ids=NAMES)
def test_its_steps_are_those_of_python(name: str, tmp_path: Path) -> None:
    """From drawn states in which nothing raises; a step that leaves a bound is one for neither."""
    jar, bound, rng = tlc(), bound_model(name, tmp_path), random.Random(name)
    states = list({s: None for s in (drawn(bound.type, rng) for _ in range(40)) if not plain_steps(bound, s)[2]})
    expected = Counter((s, after) for s in states for _, _, after in plain_steps(bound, s)[0])
    assert Counter(steps_by_tlc(bound, states, tmp_path, jar)) == expected
    assert expected


@pytest.mark.parametrize(
    ("name", "has", "has_not"),
    [
        ("of_a_range", r"[i_ \in DOMAIN Sorted(0..1) |-> LET i == Sorted(0..1)[i_]", r"[i \in DOMAIN"),
        ("in_order | x: Server", ".term < ", "Precedes("),
        ("ids_in_the_other_order", r"[i_ \in DOMAIN rows |->", r"[i \in DOMAIN rows"),
        ("sum_of_the_items | x: Server", r"[i_ \in DOMAIN [i \in DOMAIN logs[x]", r"[i \in DOMAIN [i"),
        ("sets_in_order | x: Server", r"sets \o <<{x}>>", "item1 |->"),
        ("rows | b: Colour", r"rows \o <<<<b>>>>", "item1 |->"),
    ],
)
def test_what_tlc_did_not_take(name: str, has: str, has_not: str, tmp_path: Path) -> None:
    """A name within its own definition; `<` of records; a sequence of sets, or of sequences, that was a record."""
    text = export(bound_model(f"sequence {name}", tmp_path)).text
    step = text[text.index("\nact") : text.index("InBounds ==")]
    assert has in step
    assert has_not not in step
