"""Output and record of `reassure plan`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from reassure.checkers.kafka.audit.log_files import files_of
from reassure.checkers.kafka.plan.evaluate import JudgedPlan, Promise
from reassure.checkers.kafka.plan.kafka_json import partition_name
from reassure.checkers.kafka.plan.stages import UNLIMITED, Stage
from reassure.checkers.kafka.printed.shell_output import Key
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.request.run_identity import RunIdentity

JUDGED = Stop(StopReason.COMPLETE, "every partition was judged")
NO_RACKS = "the promises about racks were not checked: some of the brokers have no rack"
EXAMPLES = 3
"""Breaks told of each promise; the record has all."""

COVERED = (
    "every replica set that each partition passes through",
    "the present state of each partition, as far as --current or --cluster has it, and where the protocol leads the "
    "move from there",
    "the failure of each single broker and of each single rack at each of them; only replicas certainly in sync count",
    "the limits of batches, and how much each broker receives and sends in each batch",
    "brokers whose log directories are all cordoned, as far as the cluster's file names them (KIP-1066)",
)
NOT_COVERED = (
    "whether a broker that gets a replica catches up: one without a known fault is assumed to",
    "targets below MinISR: KRaft's document says that they never complete (K2), Kafka's code completes them",
    "two failures at once, or what a protocol does after one (`reassure check` does that)",
    "effects of partitions on each other, except limits and load; produce traffic, in the time that is printed",
)
BATCHES = 10
"""Batches, and times with few replicas in sync, that are printed."""


def _listed(brokers: tuple[int, ...] | frozenset[int]) -> str:
    return ", ".join(str(b) for b in (sorted(brokers) if isinstance(brokers, frozenset) else brokers))


def lasting(seconds: float) -> str:
    """A time to read."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _limits(judged: JudgedPlan) -> dict[str, object]:
    """The limits that are given, by option."""
    return {name: limit for name, limit in vars(judged.limits).items() if limit < UNLIMITED}


def report_plan(judged: JudgedPlan, copying: tuple[int, int] | None, show: int, disks: int, console: Console) -> None:
    """Prints everything found.

    copying: bytes of a partition and of a broker's throttle, if given. disks: partitions that name a log directory.
    """

    def remark(text: str) -> None:
        console.print(text, style="yellow")

    count = len(judged.paths)
    options = "".join(f" --{name} {limit}" for name, limit in _limits(judged).items())
    by = f"by {judged.protocol}{options}"
    console.print(f"{count:,} of {count + judged.unmoved:,} partitions move, {by}", style="bold")
    for partition, path in list(judged.paths.items())[:show]:
        console.print(f"\n{partition_name(partition)}")
        for i, stage in enumerate(path):
            console.print(f"  {_title(judged, partition, i):9} {_listed(stage.replicas)}{_about(stage, i)}")
        if partition in judged.blocked:
            console.print(f"  {judged.blocked[partition]}", style="red")
    if show and count > show:
        console.print(f"\n... and {count - show:,} more partitions (--show {count})", style="dim")
    console.print("\npromises", style="bold")
    width = max(len(p) for p in judged.promises)
    for promise in judged.promises.values():
        row = Text(f"  {promise.name:{width}}  ")
        style = {"holds": "green", "violated": "red"}.get(promise.status, "yellow")
        row.append(_verdict(promise, count), style=style)
        console.print(row)
        breaks = []
        for b in promise.breaks:
            failure = f", {b.failure}" if b.failure else ""
            breaks.append(f"{partition_name(b.partition)}, {_title(judged, b.partition, b.stage)}{failure}: {b.text}")
        _print_first(breaks, EXAMPLES, "(--json has all)", console, "dim", "      ")
        doubts = [f"{about}: {why}" for about, why in promise.open.items()]
        _print_first(doubts, EXAMPLES, "(--json has all)", console, "yellow", "      ")
    if judged.not_applicable:
        console.print("  the promises about racks do not apply: no broker has a rack", style="dim")
    elif not judged.racked:
        described = judged.cluster.described
        why = "the cluster's file says nothing of racks" if described else "some of the brokers have no rack"
        remark(f"  the promises about racks are not checked: {why}")
    if judged.too_few:
        are = "partition is" if judged.too_few == 1 else "partitions are"
        remark(
            f"\n{judged.too_few:,} {are} to have fewer replicas than min.insync.replicas: no producer with acks=all is "
            "served there"
        )
    many = len(judged.batches)
    batches = f"{many:,} batch{'es' * (many != 1)}"
    console.print(f"\n{judged.moved:,} {'replica is' if judged.moved == 1 else 'replicas are'} copied in {batches}")
    console.print(f"a broker sends or receives at most {max(judged.busiest, default=0):,} of them in a batch")
    if judged.fewest_racks is not None:
        console.print(f"replicas certainly in sync are in at least {quantity(judged.fewest_racks, 'rack')}")
    if copying:
        size, throttle = copying
        time = lasting(judged.seconds(size, throttle))
        console.print(
            f"copying takes at least {time}: {size:,} bytes a partition, {throttle:,} bytes/s a broker and direction"
        )
        _print_times(judged, [count * size / throttle for count in judged.busiest], console)
    if judged.replaced:
        remark(
            f"partitions that are being moved elsewhere already: {judged.replaced:,}; the plan replaces these targets, "
            f"and gives up replicas that are being copied: {judged.given_up:,}"
        )
    for text in assumptions(judged):
        remark(f"assumed: {text}")
    if disks:
        remark(f"partitions that name log directories: {disks:,}; moves between disks are not judged")
    for what, texts in (("covered", COVERED), ("not covered", NOT_COVERED)):
        console.print(f"\n{what}", style="dim")
        for text in texts:
            console.print(f"  {text}", style="dim")


