"""The shared properties of a partition, and those of the controller, over every state and step that was explored.

CPython evaluates each property once for each combination that it can tell apart: brokers that are only alive or not are
left out for the shared ones, which do not read them; and no property reads the number of a broker, so of combinations
that differ in these numbers alone the first is evaluated. The first hit in the order of the search is the shortest.

Also here: states that differ only in the numbers of their brokers: the shared properties do not tell these apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.command_properties import (
    COMMAND_PROPERTIES,
    TOPIC_COMMAND_PROPERTIES,
    TOPIC_PROPERTIES,
    CommandProperty,
)
from reassure.checkers.kafka.controller.controller_properties import (
    ANSWER_PROPERTIES,
    CAN_END,
    KEEPS_COMMITTED,
    STATE_PROPERTIES,
)
from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.explore import ControllerExploration, keys_of
from reassure.checkers.kafka.controller.words import (
    CORDONED,
    ELR,
    FENCED,
    ISR,
    LAST_KNOWN,
    LEADER,
    MAX_BROKERS,
    OF_TOPIC,
    PROPOSALS,
    SHUTTING_DOWN,
    UNCLEAN,
    UNREGISTERED,
    UNVERIFIED_PROPOSALS,
    Command,
    Kind,
    answer_of,
    packed_set,
    unpacked_set,
    unpacked_state,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import Broker, Brokers, Partition, Watched, members, reassigning, target_of
from reassure.spec.kafka.partition_properties import GOALS, PROMISES, leads_where_it_was_asked_to
from reassure.spec.language.vocabulary import Property

BROKERS_AT = (*range(0, ISR, 3), LEADER, LAST_KNOWN)
"""Where a state has the number of a broker."""
SETS_AT = (*range(ISR, LEADER, ELR - ISR), FENCED, SHUTTING_DOWN)
"""Where a state has a set of brokers."""
SETTINGS_AT = (CORDONED, UNREGISTERED)


class Renaming:
    """New numbers for brokers 1, 2, ..."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.of_broker = np.arange(8)
        self.of_broker[1 : len(numbers) + 1] = numbers
        sets = [packed_set(self.of_broker[list(unpacked_set(mask))]) for mask in range(1 << MAX_BROKERS)]
        self.of_set = np.array(sets, np.int64)

    def states(self, words: Words) -> Words:
        """The states with these numbers."""
        return _replaced(_replaced(words, BROKERS_AT, self.of_broker), SETS_AT, self.of_set)

    def settings(self, words: Words) -> Words:
        """The settings with these numbers."""
        return _replaced(words, SETTINGS_AT, self.of_set)


def renamings(brokers: int) -> list[Renaming]:
    """Every way to number so many brokers; the first leaves their numbers as they are."""
    return [Renaming(numbers) for numbers in permutations(range(1, brokers + 1))]


def _replaced(words: Words, places: tuple[int, ...], table: Words) -> Words:
    """The words with each value at these places (as wide as the table has entries) replaced by the table's."""
    mask = len(table) - 1
    for at in places:
        values = words >> at & mask
        words = words ^ (values ^ table[values]) << at
    return words


REQUESTS = (Kind.REASSIGN, Kind.CANCEL)
PARTITION = (1 << FENCED) - 1 | 1 << UNCLEAN
"""The bits that the shared properties read."""
EPOCH = 1000
"""Of every state before a step: only by how much epochs rise is known."""
RISES_AT = 24


@dataclass
class Hit:
    """A property that is violated, or a cover that is reached.

    state: the number of the state, or of the one before the step; command: None if it is the state. path: of a property
    over histories, everything that happens.
    """

    name: str
    state: int
    command: int | None = None
    count: int = 1
    """States or steps, as far as the property tells them apart, that do the same."""


@dataclass
class Findings:
    """Violated properties and reached covers of an exploration. properties, covers: all that were checked, in order."""

    violated: dict[str, Hit] = field(default_factory=dict)
    reached: dict[str, Hit] = field(default_factory=dict)
    properties: list[str] = field(default_factory=list)
    covers: list[str] = field(default_factory=list)
    not_applicable: list[str] = field(default_factory=list)

    def note(self, hit: Hit, cover: bool = False) -> None:
        """Keeps the first; counts the others."""
        hits = self.reached if cover else self.violated
        if hit.name in hits:
            hits[hit.name].count += hit.count
        else:
            hits[hit.name] = hit

    def add(self, others: Findings) -> None:
        """Takes what another partition of the same exploration has: of two hits of a property the one found earlier."""
        for own, hits in ((self.violated, others.violated), (self.reached, others.reached)):
            for name, hit in hits.items():
                if name in own:
                    earlier = min(own[name], hit, key=lambda h: h.state)
                    own[name] = replace(earlier, count=own[name].count + hit.count)
                else:
                    own[name] = hit


