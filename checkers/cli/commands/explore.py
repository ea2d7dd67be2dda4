"""`reassure explore`: a model in the browser, step by step."""

from __future__ import annotations

import argparse
import os
import webbrowser

from rich.console import Console

from reassure.checkers.base.argument_types import duration, positive, size
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.cli.parser import model_argument

MEMORY = 2 << 30
PORT = "port on 127.0.0.1; the address is then the same after a restart (default: one that is free)"


def configure(parser: argparse.ArgumentParser) -> None:
    model_argument(parser)
    parser.add_argument("--port", type=positive, metavar="N", help=PORT)
    parser.add_argument("--at", default="", metavar="PATH", help="open at this path: what follows the # in an address")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    parser.add_argument("--no-search", action="store_true", help="do not search every state behind the page")
    parser.add_argument("--budget", type=duration, metavar="60s", help="stop a search after this time (default: none)")
    parser.add_argument(
        "--memory", type=size, default=MEMORY, metavar="2G", help="stop a search before it uses more (default: 2G)"
    )
    fewer = max(1, (os.cpu_count() or 1) - 1)
    parser.add_argument(
        "--workers", type=positive, default=fewer, metavar="N", help="threads of a search (default: all but one)"
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Serves the page until it is interrupted."""
    from reassure.checkers.explorer.loaded import ModelSource
    from reassure.checkers.explorer.server import ExplorerServer
    from reassure.checkers.explorer.session import Session
    from reassure.checkers.explorer.tokens import token_of
    from reassure.checkers.traces.named_path import from_text, to_text
    from reassure.spec.semantics.trace import TraceError

    source = ModelSource(args.model, args.set)
    name = source.loaded().bound.model.name
    try:
        begin = to_text(from_text(args.at.partition("#")[2] or args.at))
    except TraceError as error:
        raise Failure(Exit.USAGE, f"--at: {error}") from None
    options = SearchOptions(budget=args.budget, memory=args.memory, workers=args.workers, witness=True)
    session = Session(source, options)
    server = ExplorerServer(session, args.port or 0, token_of(args.port, args.model))
    address = server.address + (f"#{begin}" if begin else "")
    try:
        console.print(f"{name}: {address}", markup=False, soft_wrap=True)
        console.print("Ctrl-C ends the explorer", markup=False)
        if not args.no_search:
            session.search.start()
        if not args.no_browser:
            webbrowser.open(address)
        server.serve_forever()
    except KeyboardInterrupt:
        console.print("\nended", markup=False)
    finally:
        session.close()
        server.server_close()
    return Exit.OK