def _print_first(lines: Sequence[str], most: int, more: str, console: Console, style: str, indent: str = "  ") -> None:
    """Prints the first lines, and how many more there are. more: the words behind that number."""
    for line in lines[:most]:
        console.print(indent + line, style=style)
    if len(lines) > most:
        console.print(f"{indent}... and {len(lines) - most:,} more {more}", style="dim")


def assumptions(judged: JudgedPlan) -> list[str]:
    """What no file says, and the answer supposes."""
    texts = []
    if judged.assumed_in_sync:
        some = quantity(judged.assumed_in_sync, "partition")
        texts.append(f"all replicas of {some} are in sync, and the preferred leaders lead: no file has their ISR")
    if judged.assumed_min_isr:
        topics = ", ".join(judged.assumed_min_isr[:EXAMPLES]) + ", ..." * (len(judged.assumed_min_isr) > EXAMPLES)
        texts.append(f"min.insync.replicas is 1, Kafka's default, of topics that no file has it of: {topics}")
    if judged.moved:
        texts.append("each broker that gets a replica catches up, but for those named above")
    return texts


def _print_times(judged: JudgedPlan, seconds: Sequence[float], console: Console) -> None:
    """How long the first batches take, and which partitions have few replicas in sync for how long."""
    sizes = [quantity(len(members), "partition") for members in judged.batches]
    times = [f"batch {n}: {lasting(each)}, {sizes[n - 1]}" for n, each in enumerate(seconds, 1)]
    _print_first(times, BATCHES, "batches", console, "")
    few = list(_exposures(judged, seconds))
    _print_first(few, BATCHES, "times with few replicas in sync", console, "yellow")
    if not few:
        console.print("  at every moment each partition has MinISR, and more than one replica, certainly in sync")


def _exposures(judged: JudgedPlan, seconds: Sequence[float]) -> Iterator[str]:
    """The times below MinISR, or one failure from the loss of a partition, of every partition that moves.

    seconds: that each batch copies, at least: the broker that has most to send or receive decides.
    """
    begins = [sum(seconds[:i]) for i in range(len(seconds) + 1)]
    entered = {(p, stage): batch for batch, members in enumerate(judged.batches) for p, stage in members}
    for partition, path in judged.paths.items():
        starts: list[float] = []
        for number, stage in enumerate(path):
            batch = entered.get((partition, number))
            if batch is not None:
                starts.append(begins[batch])
            elif number and stage.follows and (before := entered.get((partition, number - 1))) is not None:
                starts.append(begins[before + 1])
            else:
                starts.append(starts[-1] if starts else 0.0)
        for number, stage in list(enumerate(path))[1:]:  # the first is before the move
            long = "from then on"
            if number + 1 < len(path):
                if starts[number + 1] == starts[number]:
                    continue
                long = f"for {lasting(starts[number + 1] - starts[number])}"
            count, least = len(stage.certain), judged.cluster.enough(partition[0])
            what = f"{count} certainly in sync, below MinISR {least}" if count < least else "one failure from loss"
            if count < least or count == 1:
                yield f"{partition_name(partition)}, {_title(judged, partition, number)}: {what}, {long}"


