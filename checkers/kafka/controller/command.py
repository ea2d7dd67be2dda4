"""The subcommands of `reassure kafka` that run Kafka's own controller classes beside the models."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from reassure.checkers.console.commands import GateKind, Record, Subcommand
from reassure.checkers.console.files import (
    PreparedModels,
    name_traces,
    read_traces,
)
from reassure.checkers.console.parser import note, spark_settings
from reassure.checkers.kafka.controller.answers import Recorder, answers_file, answers_folder
from reassure.checkers.kafka.controller.class_path import MAVEN_SECONDS, ClassPath, fetch, fetched
from reassure.checkers.kafka.controller.confirm import confirm
from reassure.checkers.kafka.controller.conform import conform
from reassure.checkers.kafka.controller.conform_command import run_conform
from reassure.checkers.kafka.controller.controller_itf import commands_from_itf as run_from_itf
from reassure.checkers.kafka.controller.controller_itf import itf, run_of_controller
from reassure.checkers.kafka.controller.controller_itf import run_to_itf as run_to_itf
from reassure.checkers.kafka.controller.driver import Driver, JvmLost
from reassure.checkers.kafka.controller.explained import ReleaseRules, explain, with_records
from reassure.checkers.kafka.controller.explore import ControllerExploration, ExploreLimits, Scope, explore_controller
from reassure.checkers.kafka.controller.explore_properties import evaluate
from reassure.checkers.kafka.controller.explore_report import (
    Shown,
    counterexamples,
    explanation_record,
    exploration_record,
    look_for_loss,
    report_explanation,
    report_exploration,
)
from reassure.checkers.kafka.controller.explore_scope import SCOPE_OPTIONS, scope_of
from reassure.checkers.kafka.controller.findings_command import run_findings
from reassure.checkers.kafka.controller.junit import fails_without_it, junit_method, method_name
from reassure.checkers.kafka.controller.kafka_tests import run_methods
from reassure.checkers.kafka.controller.model_steps import NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView, release_setting, rules_note
from reassure.checkers.kafka.controller.releases import (
    LATEST,
    NEWEST,
    RELEASES,
    Release,
    newer_source,
    own_release,
    release,
)
from reassure.checkers.kafka.controller.replay import ControllerTrace, replayed, trace_of_controller
from reassure.checkers.kafka.controller.report import report_accepted, report_difference
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from reassure.checkers.kafka.pages.findings import CONFIRMED
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import positive
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import (
    BUDGET,
    DEPTH,
    MODEL,
    OF_SPARK,
    OF_TRACE,
    OUT,
    OUTPUTS_WITH_TABLES,
    PROPERTY,
    SET,
    SPARK,
    TRACE,
    Option,
)
from reassure.checkers.traces.properties_here import every_property

AS_REQUESTED = (StopReason.COMPLETE, StopReason.DEPTH)
KEPT_MODEL = "kraft_kafka"

ALL = "all: the newest patch of each minor version and of each set of rules"
RELEASE = Option(
    "--release R", f"releases, or paths of builds; {ALL} (default: {LATEST.version})", repeatable=True, nargs="+"
)
PARTITIONS = Option("--partitions N", "Spark: partitions of the work (default: one for each core)", positive)
ENGINE = Option(
    "--engine",
    "local: one JVM here; spark: a JVM for each partition of Spark (default: local)",
    default="local",
    choices=("local", "spark"),
)


def _figures(record: Record) -> dict[str, int]:
    """Counts of the steps that `kafka conform` compared with Kafka's controller, over all releases."""
    releases = record.get("releases", [])
    if not releases:
        return {}
    actions = [a for r in releases for a in r["actions"].values()]
    return {"kinds": sum(a["kinds"] for a in actions), "agree": sum(a["agree"] for a in actions)}


CONFORM_KIND = GateKind(("kinds", "agree"), _figures, left_out=frozenset({*OF_SPARK, "engine"}), reads=None)

