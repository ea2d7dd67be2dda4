"""`reassure plan`: a reassignment of a real cluster, checked or proposed."""

from __future__ import annotations

import argparse

from rich.console import Console

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.cli.files import must_be_writable
from reassure.checkers.plan import command


def configure(parser: argparse.ArgumentParser) -> None:
    command.options(parser)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks or proposes."""
    must_be_writable(args.json, "--json")
    return command.run(args, console)
