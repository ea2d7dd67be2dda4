"""K16: what the leader remembers of a removed replica, what the broker has, and what is so, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reassure.models.kraft import kraft_removed_logs
from reassure.models.kraft.kraft_removed_logs import Config, Forgets, Removed
from reassure.models.kraft.protocol import eligible
from reassure.models.kraft.state import AlterPartition, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.brokers import b


class Story:
    """Replicas 1 and 2 in sync; steps are taken one by one in plain Python."""

    def __init__(self, forgets: Forgets = Forgets.EACH) -> None:
        config = Config(initial_isr=2, admin_requests=3, forgets=forgets)
        self.bound = BoundModel(kraft_removed_logs.MODEL, config)
        (self.s,) = (s for _, _, s in self.bound.initial_states() if isinstance(s, Removed))

    def take(self, name: str, **params: Any) -> Removed:
        after = self.bound.take(self.s, name, params)
        assert isinstance(after, Removed)
        self.s = after
        return after

    def added_and_cancelled(self) -> Removed:
        """3 is being added and has caught up; the reassignment is cancelled."""
        self.take("start", target=b(1, 2, 3), successor=Broker(1))
        self.take("hear")
        self.take("catch_up", follower=Broker(3))
        return self.take("cancel", successor=Broker(1))


def test_a_removed_broker_has_its_log_until_it_hears() -> None:
    story = Story()
    s = story.added_and_cancelled()
    assert (s.complete, s.unaware, s.outdated) == (b(1, 2, 3), b(3), b(3))
    s = story.take("delete_log", follower=Broker(3))
    assert (s.complete, s.unaware, s.outdated) == (b(1, 2), NOBODY, NOBODY)


def test_a_broker_that_hears_late_of_its_removal_cannot_fetch() -> None:
    """The cancellation raised the leader epoch: that is what it is raised for."""
    story = Story()
    story.added_and_cancelled()
    story.take("start", target=b(1, 2, 3), successor=Broker(1))
    story.take("hear")
    with pytest.raises(GuardRefused):
        story.take("catch_up", follower=Broker(3))
    assert story.take("keep_log", follower=Broker(3)).complete == b(1, 2, 3)
    assert story.take("catch_up", follower=Broker(3)).caught_up == b(3)


@pytest.mark.parametrize(
    ("forgets", "remembered"), [(Forgets.EACH, NOBODY), (Forgets.GONE, b(3)), (Forgets.EPOCH, NOBODY)]
)
def test_a_leader_that_hears_of_removal_and_return_at_once(forgets: Forgets, remembered: frozenset[Broker]) -> None:
    story = Story(forgets)
    story.added_and_cancelled()
    story.take("start", target=b(1, 2, 3), successor=Broker(1))
    story.take("delete_log", follower=Broker(3))
    assert story.s.unheard
    s = story.take("hear")
    assert (s.caught_up, s.complete) == (remembered, b(1, 2))
    wrongly = kraft_removed_logs.leader_takes_nobody_wrongly_for_caught_up
    assert wrongly(s) is (remembered == NOBODY)


def test_a_follower_is_proposed_as_it_fetched() -> None:
    """3 has registered anew since: the controller refuses the ISR that the leader asks for."""
    story = Story()
    story.take("start", target=b(1, 2, 3), successor=Broker(1))
    story.take("hear")
    story.take("catch_up", follower=Broker(3))
    story.take("shut_down_uncleanly", broker=Broker(3), successor=Broker(1))
    story.take("unfence", broker=Broker(3))
    assert (story.s.caught_up, story.s.reborn, story.s.complete) == (b(3), b(3), b(1, 2))
    s = story.take("propose_expansion", follower=Broker(3))
    (request,) = s.requests
    assert isinstance(request, AlterPartition)
    assert (request.broker_epochs[Broker(3)], s.broker_epochs[Broker(3)]) == (0, 1)
    assert not eligible(s, request)
    assert eligible(s, replace(request, broker_epochs=s.broker_epochs))


def test_unclean_election_is_left_out() -> None:
    with pytest.raises(ValueError, match=r"^unclean=either is left out of this model$"):
        Config(unclean=Unclean.EITHER)