def names_of_promises(topic: bool = False) -> list[str]:
    """Every property that is judged on an exploration, covers apart, in the order of reports.

    topic: those of a topic that may be deleted and given a second partition, too.
    """
    shared = [p.name for p in (*PROMISES, *GOALS) if p.kind not in ("leads_to", "cover")]
    own = [p.name for p in STATE_PROPERTIES] + [p.name for p in ANSWER_PROPERTIES]
    own += [p.name for p in COMMAND_PROPERTIES]
    of_topic = [p.name for p in (*TOPIC_PROPERTIES, *TOPIC_COMMAND_PROPERTIES)] if topic else []
    return [*shared, *own, CAN_END, *of_topic, KEEPS_COMMITTED]


def evaluate(graph: ControllerExploration) -> Findings:
    """Every property but those over logs."""
    findings = Findings()
    shared = [p for p in (*PROMISES, *GOALS) if p.kind != "leads_to"]
    applicable = [p for p in shared if p.when is None or p.when(graph.scope)]
    findings.not_applicable = [p.name for p in shared if p not in applicable]
    of_commands = [p for p in COMMAND_PROPERTIES if p.commands(graph)]
    findings.not_applicable += [p.name for p in COMMAND_PROPERTIES if p not in of_commands]
    own = [p.name for p in STATE_PROPERTIES] + [p.name for p in ANSWER_PROPERTIES]
    own += [p.name for p in of_commands] + ([CAN_END] if graph.complete else [])
    if graph.scope.topic:
        of_commands += TOPIC_COMMAND_PROPERTIES
        own += [p.name for p in (*TOPIC_PROPERTIES, *TOPIC_COMMAND_PROPERTIES)]
    findings.properties = [p.name for p in applicable if p.kind != "cover"] + own
    findings.covers = [p.name for p in applicable if p.kind == "cover"]
    for partition in range(2 if graph.scope.topic else 1):
        view, found = _of_partition(graph, partition), Findings()
        _over_states(view, [p for p in applicable if not p.over_steps], found)
        _over_steps(view, [p for p in applicable if p.over_steps], found)
        _that_can_end(view, found)
        findings.add(found)
    _over_answers(graph, findings)
    _over_commands(graph, of_commands, findings)
    for p in TOPIC_PROPERTIES if graph.scope.topic else ():
        states = np.flatnonzero(p.broken(graph))
        if len(states):
            findings.note(Hit(p.name, int(states[0]), None, len(states)))
    return findings


ANOTHER = Command(Kind.ADD_PARTITION)
"""Stands for what is asked of another partition: it is nothing of this one."""
OF_PARTITION = (*REQUESTS, Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN, *PROPOSALS)
"""Commands that concern one partition."""


def _of_partition(graph: ControllerExploration, partition: int) -> ControllerExploration:
    """The exploration as one partition of its topic takes it: its word in each state, its part of each step.

    A state without the partition has no replicas, and is not judged; neither is a step from or to such a state.
    """
    if not graph.scope.topic:
        return graph
    commands = [_part(command, partition) for command in graph.commands]
    if partition == 0:
        return replace(graph, commands=commands)
    whole = (1 << FENCED) - 1
    of_both = np.array([c.kind is Kind.REASSIGN_BOTH for c in graph.commands])
    codes = np.where(of_both, graph.answers >> 48, graph.answers) & 0xFFFF
    answers = graph.answers & 0xFF0000 | codes | (graph.answers >> 32 & 0xFF) << RISES_AT
    return replace(graph, states=graph.states & ~whole | graph.second & whole, answers=answers, commands=commands)


def _part(command: Command, partition: int) -> Command:
    """What a command asks of a partition."""
    if command.kind is Kind.REASSIGN_BOTH:
        target = command.others if partition else command.brokers
        return Command(Kind.REASSIGN if target else Kind.CANCEL, 0, target)
    if command.kind in OF_PARTITION:
        return replace(command, partition=0) if command.partition == partition else ANOTHER
    return command


def _exist(graph: ControllerExploration) -> NDArray[np.bool_]:
    """By state: whether there is the partition."""
    return np.asarray(graph.states & (1 << ISR) - 1 != 0)


