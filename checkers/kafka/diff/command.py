"""`reassure kafka diff`: what a change does to Kafka's controller, shown by runs of the classes themselves."""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reassure.checkers.console.code_hosts import add_to_summary, annotation, in_actions, sarif_log
from reassure.checkers.console.commands import GateKind, Record, Subcommand
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.parser import note, spark_settings
from reassure.checkers.kafka.controller.class_path import ClassPath, fetch
from reassure.checkers.kafka.controller.command import PARTITIONS, controller_traces, named_release
from reassure.checkers.kafka.controller.command import SUBCOMMANDS as OF_THE_CONTROLLER
from reassure.checkers.kafka.controller.controller_itf import run_to_itf
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import LATE, UNVERIFIED, ControllerExploration, Scope, explore_with
from reassure.checkers.kafka.controller.explore_scope import SCOPE_OPTIONS, fitting, scope_of, with_all_proposals
from reassure.checkers.kafka.controller.replay import ControllerTrace
from reassure.checkers.kafka.controller.words import ControllerState, Setup
from reassure.checkers.kafka.diff.alerts import alerts
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES
from reassure.checkers.kafka.diff.explore_both import Explorer, SharedLimits, explore_both
from reassure.checkers.kafka.diff.junit_test import difference_method, promise_method
from reassure.checkers.kafka.diff.promises import must_be_promises
from reassure.checkers.kafka.diff.report import diff_record, report_diffs
from reassure.checkers.kafka.diff.result import BuildDiff, compare_builds, verdict_of_all
from reassure.checkers.kafka.diff.sources import HeadSources
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console, printed
from reassure.checkers.request.options import positive
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import (
    BUDGET,
    DEPTH,
    OF_SPARK,
    OF_TRACE,
    OUTPUTS_WITH_TABLES,
    PROPERTY,
    SPARK,
    STORIES,
    TRACE,
    Option,
)
from reassure.spec.semantics.trace import PlainConfig

FEWEST_BROKERS = 2
MORE_BROKERS, MORE_DEPTH = 3, 4
"""Of the second search, where no option names the brokers: all of its states are too many."""
TOPIC_DEPTH = 5
"""Of the one search of a topic with a second partition, where no option names the brokers."""
_EXPLORE = {option.name: option for option in OF_THE_CONTROLLER["explore"].options}
_OF_A_DIFF = {
    "brokers": replace(
        _EXPLORE["brokers"],
        help=_EXPLORE["brokers"].help.replace(
            "(default: 3)", f"(default: 2, then {MORE_BROKERS} in a second search of {MORE_DEPTH} levels)"
        ),
        default=None,
    ),
    "events": replace(
        _EXPLORE["events"], help=_EXPLORE["events"].help.replace("default: none", f"{LATE}, {UNVERIFIED} always are")
    ),
    "configuration": replace(
        _EXPLORE["configuration"],
        help="changes: MinISR (1 to --brokers) and unclean election change on the way (default: changes)",
        default="changes",
        choices=("changes", "fixed"),
    ),
}
OPTIONS = (
    Option("BASE", "the build to compare with: a release such as 4.3.0, or the path of a build"),
    Option("HEAD", "the build that is judged"),
    *(_OF_A_DIFF.get(option.name, option) for option in SCOPE_OPTIONS),
    replace(TRACE, usage="--from TRACE", help="begin in the last state of this run, with its brokers and MinISR"),
    Option("--from-step N", "begin after the first N steps of the run of --from (default: after all)", positive),
    OF_TRACE,
    replace(PROPERTY, help="compare only these promises; repeatable, * matches any letters (default: all)"),
    replace(
        DEPTH, help="stop after N levels; one search, of 2 brokers if --brokers does not say more (default: no limit)"
    ),
    replace(BUDGET, help="stop both explorations after this time; the result is partial (default: no limit)"),
    replace(STORIES, help="print the runs of at most N differences and promises, the shortest (default: 3)", default=3),
    _EXPLORE["engine"],
    replace(_EXPLORE["jvms"], help="local: JVMs of each build (default: one for every two cores)"),
    PARTITIONS,
    *SPARK,
    *OUTPUTS_WITH_TABLES,
    Option("--sarif FILE", "write differences, and promises that HEAD breaks, as SARIF 2.1.0", Path, output=True),
    Option(
        "--test FILE",
        "write a JUnit test that one build passes and the other fails: of the shortest difference, or of --property",
        Path,
        output=True,
    ),
)


