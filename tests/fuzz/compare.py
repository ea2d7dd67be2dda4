"""One random model against plain Python: what each engine says of it, and where they differ."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from reassure.checkers.cli.commands import lint as lint_command
from reassure.checkers.machine.exit_codes import Exit
from reassure.spec.language.vocabulary import LanguageError
from tests.fuzz.compare_any_number import any_number
from tests.fuzz.compare_asked import asked
from tests.fuzz.compare_commands import COMPARISONS
from tests.fuzz.compare_guards import guards
from tests.fuzz.compare_mutants import mutants
from tests.fuzz.compare_proofs import BOUNDED, proofs
from tests.fuzz.compare_searches import native, replays, spark, wide
from tests.fuzz.compare_symmetry import spark_symmetry, symmetry
from tests.fuzz.compare_terms import terms
from tests.fuzz.compare_watching import watching
from tests.fuzz.subject import NO_STATE, Difference, Refused, Subject, loaded

CHECKS: dict[str, Callable[[Subject], Iterator[Difference]]] = {
    "terms": terms,
    "watching": watching,
    "replay": replays,
    "native": native,
    "wide": wide,
    "spark": spark,
    "prove": proofs,
    "bounded": partial(proofs, methods=BOUNDED),
    "guards": guards,
    "asked": asked,
    "mutants": mutants,
    "symmetry": symmetry,
    "spark-symmetry": spark_symmetry,
    "any-number": any_number,
    "lint": lambda subject: lint(subject.path),
    **COMPARISONS,
}


def compared(path: Path, seed: int, checks: list[str]) -> tuple[list[Difference], dict[str, float], str]:
    """Every difference of a model, the seconds of each check, and why the language refuses it, if it does."""
    took: dict[str, float] = {}
    began = time.monotonic()
    try:
        subject = loaded(path, seed)
    except Refused as error:
        return list(lint(path, str(error))) if "lint" in checks else [], took, str(error)
    except Exception as error:
        return [crash("load", error)], took, ""
    took["load"] = time.monotonic() - began
    found: list[Difference] = []
    for name in checks:
        began = time.monotonic()
        try:
            found += CHECKS[name](subject)
        except LanguageError:
            pass  # what only an engine that compiles refuses, in one clear line
        except Exception as error:
            found.append(crash(name, error))
        took[name] = time.monotonic() - began
    return found, took, ""


def lint(path: Path, refused: str = "") -> Iterator[Difference]:
    """`lint` finds nothing in a model that is taken, and of one that is refused the lines that are the reason."""
    code, places = lint_command.lint(str(path))
    if not refused or refused == NO_STATE:
        if code is not Exit.OK or places:
            yield Difference("lint", "refuses what is taken", f"{code}: {places}")
        return
    if code not in (Exit.MODEL, Exit.CONFIG) or not places:
        yield Difference("lint", "takes what is refused", f"{code}: {refused}")
    elif not all(place.line == 1 or re.search(rf"\b{place.line}\b", refused) for place in places):
        yield Difference("lint", "another line", f"{places}: {refused}")


def crash(check: str, error: Exception) -> Difference:
    """An exception that no user may see; told apart by its type and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.name}"
    return Difference(check, f"crash: {type(error).__name__} in {place}", str(error)[:400])