def _title(judged: JudgedPlan, partition: Key, stage: int) -> str:
    if stage == len(judged.paths[partition]) - 1 and partition not in judged.blocked:
        return "target"
    return f"stage {stage}" if stage else "before"


def _about(stage: Stage, number: int) -> str:
    parts = [f"leader {'none' if stage.leader is None else stage.leader}"]
    if not number and len(stage.certain) < len(stage.replicas):
        parts.append(f"in sync {_listed(stage.certain) or 'none'}")
    if number and stage.adding:
        parts.append(f"adding {_listed(stage.adding)}")
        parts.append(f"certainly in sync {_listed(stage.certain) or 'none'}")
    return "   (" + "; ".join(parts) + ")"


def _broken_before(promise: Promise, partitions: int) -> bool:
    """Whether each of the partitions that move broke a promise before the move already: it is about none of them."""
    return promise.decided and not promise.breaks and 0 < promise.before == partitions


def _verdict(promise: Promise, count: int) -> str:
    if not promise.checked:
        return "not checked"
    text = "not decided" if promise.open else "holds"
    if promise.breaks:
        text = f"violated for {quantity(len({b.partition for b in promise.breaks}), 'partition')}"
    if promise.before:
        already = f"{promise.before:,} broke it before the move"
        every = _broken_before(promise, count)
        text = "not applicable: every partition that moves broke it before" if every else f"{text} ({already})"
    return text


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the files of a log in a folder, in order."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files_of([path]))).hexdigest()


def _what_is_open(judged: JudgedPlan) -> str:
    """Why not every promise was decided."""
    about = {key: text for p in judged.promises.values() for key, text in p.open.items()}
    if not about:
        return NO_RACKS
    key, text = next(iter(about.items()))
    return f"{key}: {text}" + f", and {len(about) - 1:,} more" * (len(about) > 1)


def plan_record(
    judged: JudgedPlan, copying: tuple[int, int] | None, inputs: dict[str, Path], repro: str
) -> dict[str, object]:
    """The run record, with everything about the plan in `plan`."""
    stop = JUDGED if judged.complete else Stop(StopReason.OPEN, _what_is_open(judged))
    promises = judged.promises.values()
    about = [p for p in promises if not _broken_before(p, len(judged.paths))]
    identity = RunIdentity(f"plan:{judged.protocol}", None, _limits(judged), "plan", repro)
    return {
        **identity.record(judged.exit(), judged.complete, stop),
        "not_applicable": [*judged.not_applicable, *(p.name for p in promises if p not in about)],
        "properties": [
            {"name": p.name, "kind": p.kind, "status": p.status, "trace": None, "depth": None} for p in about
        ],
        "plan": {
            "inputs": {k: {"file": str(p), "sha256": _digest(p)} for k, p in inputs.items()},
            "partitions": len(judged.paths),
            "unmoved": judged.unmoved,
            "replicas_copied": judged.moved,
            "batches": [[[*p, stage] for p, stage in batch] for batch in judged.batches],
            "busiest": judged.busiest,
            "seconds": judged.seconds(*copying) if copying else None,
            "fewest_racks": judged.fewest_racks,
            "fewer_than_min_isr": judged.too_few,
            "paths": [
                {"topic": topic, "partition": number, "stages": [_stage_record(stage) for stage in path]}
                for (topic, number), path in judged.paths.items()
            ],
            "breaks": [
                {
                    "promise": p.name,
                    "topic": b.partition[0],
                    "partition": b.partition[1],
                    "stage": b.stage,
                    "failure": b.failure or None,
                    "text": b.text,
                }
                for p in promises
                for b in p.breaks
            ],
            "kept_by_fewer_before": {p.name: p.before for p in promises if p.before},
            "not_decided": [
                {"promise": p.name, "about": of, "text": text} for p in promises for of, text in p.open.items()
            ],
            "assumed": assumptions(judged),
            "covered": list(COVERED),
            "not_covered": list(NOT_COVERED),
        },
    }


def _stage_record(s: Stage) -> dict[str, object]:
    return {"replicas": list(s.replicas), "certain": sorted(s.certain), "leader": s.leader, "adding": list(s.adding)}
