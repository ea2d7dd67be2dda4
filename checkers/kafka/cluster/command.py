"""`reassure kafka cluster`: runs executed on a cluster of released Kafka processes, with real logs."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from reassure.checkers.console.commands import Subcommand
from reassure.checkers.console.parser import note
from reassure.checkers.kafka.cluster.assumptions import execute_assumptions
from reassure.checkers.kafka.cluster.distribution import distribution
from reassure.checkers.kafka.cluster.effects import EFFECTS, LATE_FETCH_PROMISE, PAUSED
from reassure.checkers.kafka.cluster.execute import Workload
from reassure.checkers.kafka.cluster.random_runs import BROKERS, MIN_ISR, RandomRun, RandomScope, execute_random
from reassure.checkers.kafka.cluster.report import (
    cluster_record,
    random_data,
    random_record,
    report_cluster,
    report_random,
    report_random_run,
)
from reassure.checkers.kafka.cluster.schedule import schedule
from reassure.checkers.kafka.cluster.session import (
    ClusterLimits,
    ClusterResult,
    ClusterRun,
    cases_of,
    execute_runs,
    late_fetch_run,
    measurements,
    run_of,
)
from reassure.checkers.kafka.controller.command import controller_traces, named_release
from reassure.checkers.kafka.controller.controller_itf import itf
from reassure.checkers.kafka.controller.releases import LATEST, RELEASES, Release, release
from reassure.checkers.kafka.controller.words import MAX_BROKERS
from reassure.checkers.kafka.pages.broker_page import (
    ASSUMPTIONS,
    Assumption,
    assumptions_text,
    recorded_assumptions,
    with_newer,
)
from reassure.checkers.kafka.pages.findings import Case
from reassure.checkers.kafka.pages.measurements import MEASURED, measured, with_more, written
from reassure.checkers.kafka.pages.random_record import random_text, recorded_random_runs
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import positive, whole
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import BUDGET, JSON, MEMORY, OF_TRACE, QUIET, SEED, TRACE, Option
from reassure.checkers.traces.properties_here import every_property
from reassure.spec.kafka.releases import minor

SUBCOMMANDS = {
    "cluster": Subcommand(
        "execute traces on a cluster of Kafka's own brokers, with real logs and records",
        (
            replace(
                TRACE, usage="traces TRACE", nargs="*", help="ITF files: runs of kraft_kafka, or of `kafka explore`"
            ),
            OF_TRACE,
            Option(
                "--release R",
                "the release to run, or the path of a build made by `kafka build`; all: the newest patch of each minor "
                "version; repeatable (default: each trace's own)",
                repeatable=True,
            ),
            Option("--findings", "execute the runs of the page of findings, and record what is measured", bool),
            Option("--fixed DIR", "with --findings: run this build too, which `kafka build` made of the fixes", Path),
            Option("--times N", "with --findings: execute each run N times (default: 1)", positive, 1),
            Option(
                "--claim NAME",
                "with --findings: only the finding of this claim; repeatable (default: every finding)",
                repeatable=True,
            ),
            Option(
                "--out FILE",
                "with --findings or --assumptions: the file to add to (default: with the project's traces); with "
                "--random: the same (default: none)",
                Path,
                output=True,
            ),
            Option(
                "--random N",
                "execute N random runs of requests and faults, and judge the metadata log by the release's rules",
                positive,
            ),
            Option("--assumptions", "try the models' assumptions about brokers, and record what is seen", bool),
            Option("--brokers N", "with --random: brokers of the cluster (default: 4)", positive, BROKERS),
            replace(SEED, help="with --random: the seed of requests and faults (default: 0)", always=False),
            Option("--records N", "records to produce before each run (default: 20000)", whole, Workload.records),
            Option("--record-size N", "bytes of each record (default: 200)", positive, Workload.bytes),
            Option(
                "--per-second N", "records to produce each second of a run (default: 20)", whole, Workload.per_second
            ),
            Option("--keep DIR", "keep settings, logs and output of the nodes in this new folder", Path, output=True),
            replace(
                BUDGET,
                help="give up a run after this time, such as 10m; with --random begin no run after it "
                "(default: no limit)",
            ),
            replace(
                MEMORY,
                help="start no cluster whose processes need more memory than this, about 420 MiB each, and end with "
                "exit code 5 if they take more (default: what is free at the start, and no limit then)",
            ),
            JSON,
            replace(QUIET, help="print no progress"),
            Option("--full", "print the brokers' logs after each step", bool, output=True),
        ),
    )
}


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Executes each trace on its release: 18 if the cluster does something else, 5 if it cannot be brought there."""
    if [bool(args.traces), args.findings, args.random is not None, args.assumptions].count(True) != 1:
        raise UsageFailure("give traces, --findings, --random N or --assumptions")
    _check_options(args)
    if args.random is not None:
        return _random(args, console)
    if args.assumptions:
        return _assumptions(args, console)
    results: list[ClusterResult] = []
    with Progress(quiet=args.quiet) as progress:
        code = (
            _findings(args, results, progress, console) if args.findings else _traces(args, results, progress, console)
        )
    if args.keep is not None:
        console.print(f"the cluster's folder: {args.keep}", style="dim")
    if args.json:
        stopped = Stop(StopReason.COMPLETE, "every run was executed")
        if failed := next((r for r in results if r.failure is not None), None):
            stopped = Stop(StopReason.LOST, str(failed.failure))
        identity = RunIdentity("", None, {}, "kafka", args.repro)
        record = identity.record(code, stopped.reason is StopReason.COMPLETE, stopped)
        write_record(args.json, {**record, "runs": [cluster_record(result) for result in results]})
    return code


