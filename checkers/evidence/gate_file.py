"""The file of `reassure gate`: checks with expected verdicts and pinned counts.

[[check]]
model = "kraft"
set = { brokers = 3 }
expect = "pass"                          # or another verdict string, such as "safety-violation"
violated = ["goal_not_reached"]          # exactly these properties, with the length of the trace if given
unreached = []                           # covers that nothing reaches; any other that is not is a failure
depth = 10                               # levels; expect is then "pass-to-depth": nothing is known beyond
pin = { distinct = 16, generated = 97, depth = 8 }
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reassure.checkers.base.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit, Failure
from reassure.checkers.base.model_loader import own_file
from reassure.checkers.base.options import SearchOptions, seconds
from reassure.checkers.check import DEFAULT_ENGINE, EXHAUSTIVE_ENGINES, CheckRequest

VERDICT_NAMES = (*VERDICTS.values(), PASS_TO_DEPTH)
PINS = ("distinct", "generated", "depth", "clipped")


def _whole(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _lengths(value: Any) -> bool:
    return isinstance(value, dict) and all(_whole(v, 1) for v in value.values())


def _pins(value: Any) -> bool:
    return isinstance(value, dict) and set(value) <= set(PINS) and all(_whole(v) for v in value.values())


KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": (lambda v: isinstance(v, str), 'a name or a path, such as "kraft"'),
    "name": (lambda v: isinstance(v, str), "a text"),
    "set": (lambda v: isinstance(v, dict), "a table of configuration values"),
    "expect": (lambda v: v in VERDICT_NAMES, f"one of {', '.join(VERDICT_NAMES)}"),
    "violated": (lambda v: _names(v) or _lengths(v), "a list of properties, or a table property = states"),
    "unreached": (_names, "a list of covers"),
    "pin": (_pins, f"a table of whole numbers for {', '.join(PINS)}"),
    "property": (_names, "a list of names"),
    "engine": (lambda v: v in EXHAUSTIVE_ENGINES, f"one of {', '.join(EXHAUSTIVE_ENGINES)}"),
    "depth": (lambda v: _whole(v, 1), "a whole number of at least 1"),
    "budget": (lambda v: isinstance(v, str | int | float) and not isinstance(v, bool), 'a time, such as "60s"'),
    "accept_clipping": (lambda v: isinstance(v, bool), "true or false"),
}
"""What a check may say: whether a value will do, and what to say if it will not."""


@dataclass
class Check:
    """One entry of the file."""

    name: str
    asked: CheckRequest
    expect: str
    violated: dict[str, int | None] | None
    unreached: list[str] = field(default_factory=list)
    pin: dict[str, int] = field(default_factory=dict)


def read(path: Path, engine: str | None) -> list[Check]:
    """The checks of a file; `Failure` names what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(Exit.USAGE, f"{path} is no TOML: {error}") from None
    unknown = set(data) - {"check"}
    entries = data.get("check", [])
    if unknown or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise Failure(Exit.USAGE, f"{path}: a gate is a list of [[check]] tables, not {', '.join(unknown) or 'this'}")
    return [_entry(path, i, e, engine) for i, e in enumerate(entries, 1)]


def _entry(path: Path, number: int, entry: dict[str, Any], engine: str | None) -> Check:
    where = f"{path}, check {number}"
    unknown = set(entry) - set(KEYS)
    if unknown:
        raise Failure(
            Exit.USAGE, f"{where}: unknown {', '.join(sorted(unknown))}; a check has {', '.join(sorted(KEYS))}"
        )
    for key, value in entry.items():
        fits, what = KEYS[key]
        if not fits(value):
            raise Failure(Exit.USAGE, f"{where}: {key} is {what}, not {value!r}")
    for key in ("model", "expect"):
        if key not in entry:
            raise Failure(Exit.USAGE, f"{where}: {key} is missing; it is {KEYS[key][1]}")
    if "depth" in entry and entry["expect"] == VERDICTS[Exit.OK]:
        why = f'a search of {entry["depth"]} levels passes to that depth: write expect = "{PASS_TO_DEPTH}"'
        raise Failure(Exit.USAGE, f"{where}: {why}")
    violated = entry.get("violated")
    if isinstance(violated, list):
        violated = dict.fromkeys(violated)
    pairs = [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in entry.get("set", {}).items()]
    try:
        budget = seconds(str(entry["budget"])) if "budget" in entry else None
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{where}: budget: {error}") from None
    options = SearchOptions(entry.get("property", []), entry.get("depth"), budget)
    chosen = engine or entry.get("engine", DEFAULT_ENGINE)
    asked = CheckRequest(_model(path, entry["model"]), pairs, chosen, options, entry.get("accept_clipping", False))
    name = entry.get("name") or " ".join([entry["model"], *pairs])
    return Check(name, asked, entry["expect"], violated, entry.get("unreached", []), entry.get("pin", {}))


def _model(path: Path, named: str) -> str:
    """The model of a check: a path is relative to the gate's file, whatever the working directory."""
    beside = path.parent / named
    return str(beside) if (own_file(named) or beside.is_file()) and not Path(named).is_absolute() else named
