"""Methods and properties of records, ids and enum members: what is refused, and what commands know of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.analyses.mutants.mutants import mutants_of
from reassure.checkers.request.vacuity import meanings
from reassure.checkers.traces.outcomes import Watched
from reassure.spec.frontend.lowering import check
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers import model_text, record_types

METHODS = """
from functools import cached_property

@dataclass(frozen=True)
class Counted:
    count: int

    @cached_property
    def kept(self) -> int:
        return self.count

    def again(self) -> int:
        return self.again()

    @property
    def for_ever(self) -> int:
        return self.for_ever

    def looping(self) -> int:
        while self.kept:
            pass
        return 1

def counted(s: State) -> Counted:
    return Counted(s.n)
"""

REFUSED = [
    # (body of the action, construct, part of the remedy)
    ("return replace(s, n=s.e.newest())", "a method `.newest` of Entry", "a method of its class"),
    ("return replace(s, n=s.e.newest)", "`.newest` is not a field", "Entry has the fields term, on, by"),
    ("return replace(s, n=s.e.newer)", "the method `.newer` as a value", "`s.e.newer(...)`"),
    ("return replace(s, n=counted(s).kept)", "`.kept`, a cached_property", "write `@property`"),
    ("return replace(s, n=counted(s).again())", "`again` calls itself", "recursion"),
    ("return replace(s, n=counted(s).for_ever)", "`for_ever` calls itself", "recursion"),
    ("return replace(s, n=counted(s).looping())", "a while loop", "`break`"),
    ("require(s.last.newer(s.e))\n    return s", "`s.last` may be None here", "is not None"),
    ("require(s.e.newer())\n    return s", "`s.e.newer(s.e)`", "newer takes (self, other, at_least)"),
    (
        "require(s.leader is not None and s.leader.bit_length() > 0)\n    return s",
        "a method `.bit_length` of Server",
        "",
    ),
    (
        "require(s.role.value == s.role.value)\n    return s",
        "`.value` of Role",
        "`s.role == Role.FOLLOWER`",
    ),
]


OTHERS = {
    "a while loop": ["`.kept`, a cached_property"],
}
"""What is refused beside the first."""


def bound(body: str, folder: Path, more: str = "") -> BoundModel:
    """A model of one action."""
    text = f'{METHODS}{more}\n@action(who="x")\ndef act(s: State, c: Config) -> State:\n    {body}\n'
    made = model_text.module(text, folder, prelude=record_types.PRELUDE)
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))


@pytest.mark.parametrize(("body", "construct", "remedy"), REFUSED, ids=[c for _, c, _ in REFUSED])
def test_refused(body: str, construct: str, remedy: str, tmp_path: Path) -> None:
    refusal, *others = check(bound(body, tmp_path))
    assert construct in refusal.construct
    assert remedy in refusal.remedy
    assert [other.construct for other in others] == OTHERS.get(construct, [])


def test_mutants_are_made_in_methods_that_actions_call(tmp_path: Path) -> None:
    body = "require(s.e.newer(s.e, c.is_majority(s.up)))\n    return replace(s, e=s.e.raised())"
    made = mutants_of(bound(body, tmp_path))
    assert [(m.where, m.before, m.after) for m in made] == [
        ("newer", "self >= other", "self > other"),
        ("newer", "at_least", "not at_least"),
        ("newer", "self > other", "self >= other"),
        ("raised", "self.term < 3", ""),
        ("raised", "self.term < 3", "self.term <= 3"),
        ("raised", "3", "4"),
        ("raised", "3", "2"),
        ("raised", "term=self.term + 1", ""),
        ("raised", "self.term + 1", "self.term - 1"),
        ("raised", "1", "2"),
        ("raised", "1", "0"),
        ("act", "s.e.newer(s.e, c.is_majority(s.up))", ""),
        ("act", "e=s.e.raised()", ""),
    ]


def test_the_conditions_in_a_method_are_reported(tmp_path: Path) -> None:
    watched = Watched(bound("return replace(s, e=s.e.raised())", tmp_path))
    assert [site.text for site in watched.sites] == ["require(self.term < 3)"]
    ((_, _, start),) = watched.initial_states()
    with watched.watching():
        outcomes = watched.outcomes(start)
    assert [value for _, value in outcomes.tried] == [True]
    assert watched.unread == []


def test_the_meaning_of_a_claim_is_that_of_the_methods_that_it_calls(tmp_path: Path) -> None:
    claim = (
        "@invariant\ndef ok(s: State) -> bool:\n    return s.e.newer(s.e, True) and s.e.position <= (3, Server(2))\n"
    )
    claim += '@action(who="x")\ndef act(s: State) -> State:\n    return s\n'
    texts = [
        record_types.PRELUDE,
        record_types.PRELUDE.replace("self >= other if", "self > other if"),
        record_types.PRELUDE.replace("return (self.term, self.by)", "return (0, self.by)"),
        record_types.PRELUDE.replace("self.servers // 2", "self.servers // 3"),
    ]
    digests = []
    for text in texts:
        made = model_text.module(claim, tmp_path, text)
        digests.append(meanings(BoundModel(Model.of(made.__name__, state=made.State, config=made.Config)))["ok"])
    assert len(set(digests[:3])) == 3
    assert digests[3] == digests[0]
