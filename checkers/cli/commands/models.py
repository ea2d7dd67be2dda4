"""`reassure models`: the models that come with the project."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.model_loader import load, names
from reassure.spec.language.vocabulary import LanguageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mutants", action="store_true", help="list the deliberately flawed models too")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints each model with its first line and its settings."""
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