def _over_states(graph: ControllerExploration, properties: list[Property], findings: Findings) -> None:
    brokers, min_isr = graph.scope.brokers, graph.min_isr
    _, first = np.unique(_views(graph), return_index=True)
    exist = _exist(graph)
    for number, count in _classes(np.sort(first), [views[np.sort(first)] for views in _renamed_views(graph)]):
        if not exist[number]:
            continue
        watched = _before(int(graph.states[number]) & PARTITION, brokers, int(min_isr[number]))
        for p in properties:
            if p.function(watched) == (p.kind == "cover"):
                findings.note(Hit(p.name, number, None, count), p.kind == "cover")
    keys = [keys_of(r.states(graph.states), r.settings(graph.settings), brokers) for r in renamings(brokers)]
    for number, count in _classes(np.arange(len(graph.states)), keys):
        state = graph.state(number)
        for own in STATE_PROPERTIES if exist[number] else ():
            if not own.holds(state):
                findings.note(Hit(own.name, number, None, count))


def _over_steps(graph: ControllerExploration, properties: list[Property], findings: Findings) -> None:
    brokers, min_isr = graph.scope.brokers, graph.min_isr
    by_tag = {tag: [p for p in properties if not p.tags or tag in p.tags] for tag in (*TAGS, "")}
    for before, command, after, rises, refused, count in _distinct_steps(graph):
        b = _before(int(graph.states[before]) & PARTITION, brokers, int(min_isr[before]))
        tag, target = kind_of_step(graph.commands[command], b)
        a = Watched(
            _partition(int(graph.states[after]) & PARTITION, rises, brokers),
            int(min_isr[after]),
            bool(int(graph.states[after]) >> UNCLEAN & 1),
            requests=1 if graph.commands[command].kind in REQUESTS else 0,
            wanted=b.wanted if refused else target,
        )
        for p in by_tag[tag]:
            if p.function(b, a) == (p.kind == "cover"):
                findings.note(Hit(p.name, before, command, count), p.kind == "cover")
        if not leads_where_it_was_asked_to.function(a):
            findings.note(Hit(leads_where_it_was_asked_to.name, before, command, count))


def _views(graph: ControllerExploration, renaming: Renaming | None = None) -> Words:
    """Of each state: a word of what the shared properties read of it."""
    states = graph.states if renaming is None else renaming.states(graph.states)
    return states & PARTITION | graph.min_isr << FENCED


def _renamed_views(graph: ControllerExploration) -> list[Words]:
    """The same for each way to number the brokers."""
    return [_views(graph, renaming) for renaming in renamings(graph.scope.brokers)]


def _classes(places: Words, keys: list[Words]) -> Iterator[tuple[int, int]]:
    """Of places that some renaming gives the same key: the first, and how many there are; in order."""
    _, first, counts = np.unique(np.minimum.reduce(keys), return_index=True, return_counts=True)
    order = np.argsort(first)
    yield from zip(places[first[order]].tolist(), counts[order].tolist(), strict=True)


TAGS = ("start", "retarget", "cancel", "complete")


def kind_of_step(command: Command, before: Watched) -> tuple[str, Brokers]:
    """The tag of a command's step for the shared properties ("" for none), and the replicas wanted after it.

    A request for the brokers that are replicas, or the target, already, asks for another order at most. Before a step,
    what is wanted is where the partition is led to: that a step leads it elsewhere is seen at that step.
    """
    p = before.partition
    if command.kind is Kind.CANCEL:
        return ("cancel" if reassigning(p) else ""), members(p) - p.adding
    if command.kind in (Kind.PROPOSE, *UNVERIFIED_PROPOSALS):
        return "complete", before.wanted
    if command.kind is not Kind.REASSIGN:
        return "", before.wanted
    target = frozenset(Broker(b) for b in command.brokers)
    if reassigning(p):
        return ("retarget" if target != target_of(p) else ""), target
    return ("start" if target != members(p) else ""), target


