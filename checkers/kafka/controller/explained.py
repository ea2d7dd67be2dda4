"""Every step of Kafka's own controller beside a model's rules of its release: which steps do they not explain?

The rules are a function of the model's module, `controller_step`, and the class of what it takes, `Held`.
Also here: the same beside the rules of every release, for a release of which nobody has said by which rules it goes.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ControllerExploration, ExploreLimits, Scope, explore_with
from reassure.checkers.kafka.controller.model_view import release_members, release_value
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import StepDifference, TraceCommand
from reassure.checkers.kafka.controller.words import (
    UNVERIFIED_PROPOSALS,
    Command,
    ControllerState,
    Kind,
    Setup,
    answer_of,
    packed_epochs,
    packed_state,
    unpacked_state,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model
from reassure.spec.kafka.releases import minor

EPOCH = 1000
"""Of every state before a step: an exploration knows only by how much epochs rise."""
LEADER_RISE, PARTITION_RISE, MOST = 24, 28, 7
"""Bit offsets of the rises of the epochs in an answer, and the largest rise that it can hold."""
REPORT = 256
"""States after which progress is reported."""


@dataclass
class Unexplained:
    """Steps of one kind of command that the rules take otherwise. first: the one that is reached soonest."""

    count: int
    path: list[Command]
    """A shortest way to the first."""
    first: StepDifference


@dataclass
class Explanation:
    """The comparison of an exploration's steps with the rules. unexplained: by kind of command."""

    steps: int = 0
    unexplained: dict[str, Unexplained] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Steps that are not explained."""
        return sum(kind.count for kind in self.unexplained.values())


class ReleaseRules:
    """A model's rules for a release; `Failure` if the model has none."""

    def __init__(self, model: str, release: Release, setup: Setup) -> None:
        module = sys.modules[load_model(model).module]
        if not hasattr(module, "controller_step"):
            raise Failure(Exit.USAGE, f"{model} has no rules for every step of Kafka's controller")
        self._step, self._held = module.controller_step, module.Held
        if setup.company or setup.topic:
            raise Failure(Exit.USAGE, f"{model} has no rules for requests of several partitions")
        self.release = release_value(model, release)
        self.features = module.features(_version(release, setup), setup.elr)

    def step(self, before: ControllerState, command: Command) -> tuple[ControllerState, str, bool]:
        """The state after a command that applies, the error, and whether the controller resigns."""
        held = self._held(
            before.partition,
            before.unfenced,
            before.shutting_down,
            before.unclean,
            before.min_isr,
            self.release,
            self.features,
            before.cordoned,
            before.unregistered,
        )
        kind = Kind.PROPOSE if command.kind in UNVERIFIED_PROPOSALS else command.kind  # a present epoch passes as well
        outcome = self._step(held, kind.name.lower(), command.broker, command.brokers)
        after = outcome.held
        state = ControllerState(
            after.partition,
            after.unfenced,
            before.incarnations,
            after.unclean,
            after.shutting_down,
            after.partition.last_known_is_nobody,
            after.min_isr,
            after.cordoned,
            after.unregistered,
        )
        return state, outcome.error, outcome.resigns


def explain(graph: ControllerExploration, rules: ReleaseRules, progress: Progress) -> Explanation:
    """Compares every step that was executed: the state after it, the rises of the epochs, the answer."""
    explanation = Explanation()
    applies, kafka_answer = graph.applies, cache(answer_of)

    @cache
    def reached(number: int, rises: int) -> tuple[ControllerState, bool]:
        """A state after a step, and whether it says all that Kafka's words do: then an equal one has the same words."""
        state = _unpacked(graph, number, rises)
        return state, _is_in(graph, number, rises, state)

    for number in range(len(graph.targets)):
        before = _unpacked(graph, number, 0)
        targets, answers = graph.targets[number].tolist(), graph.answers[number].tolist()
        for k in applies[number].nonzero()[0].tolist():
            command, answer = graph.commands[k], kafka_answer(answers[k])
            explanation.steps += 1
            real, rises = targets[k], answers[k] >> LEADER_RISE & 255
            after, error, resigns = rules.step(before, command)
            theirs, exact = reached(real, rises)
            same = (exact and after == theirs) or _is_in(graph, real, rises, after)
            if same and answer.error == error and answer.thrown == resigns:
                continue
            step = TraceCommand(number, str(command), command, before, after, error, resigns=resigns)
            _note(explanation, graph, StepDifference(step, theirs, answer, ""))
        if number % REPORT == 0:
            progress.proof(f"{explanation.steps:,} steps compared with the rules, {explanation.count:,} differ")
    return explanation


