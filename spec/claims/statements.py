"""The statements of the documents, each with the claims that judge it, or with the reason why none does.

They are in the files of claims, before the claims, one in a line:

    statements = [
      { at = "62b", says = "In our own words.", claims = ["K15"], by = ["a_property", "or_a_function"] },
      { at = "97", says = "...", claims = ["K1"], by = ["..."], open = "What is not judged, and why." },
    ]

`at` is the line of the document, with a letter where a line has several statements. `by` names properties, covers or
functions that readings of those claims have. Without `open` all that is said is judged, without `claims` nothing.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from reassure.spec import claims
from reassure.spec.claims import Claim, ClaimError, judges

KEYS = {"at": str, "says": str, "claims": list, "by": list, "open": str}


class Coverage(Enum):
    """How much of a statement is judged."""

    COVERED = "covered"
    PARTLY = "partly"
    NOT = "not judged"


@dataclass(frozen=True)
class Statement:
    """A statement of a document."""

    document: str
    title: str
    """The document's usual name."""
    at: str
    """The line of the document."""
    says: str
    claims: tuple[str, ...]
    by: tuple[str, ...]
    """Properties, covers and functions that judge it."""
    open: str
    """What is not judged, and why."""

    @property
    def coverage(self) -> Coverage:
        if not self.claims:
            return Coverage.NOT
        return Coverage.PARTLY if self.open else Coverage.COVERED


def read() -> list[Statement]:
    """Every statement, document by document; `ClaimError` with everything that is wrong."""
    every = claims.read()
    wrong: list[str] = []
    found = [made for path in claims.files() for made in of_file(path, every, wrong)]
    if wrong:
        raise ClaimError("\n".join(wrong))
    return found


def of_file(path: Path, every: list[Claim], wrong: list[str]) -> list[Statement]:
    """The statements of one file; what is wrong is added to `wrong`."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    by_id = {claim.id: claim for claim in every}
    document = next((claim.document for claim in every if claim.id.startswith(path.stem)), "")
    made: list[Statement] = []
    for entry in data.get("statements", []):
        where = f"{path.name}, statement at {entry.get('at', '?')}"
        faults = _faults(entry, by_id) or ([f"{where} is there twice"] if entry["at"] in {s.at for s in made} else [])
        wrong += [f"{where}: {fault}" for fault in faults]
        if not faults:
            told, by = tuple(entry.get("claims", ())), tuple(entry.get("by", ()))
            made.append(Statement(document, data["title"], entry["at"], entry["says"], told, by, entry.get("open", "")))
    return made


def _faults(entry: dict[str, Any], by_id: dict[str, Claim]) -> list[str]:
    """What is wrong with an entry."""
    faults = [f"unknown key {key}; there are {', '.join(KEYS)}" for key in sorted(set(entry) - set(KEYS))]
    faults += [f"{key} is missing" for key in ("at", "says") if not entry.get(key)]
    faults += [
        f"{key} is a {kind.__name__}" for key, kind in KEYS.items() if not isinstance(entry.get(key, kind()), kind)
    ]
    if faults:
        return faults
    if not re.fullmatch(r"\d+([-/]\d+)*[a-z]?|-", entry["at"]):
        faults.append('at is a line such as "62b" or "66-69", or "-" for what the document does not say')
    cited, by = entry.get("claims", []), entry.get("by", [])
    faults += [f"there is no claim {name}" for name in cited if name not in by_id]
    if not faults:
        judging = {judge for name in cited for reading in by_id[name].readings for judge in judges(reading)}
        faults += [f"no reading of {', '.join(cited) or 'a claim'} has {name}" for name in by if name not in judging]
    if bool(cited) != bool(by):
        faults.append("claims and by go together")
    if not cited and not entry.get("open"):
        faults.append("neither judged by a claim, nor said why not (open)")
    return faults