def _figures(record: Record) -> dict[str, int]:
    """Counts of a comparison."""
    diff = record.get("diff", {})
    return {name: diff[name] for name in PINS if name in diff}


OF_A_START = ("brokers", "min_isr", "replicas", "unclean", "elr", "metadata_version", "company", "topic")
"""Options that a run says itself."""
SAME = "BASE and HEAD have the same classes"
PINS = ("states", "steps", "differing_steps")
KIND = GateKind(PINS, _figures, left_out=frozenset({*OF_SPARK, "engine", "jvms", "sarif", "test"}), reads=None)
SUBCOMMANDS = {"diff": Subcommand("compare two builds: the runs and promises in which they differ", OPTIONS, KIND)}


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Explores both builds, compares them, and writes what is asked for."""
    searches = _searches(args)
    scope = searches[0].scope
    must_be_promises(args.property)
    spark_settings(args)
    paths = (fetch(named_release(args.base)), fetch(named_release(args.head)))
    digests = (_digest_of(paths[BASE]), _digest_of(paths[HEAD]))
    builds = [
        {"release": path.release.version, "sha256": digest, "given": given}
        for path, digest, given in zip(paths, digests, (args.base, args.head), strict=True)
    ]
    identity = RunIdentity("", None, _config(args, scope), "kafka", args.repro)
    same = digests[BASE] == digests[HEAD]
    progress = Progress(quiet=args.quiet)
    with ExitStack() as stack:
        diffs = _compared(args, searches, paths, progress, stack)
        progress.done()
    if same:
        console.print(f"{SAME}: Kafka {paths[HEAD].release.version}, sha256 {digests[HEAD]}")
    report_diffs(diffs, console, 0 if args.quiet else args.stories)
    traces = _write_runs(diffs, args) if args.trace_dir else {}
    name_traces([path for several in traces.values() for path in several], console)
    if args.test:
        _write_test(diffs, args, paths[HEAD], console)
    code = diffs[-1].stop.exit_of_several([diff.exit for diff in diffs])
    verdict = verdict_of_all(diffs, [search.text for search in searches]) + (f"; {SAME}" if same else "")
    console.verdicts |= {code: verdict}
    if args.json:
        judging = diffs[-1] if not diffs[-1].finished else diffs[0]  # a second search goes to a depth only
        record = identity.record(code, judging.comparison.complete, judging.stop)
        write_record(args.json, {**record, **diff_record(diffs, traces, builds, same)})
    _tell_code_hosts(diffs, code, args, verdict, console)
    return code


def _tell_code_hosts(
    diffs: list[BuildDiff], code: Exit, args: argparse.Namespace, verdict: str, console: Console
) -> None:
    """Writes SARIF; in a job of GitHub Actions an annotation of each problem, and the report as the job's summary."""
    sources = HeadSources.of(Path(args.head))
    problems = [alert for diff in diffs for alert in alerts(diff, sources, args.repro)]
    if args.sarif:
        write_atomically(args.sarif, sarif_log(problems, code))
    for alert in problems if in_actions() else ():
        console.print(annotation(alert.place, alert.about, alert.text, alert.warning))
    report = printed(lambda summary: report_diffs(diffs, summary, args.stories)).rstrip()
    add_to_summary(f"## reassure kafka diff\n\n{verdict}\n\n````text\n{report}\n````\n\nAgain: `{args.repro}`\n")


@dataclass(frozen=True)
class BoundedSearch:
    """Bounds of an exploration of both builds. depth: levels; None: no limit."""

    scope: Scope
    depth: int | None

    @property
    def text(self) -> str:
        """The bounds in a line."""
        return self.scope.text + (f", depth {self.depth}" if self.depth else "")


