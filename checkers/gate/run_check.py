"""One check of a gate: its command run in this process, its record judged, its shortest counterexample told.

Also here: what the answer of a check depends on, as one digest: `reassure gate --changed` takes an answer only under
the same.

It is made of the check's command, the text of its models and the values that they reach, the files that it reads, this
program, and the versions of what it stands on.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import inspect
import io
import json
import os
import shutil
import sys
import time
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from reassure.checkers.console.code_hosts import SourcePlace
from reassure.checkers.console.commands import Reads
from reassure.checkers.console.failures import as_failure
from reassure.checkers.console.files import may_execute, read_trace
from reassure.checkers.console.parser import parse
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.gate.judge import Problem, judge_record, unexpected
from reassure.checkers.gate.kinds import takes
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure
from reassure.checkers.machine.own_files import temporary_folder
from reassure.checkers.machine.stop import BY_USER, Interrupted, Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.digest import program_digest
from reassure.checkers.request.import_file import forget_files
from reassure.checkers.request.known_models import Meaning, meaning
from reassure.checkers.request.model_loader import UnknownModel
from reassure.checkers.request.options import SimulationOptions, seconds
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import RAISES
from reassure.checkers.request.run_identity import RunRecord, error_record
from reassure.checkers.request.shared_options import pairs
from reassure.checkers.traces.render import changes, moves, step_call, told
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel

SCHEMA = 3
STANDS_ON = ("llvmlite", "z3-solver", "numpy", "networkx")


Known = dict[str, Meaning | None]
"""The meanings of models, by name or path: for checks whose keys are made at one time."""


def answer_key(check: Check, ran: str | None = None, known: Known | None = None) -> str | None:
    """The digest of all that a check's answer depends on.

    ran: the digest of the model that the answer is of, if it says so. known: is asked for the meanings of models, and
    gets them. None if the digest cannot be said: of a kind whose answer depends on more, of a model that cannot be
    loaded, of one whose files are being changed, and of one whose functions may read more when they are called.
    """
    if check.about.reads is None:
        return None
    try:
        models = [_of_model(name, {} if known is None else known) for name in check.models]
        files = [_of_file(path) for path in check.files()]
        beside = _of_reads(check.about.reads())
    except (UnknownModel, LanguageError, Failure, OSError):
        return None
    keys, program = [key for key in models if key is not None], _program()
    if program is None or beside is None or len(keys) < len(models):
        return None
    if ran is not None and ran not in [key.sha256 for key in keys]:
        return None
    text = json.dumps([SCHEMA, check.words(), [astuple(key) for key in keys], files, beside, program])
    return hashlib.sha256(text.encode()).hexdigest()


def _of_model(name: str, known: Known) -> Meaning | None:
    if name not in known:
        known[name] = meaning([name])
    return known[name]


def _of_reads(reads: Reads) -> list[str] | None:
    """The digests of what a command reads: of all texts, of all values, and of files; None as of `answer_key`."""
    if reads == Reads():
        return []
    found = meaning(reads.models, reads.functions)
    return None if found is None else [found.sha256, found.values, *map(_of_file, reads.files)]


@cache
def _program() -> str | None:
    """The digest of this program and of what it stands on; None where its text is not in files."""
    if (text := program_digest()) is None:
        return None
    sha256 = hashlib.sha256(sys.version.encode())
    for name in STANDS_ON:
        sha256.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    sha256.update(text.encode())
    return sha256.hexdigest()


def _of_file(path: Path) -> str:
    """The digest of a file; of a folder, the names and digests of what is in it."""
    if path.is_dir():
        return " ".join(f"{p.relative_to(path)!s}:{_of_file(p)}" for p in sorted(path.rglob("*")) if p.is_file())
    return hashlib.sha256(path.read_bytes()).hexdigest()


WIDTH = 120
"""Columns of what a command prints."""


@dataclass(frozen=True)
class Step:
    """One step of a counterexample. changes: of fields, in words."""

    action: str
    text: str
    changes: list[str]


@dataclass
class Story:
    """A counterexample, told. length: in steps, with the step back to the start of a loop."""

    property: str
    text: str
    length: int
    steps: list[Step] = field(default_factory=list)


@dataclass
class CheckOutcome:
    """The outcome of one check: plain data, which processes can send each other."""

    problems: list[Problem]
    record: RunRecord
    traces: dict[str, str] = field(default_factory=dict)
    """The files that counterexamples were written to, by property."""
    files: list[str] = field(default_factory=list)
    """Every trace that was kept: those of properties, and those of an analysis."""
    story: Story | None = None
    """The shortest counterexample to what should hold."""
    places: dict[str, SourcePlace] = field(default_factory=dict)
    """The declarations of properties and actions, of a check that failed."""
    printed: str = ""
    """The output of the command, without counterexamples."""
    seconds: float = 0.0
    unchanged_since: str = ""
    """The time of the earlier run that the answer is of, if it is."""
    key: str | None = None
    """The digest of all that the answer depends on; None if that changed while the command ran."""
    ran: bool = True
    """False of a check that there was no time for."""

    @property
    def interrupted(self) -> bool:
        return self.record["stop_reason"] == StopReason.INTERRUPTED

    @property
    def counts(self) -> str:
        """Distinct states and generated steps, in words."""
        stats = self.record["stats"]
        return f", {stats['distinct']:,} distinct, {stats['generated']:,} generated" if stats.get("distinct") else ""


def run_check(check: Check, threads: int, traces: Path | None, deadline: float | None = None) -> CheckOutcome:
    """Runs and judges one check.

    threads: of its search. traces: the folder for counterexamples of a failure. deadline: by `time.monotonic`, which
    all processes of a machine share.
    """
    began = time.monotonic()
    may_execute(check.named)
    forget_files()  # of other checks that ran in this process
    remaining = None if deadline is None else deadline - time.monotonic()
    if remaining is not None and remaining < SHORTEST:
        return unanswered(check, Exit.INCONCLUSIVE, NO_TIME)
    with temporary_folder("gate") as folder:
        key = _key(check)
        record, printed = _run(check, threads, remaining, folder)
        if record["stop_reason"] == StopReason.INTERRUPTED:
            outcome = CheckOutcome([Problem(Exit.INCONCLUSIVE, BY_USER.text)], record)
            _keep_traces(outcome, folder, None)
            return outcome
        key = key if key == _key(check, record["model_sha256"]) else None
        outcome = CheckOutcome(judge_record(check, record), record, printed=printed, key=key)
        if outcome.problems:
            try:
                _explain(check, outcome)
            except Failure:
                pass  # of a model that cannot be loaded: the record says so
            except Exception as error:  # the verdict counts without its story
                untold = f"; its counterexample cannot be told: {type(error).__name__}: {error}"
                first = outcome.problems[0]
                outcome.problems[0] = replace(first, text=first.text + untold)
        _keep_traces(outcome, folder, traces if outcome.problems else None)
    outcome.seconds = time.monotonic() - began
    return outcome


def _key(check: Check, ran: str | None = None) -> str | None:
    """As `answer_key`; what a model prints when it is imported is not shown."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return answer_key(check, ran)


