"""Files that a command reads and writes: failing before the search, not after it.

Also here: the file of a trace that a command names: a path, or the short name of one of the project's traces.

`K21/4.3` is the file of that name in the folder of the project's traces. `finding-1`, `K21`, and the releases that
share a file with an older one, are in a table there (`publish/trace_pages.py` makes it).

Also here: a trace of a folder, executed in plain Python.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shlex
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reassure.checkers.console.commands import options_of
from reassure.checkers.machine.atomic_files import did_you_mean
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import home, names
from reassure.checkers.request.shared_options import Option
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceError, from_itf, read_itf

if TYPE_CHECKING:
    from reassure.checkers.traces.without_model import ForeignTrace

NAMES = "names.json"
SUFFIX = ".itf.json"
NAME = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?")
SHOWN = 3


def trace_file(named: Path, folder: Path | None = None) -> Path:
    """The file of a trace: the path itself if there is something, else that of the short name.

    folder: of the project's traces. `Failure` for a name that is not known, with the nearest ones.
    """
    name, traces = named.as_posix(), folder or project_traces()
    if named.exists() or named.suffix == ".json" or not NAME.fullmatch(name):
        return named
    short_names = _short_names(traces)
    if name in short_names:
        return traces / short_names[name]
    import difflib  # of this message alone

    folder_of, by_case = name.partition("/")[0], {known.lower(): known for known in short_names}
    near = [known for known in short_names if known.partition("/")[0] == folder_of][:SHOWN]
    near = near or [by_case[each] for each in difflib.get_close_matches(name.lower(), by_case, n=SHOWN)]
    meant = f"; the nearest are {', '.join(near)}" if near else did_you_mean(named)
    raise Failure(Exit.USAGE, f"{named}: No such file or directory, and no trace has this name{meant}")


def picture_beside(trace: str) -> str:
    """The file of a trace's picture: it lies beside the trace and has its name, with `.svg` for `.itf.json`."""
    return trace.removesuffix(SUFFIX) + ".svg"


def is_short_name(name: str) -> bool:
    """Whether one of the project's traces has this name."""
    return name in _short_names(project_traces())


def project_traces() -> Path:
    """The folder of the project's traces."""
    return home().resolve().parent / "counterexamples"


@cache
def _short_names(folder: Path) -> dict[str, str]:
    """The files of the project's traces, from their folder, by short name."""
    files = (path.relative_to(folder).as_posix() for path in folder.glob(f"*/*{SUFFIX}"))
    names = {file.removesuffix(SUFFIX): file for file in sorted(files)}
    table = folder / NAMES
    return json.loads(table.read_text(encoding="utf-8")) | names if table.is_file() else names


STANDARD_OUTPUT = Path("-")
GATE_FILE = Path("gate.toml")


def outputs_must_be_writable(args: argparse.Namespace, made: list[Path]) -> None:
    """`Failure` if a file or folder that an option of the command names as an output cannot be written.

    made: takes the folders that are made for outputs, a folder before those in it.
    """
    flags: dict[Path, str] = {}
    for option in options_of(args.command):
        path = getattr(args, option.name)
        if option.output and isinstance(path, Path) and path != STANDARD_OUTPUT:
            if path.is_file() or not path.exists():
                other = flags.setdefault(path.resolve(), option.flag)
                if other != option.flag and option.metavar != "DIR":
                    raise Failure(Exit.USAGE, f"{other} and {option.flag} both write {path}")
            _must_be_writable(path, option, made)


def _must_be_writable(path: Path, option: Option, made: list[Path]) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():  # /dev/null
        return
    is_folder = option.metavar == "DIR"
    folder = path if is_folder else path.parent
    try:
        for part in reversed([folder, *folder.parents]):
            if not part.exists():
                part.mkdir(exist_ok=True)
                made.append(part)
        import tempfile

        with tempfile.TemporaryFile(dir=folder):
            pass
        if not is_folder and path.is_dir():
            raise IsADirectoryError(21, "it is a directory")
    except OSError as error:
        raise Failure(Exit.SYSTEM, f"{option.flag} {path} cannot be written: {error.strerror}") from None