def _searches(args: argparse.Namespace) -> list[BoundedSearch]:
    """What is explored: within the options; where these name no bound, more brokers too, within a depth."""
    several = args.brokers is None and args.depth is None and vars(args)["from"] is None
    given = args.brokers
    if vars(args)["from"] is None:
        args.brokers = given or FEWEST_BROKERS
    searches = [BoundedSearch(_scope(args), args.depth)]
    if several and args.topic:
        return [replace(searches[0], depth=TOPIC_DEPTH)]
    if several:
        searches.append(BoundedSearch(fitting(replace(searches[0].scope, brokers=MORE_BROKERS)), MORE_DEPTH))
    return searches


def _scope(args: argparse.Namespace) -> Scope:
    """The bounds of both explorations; `Failure` for options that contradict each other."""
    if args.jvms and args.engine == "spark":
        raise Failure(Exit.USAGE, "--jvms is for --engine local; --partitions says how many tasks a level has")
    path = vars(args)["from"]
    if path is None:
        if args.from_step:
            raise Failure(Exit.USAGE, "--from-step is a step of the run of --from, which is not given")
        return with_all_proposals(scope_of(args))
    for name in OF_A_START:
        if getattr(args, name) != next(option.initial for option in OPTIONS if option.name == name):
            raise Failure(Exit.USAGE, f"--{name.replace('_', '-')} is what the run of --from says: leave it out")
    return with_all_proposals(scope_from(path, args))


def scope_from(path: Path, args: argparse.Namespace) -> Scope:
    """The bounds of explorations that begin in a state of a run; `Failure` if it has other means than they."""
    traces = [_begun_with(trace, args.from_step, path) for trace, _ in controller_traces(path, args.model)]
    setup = traces[-1].setup
    if setup.replicas_of_partition_zero:
        raise Failure(Exit.USAGE, f"{path} is of another partition than partition 0, which alone is searched")
    args.brokers, args.min_isr, args.replicas = setup.brokers, setup.min_isr, 1
    args.elr, args.metadata_version = "on" if setup.elr else "off", setup.metadata_version
    args.company, args.topic = setup.company, setup.topic
    start = [begun(trace.commands[-1].after if trace.commands else trace.start, setup) for trace in traces]
    states = tuple(dict.fromkeys(start))
    unclean = tuple(sorted({state.unclean for state in states}))
    return replace(scope_of(args), start=states, unclean=unclean)


def _begun_with(trace: ControllerTrace, steps: int | None, path: Path) -> ControllerTrace:
    """The first steps of a run, or the whole; `Failure` if it has fewer."""
    if steps is None:
        return trace
    if steps > trace.steps:
        raise Failure(Exit.USAGE, f"--from-step {steps}: {path} has {trace.steps} steps")
    return replace(trace, commands=tuple(c for c in trace.commands if c.number <= steps), steps=steps)


def begun(state: ControllerState, setup: Setup) -> ControllerState:
    """A state as an exploration begins in it: without epochs and restarts."""
    partition = replace(state.partition, leader_epoch=0, partition_epoch=0)
    min_isr = state.min_isr or setup.min_isr
    return replace(state, partition=partition, incarnations=(0,) * state.brokers, min_isr=min_isr)


def _config(args: argparse.Namespace, scope: Scope) -> PlainConfig:
    """The bounds as data."""
    names = [option.name for option in SCOPE_OPTIONS] + ["depth", "property"]
    return {**{name: getattr(args, name) for name in names}, "events": list(scope.events)}


