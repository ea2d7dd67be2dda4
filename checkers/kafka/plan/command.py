"""The command `reassure plan`: which options go together, and what is done with them."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.argument_types import ids, positive, size, whole
from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.result import error_record
from reassure.checkers.console.files import must_be_writable
from reassure.checkers.kafka.plan.evaluate import PROTOCOLS, UNLIMITED, Limits, judge, propose
from reassure.checkers.kafka.plan.kafka_json import read_assignment, read_cluster, write_assignment
from reassure.checkers.kafka.plan.report import plan_record, report_plan

BATCHING = ("replicas", "partitions", "leaders")
CHECKING = ("protocol", *BATCHING, "size", "throttle", "show")
PROPOSING = ("replication_factor", "brokers", "ignore_racks", "start_index")


def configure(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        'A cluster: {"brokers": [{"id": 1, "rack": "a"}, {"id": 2}], "min.insync.replicas": 1, '
        '"topics": {"orders": {"min.insync.replicas": 2}}}; all but brokers may be left out.'
    )
    command.add_argument(
        "--cluster", type=Path, required=True, metavar="FILE", help="brokers, racks and MinISR, as JSON"
    )
    command.add_argument(
        "--current",
        type=Path,
        required=True,
        metavar="FILE",
        help="the present assignment, in Kafka's reassignment JSON",
    )
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--proposed", type=Path, metavar="FILE", help="the proposed assignment, in Kafka's reassignment JSON"
    )
    what.add_argument("--generate", action="store_true", help="print a rack-aware proposal in Kafka's JSON")
    command.add_argument(
        "--protocol",
        choices=list(PROTOCOLS),
        help="the protocol; batching-by-rack drops replicas so that racks stay covered (default: kraft)",
    )
    command.add_argument(
        "--replicas",
        type=positive,
        metavar="R",
        help="replicas of a partition that move at once, with --protocol batching (default: no limit)",
    )
    command.add_argument(
        "--partitions",
        type=positive,
        metavar="P",
        help="partitions that move at once, with --protocol batching (default: no limit)",
    )
    command.add_argument(
        "--leaders",
        type=positive,
        metavar="L",
        help="leaders that move at once, with --protocol batching (default: no limit)",
    )
    command.add_argument(
        "--size",
        type=size,
        metavar="10G",
        help="size of a partition in bytes; with --throttle the report has the time that copying takes",
    )
    command.add_argument(
        "--throttle",
        type=size,
        metavar="50M",
        help="throttle of each broker in each direction, in bytes a second; with --size",
    )
    command.add_argument("--show", type=whole, metavar="N", help="print the stages of N partitions (default: 3)")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the run record as JSON, with every violation")
    command.add_argument(
        "--replication-factor",
        type=positive,
        metavar="N",
        help="replication factor of the proposal (default: the topic's)",
    )
    command.add_argument("--brokers", type=ids, metavar="1,2,3", help="brokers of the proposal (default: all)")
    command.add_argument("--ignore-racks", action="store_true", help="propose without regard to racks")
    command.add_argument(
        "--start-index", type=whole, metavar="N", help="where in the list of brokers the proposal begins (default: 0)"
    )


def _given(args: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    return [f"--{n.replace('_', '-')}" for n in names if getattr(args, n) is not None and getattr(args, n) is not False]


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks a proposal, or makes one."""
    must_be_writable(args.json, "--json")
    stray = _given(args, CHECKING if args.generate else PROPOSING)
    if stray:
        raise Failure(Exit.USAGE, f"{stray[0]} does not go with {'--generate' if args.generate else '--proposed'}")
    protocol = args.protocol or "kraft"
    if not protocol.startswith("batching") and _given(args, BATCHING):
        raise Failure(Exit.USAGE, f"{_given(args, BATCHING)[0]} is a limit of --protocol batching")
    if (args.size is None) != (args.throttle is None):
        raise Failure(Exit.USAGE, "--size and --throttle go together")
    cluster = read_cluster(args.cluster)
    current = read_assignment(args.current, cluster)
    if args.generate:
        made = propose(
            cluster,
            current,
            args.brokers or [],
            args.replication_factor,
            ignore_racks=args.ignore_racks,
            start_index=args.start_index or 0,
        )
        sys.stdout.write(write_assignment(made))
        moved = sum(len(set(made[p]) - set(current[p])) for p in made)
        print(f"{len(made):,} partitions, {moved:,} replicas to be copied", file=sys.stderr)
        if args.json:
            record = error_record(Exit.OK, "a proposal was made", "plan:generate", _repro(args))
            write_record(args.json, {**record, "complete": True, "plan": {"replicas_copied": moved}})
        return Exit.OK
    limits = Limits(*(getattr(args, n) or UNLIMITED for n in BATCHING))
    judged = judge(cluster, current, read_assignment(args.proposed, cluster), protocol, limits)
    copying = (args.size, args.throttle) if args.size else None
    report_plan(judged, protocol, limits, copying, 3 if args.show is None else args.show, console)
    if args.json:
        inputs: dict[str, Path] = {n: getattr(args, n) for n in ("cluster", "current", "proposed")}
        write_record(args.json, plan_record(judged, protocol, limits, copying, inputs, _repro(args)))
    return judged.exit()


def _repro(args: argparse.Namespace) -> str:
    """The command that repeats it."""
    words = ["reassure", "plan"]
    for n in ("cluster", "current", "proposed", *CHECKING[:-1], *PROPOSING):
        value = getattr(args, n)
        if isinstance(value, list):
            value = ",".join(str(b) for b in value)
        if value is not None and not isinstance(value, bool):
            words.append(f"--{n.replace('_', '-')}={value}")
    words += [w for w, on in (("--generate", args.generate), ("--ignore-racks", args.ignore_racks)) if on]
    return shlex.join(words)