def remove_empty(folders: list[Path]) -> None:
    """Removes those of the folders that nothing was written to."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


def name_traces(paths: list[str], console: Console, source: str = "", pictures: Iterable[str] = ()) -> None:
    """Prints where traces were written to, with the pictures beside them, and the command that shows each one.

    source: the name or path that the model was asked for by; a model of one's own has to be named again.
    """
    own = [f"--model={source}"] if source and source not in names() else []
    for path in paths:
        console.print(f"trace: {path}", style="dim")
        if (picture := picture_beside(path)) in pictures:
            console.print(f"picture: {picture}", style="dim")
        console.print(f"  {shlex.join(['reassure', 'show', path, *own])}", style="dim")


PreparedModels = dict[tuple[str, ...], tuple[BoundModel, str]]
"""Models that were prepared before, by name and settings."""


ReadTrace = tuple[Trace, BoundModel, str]
"""A trace with the model it is of (or another one, given by name), and a note if that has changed."""


def itf_without_model(path: Path) -> ForeignTrace | None:
    """The trace of an ITF file that names no model; None for one that does. `Failure` if it is wrong."""
    from reassure.checkers.traces.without_model import foreign_trace  # no check needs it

    path = trace_file(path)
    try:
        data = read_itf(path)
        return None if {"model", "model_file"} & set(data["#meta"]) else foreign_trace(data, str(path))
    except TraceError as error:
        raise Failure(Exit.USAGE, f"{error}{did_you_mean(path)}") from None


def read_trace(path: Path, model: str | None) -> ReadTrace:
    """The trace of a file; of several configurations that have it, under the last, which is its own."""
    return read_traces(path, model)[-1]


def read_traces(path: Path, model: str | None, prepared: PreparedModels | None = None) -> list[ReadTrace]:
    """The trace of a file, or of a short name, under each configuration, in the order of `of_each_configuration`.

    prepared: models are looked up there first, and noted there.
    """
    from reassure.checkers.request import prepare  # few commands read a trace
    from reassure.checkers.traces.properties_here import of_each_configuration

    path = trace_file(path)
    try:
        data = read_itf(path)
        metas = of_each_configuration(data["#meta"])
    except TraceError as error:
        raise Failure(Exit.USAGE, f"{error}{did_you_mean(path)}") from None
    meta = data["#meta"]
    name = model or model_to_execute(meta.get("model"), meta.get("model_file"), path)
    models: PreparedModels = {} if prepared is None else prepared
    traces = []
    for about in metas:
        pairs = [f"{k}={v}" for k, v in about.get("config", {}).items()]
        if (name, *pairs) not in models:
            models[name, *pairs] = prepare.prepare_plain(name, pairs)
        bound, sha = models[name, *pairs]
        try:
            trace = from_itf({**data, "#meta": about}, bound)
        except TraceError as error:
            raise Failure(Exit.TRACE, f"{path} is not a trace of {name}: {error}") from None
        stale = meta.get("model_sha256", sha) != sha
        note = f"note: the text of {name} has changed since the trace was found" if stale else ""
        traces.append((trace, bound, note))
    return traces


_named: set[Path] = set()


def may_execute(models: Iterable[str]) -> None:
    """Notes the models that a gate file names, which the user runs. A setting of this process."""
    _named.update(Path(model).resolve() for model in models)


def model_to_execute(name: str | None, file: str | None, found_by: Path) -> str:
    """The model that a trace or certificate names: one that comes with the project, or one that is named here.

    A model is a program: a file is executed only if the user names it, by --model, in the gate file that runs, or in
    that of the working folder. `Failure` asks for it.
    """
    if file is None:
        if name is not None and name in names():
            return name
        why = "does not name its model" if name is None else f"is of {name!r}, which does not come with this program"
        raise Failure(Exit.USAGE, f"{found_by} {why}; give --model")
    path = _file_of_a_model(file, found_by)
    if path.resolve() in _named | _models_named_here():
        return str(path)
    raise Failure(Exit.USAGE, f"{found_by} is of the model in {path}, a program: to execute it give --model {path}")


def _models_named_here() -> set[Path]:
    """The files that the gate file of the working folder names as models."""
    try:
        import tomllib

        checks = tomllib.loads(GATE_FILE.read_text(encoding="utf-8")).get("check")
    except (OSError, ValueError):
        return set()
    models = [check.get("model") for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    return {Path(model).resolve() for model in models if isinstance(model, str)}


def _file_of_a_model(named: str, found_by: Path) -> Path:
    """The file of a model of one's own: from here, else from a folder that the trace or certificate lies in."""
    folders = [Path(), *found_by.resolve().parents]
    file = next((folder / named for folder in folders if (folder / named).is_file()), None)
    if file is None:
        raise Failure(Exit.USAGE, f"{found_by} is of the model in {named}, which is not there; give --model")
    return file


@dataclass(frozen=True)
class ReplayedFile:
    """One trace of a folder. stale: the model's text is another than when it was found."""

    name: str
    code: Exit
    problem: str
    stale: bool
    seconds: float


def replayed_file(path: Path, name: str, model: str | None, models: PreparedModels) -> ReplayedFile:
    """Executes the trace of a file under each configuration that it is a run of. models: those prepared before."""
    from reassure.checkers.traces.replay import replay_trace

    began, stale, code, problem = time.monotonic(), False, Exit.OK, ""
    try:
        for trace, bound, changed in read_traces(path, model, models):
            stale |= bool(changed)
            result = replay_trace(trace, bound, name)
            if result.code is not Exit.OK:
                code, problem = result.code, result.problem or result.open or result.lines[-1]
                break
    except Failure as failure:
        code, problem = failure.code, str(failure).splitlines()[0]
    return ReplayedFile(name, code, problem, stale, time.monotonic() - began)
