"""`reassure explore`: a model in the browser, step by step."""

from __future__ import annotations

import argparse
import os
import shlex
import webbrowser
from dataclasses import replace
from pathlib import Path

from reassure.checkers.console.files import itf_without_model, trace_file
from reassure.checkers.console.parser import search_options
from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.pictures.html_page import foreign_page
from reassure.checkers.request.model_loader import config_values
from reassure.checkers.request.options import positive
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.shared_options import BUDGET, MEMORY, MODEL, SET, WORKERS, Option, pairs
from reassure.checkers.traces.named_path import follow_path, from_text, named_path, to_text
from reassure.checkers.traces.without_model import NOT_CHECKED
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import TraceError, from_itf, read_itf

OPTIONS = (
    MODEL,
    SET,
    Option(
        "--port N",
        "port on 127.0.0.1; the address is then the same after a restart (default: one that is free)",
        positive,
    ),
    Option("--at PATH", "open at this path (an address after its #)", default=""),
    Option("--trace FILE", "open at the end of this trace: an ITF file, or the short name of a counterexample", Path),
    Option(
        "--out FILE",
        "write the explorer as one HTML file that opens without a server: with the trace, and every step of at most "
        "50,000 states; of an ITF file in place of MODEL that names no model, its steps",
        Path,
        output=True,
    ),
    Option("--no-browser", "print the address and open no browser", bool, output=True),
    Option("--no-search", "do not search every state in the background", bool),
    replace(BUDGET, help="stop a search after this time (default: none)"),
    replace(MEMORY, help="stop a search before it uses more (default: 2G)", default=2 << 30),
    replace(
        WORKERS, help="threads of a search (default: all processors but one)", default=max(1, (os.cpu_count() or 1) - 1)
    ),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Serves the page until it is interrupted."""
    from reassure.checkers.explorer.server import ExplorerServer
    from reassure.checkers.explorer.session import ExplorerSession
    from reassure.checkers.explorer.tokens import token_of

    if args.out and Path(args.model).suffix == ".json" and not args.trace and not args.at:
        return _write_foreign(args, console)
    source = ModelSource(args.model, args.set)
    bound = source.loaded().bound
    begin = _begin(args, bound)
    if args.out:
        return _write(args, begin, console)
    options = search_options(args, witness=True)
    session = ExplorerSession(source, options)
    server = ExplorerServer(session, args.port or 0, token_of(args.port, args.model))
    address = server.address + (f"#{begin}" if begin else "")
    try:
        console.print(f"{bound.model.name}: {address}")
        console.print("Ctrl-C ends the explorer")
        if not args.no_search:
            session.search.start()
        if not args.no_browser:
            webbrowser.open(address)
        server.serve_forever()
    except KeyboardInterrupt:
        console.print("\nended")
    finally:
        session.close()
        server.server_close()
    return Exit.OK


def _write(args: argparse.Namespace, begin: str, console: Console) -> Exit:
    """Writes the page with what it shows as one file."""
    from reassure.checkers.explorer.one_file import one_file

    path = from_text(begin) if begin else []
    options = search_options(args, witness=True, properties=[])
    with Progress() as progress:
        text, what = one_file(prepare(args.model, args.set), path, options, progress)
    write_atomically(args.out, text)
    console.print(f"{args.out}: {what}; {len(text.encode()) / 2**20:.1f} MiB")
    return Exit.OK


def _write_foreign(args: argparse.Namespace, console: Console) -> Exit:
    """Writes the page of another tool's trace, which has no model to explore."""
    trace = itf_without_model(Path(args.model))
    if trace is None:
        raise Failure(Exit.USAGE, f"{args.model} is a trace: give its model, and --trace {args.model}")
    if args.set:
        raise Failure(Exit.USAGE, f"--set is for a model, and {args.model} names none")
    write_atomically(args.out, foreign_page(trace))
    console.print(f"{args.out}: {trace.title}; {NOT_CHECKED}")
    return Exit.OK


def _begin(args: argparse.Namespace, bound: BoundModel) -> str:
    """The path to open at; "" for the initial state. `Failure` where an option names none."""
    if args.trace and args.at:
        raise Failure(Exit.USAGE, "--at and --trace both say where to begin: give one of them")
    try:
        if args.trace:
            return _end_of_trace(args, bound)
        return to_text(from_text(args.at.partition("#")[2] or args.at))
    except TraceError as error:
        raise Failure(Exit.USAGE, f"{'--trace' if args.trace else '--at'}: {error}") from None


def _end_of_trace(args: argparse.Namespace, bound: BoundModel) -> str:
    """The path of the trace. `Failure` where the model does not have it: of another model or configuration."""
    data = read_itf(trace_file(args.trace))
    try:
        path = named_path(from_itf(data, bound), bound)
        problem = follow_path(path, bound).problem
        why = f"step {problem.step} is not possible: {problem.reason}" if problem else ""
    except TraceError as error:
        why = str(error)
    if not why:
        return to_text(path)
    meta, values = data["#meta"], config_values(bound.config)
    config, name = meta.get("config", {}), meta.get("model", bound.model.name)
    other = {key: value for key, value in config.items() if values.get(key) != value}
    if name == bound.model.name and not other:
        raise TraceError(why)
    kept = [pair for pair in args.set if pair.partition("=")[0] not in other]
    model, kind = (args.model, "configuration") if name == bound.model.name else (name, "model")
    options = [*(f"--set={pair}" for pair in (*kept, *pairs(other))), f"--trace={args.trace}"]
    words = shlex.join(["reassure", "explore", model, *options])
    raise TraceError(f"{why}; the trace is of another {kind}: {words}")
