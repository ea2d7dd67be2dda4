"""The command `reassure plan`: which options go together, and what is done with them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from reassure.checkers.console.commands import GateKind, Record
from reassure.checkers.console.files import STANDARD_OUTPUT
from reassure.checkers.console.parser import note
from reassure.checkers.kafka.audit.ending import RULES
from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.evaluate import judge_plan
from reassure.checkers.kafka.plan.kafka_json import description, read_assignment, read_cluster, write_assignment
from reassure.checkers.kafka.plan.present import Present, is_log, metadata_log
from reassure.checkers.kafka.plan.propose import propose
from reassure.checkers.kafka.plan.report import plan_record, report_plan
from reassure.checkers.kafka.plan.stages import PROTOCOLS, UNLIMITED, PlanLimits
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import ids, positive, size, whole
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import JSON, Option
from reassure.spec.kafka.releases import rules_of

BATCHING = ("replicas", "partitions", "leaders")
CHECKING = ("protocol", *BATCHING, "size", "throttle", "show", "release", "min_isr")
PROPOSING = ("replication_factor", "brokers", "ignore_racks", "start_index")


EPILOG = (
    'A cluster: {"brokers": [{"id": 1, "rack": "a"}, {"id": 2, "log.dirs": "/a,/b", "cordoned.log.dirs": "*"}], '
    '"min.insync.replicas": 1, "topics": {"orders": {"min.insync.replicas": 2}}, "release": "4.4.0"}; '
    "all but brokers and their ids may be left out (MinISR: 1, Kafka's default; release: not known)."
)
LIMIT = Option(
    "--replicas R", "replicas of a partition that move at once, with --protocol batching (default: no limit)", positive
)
OPTIONS = (
    Option(
        "--cluster FILE",
        "brokers, racks, cordoned disks, MinISR as JSON; a metadata log; or output of kafka-topics --describe",
        Path,
        required=True,
    ),
    Option(
        "--current FILE",
        "the present assignment: Kafka's JSON, output of its tools, or a metadata log",
        Path,
        required=True,
    ),
    Option(
        "--proposed FILE",
        "the proposed assignment: Kafka's JSON, or output of kafka-reassign-partitions --generate",
        Path,
        required=True,
        group="proposal",
    ),
    Option(
        "--running FILE",
        "a reassignment under way, begun from --current: Kafka's JSON, output of kafka-reassign-partitions --list "
        "or a metadata log; the plan comes on top of it",
        Path,
    ),
    Option("--generate", "print a rack-aware proposal in Kafka's JSON", bool, required=True, group="proposal"),
    Option(
        "--protocol",
        "the protocol; batching-by-rack drops replicas so that racks stay covered (default: kraft)",
        choices=tuple(PROTOCOLS),
    ),
    LIMIT,
    replace(
        LIMIT, usage="--partitions P", help="partitions that move at once, with --protocol batching (default: no limit)"
    ),
    replace(LIMIT, usage="--leaders L", help="leaders that move at once, with --protocol batching (default: no limit)"),
    Option(
        "--size 10G", "size of a partition in bytes; with --throttle the report has the time that copying takes", size
    ),
    Option(
        "--release 4.2.1",
        "the release of the controllers, or the name of its rules (default: the cluster file's; else each one that the "
        "log's metadata version allows: where their answers differ, the exit code is 5)",
    ),
    Option(
        "--min-isr N",
        "min.insync.replicas of topics for which no file has it (default: not known, exit code 5)",
        positive,
    ),
    Option("--throttle 50M", "throttle of each broker in each direction, in bytes a second; with --size", size),
    Option("--show N", "print the stages of N partitions (default: 3)", whole, output=True),
    replace(JSON, help="write the run record as JSON, with every violation"),
    Option("--replication-factor N", "replication factor of the proposal (default: the topic's)", positive),
    Option("--brokers 1,2,3", "brokers of the proposal (default: all that are not cordoned)", ids),
    Option("--ignore-racks", "propose without regard to racks", bool),
    Option("--start-index N", "where in the list of brokers the proposal begins (default: 0)", whole),
)


def _figures(record: Record) -> dict[str, int]:
    """Counts of a plan: the gate's pins."""
    plan = record.get("plan", {})
    moved = {name: plan[name] for name in ("partitions", "unmoved", "replicas_copied") if name in plan}
    return moved | ({"batches": len(plan["batches"])} if "batches" in plan else {})


KIND = GateKind(
    ("partitions", "unmoved", "replicas_copied", "batches"),
    _figures,
    left_out=frozenset({"generate", *PROPOSING, "show"}),
)


