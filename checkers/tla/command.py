"""`reassure export`: a model as a TLA+ module, with the configuration that TLC reads."""

from __future__ import annotations

import argparse
from pathlib import Path

from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.shared_options import MODEL, SET, Option
from reassure.checkers.tla.module import export

OPTIONS = (
    MODEL,
    SET,
    Option("--to", "the language of the module", choices=("tla",), required=True),
    Option("--out DIR", "write MODEL.tla and MODEL.cfg to this folder", Path, required=True, output=True),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Writes the module and its configuration."""
    exported = export(prepare(args.model, args.set).bound)
    args.out.mkdir(parents=True, exist_ok=True)
    for suffix, text in (("tla", exported.text), ("cfg", exported.cfg)):
        path = args.out / f"{exported.name}.{suffix}"
        write_atomically(path, text)
        console.print(str(path))
    for name in exported.computed:
        console.print(f"{name} has the value of this configuration: its Python has no translation", style="dim")
    return Exit.OK
