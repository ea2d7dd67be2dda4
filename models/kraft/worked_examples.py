"""The two worked examples of "KRaft replication", chapter 4 (K10), replayed on the models step by step.

The document prints, for each change, the partition's metadata. Some of those lines it calls intermediate: what a change
goes through before it is written. `states_that_are_written` replays the others; `lines_as_printed` takes every line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from reassure import Model
from reassure.models.kraft import kraft, kraft_kafka
from reassure.models.kraft.kafka_controller import Release
from reassure.models.kraft.state import AlterPartition, Cluster, Unclean
from reassure.spec.claims import Outcome
from reassure.spec.kafka.partition import Broker, Brokers, Partition
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params


def brokers(*numbers: int) -> Brokers:
    return frozenset(Broker(n) for n in numbers)


@dataclass(frozen=True)
class Line:
    """The metadata as the document prints it; `leader` is None where it prints none."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    def unlike(self, p: Partition) -> str:
        """The fields in which the partition differs from the line."""
        rows = (
            ("Replicas", tuple(map(Broker, self.replicas)), p.replicas),
            ("ISR", brokers(*self.isr), p.isr),
            ("Leader", p.leader if self.leader is None else Broker(self.leader), p.leader),
            ("LeaderEpoch", self.leader_epoch, p.leader_epoch),
            ("PartitionEpoch", self.partition_epoch, p.partition_epoch),
            ("Adding", brokers(*self.adding), p.adding),
            ("Removing", brokers(*self.removing), p.removing),
        )
        return ", ".join(
            f"{name} is {plain(there)}, printed {plain(said)}" for name, said, there in rows if said != there
        )


def plain(value: object) -> str:
    if isinstance(value, frozenset | tuple):
        return f"[{', '.join(str(int(v)) for v in (sorted(value) if isinstance(value, frozenset) else value))}]"
    return "none" if value is None else str(int(value)) if isinstance(value, int) else str(value)


Step = tuple[str, dict[str, int | tuple[int, ...]]]
"""An action with its parameters, brokers as numbers."""


@dataclass(frozen=True)
class Written:
    """A change that the controller makes: the steps up to it, the intermediate line if there is one, the state."""

    steps: tuple[Step, ...]
    after: Line
    intermediate: Line | None = None


@dataclass(frozen=True)
class Example:
    number: int
    brokers: int
    start: Line
    changes: tuple[Written, ...]


def joins(follower: int, leader: int) -> tuple[Step, ...]:
    """A follower catches up, and the leader asks to take it into the ISR."""
    return (
        ("catch_up", {"follower": follower}),
        ("propose_expansion", {"follower": follower}),
        ("alter_partition", {"successor": leader}),
    )


MOVING_ONE = Example(
    number=1,
    brokers=4,
    start=Line((1, 2, 3), (1, 2), 1, 1, 2),
    changes=(
        Written(
            (("start", {"target": (1, 2, 4), "successor": 1}),),
            Line((1, 2, 3, 4), (1, 2), 1, 1, 3, adding=(4,), removing=(3,)),
        ),
        Written(
            joins(4, leader=1),
            Line((1, 2, 4), (1, 2, 4), None, 2, 4),
            intermediate=Line((1, 2, 3, 4), (1, 2, 4), None, 1, 3, adding=(4,), removing=(3,)),
        ),
    ),
)
LOWERING = Example(
    number=2,
    brokers=5,
    start=Line((1, 2, 3, 4, 5), (4, 5), 5, 1, 2),
    changes=(
        Written(
            (("start", {"target": (1, 2, 3), "successor": 5}),),
            Line((1, 2, 3, 4, 5), (4, 5), 5, 1, 3, removing=(4, 5)),
        ),
        Written(
            joins(1, leader=5),
            Line((1, 2, 3, 4, 5), (1, 4, 5), 5, 1, 4, removing=(4, 5)),
        ),
        Written(
            (("hear", {}), *joins(2, leader=2)),
            Line((1, 2, 3), (1, 2), 2, 2, 5),
            intermediate=Line((1, 2, 3, 4, 5), (1, 2, 5), 5, 1, 4, removing=(4, 5)),
        ),
    ),
)
EXAMPLES = (MOVING_ONE, LOWERING)


class Mismatch(Exception):
    """A step that the model refuses, or a state that differs from the model's."""