def _given(args: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    return [f"--{n.replace('_', '-')}" for n in names if getattr(args, n) is not None and getattr(args, n) is not False]


def _cluster(args: argparse.Namespace) -> ClusterFile:
    """The cluster, with what options say of it."""
    cluster = read_cluster(args.cluster)
    if args.release is not None:
        if not (rules := rules_of(args.release)):
            raise Failure(Exit.USAGE, f"--release {args.release}: it is one of {', '.join(RULES)}, or such as 4.1.2")
        cluster.releases = (rules,)
    if args.min_isr is not None and (cluster.min_isr is None or cluster.takes_default):
        cluster.min_isr, cluster.takes_default = args.min_isr, False
    return cluster


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks a proposal, or makes one."""
    stray = _given(args, CHECKING if args.generate else PROPOSING)
    if stray:
        raise Failure(Exit.USAGE, f"{stray[0]} does not go with {'--generate' if args.generate else '--proposed'}")
    protocol = args.protocol or "kraft"
    if not protocol.startswith("batching") and _given(args, BATCHING):
        raise Failure(Exit.USAGE, f"{_given(args, BATCHING)[0]} is a limit of --protocol batching")
    if args.generate and args.json == STANDARD_OUTPUT:
        raise Failure(Exit.USAGE, "--generate and --json - both write to standard output")
    if (args.size is None) != (args.throttle is None):
        raise Failure(Exit.USAGE, "--size and --throttle go together")
    for path in (args.cluster, args.current, args.proposed, args.running):
        if isinstance(path, Path) and path.is_fifo():
            raise Failure(Exit.USAGE, f"{path} is a pipe, which can be read only once: write it to a file first")
    cluster = _cluster(args)
    current_file = read_assignment(args.current, cluster, "current")
    current = current_file.replicas
    if args.running and (args.generate or protocol != "kraft"):
        raise Failure(Exit.USAGE, "--running is for --proposed and --protocol kraft")
    running = read_assignment(args.running, cluster) if args.running else None
    of_file = not cluster.described and not is_log(args.cluster)
    if of_file and (strange := sorted(cluster.topics.keys() - {topic for topic, _ in current})):
        note(f"note: of {', '.join(strange[:3])} the cluster file has a setting, and {args.current} no partition")
    if not args.running and current_file.under_way:
        note(
            f"note: reassignments under way by {args.current}: {current_file.under_way:,}; the plan comes on top of "
            "those that it replaces, --running counts the others too"
        )
    for path in dict.fromkeys(path for path in (args.cluster, args.current) if path and is_log(path)):
        for line in metadata_log(path).not_read:
            note(f"note: {line}")
    if args.generate:
        console.judges = False  # standard output is the proposal
        brokers, factor, start = args.brokers or [], args.replication_factor, args.start_index or 0
        proposal = propose(cluster, current, brokers, factor, args.ignore_racks, start)
        sys.stdout.write(write_assignment(proposal))
        moved = sum(len(set(proposal[p]) - set(current[p])) for p in proposal)
        print(f"{len(proposal):,} partitions, {moved:,} replicas to be copied", file=sys.stderr)
        if args.json:
            stop = Stop(StopReason.COMPLETE, "a proposal was made")
            record = RunIdentity("plan:generate", None, {}, "plan", args.repro).record(Exit.OK, True, stop)
            write_record(args.json, {**record, "plan": {"replicas_copied": moved}})
        return Exit.OK
    limits = PlanLimits(*(getattr(args, n) or UNLIMITED for n in BATCHING))
    proposed = read_assignment(args.proposed, cluster)
    present = Present()
    for path in dict.fromkeys((args.current, args.cluster)):
        present.add(path, topics_of := description(path), current)
        if topics_of is not None:
            cluster.add_settings(topics_of.min_isr, topics_of.unclean)
    try:
        with Progress() as progress:
            targets = running.replicas if running else None
            judged = judge_plan(cluster, current, proposed.replicas, protocol, limits, targets, present, progress)
    except Failure as error:
        if error.code is Exit.NOTHING and proposed.disks:
            raise Failure(error.code, f"{error} but log directories: moves between disks are not judged") from None
        raise
    for path, file in ((args.proposed, proposed), (args.running, running)):
        if file is not None and file.unknown:
            note(f"note: {path}: read over, as Kafka's tool does: {', '.join(file.unknown[:5])}")
    copying = (args.size, args.throttle) if args.size else None
    report_plan(judged, copying, 3 if args.show is None else args.show, proposed.disks, console)
    if args.json:
        named = {n: getattr(args, n) for n in ("cluster", "current", "proposed", "running")}
        inputs = {name: path for name, path in named.items() if path}
        write_record(args.json, plan_record(judged, copying, inputs, args.repro))
    return judged.exit()
