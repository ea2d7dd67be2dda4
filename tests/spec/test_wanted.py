"""The constructs that were wanted: the page says of each what `lint` says, and what is refused names what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.wanted import PAGE, WANTED, answer, written

ACCEPTED = ("maptoset", "mapmap", "augassign", "tupleassign", "tuplecmp", "method", "property", "nestedput", "rangecfg")
ACCEPTED += ("chooseset", "chooserec", "const", "seqofints", "seqofrec", "forloop", "earlyexit")
ACCEPTED += ("enumerate", "rangevar", "idint", "pairmap", "mapbyint", "setofints")


@pytest.mark.parametrize("name", WANTED)
def test_it_is_accepted_or_names_what_to_write(name: str, tmp_path: Path) -> None:
    says = answer(WANTED[name], tmp_path)
    assert (says == "accepted") == (name in ACCEPTED)
    assert says == "accepted" or all(": " in one and len(one) > 20 for one in says.split("; "))


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page
    assert len(WANTED) == 45


def test_refusals_of_types_and_of_statements_come_at_once(tmp_path: Path) -> None:
    wanted = WANTED["setofints"]._replace(field="p: str\n    r: frozenset[Entry]", body=WANTED["walrus"].body)
    assert answer(wanted, tmp_path).split("; ") == [
        "State.p: str is not a finite type: names are an Enum or an Id sort",
        "State.r: a set of records needs a size: Annotated[frozenset[R], MaxSize(n)]",
        "`:=`: assign in a statement of its own",
    ]