def _compared(
    args: argparse.Namespace,
    searches: list[BoundedSearch],
    paths: tuple[ClassPath, ClassPath],
    progress: Progress,
    stack: ExitStack,
) -> list[BuildDiff]:
    """The comparison of each search; of a later one, what the first does not show. One that did not end is the last."""
    began = time.monotonic()
    local = args.engine == "local"
    jvms = (args.jvms or max(1, (os.cpu_count() or 1) // len(SIDES))) if local else 1
    pools = [[stack.enter_context(Driver(path)) for _ in range(jvms)] for path in paths]
    drivers = (pools[BASE][0], pools[HEAD][0])
    diffs: list[BuildDiff] = []
    for search in searches:
        left = args.budget
        if diffs and left is not None:
            left = max(0.0, left - (time.monotonic() - began))
        limits = SharedLimits(search.depth, left)
        if local:
            graphs = _explored_here(pools, search.scope, limits, progress)
        else:
            graphs = _explored_by_spark(args, paths, search.scope, limits, progress)
        diff = compare_builds(graphs, drivers, args.property, progress)
        diffs.append(diff.beyond(diffs[0]) if diffs else diff)
        if not diff.finished:
            break
    return diffs


def _explored_here(
    pools: list[list[Driver]], scope: Scope, limits: SharedLimits, progress: Progress
) -> tuple[ControllerExploration, ControllerExploration]:
    """Both explorations by JVMs of this machine."""

    def local(side: int) -> Explorer:
        return lambda limits, progress: explore_with(pools[side], scope, limits, progress)

    return explore_both((local(BASE), local(HEAD)), limits, progress)


def _explored_by_spark(
    args: argparse.Namespace, paths: tuple[ClassPath, ClassPath], scope: Scope, limits: SharedLimits, progress: Progress
) -> tuple[ControllerExploration, ControllerExploration]:
    """Both explorations by a cluster, one after the other."""
    from reassure.checkers.kafka.controller.explore_by_spark import ExpandTask, explore_by_spark

    cluster = spark_settings(args)
    tasks = [ExpandTask(path.release.version, scope, path.release.build) for path in paths]
    base, head = (explore_by_spark(task, cluster, limits, progress) for task in tasks)
    return base, head


def _write_runs(diffs: list[BuildDiff], args: argparse.Namespace) -> dict[str, list[str]]:
    """Every run as ITF, as each build takes it: the files of each difference and each promise that one breaks."""
    about = {"base": args.base, "head": args.head, "repro": args.repro}
    files: dict[str, list[str]] = {}
    for name, side, itf_run, meta in (run for diff in diffs for run in _runs(diff)):
        path = args.trace_dir / f"kafka-diff--{name}--{SIDES[side].lower()}-{itf_run.version}.itf.json"
        write_atomically(path, run_to_itf(itf_run, {**meta, "build": SIDES[side].lower(), **about}))
        files.setdefault(name, []).append(str(path))
    return files


def _runs(diff: BuildDiff) -> Iterator[tuple[str, int, Any, dict[str, str]]]:
    """Of each run of the result: its name, the build, the run, and what it shows."""
    for run in diff.runs:
        for side in (BASE, HEAD):
            yield run.difference.name, side, run.runs[side], {"difference": run.difference.title}
    for breaker in (HEAD, BASE):
        for name, shown in diff.promises.only[breaker].items():
            meta = {"property": name, "property_kind": "violated"}
            yield name, breaker, shown.run, meta
            yield name, 1 - breaker, diff.promises.keepers[name], {"property_kept": name}


def _write_test(diffs: list[BuildDiff], args: argparse.Namespace, head: ClassPath, console: Console) -> None:
    """Writes the JUnit test that was asked for, of the first search that has one; says so if there is none."""
    method = promise_method if args.property else difference_method
    try:
        for diff in diffs[:-1]:
            with suppress(Failure):
                text = method(diff, head.release)
                break
        else:
            text = method(diffs[-1], head.release)
    except Failure as failure:
        note(f"no test is written: {failure}")
        return
    write_atomically(args.test, text)
    console.print(f"test: {args.test}", style="dim")


def _digest_of(class_path: ClassPath) -> str:
    """A digest of every jar and class folder of a build, which does not depend on where they lie."""
    lines = []
    for path in class_path.jars:
        files = sorted(path.rglob("*.class")) if path.is_dir() else [path]
        lines += [f"{_sha256(file)} {file.relative_to(path.parent)}" for file in files]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