SHORTEST = 0.001
"""Seconds: the least budget of a command."""
NO_TIME = Stop(StopReason.NOT_STARTED, "not run: the budget of the gate is spent")
KILLED = Stop(StopReason.LOST, "a process of the gate was killed before this check had an answer")


def unanswered(check: Check, code: Exit, stopped: Stop) -> CheckOutcome:
    """The outcome of a check without an answer: `NO_TIME`, `KILLED`, or `BY_USER`."""
    record = error_record(code, stopped.text, check.model or "", check.repro())
    record["stop_reason"] = stopped.reason
    return CheckOutcome([Problem(code, stopped.text)], record, ran=stopped is not NO_TIME)


def _run(check: Check, threads: int, remaining: float | None, folder: Path) -> tuple[RunRecord, str]:
    """The run record of a check, whose traces are below `folder`, and what its command printed."""
    json_file = folder / "record.json"
    own = ["--quiet"] if takes(check.kind, "quiet") else []
    own += [f"--json={json_file}"] if takes(check.kind, "json") else []
    own += [f"--trace-dir={folder / 'traces'}"] if takes(check.kind, "trace_dir") else []
    own += [f"--workers={threads}"] if takes(check.kind, "workers") else []
    if remaining is not None and takes(check.kind, "budget"):
        budget = check.given.get("budget")
        own.append(f"--budget={min(remaining, seconds(str(budget)) if budget is not None else remaining):.3f}")
        if budget is None and takes(check.kind, "walks") and "walks" not in check.given:
            own.append(f"--walks={SimulationOptions.count}")  # the gate's budget is for other checks too
    out, noise = io.StringIO(), io.StringIO()
    args = argparse.Namespace(json=None)
    try:
        with contextlib.redirect_stderr(noise), contextlib.redirect_stdout(noise):
            module = parse([*check.words(), *own], args)
            code = module.run(args, Console(file=out, width=WIDTH, no_color=True, force_terminal=False))
    except KeyboardInterrupt:
        return unanswered(check, Exit.INCONCLUSIVE, BY_USER).record, ""
    except BaseException as error:
        if isinstance(error, Interrupted) and error.stop == BY_USER:
            return unanswered(check, Exit.INCONCLUSIVE, BY_USER).record, ""
        failure = as_failure(error)
        return error_record(failure.code, str(failure), check.model or "", check.repro()), ""
    output = out.getvalue()
    last = (output.strip() or VERDICTS[code]).splitlines()[-1]
    record = error_record(code, last, check.model or "", check.repro())
    if code is Exit.OK:
        record |= {"complete": True, "stop_reason": StopReason.COMPLETE}
    if json_file.is_file():
        record.update(json.loads(json_file.read_text(encoding="utf-8")))
        record["repro"] = check.repro()
    return record, output


