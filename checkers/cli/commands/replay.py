"""`reassure replay`: traces executed in plain Python."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from reassure.checkers.console.commands import GateKind
from reassure.checkers.console.files import SUFFIX, PreparedModels, ReplayedFile, read_traces, replayed_file
from reassure.checkers.console.parser import note
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.request.shared_options import OF_TRACE, Option, pairs
from reassure.checkers.traces.replay import replay_trace
from reassure.spec.semantics.trace import PlainConfig, read_text

INDEX = ".suite.json"
"""Of the index of a suite, which lists its traces."""
OPTIONS = (
    Option(
        "trace TRACE|DIR",
        f"an ITF file, the short name of a counterexample, such as finding-1, or a folder (*{SUFFIX})",
        Path,
    ),
    OF_TRACE,
    Option("--junit FILE", "with a folder: write a JUnit report", Path, output=True),
    Option(
        "--fail-stale",
        "with a folder: exit with 17 if a trace was written with another text of its model, even if it replays",
        bool,
    ),
)
KIND = GateKind(left_out=frozenset({"junit"}), reads=None)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Executes the traces; each must be accepted, and show what it was kept for."""
    if args.trace.is_dir():
        return _run_folder(args, console)
    if args.junit or args.fail_stale:
        raise Failure(Exit.USAGE, "--junit and --fail-stale are for a folder of traces")
    codes = []
    traces = read_traces(args.trace, args.model)
    wheres = wheres_of(trace.meta.get("config", {}) for trace, _, _ in traces)
    for (trace, bound, changed), where in zip(traces, wheres, strict=True):
        note(changed)
        head = f"{where}: " if where else ""
        result = replay_trace(trace, bound, str(args.trace))
        for line in result.lines:
            console.print(f"{head}{line}")
        for line in result.notes:
            note(f"{head}{line}")
        if result.problem:
            raise Failure(result.code, f"{head}{result.problem}")
        codes.append(result.code)
    return worst(codes)


def wheres_of(configs: Iterable[PlainConfig]) -> list[str]:
    """For each configuration, in words, its release if there are several, and what is not as in the last of them.

    "" if there is nothing to tell.
    """
    several = list(configs)
    tells_release = len({str(config.get("release")) for config in several}) > 1
    texts = []
    for config in several:
        others = {k: v for k, v in config.items() if k != "release" and several[-1].get(k) != v}
        release = [f"Kafka {config['release']}"] if tells_release else []
        texts.append(", ".join(release + pairs(others)))
    return texts


def _run_folder(args: argparse.Namespace, console: Console) -> Exit:
    paths = sorted(args.trace.rglob(f"*{SUFFIX}"))
    lost = _lost(args.trace)
    if not paths and not lost:
        raise Failure(Exit.NOTHING, f"{args.trace} has no trace (*{SUFFIX})")
    models: PreparedModels = {}
    results: list[ReplayedFile] = []
    for name, problem in lost.items():
        console.print(f"FAIL  {name}: {problem}")
        results.append(ReplayedFile(name, Exit.DRIFT, problem, False, 0.0))
    for path in paths:
        results.append(replayed_file(path, str(path.relative_to(args.trace)), args.model, models))
        result = results[-1]
        if result.problem:
            console.print(f"FAIL  {result.name}: {result.problem}")
        elif result.stale:
            console.print(f"stale {result.name}: the trace replays; the model's text has changed since")
    stale, failed = sum(r.stale for r in results), sum(bool(r.problem) for r in results)
    code = worst([r.code for r in results] + ([Exit.DRIFT] if args.fail_stale and stale else []))
    console.print(f"{quantity(len(results), 'trace')}, {failed:,} failed, {stale:,} stale")
    if args.junit:
        write_atomically(args.junit, _junit(args.trace.name, results, args.fail_stale))
    return code


def _lost(folder: Path) -> dict[str, str]:
    """The traces that the index of a suite in a folder lists and that are not there, with what is wrong.

    An index that cannot be read is itself among them.
    """
    lost: dict[str, str] = {}
    for index in sorted(folder.rglob(f"*{INDEX}")):
        name = str(index.relative_to(folder))
        try:
            files = [entry["file"] for entry in json.loads(read_text(index))["traces"]]
            there = {path.name for path in index.parent.iterdir() if path.is_file()}
            lost |= {
                str((index.parent / file).relative_to(folder)): f"{index.name} lists it, and it is not there"
                for file in map(str, files)
                if Path(file).name not in there
            }
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            lost[name] = f"it cannot be read as the index of a suite: {type(error).__name__}: {error}"
    return lost


def _junit(folder: str, results: list[ReplayedFile], fail_stale: bool) -> str:
    """The report that CI systems read: a case for each trace."""
    suite = ElementTree.Element("testsuite", name=folder or "traces")
    failures = 0
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname="reassure.replay", name=result.name)
        case.set("time", f"{result.seconds:.3f}")
        if result.problem or (result.stale and fail_stale):
            failures += 1
            code = result.code if result.problem else Exit.DRIFT
            text = result.problem or "the model's text has changed since the trace was found"
            ElementTree.SubElement(case, "failure", type=VERDICTS[code], message=text)
        elif result.stale:
            output = ElementTree.SubElement(case, "system-out")
            output.text = "stale: the model's text has changed since the trace was found"
    for key, count in {"tests": len(results), "failures": failures, "errors": 0, "skipped": 0}.items():
        suite.set(key, str(count))
    return ElementTree.tostring(suite, encoding="unicode") + "\n"
