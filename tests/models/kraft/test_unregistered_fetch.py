"""K25: a fetch with epoch -1 outlives the process that sent it, step by step, and what each of three fixes refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reassure.models.kraft import unregistered_fetch
from reassure.models.kraft.unregistered_fetch import (
    UNREGISTERED,
    AlterPartition,
    Config,
    Fetch,
    Loss,
    Rule,
    State,
    isr_is_complete,
    leader_has_what_was_acknowledged,
)
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.language.values import Map
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.brokers import b
from tests.helpers.runs import checked

ONE, TWO = Broker(1), Broker(2)


class Story:
    """Brokers 1, which leads, and 2 in sync; steps are taken one by one in plain Python."""

    def __init__(self, **settings: Any) -> None:
        self.bound = BoundModel(unregistered_fetch.MODEL, Config(**settings))
        (self.s,) = (s for _, _, s in self.bound.initial_states() if isinstance(s, State))

    def take(self, name: str, **params: Any) -> State:
        after = self.bound.take(self.s, name, params)
        assert isinstance(after, State)
        self.s = after
        return after

    def refuses(self, name: str, **params: Any) -> bool:
        with pytest.raises(GuardRefused):
            self.bound.take(self.s, name, params)
        return True

    def behind_and_started_again(self) -> State:
        """2 died, left the ISR, lacks a record, and is up again, not registered."""
        self.take("die", broker=TWO, loses=False)
        self.take("fence", broker=TWO, successor=None)
        self.take("commit")
        return self.take("start", broker=TWO)

    def fetched_all(self) -> State:
        """2 has fetched what it lacked, and its next fetch, which has caught up, waits in the leader."""
        self.take("send_fetch", follower=TWO)
        self.take("take_fetch")
        return self.take("send_fetch", follower=TWO)

    def died_and_registered_anew(self) -> State:
        """2 died once more, lost the tail of its log, and is registered and unfenced."""
        self.take("die", broker=TWO, loses=True)
        self.take("start", broker=TWO)
        self.take("register", broker=TWO)
        return self.take("unfence", broker=TWO)


def test_acknowledged_records_are_lost() -> None:
    story = Story()
    s = story.behind_and_started_again()
    assert (s.isr, s.complete, s.registered, s.unfenced) == (b(1), b(1), b(1), b(1))
    s = story.fetched_all()
    assert (s.complete, s.unwritten) == (b(1, 2), b(2))
    assert s.fetch == Fetch(TWO, UNREGISTERED, caught_up=True, awaited=True)
    s = story.died_and_registered_anew()
    assert (s.complete, s.unwritten, s.broker_epochs[TWO]) == (b(1), NOBODY, 1)
    assert s.fetch == Fetch(TWO, UNREGISTERED, caught_up=True, awaited=False)
    s = story.take("take_fetch")
    assert s.request == AlterPartition(TWO, Map({ONE: 0, TWO: UNREGISTERED}))
    s = story.take("alter_partition")
    assert s.isr == b(1, 2) and not isr_is_complete(s) and leader_has_what_was_acknowledged(s)
    story.take("die", broker=ONE, loses=False)
    s = story.take("fence", broker=ONE, successor=TWO)
    assert s.leader == TWO and not leader_has_what_was_acknowledged(s)


def test_the_leader_may_propose_none() -> None:
    story = Story(rule=Rule.LEADER)
    story.behind_and_started_again()
    story.fetched_all()
    story.died_and_registered_anew()
    assert story.take("take_fetch").request is None


def test_the_controller_may_refuse() -> None:
    story = Story(rule=Rule.CONTROLLER)
    story.behind_and_started_again()
    story.fetched_all()
    story.died_and_registered_anew()
    assert story.take("take_fetch").request is not None
    s = story.take("alter_partition")
    assert (s.isr, s.request) == (b(1), None)


def test_the_follower_may_wait_for_its_registration() -> None:
    story = Story(rule=Rule.FOLLOWER)
    story.behind_and_started_again()
    assert story.refuses("send_fetch", follower=TWO)
    story.take("register", broker=TWO)
    assert story.take("send_fetch", follower=TWO).fetch == Fetch(TWO, 1, caught_up=False, awaited=True)


@pytest.mark.parametrize(("epoch", "joins"), [(UNREGISTERED, True), (0, False), (1, True)])
def test_which_epochs_the_controller_accepts(epoch: int, joins: bool) -> None:
    story = Story()
    story.behind_and_started_again()
    story.take("register", broker=TWO)
    story.take("unfence", broker=TWO)
    story.s = replace(story.s, request=AlterPartition(TWO, Map({ONE: 0, TWO: epoch})))
    assert (story.take("alter_partition").isr == b(1, 2)) is joins


def test_a_fetch_with_an_old_epoch_is_fenced() -> None:
    story = Story()
    story.behind_and_started_again()
    story.take("register", broker=TWO)
    story.take("send_fetch", follower=TWO)
    story.take("die", broker=TWO, loses=False)
    story.take("start", broker=TWO)
    story.take("register", broker=TWO)
    before = story.s
    assert story.take("take_fetch") == replace(before, fetch=None)


def test_no_registration_within_the_session() -> None:
    story = Story()
    story.take("die", broker=TWO, loses=False)
    story.take("start", broker=TWO)
    assert story.refuses("register", broker=TWO)
    story.take("fence", broker=TWO, successor=None)
    assert story.take("register", broker=TWO).broker_epochs[TWO] == 1


def test_what_may_be_lost() -> None:
    """Nothing of a member of the ISR; of others what this process fetched, or anything."""
    assert Story().refuses("die", broker=TWO, loses=True)
    for loses, may in ((Loss.NOTHING, False), (Loss.TAIL, False), (Loss.ALL, True)):
        story = Story(loses=loses)
        story.take("die", broker=TWO, loses=False)
        story.take("fence", broker=TWO, successor=None)
        story.take("start", broker=TWO)
        if may:
            assert story.take("die", broker=TWO, loses=True).complete == b(1)
        else:
            assert story.refuses("die", broker=TWO, loses=True)


def test_the_high_watermark_waits_for_who_is_proposed() -> None:
    story = Story()
    story.behind_and_started_again()
    story.take("register", broker=TWO)
    story.take("unfence", broker=TWO)
    story.fetched_all()
    assert story.take("take_fetch").request is not None
    assert story.refuses("commit")


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ([], 15),
        (["loses=all"], 12),
        (["loses=nothing"], None),
        (["late=no"], None),
        (["rule=leader"], None),
        (["rule=controller"], None),
        (["rule=follower"], None),
        (["deaths=2"], None),
    ],
)
def test_what_it_takes(settings: list[str], steps: int | None) -> None:
    result, _ = checked("unregistered_fetch", settings, "native")
    lost = next(p for p in result.properties if p.name == "leader_has_what_was_acknowledged")
    assert result.complete and (None if lost.trace is None else len(lost.trace.states) - 1) == steps
