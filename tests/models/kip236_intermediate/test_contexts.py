"""KIP-236: contexts and their flags, loaded after fail-over (I6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.models.kip236_intermediate import reassignment_contexts as contexts
from reassure.models.kip236_intermediate.reassignment_contexts import Controller, Flag
from reassure.spec.semantics.interpreter import BoundModel, Params

NOTHING = next(s for _, _, s in BoundModel(contexts.MODEL).initial_states())


def loaded(s: Controller, order: tuple[Flag, ...] = (), **config: Any) -> Controller:
    """What a new controller loads, requests in this order."""
    bound = BoundModel(contexts.MODEL, contexts.Config(**config))
    steps: list[tuple[str, Params]] = [("fail_over", {}), ("load_reassignments", {})]
    steps += [("load_request", {"flag": flag}) for flag in order]
    for name, params in [*steps, ("end_requests", {}), ("load_partitions", {})]:
        s = bound.take(s, name, params)
    return s


NEW, LEGACY = Flag.NEW, Flag.LEGACY
BOTH = frozenset({NEW, LEGACY})


def test_places_in_order() -> None:
    assert loaded(replace(NOTHING, file=LEGACY)).contexts == {LEGACY}
    assert loaded(replace(NOTHING, file=LEGACY, requests=frozenset({NEW})), (NEW,)).contexts == {NEW}
    stored = replace(NOTHING, stored=LEGACY, file=LEGACY, requests=frozenset({NEW}))
    assert loaded(stored, (NEW,)).contexts == {LEGACY}


def test_requests_of_both_flags() -> None:
    both = replace(NOTHING, requests=BOTH)
    assert loaded(both, (NEW, LEGACY)).contexts == {NEW}
    assert loaded(both, (LEGACY, NEW)).contexts == {LEGACY}
    assert loaded(both, (LEGACY, NEW), one_by_one=False).contexts == BOTH


def test_any_that_wants_one_loads_nothing() -> None:
    asked = replace(NOTHING, file=LEGACY, requests=frozenset({NEW}))
    assert loaded(asked, (NEW,), any_is_some=True).contexts == frozenset()
    assert loaded(replace(asked, stored=LEGACY), (NEW,), any_is_some=True).contexts == {LEGACY}


def test_context_claims_accept_and_refuse() -> None:
    one = replace(NOTHING, contexts=frozenset({NEW}), result=frozenset({NEW}), stored=NEW)
    other = replace(one, contexts=frozenset({LEGACY}))
    assert contexts.one_flag_a_partition(one) is True
    assert contexts.one_flag_a_partition(replace(one, contexts=BOTH)) is False
    again = replace(one, again=True)
    twice, same = contexts.loading_twice_is_loading_once, contexts.a_new_controller_loads_the_same
    assert [twice(before=again, after=s) for s in (one, other)] == [True, False]
    assert [same(before=one, after=s) for s in (one, other)] == [True, False]
    assert [contexts.what_goes_on_is_loaded(before=one, after=s) for s in (one, other)] == [True, False]
    assert [contexts.something_is_loaded(before=one, after=s) for s in (one, NOTHING)] == [True, False]


def test_any_that_wants_one_in_the_whole_space() -> None:
    verdict, _ = run(
        CheckRequest("reassignment_contexts", ["any_is_some=true"], "reference", SearchOptions()), Progress(quiet=True)
    )
    assert {p.name: len(p.trace) for p in verdict.properties if p.trace is not None} == {"something_is_loaded": 6}
    assert [c.name for c in verdict.covers if not c.reached] == ["fails_over_while_loading"]