SUBCOMMANDS = {
    "fetch": Subcommand(
        "get releases by Maven and compile the driver against them",
        (
            Option("releases RELEASE", f"releases to get, such as 4.4.0; {ALL}", nargs="+"),
            replace(BUDGET, help="stop Maven after this time (default: 10m)", default=MAVEN_SECONDS),
            Option("--tests", "get the jars of Kafka's own tests too", bool),
        ),
    ),
    "replay": Subcommand(
        "execute traces on Kafka's controller",
        (
            replace(TRACE, usage="traces TRACE", nargs="+"),
            OF_TRACE,
            replace(
                RELEASE,
                help=f"releases, or paths of builds; {ALL} (default: that of the trace's configuration, or the newest)",
            ),
        ),
    ),
    "conform": Subcommand(
        "take each controller step of a model on Kafka's controller; compare",
        (
            MODEL,
            SET,
            RELEASE,
            Option("--kept", "compare with the answers that come with the project; needs no JVM", bool),
            Option(
                "--gate FILE",
                "compare in every configuration under which FILE checks the model (default FILE: gate.toml)",
                Path,
                nargs="?",
                const=Path("gate.toml"),
            ),
            ENGINE,
            replace(DEPTH, help="compare only the first N levels of the model (default: all)"),
            PARTITIONS,
            *SPARK,
            *OUTPUTS_WITH_TABLES,
        ),
        CONFORM_KIND,
    ),
    "record": Subcommand(
        "record what Kafka's releases answer to the steps of a model",
        (
            replace(OF_TRACE, help=f"the model (default: {KEPT_MODEL})", default=KEPT_MODEL),
            RELEASE,
            replace(SET, help="set a value in each configuration; repeatable"),
            Option(
                "--out DIR", "the folder of answers (default: with the project)", Path, answers_folder(), output=True
            ),
        ),
    ),
    "explore": Subcommand(
        "search the states of Kafka's controller itself",
        (
            RELEASE,
            *SCOPE_OPTIONS,
            Option(
                "--explain RULES",
                f"compare every step with {KEPT_MODEL}'s rules, such as 4.2 (default RULES: those of the release); "
                "exit code 19 if one differs (25 us a step)",
                nargs="?",
                const="",
            ),
            replace(ENGINE, help="local: JVMs here; spark: one for each worker of Spark (default: local)"),
            Option("--jvms N", "local: how many JVMs (default: one a core)", positive, output=True),
            PARTITIONS,
            *SPARK,
            replace(DEPTH, help="stop after N levels (default: no limit)"),
            BUDGET,
            *OUTPUTS_WITH_TABLES,
        ),
    ),
    "test": Subcommand(
        "print a trace as a method of Kafka's test class, or as a Java program",
        (
            TRACE,
            OF_TRACE,
            Option(
                "--release R",
                "the release, or path of a build, to write it for (default: the trace's, or the newest)",
                default="",
            ),
            replace(
                PROPERTY,
                help="of several that the trace violates, assert this (default: the first)",
                default="",
                repeatable=False,
            ),
            OUT,
            Option(
                "--main",
                "print a Java program that needs kafka-metadata only (default: a method of "
                "ReplicationControlManagerTest)",
                bool,
            ),
            Option("--run", "compile it and run it; a method is compiled into Kafka's test class", bool),
        ),
    ),
    "confirm": Subcommand(
        "repeat a trace on the whole QuorumController of a release",
        (
            TRACE,
            OF_TRACE,
            Option(
                "--release R",
                "the release, or path of a build, to run (default: the newest with jars of its tests)",
                default="",
            ),
        ),
    ),
    "findings": Subcommand(
        "execute the runs and the tests of the page of findings on Kafka's classes; record the outcomes",
        (
            Option(
                "--claim NAME",
                "only the finding of this claim; the others stay as recorded; repeatable (default: every finding)",
                repeatable=True,
            ),
            Option("--fixed DIR", "run the tests on this build too, which `kafka build` made of the fixes", Path),
            Option(
                "--out FILE", "the file to write (default: with the project's traces)", Path, CONFIRMED, output=True
            ),
        ),
    ),
}


