"""Claims of the documents, as data: one file for each document, read here and checked by `reassure claims`.

    title = "KIP-435, Reassignment in batches"

    [[claim]]
    id = "B4"
    document = "000_fb6c529609128823.txt"
    lines = "44, 174-185"                   # where it says so
    ours = false                            # true: no document says it
    ambiguous = false                       # true: the text has several meanings, or contradicts itself
    statement = "In our own words, one or two sentences."
    liveness = false                        # true: an engine for liveness decides it
    quantifiers = [                         # every "all", "some", "only", ... of the statement
      { says = "all added replicas", by = "a_cover_with_more_than_one" },
      { says = "both epochs", because = "The two are named." },
    ]
    [[claim.reading]]
    name = "as printed"                     # contradictory readings are separate entries
    model = "batching_literal"
    set = { brokers = 4 }                   # its configuration, if not the default
    properties = ["own_steps_keep_min_isr"] # properties and covers that together are the claim in this reading
    method = "check"                        # or "prove", "prove any number", "enumerate"
    expect = "violated"                     # or "holds": what a checker was seen to say
    note = "What the trace shows."          # if it needs saying
    column = "document"                     # or "kafka": its code; or "mutant": shows that the claim can fail
    releases = ["4.2", "4.4"]               # one reading for each; then expect may be { "4.2" = "holds", "4.4" = ... }

A claim stands by the readings of its text: what Kafka does, or a mutant, makes no text ambiguous.

With `method = "enumerate"` there is `function = "package.module:name"` instead of a model: a function without arguments
that goes through all cases and returns an `Outcome`. Two readings of one claim may have opposite answers; that is what
is worth knowing about an ambiguous document. `expect` may be missing as long as nobody has seen an answer; the ledger
says so until somebody has.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ANY_NUMBER = "prove any number"
PROOFS = ("prove", ANY_NUMBER)
"""The methods that prove: of the configuration, or of all values of its numbers that are not set."""
METHODS = ("check", *PROOFS, "enumerate")
COLUMNS = ("document", "kafka", "mutant")
EXPECTATIONS = ("holds", "violated")
QUANTIFIED = re.compile(r"\b(all|any|both|each|every|everything|only|some)\b", re.IGNORECASE)
"""What says of how many things a statement is. "No" and "never" are left out: one thing is enough to violate them."""


class ClaimError(Exception):
    """A file of claims that is not as it should be."""


@dataclass(frozen=True)
class Outcome:
    """The result of going through all cases."""

    holds: bool
    cases: int
    bounds: str
    """A description of those cases."""
    counterexample: str | None = None


@dataclass(frozen=True)
class Reading:
    """One way to read a claim, with what decides it."""

    name: str
    method: str
    model: str | None = None
    set: dict[str, Any] = field(default_factory=dict)
    properties: tuple[str, ...] = ()
    function: str | None = None
    expect: str | None = None
    note: str = ""
    column: str = "document"
    """The source that it interprets: the document's text, Kafka's controller, or a mutant that shows what can fail."""


@dataclass(frozen=True)
class Quantifier:
    """What makes an "all" or "some" of a statement more than one: of one thing, all and some are the same."""

    says: str
    """Words of the statement, with the quantifier."""
    by: str = ""
    """A cover of a reading, which shows more than one; or a function of a reading, which goes through several cases."""
    because: str = ""
    """Why it needs none: what the number is, or what is not told apart."""


@dataclass(frozen=True)
class Claim:
    """A claim of a document, with its readings."""

    id: str
    document: str
    statement: str
    readings: tuple[Reading, ...]
    liveness: bool = False
    title: str = ""
    """The document's title."""
    lines: str = ""
    """The lines of the document that state it."""
    ours: bool = False
    """No document says it: users ask for it, or the model needs an answer where the text has none."""
    ambiguous: bool = False
    """The text has several meanings, or contradicts itself: that is why readings differ."""
    quantifiers: tuple[Quantifier, ...] = ()

    def digest(self) -> str:
        """Changes when anything does that a verdict depends on."""
        entry = {key: value for key, value in asdict(self).items() if key != "quantifiers"}
        return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()

    def unnamed(self) -> list[str]:
        """Quantifiers of the statement that are in none of `quantifiers`, each with the words after it."""
        named = {
            place
            for q in self.quantifiers
            for found in re.finditer(re.escape(q.says), self.statement)
            for place in range(*found.span())
        }
        found = (m for m in QUANTIFIED.finditer(self.statement) if m.start() not in named)
        return [" ".join(self.statement[m.start() :].split()[:4]) for m in found]


