"""The command `reassure plan`: which options go together, and what is done with them."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from rich.console import Console

from checkers.plan import UNLIMITED, Limits, judge, propose
from checkers.plan_files import read_assignment, read_cluster, write_assignment
from checkers.plan_report import plan_record, report_plan
from checkers.run import Failure
from checkers.verdict import Exit, error_record, write_record

BATCHING = ("replicas", "partitions", "leaders")
CHECKING = ("protocol", *BATCHING, "size", "throttle", "show")
PROPOSING = ("replication_factor", "brokers", "ignore_racks", "start_index")


def _given(args: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    return [f"--{n.replace('_', '-')}" for n in names if getattr(args, n) not in (None, False)]


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks a proposal, or makes one."""
    stray = _given(args, CHECKING if args.generate else PROPOSING)
    if stray:
        raise Failure(Exit.USAGE, f"{stray[0]} does not go with {'--generate' if args.generate else '--proposed'}")
    protocol = args.protocol or "kraft"
    if protocol != "batching" and _given(args, BATCHING):
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
        if value not in (None, False, True):
            words.append(f"--{n.replace('_', '-')}={value}")
    words += [w for w, on in (("--generate", args.generate), ("--ignore-racks", args.ignore_racks)) if on]
    return shlex.join(words)