def _explain(check: Check, outcome: CheckOutcome) -> None:
    """Adds where things are declared, and the shortest counterexample to what should hold."""
    if check.model is None:
        return
    bound, _ = prepare_plain(check.model, pairs(check.given.get("set", {})))
    outcome.places = _places(bound)
    files = {p["name"]: p["trace"] for p in outcome.record["properties"] if p["trace"]}
    violated = next((name for name in [*unexpected(check, outcome.record), RAISES] if name in files), None)
    if violated is not None:
        outcome.story = _story(Path(files[violated]), check.model, violated)


def _places(bound: BoundModel) -> dict[str, SourcePlace]:
    """The place of each declaration of a model."""
    place_of = {}
    for declared in bound.model.declarations():
        code = inspect.unwrap(declared.function).__code__
        place_of[declared.name] = SourcePlace(str(Path(code.co_filename).resolve()), code.co_firstlineno)
    return place_of


def _story(path: Path, model: str, name: str) -> Story:
    """The counterexample of a file, told."""
    trace, bound, _ = read_trace(path, model)
    steps = [Step(trace.steps[0].action, step_call(trace.steps[0]), [])]
    for step, before, after in moves(trace):
        rows = [change.line for change in changes(before, after)]
        steps.append(Step(step.action, step_call(step), rows or ["nothing changes"]))
    return Story(name, told(trace, bound), len(steps) - 1, steps)


def _keep_traces(outcome: CheckOutcome, temporary: Path, folder: Path | None) -> None:
    """Copies the traces of a failed check to a folder where they stay; nothing names a file that is removed."""

    inside = f"{temporary}{os.sep}"

    def kept(value: Any) -> Any:
        """A value of the record, with the files that stay."""
        if isinstance(value, dict):
            return {key: kept(one) for key, one in value.items()}
        if isinstance(value, list):
            return [kept(one) for one in value]
        if not isinstance(value, str) or not value.startswith(inside):
            return value
        if folder is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        outcome.files.append(str(folder / Path(value).name))
        shutil.copyfile(value, outcome.files[-1])
        return outcome.files[-1]

    outcome.record = kept(outcome.record)
    outcome.traces = {p["name"]: p["trace"] for p in outcome.record["properties"] if p["trace"]}
    lines = outcome.printed.splitlines(keepends=True)
    outcome.printed = "".join(line for line in lines if str(temporary) not in line)