def _releases(versions: list[str], default: Release = LATEST) -> list[Release]:
    """The releases of the command line, each once."""
    releases = [each for text in versions for each in (NEWEST if text == "all" else [named_release(text)])]
    return list(dict.fromkeys(releases)) or [default]


def named_release(text: str) -> Release:
    """The release or build that the command line names; a line says which build it is, and if it may be an old one."""
    kafka = release(text)
    if kafka.build:
        note(f"{kafka.build} is Kafka {kafka.version}")
        if (source := newer_source(kafka.build)) is not None:
            note(f"note: {source} is newer than the classes of its module: build again if it has changed")
    return kafka


def run_fetch(args: argparse.Namespace, console: Console) -> Exit:
    """Fetches each release; what cannot be had does not keep the others back."""
    codes = [Exit.OK]
    for kafka in _releases(args.releases):
        try:
            there = fetched(kafka, args.tests) is not None
            class_path = fetch(kafka, args.tests, args.budget)
        except Failure as failure:
            note(f"reassure: {failure}")
            codes.append(failure.code)
            continue
        console.print(
            f"Kafka {kafka.version}: {len(class_path.jars)} jars, {'kept' if there else 'fetched and compiled'}"
        )
    return worst(codes)


def run_replay(args: argparse.Namespace, console: Console) -> Exit:
    """Executes each trace on the releases asked for, or on each of its own; one JVM for each release."""
    prepared: PreparedModels = {}
    requested = _releases(args.release) if args.release else []
    by_release: dict[Release, list[tuple[Path, ControllerTrace]]] = {}
    for path in args.traces:
        runs = controller_traces(path, args.model, prepared)
        for trace, kafka in [(runs[-1][0], each) for each in requested] or runs:
            by_release.setdefault(kafka, []).append((path, trace))
    codes = [Exit.OK]
    for kafka, traces in by_release.items():
        try:
            with Driver(fetch(kafka)) as driver:
                for path, trace in traces:
                    codes.append(_replay(path, trace, driver, console))
        except Failure as failure:
            note(f"reassure: {failure}")
            codes.append(failure.code)
    return worst(codes)


def _replay(path: Path, trace: ControllerTrace, driver: Driver, console: Console) -> Exit:
    if not trace.commands:
        note(NO_COMMAND.format(path))
        return Exit.NOTHING
    difference = replayed(trace, driver)
    if difference is None:
        report_accepted(trace, str(path), driver.release.version, console)
        return Exit.OK
    report_difference(difference, str(path), driver.release.version, console)
    return Exit.TRACE


NO_COMMAND = "{} has no command for the controller: nothing was executed"


def trace_with_commands(path: Path, model: str | None) -> tuple[ControllerTrace, Release]:
    """The commands of a trace, for the newest release that it is of; `Failure` if it has none."""
    trace, own = controller_traces(path, model)[-1]
    if not trace.commands:
        raise Failure(Exit.NOTHING, NO_COMMAND.format(path))
    return trace, own


def controller_traces(
    path: Path, model: str | None, prepared: PreparedModels | None = None
) -> list[tuple[ControllerTrace, Release]]:
    """The commands of a trace, of a model's or of a run of the controller, for each release that it is of.

    Configurations that begin and command the controller alike give it one run.
    """
    if (data := run_of_controller(path)) is not None:
        return [(run_from_itf(data, str(path)), own_release(data["#meta"]["kafka"].get("release")))]
    runs: list[tuple[ControllerTrace, Release]] = []
    for trace, bound, changed in read_traces(path, model, prepared):
        note(changed)
        own = own_release(getattr(bound.config, "release", None))
        run = (trace_of_controller(trace, bound), own)
        runs = [*(each for each in runs if each != run), run]
    return runs


