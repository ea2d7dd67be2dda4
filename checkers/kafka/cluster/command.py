"""`reassure kafka cluster`: runs executed on a cluster of released Kafka processes, with real logs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reassure.checkers.base.argument_types import positive, whole
from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit, Failure, UsageFailure, worst
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.run_identity import RunIdentity
from reassure.checkers.base.shared_options import BUDGET, JSON, OF_TRACE, QUIET, TRACE
from reassure.checkers.base.stop import Stop, StopReason
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.commands import Subcommand
from reassure.checkers.kafka.cluster.distribution import distribution
from reassure.checkers.kafka.cluster.effects import EFFECTS, PAUSED
from reassure.checkers.kafka.cluster.execute import Workload
from reassure.checkers.kafka.cluster.report import cluster_record, report_cluster
from reassure.checkers.kafka.cluster.schedule import schedule
from reassure.checkers.kafka.cluster.session import ClusterLimits, ClusterResult, ClusterRun, execute_runs
from reassure.checkers.kafka.controller.command import controller_traces, named_release
from reassure.checkers.kafka.controller.controller_itf import itf
from reassure.checkers.kafka.controller.releases import Release
from reassure.spec.semantics.trace import properties_of

SUBCOMMANDS = {
    "cluster": Subcommand(
        "execute traces on a cluster of Kafka's own brokers, with real logs and records",
        (
            replace(
                TRACE, usage="traces TRACE", nargs="+", help="ITF files: runs of kraft_kafka, or of `kafka explore`"
            ),
            OF_TRACE,
            Option(
                "--release R",
                "the release to run, or the path of a build made by `kafka build` (default: each trace's own)",
                default="",
            ),
            Option("--records N", "records to produce before each run (default: 20000)", whole, Workload.records),
            Option("--record-size N", "bytes of each record (default: 200)", positive, Workload.bytes),
            Option(
                "--per-second N", "records to produce each second of a run (default: 20)", whole, Workload.per_second
            ),
            Option("--keep DIR", "keep settings, logs and output of the nodes in this new folder", Path, output=True),
            replace(BUDGET, help="give up a run after this time, such as 10m (default: no limit)"),
            JSON,
            replace(QUIET, help="print no progress"),
            Option("--full", "print the brokers' logs after each step", bool, output=True),
        ),
    )
}


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Executes each trace on its release: 18 if the cluster does something else, 5 if it cannot be brought there."""
    by_release = _runs(args)
    load = Workload(args.records, args.record_size, args.per_second)
    results: list[ClusterResult] = []
    if args.keep is not None and len(by_release) > 1:
        raise UsageFailure("--keep is for one cluster; these traces need several")
    with Progress(quiet=args.quiet) as progress:
        for (kafka, _), runs in by_release.items():
            progress.ready(f"Kafka {kafka.version}: class path")
            limits = ClusterLimits(args.keep, args.budget)
            several = execute_runs(distribution(kafka), runs, load, limits, _teller(progress, kafka))
            progress.done()
            for result in several:
                report_cluster(result, args.full, console)
            results += several
    if args.keep is not None:
        console.print(f"the cluster's folder: {args.keep}", style="dim")
    code = worst(result.code for result in results)
    if args.json:
        stopped = Stop(StopReason.COMPLETE, "every run was executed")
        if failed := next((r for r in results if r.failure is not None), None):
            stopped = Stop(StopReason.LOST, str(failed.failure))
        identity = RunIdentity("", None, {}, "kafka", args.repro)
        record = identity.record(code, stopped.reason is StopReason.COMPLETE, stopped)
        write_record(args.json, {**record, "runs": [cluster_record(result) for result in results]})
    return code


def _teller(progress: Progress, kafka: Release) -> Callable[[str], None]:
    return lambda text: progress.proof(f"Kafka {kafka.version}: {text}")


def _runs(args: argparse.Namespace) -> dict[tuple[Release, bool], list[ClusterRun]]:
    """The runs by cluster: a release, and whether ELR is on. `Failure` names a trace that none can be brought to."""
    by_cluster: dict[tuple[Release, bool], list[ClusterRun]] = {}
    requested = named_release(args.release) if args.release else None
    for path in args.traces:
        trace, own = controller_traces(path, args.model)[-1]
        names = properties_of(itf(path)["#meta"])
        promise = next((name for name in names if name in EFFECTS), next(iter(names), ""))
        try:
            plan = schedule(trace, promise in PAUSED)
        except Failure as failure:
            raise Failure(failure.code, f"{path}: {failure}") from None
        kafka = requested or own
        by_cluster.setdefault((kafka, plan.elr), []).append(ClusterRun(str(path), promise, plan))
    return by_cluster


ACTIONS = {"cluster": run}
