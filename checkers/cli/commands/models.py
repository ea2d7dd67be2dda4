"""`reassure models`: the models that come with the project; or one, with all that it says of itself."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.describe_model import first_line, module_text, parameters_of, settings_of
from reassure.checkers.request.model_loader import find_model, load_model, names
from reassure.checkers.request.shared_options import MODEL, Option
from reassure.spec.language.vocabulary import LanguageError, Model

OPTIONS = (
    replace(MODEL, help="print settings, actions and properties of this model (default: list all models)", nargs="?"),
    Option("--mutants", "list the deliberately flawed models too", bool),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints one model, or a line for each."""
    if args.model is not None:
        _tell(load_model(args.model), find_model(args.model), console)
        return Exit.OK
    for name, path in names().items():
        if path.parent.name == "mutants" and not args.mutants:
            continue
        try:
            model = load_model(name)
        except LanguageError as error:
            console.print(f"{name}: {error}", style="red")
            continue
        row = Text(f"{name:24} ", style="cyan").append(module_text(model), style="default")
        if console.is_terminal:
            row.truncate(console.width, overflow="ellipsis")
        console.print(row)
    console.print("\n`reassure models MODEL` prints settings, actions and properties", style="dim")
    return Exit.OK


def _tell(model: Model, path: Path, console: Console) -> None:
    """Everything that a model declares, each with the first line of its text."""
    console.print(f"{model.name}: {module_text(model)}", style="bold")
    console.print(str(path), style="dim")
    settings = settings_of(model)
    _table(
        "settings (--set NAME=VALUE)",
        [(s.name, f"{s.values} (default {s.default})", s.meaning) for s in settings],
        console,
    )
    actions = [
        (f"{a.name}({', '.join(parameters_of(a.function, model))})", a.who, first_line(a.function.__doc__))
        for a in model.actions
    ]
    _table("actions, by whom", actions, console)
    for title, kinds in (
        ("invariants", ("invariant",)),
        ("properties of steps", ("step",)),
        ("properties of whole runs", ("leads_to", "recurrence", "persistence")),
        ("covers", ("cover",)),
    ):
        _table(title, [(p.name, "", first_line(p.doc)) for p in model.properties if p.kind in kinds], console)


def _table(title: str, rows: list[tuple[str, str, str]], console: Console) -> None:
    """Rows of a name, what it is, and its meaning."""
    if not rows:
        return
    console.print(f"\n{title}", style="bold")
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    below = console.is_terminal and 2 * sum(widths) > console.width  # little room is left for the meaning
    for name, what, meaning in rows:
        row = Text(f"  {name:{widths[0]}}  ", style="cyan")
        row.append(f"{what:{widths[1]}}  " if widths[1] else "", style="")
        if below and meaning:
            row.rstrip()
            row.append("\n      ")
        row.append(meaning, style="dim")
        row.rstrip()
        console.print(row)