def begun(model: Model, example: Example, **settings: Any) -> tuple[BoundModel, Cluster]:
    """The model in the first state of an example, everybody alive; MinISR is 2 in both."""
    config = model.config(brokers=example.brokers, replication_factor=1, unclean=Unclean.OFF, **settings)
    bound = BoundModel(model, config)
    initial = next(s for _, _, s in bound.initial_states())
    assert isinstance(initial, Cluster)
    line = example.start
    isr, replicas = brokers(*line.isr), tuple(map(Broker, line.replicas))
    p = replace(
        initial.partition,
        replicas=replicas,
        isr=isr,
        leader=None if line.leader is None else Broker(line.leader),
        leader_epoch=line.leader_epoch,
        partition_epoch=line.partition_epoch,
    )
    return bound, replace(initial, partition=p, leader_isr=isr, complete=isr, original=replicas, wanted=replicas)


def takes(bound: BoundModel, s: Cluster, name: str, told: dict[str, int | tuple[int, ...]], first: bool) -> Cluster:
    """The step with its parameters as the model has them; `first`: the first of the target leads, if anybody moves."""
    params: Params = {k: brokers(*v) if isinstance(v, tuple) else Broker(v) for k, v in told.items()}
    action = next(a for a in bound.model.actions if a.name == name)
    if name == "alter_partition":
        (params["request"],) = s.requests
        params = {k: params[k] for k in ("request", "successor")}
    if "successor" not in action.function.__annotations__:
        params.pop("successor", None)
    elif first and params["successor"] != s.partition.leader:
        params["successor"] = next(b for b in s.partition.replicas if b in elected_from(s, params["request"]))
    try:
        after = bound.take(s, name, params)
    except GuardRefused:
        raise Mismatch(f"{name}({', '.join(f'{k}={plain(v)}' for k, v in told.items())}) is refused") from None
    assert isinstance(after, Cluster) and not isinstance(after, Clipped)
    return after


def elected_from(s: Cluster, request: AlterPartition) -> Brokers:
    return request.isr - s.partition.removing


def replayed(
    model: Model, example: Example, first: bool = False, **settings: Any
) -> Iterator[tuple[Written, Partition, Partition]]:
    """Each change with the partition before and after it."""
    bound, s = begun(model, example, **settings)
    for change in example.changes:
        before = s.partition
        for name, told in change.steps:
            s = takes(bound, s, name, told, first)
        yield change, before, s.partition


def compared(model: Model, first: bool = False, **settings: Any) -> Outcome:
    """Every change of both examples, with every difference from what is printed."""
    cases, wrong = 0, []
    for example in EXAMPLES:
        where = f"example {example.number}"
        try:
            for change, _, after in replayed(model, example, first, **settings):
                cases += 1
                if unlike := change.after.unlike(after):
                    wrong.append(f"{where}, change {cases_of(example, change)}: {unlike}")
        except Mismatch as refused:
            cases += 1
            wrong.append(f"{where}: {refused}")
    return Outcome(not wrong, cases, "every change of both examples", "; ".join(wrong) or None)


def cases_of(example: Example, change: Written) -> int:
    return example.changes.index(change) + 1


def states_that_are_written() -> Outcome:
    """K10 by the document's rules, epochs included."""
    return compared(kraft.MODEL)


def states_that_kafka_writes() -> Outcome:
    """K10 by the controller's rules, 4.3 on."""
    return compared(kraft_kafka.MODEL, release=Release.V4_4)


def states_that_kafka_wrote_up_to_4_2() -> Outcome:
    """K10 by the controller's rules, where completion takes the whole target in sync."""
    return compared(kraft_kafka.MODEL, release=Release.V4_2)


def first_of_the_target_leads() -> Outcome:
    """K10 if a completed reassignment is led by the first of the target that is in sync, as Kafka elects."""
    return compared(kraft.MODEL, first=True)


def lines_as_printed() -> Outcome:
    """K10 with the intermediate lines as changes of their own: the proposed ISR, and the epoch one higher (4.2)."""
    cases, wrong = 0, []
    for example in EXAMPLES:
        for change, before, after in replayed(kraft.MODEL, example):
            cases += 1 if change.intermediate is None else 2
            joined = frozenset(after.isr - before.isr)
            caught_up = replace(before, isr=before.isr | joined, partition_epoch=before.partition_epoch + 1)
            if change.intermediate is not None and (unlike := change.intermediate.unlike(caught_up)):
                wrong.append(
                    f"example {example.number}, intermediate state of change {cases_of(example, change)}: {unlike}"
                )
    return Outcome(not wrong, cases, "every printed line of both examples", "; ".join(wrong) or None)