KEPT_CONFIGURATIONS: tuple[tuple[str, ...], ...] = ((), ("admin_requests=3", "unclean=off", "shutdowns=0"))
"""Settings whose steps the kept answers are of."""


def run_record(args: argparse.Namespace, console: Console) -> Exit:
    """Asks each release every step of the model, and keeps the answers."""
    for kafka in _releases(args.release):
        if kafka.build:
            raise UsageFailure(f"{kafka.build} is a build: answers are kept of releases")
        with Driver(fetch(kafka)) as driver:
            recorder = Recorder(driver)
            for more in KEPT_CONFIGURATIONS:
                prepared = prepare(args.model, release_setting(args.model, [*args.set, *more], kafka))
                bound, lowered = prepared.bound, prepared.lowered
                view = ModelView(bound)
                conform(NativeSteps(bound, lowered, view), view, recorder, Progress(quiet=True))
        path = args.out / answers_file(kafka).name
        recorder.write(path)
        count = sum(len(rows) for rows in recorder.rows.values())
        console.print(f"Kafka {kafka.version}: {count:,} answers in {path.stat().st_size:,} bytes")
    return Exit.OK


def run_explore(args: argparse.Namespace, console: Console) -> Exit:
    """Searches the controller of each release, and checks the shared properties over what it found."""
    spark_settings(args)
    if args.jvms and args.engine == "spark":
        raise Failure(Exit.USAGE, "--jvms is for --engine local; --partitions says how many tasks a level has")
    scope = scope_of(args)
    codes, records, stopped = [Exit.OK], [], Stop(StopReason.COMPLETE, "the controller was explored")
    for kafka in _releases(args.release):
        progress = Progress(quiet=args.quiet)
        try:
            path = fetch(kafka)
            rules = _rules(args.explain, kafka, scope, console)
            graph = _explored(args, path, scope, progress)
            findings = evaluate(graph)
            loss = look_for_loss(graph, findings)
            explanation = explain(graph, rules, progress) if rules is not None else None
            with Driver(path) as driver:
                runs = counterexamples(graph, findings, loss, driver)
                if explanation is not None:
                    with_records(explanation, graph, driver)
        except JvmLost as lost:
            note(f"reassure: {lost}")
            codes.append(lost.code)
            stopped = Stop(StopReason.LOST, str(lost))
            continue
        finally:
            progress.done()
        report_exploration(graph, findings, {} if args.quiet else runs, console)
        codes.append(Exit.SAFETY if findings.violated else Exit.OK)
        codes.append(Exit.OK if graph.stopped.reason in AS_REQUESTED else Exit.INCONCLUSIVE)
        if not graph.complete and stopped.reason is StopReason.COMPLETE:
            stopped = graph.stopped
        records.append(exploration_record(graph, findings))
        if explanation is not None and rules is not None:
            report_explanation(explanation, KEPT_MODEL, kafka.version, console)
            codes.append(Exit.DISAGREE if explanation.count else Exit.OK)
            records[-1] |= {"rules": rules.release.value, **explanation_record(explanation)}
        if args.trace_dir:
            name_traces(_write_runs(runs, args.trace_dir), console)
    code = worst(codes)
    if args.json:
        identity = RunIdentity("", None, {}, "kafka", args.repro)
        record = identity.record(code, stopped.reason is StopReason.COMPLETE, stopped)
        write_record(args.json, {**record, "releases": records})
    return code


def _rules(name: str | None, kafka: Release, scope: Scope, console: Console) -> ReleaseRules | None:
    """The rules that explain each step, of this name or else of the release, which a line names if they differ."""
    if name is None:
        return None
    rules = ReleaseRules(KEPT_MODEL, replace(kafka, rules=name or kafka.rules), scope.setup)
    if line := rules_note(KEPT_MODEL, [f"release={name}"] if name else [], kafka):
        console.print(line)
    return rules