@dataclass(frozen=True)
class RulesComparison:
    """Searches of a release beside every set of rules. explanations: by the name of the rules, one of each search.

    Rules that differ in some search are not compared in the later ones, if others do not: they have fewer.
    """

    graphs: list[ControllerExploration]
    explanations: dict[str, list[Explanation]]

    @property
    def steps(self) -> int:
        """Steps of all searches, each of which was compared with the nearest rules."""
        return sum(graph.steps for graph in self.graphs)

    def differing(self, rules: str) -> Counter[str]:
        """How many steps some rules take otherwise, by kind of command."""
        kinds: Counter[str] = Counter()
        for explanation in self.explanations[rules]:
            kinds.update({kind: unexplained.count for kind, unexplained in explanation.unexplained.items()})
        return kinds

    def is_complete(self, rules: str) -> bool:
        """Whether some rules were compared in every search."""
        return len(self.explanations[rules]) == len(self.graphs)

    def nearest(self, own: str) -> str:
        """The rules from which the fewest steps differ; of several those of this name, else the newest published."""
        names = list(self.explanations)
        return min(names, key=lambda n: (self.differing(n).total(), n != own, not is_of_a_release(n), -names.index(n)))


def is_of_a_release(rules: str) -> bool:
    """Whether rules bear the number of a release, and not the name of a change to one."""
    return rules[:1].isdigit()


def compare_with_all_rules(
    model: str, drivers: Sequence[Driver], searches: Sequence[tuple[Scope, int | None]], progress: Progress
) -> RulesComparison:
    """Searches the controller, and compares every step with each of the model's sets of rules.

    searches: bounds and levels (None: all). The first steps that the nearest rules take otherwise have Kafka's words.
    """
    kafka = drivers[0].release
    candidates = names = [str(member.value) for member in release_members(model)]
    comparison = RulesComparison([], {name: [] for name in names})

    def judge(name: str) -> None:
        for graph in comparison.graphs[len(comparison.explanations[name]) :]:
            rules = ReleaseRules(model, replace(kafka, rules=name), graph.scope.setup)
            comparison.explanations[name].append(explain(graph, rules, progress))

    for scope, depth in searches:
        comparison.graphs.append(explore_with(drivers, scope, ExploreLimits(depth), progress))
        for name in candidates:
            judge(name)
        candidates = [name for name in candidates if not comparison.differing(name)]
    if not candidates:
        for name in names:
            judge(name)
    nearest = comparison.nearest(minor(kafka.version))
    for graph, explanation in zip(comparison.graphs, comparison.explanations[nearest], strict=True):
        with_records(explanation, graph, drivers[0])
    return comparison


def with_records(explanation: Explanation, graph: ControllerExploration, driver: Driver) -> None:
    """Executes the first step of each kind again, for Kafka's own words."""
    driver.begin(graph.scope.setup)
    for unexplained in explanation.unexplained.values():
        d = unexplained.first
        _, records = driver.describe([*packed_state(d.step.before), *d.step.command.words(set_state=True)])
        unexplained.first = StepDifference(d.step, d.state, d.answer, records)


def _note(explanation: Explanation, graph: ControllerExploration, difference: StepDifference) -> None:
    kind = difference.step.command.kind.name.lower()
    if kind in explanation.unexplained:
        explanation.unexplained[kind].count += 1
    else:
        explanation.unexplained[kind] = Unexplained(1, graph.path(difference.step.number)[1], difference)


def _version(release: Release, setup: Setup) -> tuple[int, int, int]:
    """The metadata version as numbers. Of a release's newest all that counts is whether it has ELR: 3.9's has not."""
    if not setup.metadata_version:
        return (3, 9, 0) if release.version.startswith("3.9.") and not setup.elr else (4, 0, 1)
    major, minor, step = re.fullmatch(r"(\d+)\.(\d+)-IV(\d+)", setup.metadata_version).groups()  # type: ignore[union-attr]
    return int(major), int(minor), int(step)


def _unpacked(graph: ControllerExploration, number: int, rises: int) -> ControllerState:
    """A state, its epochs as far as they are known."""
    epochs = packed_epochs(EPOCH + (rises & 15), EPOCH + (rises >> 4))
    state = unpacked_state(int(graph.states[number]), epochs, int(graph.settings[number]), graph.scope.brokers)
    if not state.keeps_nobody:
        return state
    return replace(state, partition=replace(state.partition, last_known_is_nobody=True))


def _is_in(graph: ControllerExploration, number: int, rises: int, state: ControllerState) -> bool:
    """Whether a state has the words of one of the graph, after a step by which the epochs rose so much."""
    word, _, settings = packed_state(state)
    return (word, settings) == (graph.states[number], graph.settings[number]) and _rises(state) == rises


def _rises(after: ControllerState) -> int:
    leader, partition = after.partition.leader_epoch - EPOCH, after.partition.partition_epoch - EPOCH
    return min(leader, MOST) | min(partition, MOST) << PARTITION_RISE - LEADER_RISE