def order(name: str) -> tuple[str, int]:
    """B2 comes before B10."""
    return name[:1], int(name[1:])


def judges(reading: Reading) -> tuple[str, ...]:
    """The names of what decides a reading: its properties, or its function without the module."""
    return reading.properties if reading.function is None else (reading.function.partition(":")[2],)


def files() -> list[Path]:
    """The files of claims."""
    return sorted(FOLDER.glob("*.toml"))


def read(paths: Iterable[Path] | None = None) -> list[Claim]:
    """Every claim of the files (all there are), by id; `ClaimError` with everything that is wrong."""
    wrong: list[str] = []
    found: dict[str, Claim] = {}
    where: dict[str, str] = {}
    for path in files() if paths is None else paths:
        for made in _file(path, wrong):
            if made.id in found:
                wrong.append(f"{path.name}, {made.id}: there is one of that id in {where[made.id]}")
            found[made.id], where[made.id] = made, path.name
    if wrong:
        raise ClaimError("\n".join(wrong))
    return sorted(found.values(), key=lambda c: order(c.id))


def _file(path: Path, wrong: list[str]) -> list[Claim]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        wrong.append(f"{path.name}: {error.strerror}")
        return []
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        wrong.append(f"{path.name} is no TOML: {error}")
        return []
    entries: Any = data.get("claim")
    title: Any = data.get("title", "")
    known = set(data) <= {"title", "statements", "claim"}
    if not known or not _tables(entries) or not _tables(data.get("statements", [{}])) or not isinstance(title, str):
        wrong.append(f"{path.name}: a file of claims is a title and a list of [[claim]] tables, and nothing else")
        return []
    made = [_claim(entry, title, f"{path.name}, claim {i}", path.stem, wrong) for i, entry in enumerate(entries, 1)]
    return [claim for claim in made if claim is not None]


def _tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value)) and len(set(value)) == len(value)


def _settings(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str | int) for v in value.values())


def _quantifiers(value: Any) -> bool:
    """Each has words, and either what shows more than one or the reason why nothing does."""
    return _tables(value) and all(
        all(map(_text, q.values())) and set(q) in ({"says", "by"}, {"says", "because"}) for q in value
    )