Settings = tuple[tuple[str, str], ...]
ONLY_FOR = {
    "model": ("traces",),
    "fixed": ("--findings",),
    "times": ("--findings",),
    "claim": ("--findings",),
    "out": ("--findings", "--random", "--assumptions"),
    "brokers": ("--random",),
    "seed": ("--random",),
    "records": ("traces", "--findings"),
    "record_size": ("traces", "--findings"),
    "per_second": ("traces", "--findings"),
    "budget": ("traces", "--findings", "--random"),
    "full": ("traces", "--findings"),
}
"""Options that not everything has that can be executed, with what has them."""


def _check_options(args: argparse.Namespace) -> None:
    """`UsageFailure` for an option that would be ignored, and for a folder that several clusters would need."""
    given = {"--findings": args.findings, "--random": args.random is not None, "--assumptions": args.assumptions}
    what = next((name for name, is_given in given.items() if is_given), "traces")
    for option in SUBCOMMANDS["cluster"].options:
        several = ONLY_FOR.get(option.name, (what,))
        if what not in several and getattr(args, option.name) != option.initial:
            raise UsageFailure(f"{option.flag} is for {' and '.join(several)}, not for {what}")
    clusters = 1
    if args.findings or args.assumptions:
        releases = _releases(args.release) or (_releases(["all"]) if args.findings else [LATEST])
        clusters = (len(releases) + (args.fixed is not None)) * args.times
        clusters *= 1 if len(args.claim) == 1 or args.assumptions else 2  # one run has settings of its own
    if args.keep is not None and clusters > 1:
        raise UsageFailure(f"--keep is for one cluster; here are {clusters}")


