"""`reassure kafka conform`: a model under one configuration, or under all those of a gate, beside releases of Kafka."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.console.files import name_traces
from reassure.checkers.console.parser import note, spark_settings
from reassure.checkers.gate.gate_file import read_gate_file
from reassure.checkers.kafka.controller.answers import RecordedAnswers, answers_file
from reassure.checkers.kafka.controller.class_path import fetch
from reassure.checkers.kafka.controller.conform import Conformance, conform
from reassure.checkers.kafka.controller.driver import Driver, JvmLost
from reassure.checkers.kafka.controller.model_steps import NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView, release_setting, rules_note
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.report import (
    conformance_record,
    report_conformance,
    report_conformance_header,
    report_conformance_row,
)
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import pairs
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import to_itf

COMPARED = Stop(StopReason.COMPLETE, "every step was compared")


@dataclass(frozen=True)
class Compared:
    """A model under a configuration, compared with a release."""

    bound: BoundModel
    source: NativeSteps
    conformance: Conformance
    identity: RunIdentity


def run_conform(args: argparse.Namespace, releases: list[Release], console: Console) -> Exit:
    """Compares the model with each release, under that release's rules if the model has them."""
    spark_settings(args)
    if args.kept and args.engine == "spark":
        raise UsageFailure("--kept asks no JVM: leave out --engine spark")
    if args.kept and any(kafka.build for kafka in releases):
        raise UsageFailure("--kept has answers of releases, not of builds")
    codes, records, stopped = [Exit.OK], [], COMPARED
    settings = [args.set] if args.gate is None else gate_configurations(args.gate, args.model, args.set)
    for line in filter(None, (rules_note(args.model, args.set, kafka) for kafka in releases)):
        console.print(line)
    if args.gate is not None:
        width = max(len(kafka.version) for kafka in releases)
        report_conformance_header(args.model, width, console)
    for setting in settings:
        for kafka in releases:
            try:
                compared = _compared(args, setting, kafka)
            except JvmLost as lost:
                note(f"reassure: {lost}")
                codes.append(lost.code)
                stopped = Stop(StopReason.LOST, str(lost))
                continue
            conformance, source = compared.conformance, compared.source
            if args.gate is None:
                report_conformance(conformance, source, compared.bound.model.name, console)
            else:
                report_conformance_row(conformance, source, " ".join(setting), width, console)
            codes.append(Exit.OK if conformance.steps == conformance.agree else Exit.DISAGREE)
            if source.stopped is not ALL_VISITED and stopped is COMPARED:
                stopped = source.stopped
            if not conformance.steps:
                raise Failure(Exit.NOTHING, f"{compared.bound.model.name} has no step of the controller")
            records.append({**compared.identity.fields(), **conformance_record(conformance, source)})
            if args.trace_dir:
                label = "-".join(re.findall(r"[\w.]+", " ".join(setting))) if args.gate is not None else ""
                name_traces(list(_disagreements(compared, args.trace_dir, label)), console)
    code = worst(codes)
    if args.json:
        record = RunIdentity(args.model, None, {}, "kafka", args.repro).record(code, stopped is COMPARED, stopped)
        write_record(args.json, {**record, "releases": records})
    return code


def gate_configurations(path: Path, model: str, more: list[str]) -> list[list[str]]:
    """The settings under which a gate's file checks a model, each once; the release is left to the comparison."""
    settings = []
    for check in read_gate_file(path).checks:
        if check.model == model:
            values = {key: value for key, value in check.given.get("set", {}).items() if key != "release"}
            settings.append((*pairs(values), *more))
    if not settings:
        raise Failure(Exit.USAGE, f"{path} does not check {model}")
    return [list(setting) for setting in dict.fromkeys(settings)]


def _compared(args: argparse.Namespace, setting: list[str], kafka: Release) -> Compared:
    progress = Progress(quiet=args.quiet)
    try:
        prepared = prepare(args.model, release_setting(args.model, setting, kafka))
        bound, lowered = prepared.bound, prepared.lowered
        view = ModelView(bound)
        source = NativeSteps(bound, lowered, view, args.depth)
        if args.kept:
            answers = RecordedAnswers(kafka, answers_file(kafka))
            conformance = conform(source, view, answers, progress)
            answers.must_answer()
        elif args.engine == "spark":
            conformance = _by_spark(args, setting, kafka, source, progress)
        else:
            with Driver(fetch(kafka)) as driver:
                conformance = conform(source, view, driver, progress)
    finally:
        progress.done()
    return Compared(bound, source, conformance, RunIdentity.of(prepared, "kafka", args.repro))


def _by_spark(
    args: argparse.Namespace, setting: list[str], kafka: Release, source: NativeSteps, progress: Progress
) -> Conformance:
    from reassure.checkers.kafka.controller.conform import ComparisonTask, conform_by_spark

    fetch(kafka)
    settings = tuple(release_setting(args.model, setting, kafka))
    task = ComparisonTask(args.model, settings, kafka.version, kafka.build)
    return conform_by_spark(task, source, spark_settings(args), progress)


def _disagreements(compared: Compared, folder: Path, label: str) -> Iterator[str]:
    """Writes a shortest trace for each group of disagreements. label: of one of several configurations."""
    of_it = f"--{label}" if label else ""
    name, version = compared.bound.model.name, compared.conformance.version
    for number, group in enumerate(compared.conformance.disagreements, 1):
        trace = compared.source.trace(group.first)
        trace.meta = {**compared.identity.fields(), "disagrees_with": f"Kafka {version}", "cause": group.cause}
        path = folder / f"{name}{of_it}--kafka-{version}-{number}.itf.json"
        write_atomically(path, to_itf(trace, compared.bound))
        yield str(path)