def _explored(args: argparse.Namespace, path: ClassPath, scope: Scope, progress: Progress) -> ControllerExploration:
    """The search, here or by Spark."""
    limits = ExploreLimits(args.depth, args.budget)
    if args.engine == "local":
        return explore_controller(path, scope, args.jvms or os.cpu_count() or 1, limits, progress)
    from reassure.checkers.kafka.controller.explore_by_spark import ExpandTask, explore_by_spark

    return explore_by_spark(
        ExpandTask(path.release.version, scope, path.release.build), spark_settings(args), limits, progress
    )


def _write_runs(runs: dict[str, Shown], folder: Path) -> list[str]:
    """The counterexamples as ITF."""
    written = []
    for name, shown in runs.items():
        path = folder / f"kafka-{shown.run.version}--{name}.itf.json"
        write_atomically(path, run_to_itf(shown.run, {"property": name, "property_kind": "violated"}))
        written.append(str(path))
    return written


def run_test(args: argparse.Namespace, console: Console) -> Exit:
    """Prints the test, or writes it; with `--run` a test that fails gives exit code 12."""
    meta = itf(args.trace)["#meta"]
    trace, own = trace_with_commands(args.trace, args.model)
    kafka = named_release(args.release) if args.release else own
    promise = args.property or meta.get("property", "")
    if args.property and promise not in every_property(meta):
        raise Failure(Exit.USAGE, f"{args.trace} is not about {promise}")
    name = promise or args.trace.name.split(".")[0]
    program = reproduction(trace, kafka, name, promise) if args.main else None
    text = program.text if program is not None else junit_method(trace, kafka, name, promise)
    if promise and not fails_without_it(promise, trace):
        note(f"note: there is no assertion of {promise}: the test asserts the state after the last step, and passes")
    if args.out is not None:
        write_atomically(args.out, text)
        console.print(f"test: {args.out}", style="dim")
    elif not args.run:
        console.print(text.rstrip())
    if not args.run:
        return Exit.OK
    if program is not None:
        ran, what = run_program(program, fetch(kafka)), f"{program.name} on Kafka {kafka.version}"
    else:
        (ran,) = run_methods(fetch(kafka, tests=True), [text])
        what = f"{method_name(name)} in ReplicationControlManagerTest of Kafka {kafka.version}"
    console.print(
        f"{what} passes" if ran.passed else f"{what} fails: {ran.message}", style="green" if ran.passed else "red"
    )
    return Exit.OK if ran.passed else Exit.SAFETY


def run_confirm(args: argparse.Namespace, console: Console) -> Exit:
    """Repeats the trace on the whole controller; exit code 18 where that does something else."""
    kafka = named_release(args.release or [r.version for r in RELEASES if r.tested][-1])
    steps = confirm(trace_with_commands(args.trace, args.model)[0], fetch(kafka, tests=True))
    for step in steps:
        answer = "" if step.answer == "NONE" else f" -> {step.answer}"
        console.print(f"  {step.text}{answer}  (controller epoch {step.claim_epoch})")
        for name, ours, theirs in step.differs:
            console.print(
                f"       {name}: the trace has {ours or 'none'}, the controller {theirs or 'none'}", style="red"
            )
    if any(step.differs for step in steps):
        console.print(
            f"the whole controller of Kafka {kafka.version} gives results that differ from the trace", style="red"
        )
        return Exit.TRACE
    console.print(f"the whole controller of Kafka {kafka.version} gives the results of the trace", style="green")
    return Exit.OK


ACTIONS = {
    "fetch": run_fetch,
    "replay": run_replay,
    "conform": lambda args, console: run_conform(args, _releases(args.release), console),
    "record": run_record,
    "explore": run_explore,
    "test": run_test,
    "confirm": run_confirm,
    "findings": run_findings,
}
