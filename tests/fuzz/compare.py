"""One random model against plain Python: what each engine says of it, and where they differ."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from reassure.spec.language.vocabulary import LanguageError
from tests.fuzz.compare_any_number import any_number
from tests.fuzz.compare_asked import asked
from tests.fuzz.compare_commands import COMPARISONS
from tests.fuzz.compare_guards import guards
from tests.fuzz.compare_mutants import mutants
from tests.fuzz.compare_proofs import proofs
from tests.fuzz.compare_searches import native, replays, spark, wide
from tests.fuzz.compare_symmetry import symmetry
from tests.fuzz.compare_terms import terms
from tests.fuzz.compare_watching import watching
from tests.fuzz.subject import Difference, Refused, Subject, loaded

CHECKS: dict[str, Callable[[Subject], Iterator[Difference]]] = {
    "terms": terms,
    "watching": watching,
    "replay": replays,
    "native": native,
    "wide": wide,
    "spark": spark,
    "prove": proofs,
    "guards": guards,
    "asked": asked,
    "mutants": mutants,
    "symmetry": symmetry,
    "any-number": any_number,
    **COMPARISONS,
}


def compared(path: Path, seed: int, checks: list[str]) -> tuple[list[Difference], dict[str, float]]:
    """Every difference of a model, and the seconds of each check. Raises `Refused`."""
    took: dict[str, float] = {}
    began = time.monotonic()
    try:
        subject = loaded(path, seed)
    except Refused:
        raise
    except Exception as error:
        return [crash("load", error)], took
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
    return found, took


def crash(check: str, error: Exception) -> Difference:
    """An exception that no user may see; told apart by its type and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.name}"
    return Difference(check, f"crash: {type(error).__name__} in {place}", str(error)[:400])