def _function(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\w+(\.\w+)*:\w+", value) is not None


def _expectation(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(v in EXPECTATIONS for v in value.values())
    return value in EXPECTATIONS


CLAIM_KEYS = {
    "id": (lambda v: isinstance(v, str) and re.fullmatch(r"[A-Z][1-9]\d*", v) is not None, "an id such as B4"),
    "document": (_text, "the name of a document"),
    "statement": (_text, "a sentence"),
    "lines": (_text, 'lines of the document, such as "62"'),
    "ours": (lambda v: isinstance(v, bool), "true or false"),
    "ambiguous": (lambda v: isinstance(v, bool), "true or false"),
    "liveness": (lambda v: isinstance(v, bool), "true or false"),
    "quantifiers": (_quantifiers, "a list of tables with says, and by or because"),
    "reading": (_tables, "a list of [[claim.reading]] tables, at least one"),
}
READING_KEYS = {
    "name": (_text, "a text"),
    "method": (lambda v: v in METHODS, f"one of {', '.join(METHODS)}"),
    "model": (_text, "the name of a model"),
    "set": (_settings, "a table of configuration values"),
    "properties": (_texts, "a list of different properties or covers, at least one"),
    "function": (_function, 'a function such as "kip36_racks.placement_cases:spread"'),
    "expect": (_expectation, f"one of {', '.join(EXPECTATIONS)}, or a table of them by release"),
    "note": (_text, "a text"),
    "column": (lambda v: v in COLUMNS, f"one of {', '.join(COLUMNS)}"),
    "releases": (_texts, 'a list of releases of Kafka, such as "4.4"'),
}


def _fits(entry: dict[str, Any], keys: dict[str, Any], needed: Iterable[str], where: str, wrong: list[str]) -> bool:
    """Whether an entry has the keys that it needs, no others, and values that will do."""
    before = len(wrong)
    for key in sorted(set(entry) - set(keys)):
        wrong.append(f"{where}: unknown key {key}; there are {', '.join(keys)}")
    for key in needed:
        if key not in entry:
            wrong.append(f"{where}: {key} is missing; it is {keys[key][1]}")
    for key, value in entry.items():
        if key in keys and not keys[key][0](value):
            wrong.append(f"{where}: {key} is {keys[key][1]}, not {value!r}")
    return len(wrong) == before


def _claim(entry: dict[str, Any], title: str, where: str, letter: str, wrong: list[str]) -> Claim | None:
    if isinstance(entry.get("id"), str):
        where = f"{where.split(',')[0]}, {entry['id']}"
    fits = _fits(entry, CLAIM_KEYS, ("id", "document", "statement", "reading"), where, wrong)
    tables: Any = entry.get("reading")
    tables = tables if _tables(tables) else []
    single = [one for r in tables for one in _by_release(r, where, wrong)]
    readings = [_reading(r, f"{where}, reading {i}", wrong) for i, r in enumerate(single, 1)]
    if not fits or None in readings:
        return None
    if not entry["id"].startswith(letter):
        wrong.append(f"{where}: claims of {letter}.toml are called {letter}1, {letter}2, ...")
    statement = " ".join(entry["statement"].split())
    named = [r.name for r in readings if r is not None]
    for name in sorted({n for n in named if named.count(n) > 1}):
        wrong.append(f"{where}: two readings are called {name!r}")
    made = tuple(Quantifier(**q) for q in entry.get("quantifiers", ()))
    wrong += [f"{where}: the statement does not say {q.says!r}" for q in made if q.says not in statement]
    judging = {name for r in readings if r is not None for name in judges(r)}
    wrong += [f"{where}: no reading has {q.by}" for q in made if q.by and q.by not in judging]
    return Claim(
        id=entry["id"],
        document=entry["document"],
        statement=statement,
        readings=tuple(r for r in readings if r is not None),
        liveness=entry.get("liveness", False),
        title=title,
        lines=entry.get("lines", ""),
        ours=entry.get("ours", False),
        ambiguous=entry.get("ambiguous", False),
        quantifiers=made,
    )


def _by_release(entry: dict[str, Any], where: str, wrong: list[str]) -> list[dict[str, Any]]:
    """A reading for each release of `releases`, with its expectation; the reading as it is if it has none."""
    releases: Any = entry.get("releases")
    expected: Any = entry.get("expect")
    by_release = isinstance(expected, dict)
    if not _texts(releases):
        if by_release and releases is None:
            wrong.append(f"{where}: a table of expectations goes with releases")
        return [entry]
    if by_release and set(expected) != set(releases):
        wrong.append(f"{where}: expect is a table of {', '.join(sorted(expected))}, releases are {', '.join(releases)}")
        return []
    found = []
    for release in releases:
        one = {k: v for k, v in entry.items() if k != "releases"}
        one |= {"name": f"{entry.get('name')}, Kafka {release}", "set": {**entry.get("set", {}), "release": release}}
        found.append(one | ({"expect": expected[release]} if by_release else {}))
    return found


def _reading(entry: dict[str, Any], where: str, wrong: list[str]) -> Reading | None:
    if isinstance(entry.get("name"), str):
        where = f"{where.rsplit(', ', 1)[0]}, reading {entry['name']!r}"
    if not _fits(entry, READING_KEYS, ("name", "method"), where, wrong):
        return None
    by_cases = entry["method"] == "enumerate"
    cases, runs = ["function"], ["model", "set", "properties"]
    needed, foreign = (cases, runs) if by_cases else ([k for k in runs if k != "set"], cases)
    count = len(wrong)
    wrong += [f"{where}: {key} does not go with method {entry['method']}" for key in foreign if key in entry]
    wrong += [f"{where}: {key} is missing; it is {READING_KEYS[key][1]}" for key in needed if key not in entry]
    if len(wrong) > count:
        return None
    return Reading(
        name=entry["name"],
        method=entry["method"],
        model=entry.get("model"),
        set=entry.get("set", {}),
        properties=tuple(entry.get("properties", ())),
        function=entry.get("function"),
        expect=entry.get("expect"),
        note=" ".join(entry.get("note", "").split()),
        column=entry.get("column", "document"),
    )