def _distinct_steps(graph: ControllerExploration) -> Iterator[tuple[int, int, int, int, bool, int]]:
    """State before, command, state after, rises of the epochs, whether it was refused; how many such there are.

    Each combination of what is read once, the first.
    """
    expanded, width = graph.targets.shape
    if not expanded:
        return
    renamed = _renamed_views(graph)
    distinct = np.unique(np.concatenate(renamed))
    views = [np.searchsorted(distinct, of_one) for of_one in renamed]
    kinds = _kinds(graph)
    exist, after = _exist(graph), graph.targets.reshape(-1)
    flat = np.flatnonzero(graph.applies.reshape(-1) & (after >= 0) & exist[after] & np.repeat(exist[:expanded], width))
    answers = graph.answers.reshape(-1)[flat].astype(np.int64)
    rises, refused = answers >> RISES_AT & 255, (answers & 0x1FFFF) != 0
    before, command, after = flat // width, flat % width, graph.targets.reshape(-1)[flat]

    def keys(number: int, places: Words | slice) -> Words:
        """Of steps: a number for what is read of each, with the brokers numbered in one way."""
        view, kind = views[number], kinds[number]
        partitions = _pairs(view[before[places]], view[after[places]], len(distinct)) << 8 | rises[places]
        return np.asarray(partitions << 9 | refused[places].astype(np.int64) << 8 | kind[command[places]])

    _, first = np.unique(keys(0, slice(None)), return_index=True)
    first.sort()
    for k, count in _classes(first, [keys(number, first) for number in range(len(views))]):
        yield int(before[k]), int(command[k]), int(after[k]), int(rises[k]), bool(refused[k]), count


def _pairs(before: Words, after: Words, views: int) -> Words:
    """A number of 46 bits for each pair of views. Raises `Failure` where there are too many to number."""
    if views * views >= 1 << 46:
        raise Failure(Exit.INCONCLUSIVE, f"{views:,} views of a partition are too many to tell their steps apart")
    return before * views + after


def _kinds(graph: ControllerExploration) -> list[Words]:
    """By renaming, numbers that are the same for commands which the shared properties do not tell apart."""
    names: dict[Any, int] = {}
    tables = []
    for renaming in renamings(graph.scope.brokers):
        numbers = []
        for c in graph.commands:
            proposes = c.kind in (Kind.PROPOSE, *UNVERIFIED_PROPOSALS)
            tagged = Kind.PROPOSE if proposes else c.kind if c.kind in REQUESTS else None
            target = int(renaming.of_set[packed_set(c.brokers)]) if c.kind is Kind.REASSIGN else 0
            numbers.append(names.setdefault((tagged, target), len(names)))
        tables.append(np.array(numbers, np.int64))
    return tables


def _over_answers(graph: ControllerExploration, findings: Findings) -> None:
    flat = np.where(graph.applies, graph.answers & 0x1FFFF, -1).reshape(-1)
    words, first, counts = np.unique(flat, return_index=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    for k in order.tolist():
        if words[k] < 0:
            continue
        for own in ANSWER_PROPERTIES:
            if not own.holds(answer_of(int(words[k]))):
                before, command = divmod(int(first[k]), len(graph.commands))
                findings.note(Hit(own.name, before, command, int(counts[k])))


def _over_commands(graph: ControllerExploration, properties: list[CommandProperty], findings: Findings) -> None:
    for p in properties:
        commands = p.commands(graph)
        states, places = np.nonzero(np.stack([p.broken(graph, command) for command in commands], axis=1))
        if len(states):
            findings.note(Hit(p.name, int(states[0]), commands[int(places[0])], len(states)))


def _that_can_end(graph: ControllerExploration, findings: Findings) -> None:
    """Reassignments that no event but an administrator's request ends, although the partition is led.

    Decided only if everything was explored: else an end may lie beyond.
    """
    if not graph.complete:
        return
    moving = (graph.states >> 30 & 0xFFF) != 0
    led = (graph.states >> 42 & 7) != 0
    ends = ~moving
    others = [i for i, c in enumerate(graph.commands) if c.kind not in (*REQUESTS, *OF_TOPIC)]
    targets = graph.targets[:, others]
    while True:
        more = ends | np.any(np.where(targets >= 0, ends[targets], False), axis=1)
        if np.array_equal(more, ends):
            break
        ends = more
    trapped = np.flatnonzero(moving & led & ~ends)
    if len(trapped):
        findings.violated[CAN_END] = Hit(CAN_END, int(trapped[0]), None, len(trapped))


@cache
def _partition(word: int, rises: int, brokers: int) -> Partition:
    leader, partition = EPOCH + (rises & 15), EPOCH + (rises >> 4)
    return unpacked_state(word, leader << 32 | partition, 0, brokers).partition


@cache
def _before(word: int, brokers: int, min_isr: int) -> Watched:
    p = _partition(word, 0, brokers)
    return Watched(p, min_isr, bool(word >> UNCLEAN & 1), requests=0, wanted=target_of(p))
