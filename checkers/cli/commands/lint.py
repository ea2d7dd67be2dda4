"""`reassure lint`: what a model's files have outside the language, a line for each place, as editors read them."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from reassure.checkers.console.failures import as_failure
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.digest import KEPT, program_digest
from reassure.checkers.request.known_models import Meaning, found_meaning, kept_meaning
from reassure.checkers.request.model_loader import find_model, load_model
from reassure.checkers.request.shared_options import JSON, Option
from reassure.spec.frontend.introspection import Refusal, SubsetError
from reassure.spec.language.annotations import FieldErrors
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.semantics.interpreter import BoundModel, make_config

OPTIONS = (
    Option("FILE", "files of models", nargs="+"),
    replace(JSON, help="write the places as JSON; - is standard output (default: not written)"),
)
PLACE = re.compile(r" ?\((?:([^\s()]+\.py)(?:, line |:)|line )(\d+)\)")
"""How other messages say where: `(lease.py:28)`, `(lease.py, line 28)` or `(line 28)`."""


@dataclass(frozen=True)
class LintPlace:
    """A place that is refused. line, column: from 1."""

    file: str
    line: int
    column: int
    text: str


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Loads and translates each model, and prints the places; nothing if there are none."""
    places: list[LintPlace] = []
    codes = [Exit.OK]
    for file in args.file:
        code, found = lint(file)
        codes.append(code)
        places += found
    code = worst(codes)
    for place in places:
        console.print(f"{place.file}:{place.line}:{place.column}: {place.text}")
    write_record(
        args.json,
        {"schema": 1, "verdict": VERDICTS[code], "exit_code": code.value, "places": [vars(place) for place in places]},
    )
    return code


def lint(file: str) -> tuple[Exit, list[LintPlace]]:
    """The exit code that a check of this file would have before its search, and the places that are the reason."""
    try:
        path = find_model(file)
    except Failure as failure:
        return failure.code, [LintPlace(file, 1, 1, str(failure))]
    model = None
    try:
        if _was_inside(kept_meaning([file])):
            return Exit.OK, []
        model = load_model(file)
        bound = BoundModel(model, make_config(model, {}))
        if not _was_inside(means := found_meaning([file], [model])):
            from reassure.spec.frontend.lowering import lower_model

            lower_model(bound)
            if means is not None:
                KEPT.write(_key(means), b"")
    except SubsetError as error:
        return Exit.MODEL, _refused(error.refusals)
    except FieldErrors as error:  # with what else is refused
        from reassure.spec.frontend.lowering import all_refused

        problems, refusals = all_refused(model, error) if model is not None else (list(error.problems.values()), [])
        return Exit.MODEL, [*(_place(path, problem) for problem in problems), *_refused(refusals)]
    except Exception as error:
        ended = as_failure(error)
        return ended.code, [_place(path, " ".join(str(ended).split()))]
    return Exit.OK, []


def _was_inside(means: Meaning | None) -> bool:
    """Whether a model of this meaning was translated before, with its default configuration, and nothing refused."""
    return means is not None and KEPT.read(_key(means)) is not None


def _key(means: Meaning) -> str:
    made_by = (program_digest(), sys.version, means.sha256, means.values)
    return "l" + hashlib.sha256(repr(made_by).encode()).hexdigest()[:39]


def _refused(refusals: list[Refusal]) -> list[LintPlace]:
    return [LintPlace(_shown(Path(r.file)), r.line, r.column + 1, f"{r.construct}: {r.remedy}") for r in refusals]


def _place(path: Path, message: str) -> LintPlace:
    """The place that a message names, in the file itself or one beside it; else the beginning of the file."""
    where = PLACE.search(message)
    if where is None:
        return LintPlace(_shown(path), 1, 1, message)
    named = path.parent / where[1] if where[1] else path
    text = (message[: where.start()] + message[where.end() :]).strip()
    return LintPlace(_shown(named if named.is_file() else path), int(where[2]), 1, text)


def _shown(path: Path) -> str:
    """A path as a user of this folder writes it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