def _random(args: argparse.Namespace, console: Console) -> Exit:
    """Executes random runs on one release: 18 for a change or a loss without explanation, 12 for a broken promise."""
    if not MIN_ISR <= args.brokers <= MAX_BROKERS:
        raise UsageFailure(f"--brokers: from {MIN_ISR} to {MAX_BROKERS}")
    releases = _releases(args.release) or [LATEST]
    if len(releases) > 1:
        raise UsageFailure("--random is for one release")
    if args.out is not None:
        if releases[0].build:
            raise UsageFailure("--out with --random is for releases, not for builds")
        recorded_random_runs(args.out)  # a file of something else is refused at once
    runs: list[RandomRun] = []
    scope = RandomScope(args.random, args.brokers, args.seed, args.budget if args.budget is not None else math.inf)
    failed: list[Failure] = []
    with Progress(quiet=args.quiet) as progress:
        limits = ClusterLimits(args.keep, memory=args.memory)
        several = execute_random(distribution(releases[0]), scope, limits, _teller(progress, releases[0]))
        with contextlib.closing(several) as results:
            try:
                for result in results:
                    runs.append(result)
                    progress.done()
                    report_random_run(result, console)
            except Failure as failure:  # the runs before it count
                failed.append(failure)
                note(f"reassure: {failure}")
    code = worst([report_random(runs, releases[0].version, scope, console), *(failure.code for failure in failed)])
    if args.out is not None and runs:
        newer = random_record(runs, releases[0].stated, scope)
        write_atomically(args.out, random_text(recorded_random_runs(args.out), newer))
    if args.json:
        identity = RunIdentity("", None, {}, "kafka", args.repro)
        stopped = Stop(StopReason.COMPLETE, f"{len(runs)} runs were executed")
        stopped = Stop(StopReason.LOST, str(failed[0])) if failed else stopped
        record = identity.record(code, not failed, stopped)
        write_record(args.json, {**record, "random": random_data(runs, releases[0].version, scope)})
    return code


def _assumptions(args: argparse.Namespace, console: Console) -> Exit:
    """Tries the assumptions about brokers on each release, and records them: 18 if one does not hold."""
    file = args.out or ASSUMPTIONS
    recorded_assumptions(file)  # a file of something else is refused at once
    results: list[Assumption] = []
    limits = ClusterLimits(args.keep, memory=args.memory)
    with Progress(quiet=args.quiet) as progress:
        for kafka in _releases(args.release) or [LATEST]:
            several = execute_assumptions(distribution(kafka), limits, _teller(progress, kafka))
            with contextlib.closing(several) as tried:
                for each in tried:
                    progress.done()
                    console.print(f"Kafka {each.release}: {each.text}")
                    word = "holds" if each.holds else "does not hold"
                    console.print(f"  {word}: {each.seen}", style="green" if each.holds else "red")
                    results.append(each)
                    write_atomically(file, assumptions_text(with_newer(recorded_assumptions(file), [each])))
    code = worst(Exit.OK if each.holds else Exit.TRACE for each in results)
    if args.json:
        identity = RunIdentity("", None, {}, "kafka", args.repro)
        record = identity.record(code, True, Stop(StopReason.COMPLETE, "every assumption was tried"))
        write_record(args.json, {**record, "assumptions": [vars(each) for each in results]})
    return code


def _traces(args: argparse.Namespace, results: list[ClusterResult], progress: Progress, console: Console) -> Exit:
    """Executes traces, those of one release on one cluster; adds to the results."""
    by_cluster = _runs(args)
    if args.keep is not None and len(by_cluster) > 1:
        raise UsageFailure(f"--keep is for one cluster; here are {len(by_cluster)}")
    for (kafka, _, _), runs in by_cluster.items():
        results.extend(_on_cluster(args, kafka, runs, progress, console))
    return worst(result.code for result in results)


