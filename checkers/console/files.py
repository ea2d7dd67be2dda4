"""Files that a command reads and writes: failing before the search, not after it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.prepare import plain
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.commands import options_of
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceError, configurations, from_itf, read_itf

STANDARD_OUTPUT = Path("-")


def outputs_must_be_writable(args: argparse.Namespace) -> None:
    """`Failure` if a file or folder that an option of the command names as an output cannot be written."""
    for option in options_of(args.command):
        path = getattr(args, option.name)
        if option.output and isinstance(path, Path) and path != STANDARD_OUTPUT:
            _must_be_writable(path, option)


def _must_be_writable(path: Path, option: Option) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():  # /dev/null
        return
    is_folder = option.metavar == "DIR"
    folder = path if is_folder else path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if not is_folder and path.is_dir():
            raise IsADirectoryError(21, "it is a directory")
    except OSError as error:
        raise Failure(Exit.SYSTEM, f"{option.flag} {path} cannot be written: {error.strerror}") from None


def name_traces(paths: list[str], console: Console) -> None:
    """Prints where traces were written to."""
    for path in paths:
        console.print(f"trace: {path}", style="dim")


PreparedModels = dict[tuple[str, ...], tuple[BoundModel, str]]
"""Models that were prepared before, by name and settings."""


ReadTrace = tuple[Trace, BoundModel, str]
"""A trace with the model it is of (or another one, given by name), and a note if that has changed."""


def read_trace(path: Path, model: str | None) -> ReadTrace:
    """The trace of a file; of several releases of Kafka that have it, under the rules of the newest."""
    return read_traces(path, model)[-1]


def read_traces(path: Path, model: str | None, prepared: PreparedModels | None = None) -> list[ReadTrace]:
    """The trace of a file under each configuration that it is a run of: the oldest release of Kafka first.

    prepared: models are looked up there first, and noted there.
    """
    try:
        data = read_itf(path)
    except TraceError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    meta = data["#meta"]
    file = meta.get("model_file")
    name = model or (file and file_of_a_model(file, path)) or meta.get("model")
    if not name:
        raise Failure(Exit.USAGE, f"{path} does not name its model; give --model")
    models: PreparedModels = {} if prepared is None else prepared
    traces = []
    for config in configurations(meta):
        pairs = [f"{k}={v}" for k, v in config.items()]
        if (name, *pairs) not in models:
            models[name, *pairs] = plain(name, pairs)
        bound, sha = models[name, *pairs]
        try:
            trace = from_itf({**data, "#meta": {**meta, "config": config}}, bound)
        except TraceError as error:
            raise Failure(Exit.TRACE, f"{path} is no trace of {name}: {error}") from None
        stale = meta.get("model_sha256", sha) != sha
        note = f"note: the text of {name} has changed since the trace was found" if stale else ""
        traces.append((trace, bound, note))
    return traces


def file_of_a_model(named: str, found_by: Path) -> str:
    """The file of a model of one's own: from here, else from a folder that the trace or certificate lies in."""
    folders = [Path(), *found_by.resolve().parents]
    file = next((folder / named for folder in folders if (folder / named).is_file()), None)
    if file is None:
        raise Failure(Exit.USAGE, f"{found_by} is of the model in {named}, which is not there; give --model")
    return str(file)
