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


LIST = "a list: use a tuple or frozenset"
FOLLOWS = """ys = [a]
t1 = tuple(ys)
t2 = tuple(y for y in ys)
t3 = sum(ys[0] for y in s.q) + sum(ys[0] for y in sorted(s.q))
t4 = max(ys[0] for y in s.q) + min(s.m[a], ys)
t5 = max(s.q, key=lambda y: ys)
t6 = next(ys[0] for y in sorted(s.q))
t7 = (s.m[ys], s.m.put(ys, 1), s.m.put(a, ys), Map({ys: 1}))
t8 = (frozenset({ys}), frozenset({s.e, ys}), fill(ys, c, 1), every(Server, ys), (1, s.e)[ys])
t9 = (bad(s), tuple(bad(s)), sum(bad(s)), len(bad(s)), ys == bad(s), ys < 1, ys in s.q, a in ys, ys.x, ys.x())
for y in ys:
    z = y
match ys:
    case k:
        pass
return replace(s, n=t3 + k, q=frozenset(ys))"""


def test_what_follows_from_something_refused_is_not_refused_again(tmp_path: Path) -> None:
    bad = "def bad(s: State) -> State:\n    return [1]\n"
    wanted = WANTED["setofints"]._replace(field="", start="", body=FOLLOWS, extra=bad)
    assert answer(wanted, tmp_path).split("; ") == [LIST, LIST, "match: use if and elif"]


@pytest.mark.parametrize("members", ["frozenset({x}) for x in s.q", "{s.q, every(Server, c)}", "x for x in (s.m,)"])
def test_a_set_of_what_has_no_place_in_one(members: str, tmp_path: Path) -> None:
    wanted = WANTED["setofints"]._replace(field="", start="", body=f"x = frozenset({members})\nreturn s")
    kind = "a map from Server" if "s.m" in members else "set of Server"
    assert answer(wanted, tmp_path) == (
        f"types do not fit: {kind} in a set, whose members are ids, enum members, bools, numbers or records: "
        "write a set of records with such a field, or a Map to bool"
    )