def _findings(args: argparse.Namespace, results: list[ClusterResult], progress: Progress, console: Console) -> Exit:
    """Executes the runs of the findings, and adds each measurement to a file at once.

    18 if a release does not show an effect, or the build with the fixes shows one.
    """
    file = args.out or MEASURED
    measured(file)  # a file of something else is refused at once
    releases = _releases(args.release) or _releases(["all"])
    codes = [Exit.OK]
    fixed = release(str(args.fixed)) if args.fixed is not None else None
    if builds := [kafka.version for kafka in releases if kafka.build]:
        raise UsageFailure(f"{builds[0]}: --findings measures releases; a build of the fixes is given by --fixed")
    for kafka in [*releases, *([fixed] if fixed is not None else [])]:
        cases = _asked_for(args.claim, cases_of(kafka), kafka)
        for _ in range(args.times):
            runs = [replace(run_of(case), fixed=bool(kafka.build)) for case in cases]
            for result in _on_clusters(args, kafka, runs, progress, console):
                results.append(result)
                codes.append(result.code)
                write_atomically(file, written(with_more(measured(file), measurements(kafka, cases, [result]))))
    return worst(codes)


def _asked_for(claims: list[str], cases: list[Case], kafka: Release) -> list[Case]:
    """The findings of these claims, or all; `UsageFailure` for a claim that is none of the release's."""
    names = {case.headline.claim for case in cases}
    if unknown := next((claim for claim in claims if claim not in names), None):
        raise UsageFailure(f"{unknown} is not a finding of Kafka {kafka.version}; there are {', '.join(sorted(names))}")
    return [case for case in cases if not claims or case.headline.claim in claims]


def _on_clusters(
    args: argparse.Namespace, kafka: Release, runs: list[ClusterRun], progress: Progress, console: Console
) -> Iterator[ClusterResult]:
    """Executes runs, those with one set of settings on one cluster."""
    for settings in dict.fromkeys(run.settings for run in runs):
        yield from _on_cluster(args, kafka, [run for run in runs if run.settings == settings], progress, console)


def _on_cluster(
    args: argparse.Namespace, kafka: Release, runs: list[ClusterRun], progress: Progress, console: Console
) -> Iterator[ClusterResult]:
    """Executes runs on a cluster that is started for them, and reports each at once."""
    progress.ready(f"Kafka {kafka.version}: class path")
    load = Workload(args.records, args.record_size, args.per_second)
    limits = ClusterLimits(args.keep, args.budget, args.memory)
    with contextlib.closing(execute_runs(distribution(kafka), runs, load, limits, _teller(progress, kafka))) as results:
        for result in results:
            progress.done()
            report_cluster(result, args.full, console)
            yield result


def _releases(texts: list[str]) -> list[Release]:
    """The releases of the command line, each once."""
    newest = list({minor(each.version): each for each in RELEASES}.values())
    several = [each for text in texts for each in (newest[::-1] if text == "all" else [named_release(text)])]
    return list(dict.fromkeys(several))


def _teller(progress: Progress, kafka: Release) -> Callable[[str], None]:
    return lambda text: progress.proof(f"Kafka {kafka.version}: {text}")


def _runs(args: argparse.Namespace) -> dict[tuple[Release, bool, Settings], list[ClusterRun]]:
    """The runs by cluster: a release, whether ELR is on, settings. `Failure` names a trace that none is brought to."""
    by_cluster: dict[tuple[Release, bool, Settings], list[ClusterRun]] = {}
    requested = _releases(args.release)
    for path in args.traces:
        trace, own = controller_traces(path, args.model)[-1]
        names = every_property(itf(path)["#meta"])
        promise = next((name for name in names if name in EFFECTS), next(iter(names), ""))
        if promise == LATE_FETCH_PROMISE:
            run = late_fetch_run(str(path))
        else:
            try:
                plan = schedule(trace, promise in PAUSED)
            except Failure as failure:
                raise Failure(failure.code, f"{path}: {failure}") from None
            if not plan.steps:
                raise Failure(Exit.NOTHING, f"{path} has no step for a cluster to take: nothing would be executed")
            run = ClusterRun(str(path), promise, plan)
        for kafka in requested or [own]:
            by_cluster.setdefault((kafka, run.plan.elr, run.settings), []).append(run)
    return by_cluster


ACTIONS = {"cluster": run}
