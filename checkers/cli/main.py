"""The command line: `reassure check | simulate | prove | guards | ...` (DESIGN section 4)."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NoReturn

import rich.console

from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import UnknownModel, config_values, load, names
from reassure.checkers.base.options import ProofOptions, SearchOptions, SimulationOptions, SparkOptions
from reassure.checkers.base.prepare import must_match, plain, prepare
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import error_record
from reassure.checkers.base.trace_files import write_traces
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.cli.parser import parser
from reassure.checkers.cli.report import guards_record, report, report_guards
from reassure.checkers.evidence import gate
from reassure.checkers.plan import command as plan_command
from reassure.checkers.traces import explain as why
from reassure.checkers.traces import render as story
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import ConfigError
from reassure.spec.semantics.trace import ReplayRefused, Trace, TraceError, from_itf, read_itf, replay, to_itf


def _cluster(args: argparse.Namespace) -> SparkOptions:
    """What the options say of Spark; `Failure` where they do not go together."""
    out, resume = getattr(args, "out", None), getattr(args, "resume", None)
    if args.command == "check" and args.engine != "spark":
        for option in ("master", "partitions", "out", "resume", "no_data", "fingerprints", "conf"):
            if getattr(args, option):
                raise Failure(Exit.USAGE, f"--{option.replace('_', '-')} is for --engine spark")
    if out and resume:
        raise Failure(Exit.USAGE, "--out begins a run and --resume continues one: give one of them")
    master = args.master or os.environ.get("MASTER") or SparkOptions.master
    return SparkOptions(
        master,
        getattr(args, "partitions", None),
        out=out or resume,
        resume=bool(resume),
        data=not getattr(args, "no_data", False),
        fingerprints=getattr(args, "fingerprints", False),
        conf=dict(args.conf),
    )


class Console(rich.console.Console):
    """A console that falls silent when the reader of a pipe has gone: that does not change what a run finds.

    (rich would end the interpreter, with exit code 1.)
    """

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _close_stdout()


def console_to(stream: Any) -> Console:
    """Colour and width of a terminal; plain and unwrapped in a pipe."""
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, no_color=True, width=200, force_terminal=False)


def do_models(args: argparse.Namespace, console: Console) -> Exit:
    for name, path in names().items():
        if path.parent.name == "mutants" and not args.mutants:
            continue
        try:
            model = load(name)
        except LanguageError as error:
            console.print(f"{name}: {error}", style="red", markup=False)
            continue
        doc = (sys.modules[model.module].__doc__ or "").strip().splitlines()
        console.print(f"{name:24} {doc[0] if doc else ''}", markup=False, soft_wrap=True)
        defaults = model.config()
        fields = ", ".join(
            f"{f}={getattr(getattr(defaults, f), 'value', getattr(defaults, f))}" for f in vars(defaults)
        )
        console.print(f"{'':24} --set {fields}", style="dim", markup=False, soft_wrap=True)
    return Exit.OK


def do_check(args: argparse.Namespace, console: Console) -> Exit:
    options = SearchOptions(
        args.property, args.depth, args.budget, args.memory, args.workers, args.fail_fast, args.witness
    )
    asked = CheckRequest(args.model, args.set, args.engine, options, args.accept_clipping, cluster=_cluster(args))
    return _run(asked, args, console)


def do_simulate(args: argparse.Namespace, console: Console) -> Exit:
    options = SearchOptions(args.property, None, args.budget, None, args.workers, args.fail_fast, args.witness)
    walks = SimulationOptions(args.walks, args.depth, args.seed, dict(args.weight))
    return _run(CheckRequest(args.model, args.set, "simulate", options, walks=walks), args, console)


def do_prove(args: argparse.Namespace, console: Console) -> Exit:
    _writable(args.certificate, "--certificate")
    if args.depth is not None and args.method in ("induction", "pdr"):
        raise Failure(Exit.USAGE, f"--depth is for bmc, k-induction and auto: {args.method} has none")
    options = SearchOptions(args.property, None, args.budget, None, 1, False, False)
    asked = CheckRequest(
        args.model, args.set, f"prove:{args.method}", options, proof=ProofOptions(args.method, args.depth, args.seed)
    )
    asked.accept_clipping = args.accept_clipping
    code = _run(asked, args, console)
    if args.certificate:
        if asked.certificate is None:
            raise Failure(
                code if code is not Exit.OK else Exit.NOTHING, "nothing was proved by induction: no certificate"
            )
        asked.certificate.write(args.certificate)
        console.print(f"certificate: {args.certificate}", style="dim", markup=False, soft_wrap=True)
    return code


def do_guards(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.native.guard_analysis import guards
    from reassure.checkers.native.kernel_cache import roomy

    for path, what in ((args.json, "--json"), (args.trace_dir, "--trace-dir")):
        _writable(path, what)
    bound, lowered, sha = prepare(args.model, args.set)
    options = SearchOptions(args.property, None, args.budget, args.memory, args.workers)
    must_match(bound, [p.name for p in bound.properties] + ["deadlock"] * bound.model.deadlock, options)
    progress = Progress(quiet=args.quiet)
    try:
        found, base, early = roomy(lambda: guards(bound, lowered, sha, options, progress))
    finally:
        progress.done()
    if not found:
        raise Failure(Exit.NOTHING, f"{bound.model.name} has no guards")
    code = Exit.INCONCLUSIVE if early or any(g.verdict == "undecided" for g in found) else Exit.OK
    report_guards(bound, found, base, early, console)
    written = {}
    for number, guard in enumerate(found):
        if args.trace_dir and guard.trace is not None:
            path = args.trace_dir / f"{bound.model.name}--{guard.action}-{guard.line}-{number}.itf.json"
            write_atomically(path, to_itf(guard.trace, bound))
            written[number] = str(path)
            console.print(f"trace: {path}", style="dim", markup=False, soft_wrap=True)
    if args.json:
        repro = shlex.join(["reassure", "guards", args.model, *(f"--set={s}" for s in args.set)])
        about = (bound.model.name, sha, config_values(bound.config), repro)
        write_record(args.json, guards_record(code, early, about, found, written))
    return code


def do_query(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.spark.run_directory import RunDirectoryError
    from reassure.checkers.spark.session import JobFailed, NoSpark
    from reassure.checkers.spark.sql import QueryError, query, show

    if args.limit < 0:
        raise Failure(Exit.USAGE, f"--limit {args.limit} is less than nothing")
    try:
        names, rows, more = query(args.dir, args.sql, _cluster(args), args.limit)
    except (QueryError, RunDirectoryError) as error:
        raise Failure(Exit.USAGE, str(error)) from None
    except (NoSpark, JobFailed) as error:
        raise Failure(Exit.SYSTEM, str(error)) from None
    show(names, rows, args.format, console)
    if more:
        print(f"note: only the first {args.limit:,} rows; --limit 0 gives all", file=sys.stderr)
    return Exit.OK


def do_sweep(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.cli.report import report_sweep
    from reassure.checkers.cli.sweep import Grid, sweep, task_of, worst_of
    from reassure.checkers.spark.session import JobFailed, NoSpark

    for path, what in ((args.json, "--json"), (args.trace_dir, "--trace-dir")):
        _writable(path, what)
    try:
        grid = Grid.of(args.set)
    except ValueError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    points = grid.pairwise() if args.pairwise else grid.every()
    keys = list(dict.fromkeys(key for key, _ in grid.axes))
    fields = [f.name for f in dataclasses.fields(load(args.model).config)]
    if unknown := set(keys) - set(fields):  # said once, and before Spark starts
        has = ", ".join(fields)
        raise Failure(Exit.CONFIG, f"{args.model} has no configuration field {min(unknown)!r}; it has {has}")
    options = SearchOptions(args.property, args.depth, args.budget, args.memory, 1, args.fail_fast)
    progress = Progress(quiet=args.quiet)
    try:
        task = task_of(args.model, options, args.accept_clipping, args.trace_dir is not None)
        records = sweep(
            args.model, points, task, _cluster(args), lambda n, of: progress.proof(f"{n} of {of} configurations")
        )
    except (NoSpark, JobFailed) as error:
        raise Failure(Exit.SYSTEM, str(error)) from None
    finally:
        progress.done()
    for record in records:
        texts, traces = record.pop("texts"), {}
        for name, text in texts.items():
            place = "-".join(f"{key}={value}" for key, value in record["point"])
            path = args.trace_dir / f"{record['model']}--{name}--{place}.itf.json"
            write_atomically(path, text)
            traces[name] = str(path)
        for p in record["properties"]:
            p["trace"] = traces.get(p["name"])
    code = worst_of(records)
    report_sweep(args.model, keys, records, len(grid.every()), code, console)
    if args.json:
        repro = shlex.join(["reassure", "sweep", args.model, *(f"--set={s}" for s in args.set)])
        repro += " --pairwise" if args.pairwise else ""
        about = error_record(code, "every configuration was checked", args.model, repro)
        for record in records:
            record["point"] = dict(record["point"])
        write_record(args.json, {**about, "complete": True, "engine": "sweep", "configurations": records})
    return code


def do_stuck(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.reference import leads_to as stuck

    for path, what in ((args.json, "--json"), (args.trace_dir, "--trace-dir")):
        _writable(path, what)
    progress = Progress(quiet=args.quiet)
    found = stuck.analysed(args.model, args.set, args.property, args.limit, args.fair_only, progress)
    written = write_traces(found.verdict, found.bound, args.trace_dir) if args.trace_dir else {}
    if args.json:
        write_record(args.json, found.record(written))
    found.report(console, stories=not args.quiet)
    for path in written.values():
        console.print(f"trace: {path}", style="dim", markup=False, soft_wrap=True)
    return found.exit


def do_verify(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.symbolic import certificate
    from reassure.checkers.symbolic.houdini import Scout

    try:
        found = certificate.read(args.certificate)
        pairs = [f"{k}={v}" for k, v in found.config.items()]
        if not args.model and found.model not in names():
            raise certificate.CertificateError(f"{args.certificate} is of a model of its own file: give --model FILE")
        bound, lowered, sha = prepare(args.model or found.model, pairs)
        if sha != found.model_sha256:
            raise certificate.CertificateError(f"{args.certificate} is of another text of {found.model}")
        wrong = certificate.verify(found, lowered)
        left = certificate.open_bounds(found, lowered) if not wrong else {}
        scout = Scout(bound, lowered, sha)
        rows = scout.some(scout.reachable(), 200)
        wrong += certificate.refuted_by(found, lowered, [scout.layout.decode(r.view("uint64")) for r in rows])
    except certificate.CertificateError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    for line in wrong:
        console.print(line, markup=False, soft_wrap=True)
    if wrong:
        return Exit.EXPECTATION
    for line in certificate.told(found, len(rows), left):
        console.print(line, markup=False, soft_wrap=True)
    return Exit.OK if all(left.values()) else Exit.INCONCLUSIVE


def _run(asked: CheckRequest, args: argparse.Namespace, console: Console) -> Exit:
    """Runs it, writes what is asked for, and reports."""
    for path, what in ((args.json, "--json"), (args.trace_dir, "--trace-dir")):
        _writable(path, what)
    verdict, bound = run(asked, Progress(quiet=args.quiet))
    written = write_traces(verdict, bound, args.trace_dir) if args.trace_dir else {}
    if args.json:
        write_record(args.json, verdict.record(written))
    report(verdict, bound, console, stories=not args.quiet)
    for path in written.values():
        console.print(f"trace: {path}", style="dim", markup=False, soft_wrap=True)
    return verdict.exit()


def _writable(path: Path | None, option: str) -> None:
    """Fails before the search, not after it."""
    if path is None or (path.exists() and not path.is_file() and not path.is_dir()):  # /dev/null
        return
    folder = path if option == "--trace-dir" else path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if option != "--trace-dir" and path.is_dir():
            raise IsADirectoryError(21, "it is a directory")
    except OSError as error:
        raise Failure(Exit.SYSTEM, f"{option} {path} cannot be written: {error.strerror}") from None


def _trace(args: argparse.Namespace) -> tuple[Trace, Any, str]:
    """A trace file with the model it is of."""
    try:
        data = read_itf(args.trace)
    except TraceError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    meta = data["#meta"]
    name = args.model or _file_of(meta, args.trace) or meta.get("model")
    if not name:
        raise Failure(Exit.USAGE, f"{args.trace} does not name its model; give --model")
    pairs = [f"{k}={v}" for k, v in meta.get("config", {}).items()]
    bound, sha = plain(name, pairs)
    try:
        trace = from_itf(data, bound)
    except TraceError as error:
        raise Failure(Exit.TRACE, f"{args.trace} is no trace of {name}: {error}") from None
    note = (
        ""
        if meta.get("model_sha256", sha) == sha
        else f"note: the text of {name} has changed since the trace was found"
    )
    return trace, bound, note


def _file_of(meta: dict[str, Any], trace: Path) -> str | None:
    """The file of a model that does not come with the project: from here, or from where the trace lies."""
    named = meta.get("model_file")
    if not named:
        return None
    found = next((p for p in (Path(named), trace.parent / named) if p.is_file()), None)
    if found is None:
        raise Failure(Exit.USAGE, f"{trace} is of the model in {named}, which is not there; give --model")
    return str(found)


def do_replay(args: argparse.Namespace, console: Console) -> Exit:
    trace, bound, note = _trace(args)
    if note:
        print(note, file=sys.stderr)
    try:
        replay(trace, bound)
    except ReplayRefused as refused:
        raise Failure(Exit.TRACE, f"{bound.model.name} does not accept {args.trace}: {refused}") from None
    steps = len(trace) - 1
    console.print(f"{bound.model.name} accepts the trace: {steps} step{'s' * (steps != 1)}", markup=False)
    name, kind = trace.meta.get("property"), trace.meta.get("property_kind")
    if not name:
        return Exit.OK
    if name not in {"deadlock", *(p.name for p in bound.model.properties)}:
        raise Failure(Exit.EXPECTATION, f"{bound.model.name} has no property {name}, which the trace is of")
    shown = why.shows(trace, bound)
    if shown is None:
        print(f"note: {bound.model.name} does not decide {name} here", file=sys.stderr)
        return Exit.OK
    if kind == "deadlock":
        name, said = ("nothing", "is enabled") if shown else ("something", "is enabled")
    elif kind == "cover":
        said = "is reached" if shown else "is not reached"
    else:
        said = "is violated" if shown else "holds"
    console.print(f"{name} {said} at its end", markup=False)
    # The file claims a violation (or a goal) that is not there: not what it was kept for.
    return Exit.OK if shown else Exit.EXPECTATION


def do_show(args: argparse.Namespace, console: Console) -> Exit:
    trace, bound, note = _trace(args)
    if note:
        print(note, file=sys.stderr)
    if args.format == "text":
        story.tell(trace, bound, console)
    else:
        text = {"md": lambda: story.markdown(trace, bound), "mermaid": lambda: story.mermaid(trace)}.get(
            args.format, lambda: to_itf(trace, bound)
        )()
        args.found = Exit.OK
        sys.stdout.write(text)
    return Exit.OK


def do_gate(args: argparse.Namespace, console: Console) -> Exit:
    _writable(args.json, "--json")
    _writable(args.junit, "--junit")
    return gate.run_file(args.file, console, engine=args.engine, json_to=args.json, junit_to=args.junit)


def do_plan(args: argparse.Namespace, console: Console) -> Exit:
    _writable(args.json, "--json")
    return plan_command.run(args, console)


def do_claims(args: argparse.Namespace, console: Console) -> Exit:
    from reassure.checkers.evidence import command as ledger_command

    _writable(args.json, "--json")
    return ledger_command.answer(args, console)


COMMANDS = {
    "models": do_models,
    "check": do_check,
    "simulate": do_simulate,
    "prove": do_prove,
    "guards": do_guards,
    "query": do_query,
    "sweep": do_sweep,
    "stuck": do_stuck,
    "verify": do_verify,
    "replay": do_replay,
    "show": do_show,
    "gate": do_gate,
    "plan": do_plan,
    "claims": do_claims,
}


def main(argv: list[str] | None = None) -> int:
    """Runs a command; the exit code."""
    words = sys.argv[1:] if argv is None else argv
    _streams()
    args = argparse.Namespace(json=_json_among(words), model="")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)  # as CI ends a run: also with a record
    try:
        parser().parse_args(words, args)
        args.found = COMMANDS[args.command](args, console_to(sys.stdout))
        sys.stdout.flush()
        return int(args.found.value)
    except Failure as failure:
        return _failed(failure.code, str(failure), args, words)
    except KeyboardInterrupt:
        return _failed(Exit.INCONCLUSIVE, "interrupted", args, words)
    except BrokenPipeError:
        _close_stdout()
        found: Exit = getattr(args, "found", Exit.SYSTEM)
        return found.value
    except OSError as error:
        return _failed(Exit.SYSTEM, f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), args, words)
    except UnknownModel as error:
        return _failed(Exit.USAGE, str(error), args, words)
    except ConfigError as error:
        return _failed(Exit.CONFIG, str(error), args, words)
    except LanguageError as error:
        return _failed(Exit.MODEL, str(error), args, words)
    except RecursionError:
        return _failed(Exit.INTERNAL, "a model nests too deeply", args, words)
    except MemoryError:
        return _failed(Exit.SYSTEM, "out of memory", args, words)
    except SystemExit as done:  # --help
        return int(done.code or 0)
    except Exception as error:
        if os.environ.get("REASSURE_DEBUG"):
            raise
        return _failed(
            Exit.INTERNAL, f"{type(error).__name__}: {error} (a bug; REASSURE_DEBUG=1 shows where)", args, words
        )


def _streams() -> None:
    """Makes output possible whatever it goes to: where a stream is closed, or has no letter for a character."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _json_among(words: list[str]) -> Path | None:
    """The file for the record, for when the command line itself is wrong."""
    finder = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    finder.add_argument("--json", type=Path)
    try:
        found = finder.parse_known_args(words)[0].json
    except argparse.ArgumentError:
        return None
    return found if isinstance(found, Path) else None


def _failed(code: Exit, message: str, args: argparse.Namespace, words: list[str]) -> int:
    print(f"reassure: {message}", file=sys.stderr)
    path = getattr(args, "json", None)
    if isinstance(path, Path):
        record = error_record(code, message, getattr(args, "model", None) or "", " ".join(["reassure", *words]))
        try:
            write_record(path, record)
        except OSError as error:
            if code is not Exit.SYSTEM:
                print(f"reassure: {path}: {error.strerror}", file=sys.stderr)
            return Exit.SYSTEM.value
    return code.value


if __name__ == "__main__":
    sys.exit(main())
