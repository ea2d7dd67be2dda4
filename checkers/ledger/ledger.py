"""The ledger: what each run that a claim needs has found, with the digest of the text that was run.

A record serves every claim that needs its model under its configuration. `refresh` runs what is missing or stale;
everything else only reads, so that `reassure claims` answers at once and says where its answers are old. The ledger
also lists the claims and the kept traces, each with its digest: `integrity.py` compares them with what is there.

Also here: the version of the engines that give the ledger's verdicts: a digest of their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reassure import checkers
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.digest import digest_of_files
from reassure.checkers.request.model_loader import home
from reassure.checkers.request.result import PropertyStatus
from reassure.spec import claims
from reassure.spec.semantics.trace import PlainConfig

SCHEMA = 1
REACHED = "reached"
NOT_REACHED = "not_reached"
STATUSES = frozenset({*PropertyStatus, REACHED, NOT_REACHED})
"""Of properties and covers."""
SEARCHED = ("distinct", "generated", "depth")
"""The figures that the record of a search has."""


@dataclass(frozen=True)
class LedgerPaths:
    """The paths of a ledger and its traces."""

    ledger: Path
    traces: Path

    @staticmethod
    def of_the_project() -> LedgerPaths:
        """Those that come with the project."""
        traces = home().resolve().parent / "counterexamples"
        return LedgerPaths(traces / "ledger.json", traces)


PATHS = LedgerPaths.of_the_project()


@dataclass
class RecordedResult:
    """The result of one property or cover. states: of the trace, or up to the state that reaches it."""

    kind: str
    status: str
    states: int | None = None


@dataclass
class Record:
    """The recorded result of one run."""

    sha256: str
    """Of the text that was run."""
    engine: str
    engine_version: str
    repro: str
    values: str = ""
    """The digest of the values that were reached, also from outside of the text (`request/outside_values.py`)."""
    config: PlainConfig = field(default_factory=dict)
    stopped_because: str = ""
    stats: dict[str, int] = field(default_factory=dict)
    bounds: list[str] = field(default_factory=list)
    """Bounds that steps leave, or that a proof does not exclude that they leave."""
    fairness: str = ""
    """The fairness that was assumed of properties about whole runs, in words; "" where none was decided."""
    results: dict[str, RecordedResult] = field(default_factory=dict)
    cases: int = 0
    """Of an enumeration, with the two below."""
    covered: str = ""
    counterexample: str = ""
    engines: str = ""
    """The version of the engines that gave the results (`engines_version`); "" of an enumeration, which needs none."""


@dataclass
class Ledger:
    """Every record, and the digest of each claim for which verdicts were obtained."""

    records: dict[str, Record] = field(default_factory=dict)
    """By the key of a `RunSpec`."""
    claims: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    """The seals: SHA-256 of each kept trace, by its path in the folder of traces."""
    confirmed: str = ""
    """The version of the engines that last repeated a sample of the records with equal results."""
    paths: LedgerPaths = field(default_factory=lambda: PATHS)


def read_ledger(paths: LedgerPaths | None = None) -> Ledger:
    """The ledger as it was committed; an empty one if there is none."""
    paths = paths or PATHS
    try:
        data = json.loads(paths.ledger.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']}, not {SCHEMA}")
        records = {
            key: Record(**{**r, "results": {n: RecordedResult(**f) for n, f in r.get("results", {}).items()}})
            for key, r in data["records"].items()
        }
        for key, record in records.items():
            _must_be_whole(key, record)
        return Ledger(
            records, dict(data["claims"]), dict(data.get("traces", {})), str(data.get("confirmed", "")), paths
        )
    except FileNotFoundError:
        return Ledger(paths=paths)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        name = paths.ledger.name
        raise Failure(
            Exit.USAGE, f"{name} is not a ledger ({error}); `reassure claims --refresh` needs it gone"
        ) from None


def _must_be_whole(key: str, record: Record) -> None:
    """Raises `ValueError` for a record that no run writes."""
    method = key.partition(" ")[0]
    for name, result in record.results.items():
        if result.status not in STATUSES:
            raise ValueError(f"{key}: {name} has the status {result.status!r}")
        if result.states is not None and type(result.states) is not int:
            raise ValueError(f"{key}: {name} has a trace of {result.states!r} states")
    if method == "check" and not all(type(record.stats.get(name)) is int for name in SEARCHED):
        raise ValueError(f"{key}: a search without its figures: {', '.join(SEARCHED)}")
    if method == "enumerate" and (type(record.cases) is not int or record.cases < 1 or not record.results):
        raise ValueError(f"{key}: an enumeration of {record.cases!r} cases with {len(record.results)} results")


def write(ledger: Ledger) -> None:
    """Writes the ledger: sorted, one line for each result, so that a changed verdict is a changed line."""
    records = {}
    for key in sorted(ledger.records):
        record = {k: v for k, v in asdict(ledger.records[key]).items() if v not in ("", 0, {}, [])}
        for result in record.get("results", {}).values():
            if result["states"] is None:
                del result["states"]
        records[key] = record
    order = sorted(ledger.claims, key=claims.order)
    data = {
        "schema": SCHEMA,
        "confirmed": ledger.confirmed,
        "claims": {name: ledger.claims[name] for name in order},
        "traces": dict(sorted(ledger.traces.items())),
        "records": records,
    }
    write_atomically(ledger.paths.ledger, _pretty(data, 0, 4) + "\n")


def _pretty(value: Any, depth: int, deepest: int) -> str:
    """JSON with a line for each member, down to a depth."""
    if not isinstance(value, dict) or depth == deepest or not value or (depth == deepest - 1 and not _nested(value)):
        return json.dumps(value, ensure_ascii=False)
    pad = "  " * (depth + 1)
    rows = [f"{pad}{json.dumps(k)}: {_pretty(v, depth + 1, deepest)}" for k, v in value.items()]
    return "{\n" + ",\n".join(rows) + "\n" + "  " * depth + "}"


def _nested(value: Mapping[str, object]) -> bool:
    return any(isinstance(v, dict) for v in value.values())


PACKAGE = Path(checkers.__path__[0]).parent
"""The folder of this program."""
STARTS = (
    "checkers/check.py",
    "checkers/engines",
    "checkers/encoding",
    "spec/frontend",
    "spec/language",
    "spec/semantics",
)
"""The files and folders, below the package, whose imports are followed."""
DECIDES_NOTHING = frozenset(
    {
        "checkers/engines/spark",
        "checkers/machine/atomic_files.py",
        "checkers/machine/exit_codes.py",
        "checkers/machine/own_process.py",
        "checkers/machine/own_files.py",
        "checkers/machine/polled_interrupts.py",
        "checkers/machine/progress.py",
        "checkers/machine/terminal.py",
        "checkers/request/shared_options.py",
        "checkers/request/run_identity.py",
        "checkers/traces/format_value.py",
    }
)
"""Imported files and folders that ask for a run, end it or tell it, and the engine that the ledger does not use."""
IMPORT = re.compile(r"^\s*from (reassure\.(?:checkers|spec)[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
"""An import of this program: the module, and the names. Text is enough: `ast` takes ten times as long."""
DIGITS = 12


@cache
def engines_version(package: Path = PACKAGE) -> str:
    """The first digits of the digest of what every verdict depends on, beside the text of its model.

    That is: the engines that the ledger uses, and all that they import, but for `DECIDES_NOTHING`. Docstrings, comments
    and formatting do not count, nor do the versions of the libraries.
    """
    return digest_of_files([], deciding_files(package))[:DIGITS]


def deciding_files(package: Path, left_out: frozenset[str] = DECIDES_NOTHING) -> list[Path]:
    """The files of the engines, and those of this program that they import, straight or through others; sorted.

    left_out: files and folders of which neither these nor what only these import counts.
    """
    started = (package / start for start in STARTS)
    open_files = [file for start in started for file in (start.rglob("*.py") if start.is_dir() else [start])]
    files: set[Path] = set()
    while open_files:
        file = open_files.pop()
        if file not in files and not _is_in(file, package, left_out):
            files.add(file)
            open_files += _imported(file, package)
    return sorted(files)


def _is_in(file: Path, package: Path, folders: frozenset[str]) -> bool:
    inner = file.relative_to(package)
    return any(str(part) in folders for part in (inner, *inner.parents))


def _imported(file: Path, package: Path) -> list[Path]:
    """The files of this program that a file imports, wherever in it."""
    names = []
    for module, imported in IMPORT.findall(file.read_text(encoding="utf-8")):
        names += [module, *(f"{module}.{name}" for name in re.findall(r"\w+", imported))]
    paths = (package.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names)
    return [path for path in paths if path.is_file()]
