"""`reassure kafka diff`: what a change does to Kafka's controller, shown by runs of the classes themselves."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from reassure.checkers.base.atomic_files import write_record
from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit, Failure, worst
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.run_identity import RunIdentity
from reassure.checkers.base.shared_options import BUDGET, DEPTH, OUTPUTS, PROPERTY, SPARK, STORIES
from reassure.checkers.base.stop import ALL_VISITED, Stop, StopReason
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.arguments import spark_settings
from reassure.checkers.console.commands import Subcommand
from reassure.checkers.console.gate_kind import GateKind, Record
from reassure.checkers.kafka.controller.class_path import ClassPath, fetch
from reassure.checkers.kafka.controller.command import PARTITIONS, UNCLEAN
from reassure.checkers.kafka.controller.command import SUBCOMMANDS as CONTROLLER_SUBCOMMANDS
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ControllerExploration, ExploreLimits, Scope, explore_with
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import few_enough
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, BuildComparison
from reassure.checkers.kafka.diff.explore_both import Explorer, SharedLimits, explore_both
from reassure.checkers.kafka.diff.promises import compare_promises, must_be_promises
from reassure.checkers.kafka.diff.report import (
    difference_record,
    promises_record,
    report_differences,
    report_promises,
    report_run_of_both,
    report_states,
    verdict_text,
)
from reassure.checkers.kafka.diff.runs import run_of_both

_EXPLORE = {option.name: option for option in CONTROLLER_SUBCOMMANDS["explore"].options}
OPTIONS = (
    Option("BASE", "the build to compare with: a release such as 4.3.0"),
    Option("HEAD", "the build that is judged"),
    replace(_EXPLORE["brokers"], help="number of brokers, 2 to 4 (default: 2)", default=2),
    *(_EXPLORE[name] for name in ("min_isr", "replicas", "unclean", "controlled_shutdown")),
    replace(PROPERTY, help="compare only these promises; repeatable, * matches any letters (default: all)"),
    replace(DEPTH, help="stop after N levels (default: no limit)"),
    replace(BUDGET, help="stop both explorations after this time; the result is partial (default: no limit)"),
    replace(STORIES, help="print the runs of at most N differences and promises, the shortest (default: 3)", default=3),
    _EXPLORE["engine"],
    replace(_EXPLORE["jvms"], help="local: JVMs of each build (default: one for every two cores)"),
    PARTITIONS,
    *SPARK,
    *OUTPUTS,
)  # fmt: skip


def _figures(record: Record) -> dict[str, int]:
    """Counts of a comparison."""
    diff = record.get("diff", {})
    return {name: diff[name] for name in ("states", "steps", "differing_steps") if name in diff}


KIND = GateKind(("states", "steps", "differing_steps"), _figures, by_digest=False)
SUBCOMMANDS = {"diff": Subcommand("compare two builds: the runs and promises in which they differ", OPTIONS, KIND)}


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Explores both builds, compares them, and writes what is asked for."""
    if args.replicas > args.brokers:
        raise Failure(Exit.USAGE, f"--replicas {args.replicas} is more than --brokers {args.brokers}")
    few_enough(args.brokers, "--brokers")
    must_be_promises(args.property)
    spark_settings(args)
    scope = Scope(args.brokers, args.min_isr, args.replicas, UNCLEAN[args.unclean], args.controlled_shutdown)
    paths = (fetch(release(args.base)), fetch(release(args.head)))
    progress = Progress(quiet=args.quiet)
    with ExitStack() as stack:
        graphs, drivers = _explored(args, paths, scope, progress, stack)
        comparison = BuildComparison(*graphs)
        differences = comparison.differences()
        shown = [run_of_both(comparison, difference, drivers) for difference in differences]
        promises = compare_promises(comparison, args.property, drivers)
        progress.done()
    stories = 0 if args.quiet else args.stories
    report_states(comparison, console)
    report_differences(differences, console)
    for one in shown[:stories]:
        report_run_of_both(one, console)
    report_promises(promises, console, stories)
    stop = _stop(graphs)
    code = worst(
        [
            Exit.EXPECTATION if differences else Exit.OK,
            promises.exit,
            Exit.OK if stop.reason in (StopReason.COMPLETE, StopReason.DEPTH) else Exit.INCONCLUSIVE,
        ]
    )
    console.print("")
    console.print_exit(code, verdict_text(comparison, len(differences), _bounds(args)))
    if args.json:
        config = {name: getattr(args, name) for name in ("brokers", "min_isr", "replicas", "unclean", "depth")}
        identity = RunIdentity("", None, config, "kafka", args.repro)
        complete = all(graph.complete for graph in graphs)
        diff: dict[str, Any] = {
            "base": args.base,
            "head": args.head,
            "states": comparison.both,
            "states_of_one": dict(zip(("base", "head"), comparison.only, strict=True)),
            "steps": comparison.steps,
            "differing_steps": comparison.differing_steps,
            "differences": [difference_record(d, r, []) for d, r in zip(differences, shown, strict=True)],
            "promises": promises_record(promises),
        }
        write_record(args.json, {**identity.record(code, complete, stop), "diff": diff})
    return code


def _stop(graphs: tuple[ControllerExploration, ControllerExploration]) -> Stop:
    """Why the comparison ended: the reason of the build that was not finished, if there is one."""
    return next((graph.stopped for graph in graphs if not graph.complete), ALL_VISITED)


def _bounds(args: argparse.Namespace) -> str:
    """The bounds of a comparison as text."""
    text = f"{args.brokers} brokers, MinISR {args.min_isr}, {args.replicas} replicas at first"
    text += {"either": ", unclean election off and on", "off": ", unclean election off", "on": ", unclean election on"}[
        args.unclean
    ]
    return text + (f", depth {args.depth}" if args.depth else "")


def _explored(
    args: argparse.Namespace, paths: tuple[ClassPath, ClassPath], scope: Scope, progress: Progress, stack: ExitStack
) -> tuple[tuple[ControllerExploration, ControllerExploration], tuple[Driver, Driver]]:
    """Both explorations, and a driver of each build."""
    limits = SharedLimits(args.depth, args.budget)
    if args.engine == "local":
        jvms = args.jvms or max(1, (os.cpu_count() or 1) // 2)
        pools = [[stack.enter_context(Driver(path)) for _ in range(jvms)] for path in paths]

        def local(side: int) -> Explorer:
            return lambda limits, progress: explore_with(pools[side], scope, limits, progress)

        return explore_both((local(BASE), local(HEAD)), limits, progress), (pools[BASE][0], pools[HEAD][0])
    from reassure.checkers.kafka.controller.explore_by_spark import ExpandTask, explore_by_spark

    cluster = spark_settings(args)
    graphs = [
        explore_by_spark(
            ExpandTask(path.release.version, scope), cluster, ExploreLimits(args.depth, args.budget), progress
        )
        for path in paths
    ]
    drivers = [stack.enter_context(Driver(path)) for path in paths]
    return (graphs[BASE], graphs[HEAD]), (drivers[BASE], drivers[HEAD])
