"""`reassure gate`: a TOML file of checks with expected verdicts and pinned counts, run and judged.

[[check]]
model = "kraft"
set = { brokers = 3 }
expect = "pass"                          # or another verdict string, such as "safety-violation"
violated = ["goal_not_reached"]          # exactly these properties, with the length of the trace if given
unreached = []                           # covers that nothing reaches; any other that is not is a failure
pin = { distinct = 16, generated = 97, depth = 8 }
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.base.options import SearchOptions, seconds
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult, PropertyStatus, error_record
from reassure.checkers.base.stop import StopReason
from reassure.checkers.check import DEFAULT_ENGINE, ENGINES, CheckRequest, run

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
    "expect": (lambda v: v in VERDICTS.values(), f"one of {', '.join(VERDICTS.values())}"),
    "violated": (lambda v: _names(v) or _lengths(v), "a list of properties, or a table property = states"),
    "unreached": (_names, "a list of covers"),
    "pin": (_pins, f"a table of whole numbers for {', '.join(PINS)}"),
    "property": (_names, "a list of names"),
    "engine": (lambda v: v in ENGINES, f"one of {', '.join(ENGINES)}"),
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
    asked = CheckRequest(entry["model"], pairs, chosen, options, entry.get("accept_clipping", False))
    name = entry.get("name") or " ".join([entry["model"], *pairs])
    return Check(name, asked, entry["expect"], violated, entry.get("unreached", []), entry.get("pin", {}))


def judge(check: Check, verdict: CheckResult) -> list[tuple[Exit, str]]:
    """What is not as the check expects."""
    wrong: list[tuple[Exit, str]] = []
    code = verdict.exit()
    if VERDICTS[code] != check.expect:
        wrong.append((Exit.EXPECTATION, f"expected {check.expect}, got {VERDICTS[code]}"))
    fallen = {
        p.name: len(p.trace) if p.trace else None for p in verdict.properties if p.status is PropertyStatus.VIOLATED
    }
    if check.violated is not None:
        if set(fallen) != set(check.violated):
            extra, missing = sorted(set(fallen) - set(check.violated)), sorted(set(check.violated) - set(fallen))
            text = "; ".join(
                [
                    *([f"also violated: {', '.join(extra)}"] if extra else []),
                    *([f"not violated: {', '.join(missing)}"] if missing else []),
                ]
            )
            wrong.append((Exit.EXPECTATION, text))
        for name, states in check.violated.items():
            if states is not None and name in fallen and fallen[name] != states:
                wrong.append((Exit.DRIFT, f"{name}: a trace of {fallen[name]} states, pinned {states}"))
    if verdict.complete and check.expect != VERDICTS[Exit.VACUOUS]:
        # An expected violation must not hide that nothing interesting happens any more.
        idle = {c.name for c in verdict.covers if not c.reached}
        for name in sorted(idle - set(check.unreached)):
            wrong.append((Exit.VACUOUS, f"cover {name} is never reached"))
        for name in sorted(set(check.unreached) - idle):
            wrong.append((Exit.EXPECTATION, f"{name} is no cover that is never reached"))
    for name, value in check.pin.items():
        actual = getattr(verdict.stats, name)
        if actual != value:
            wrong.append((Exit.DRIFT, f"{name} {actual:,}, pinned {value:,}"))
    return wrong


def run_file(
    path: Path,
    console: Console,
    *,
    engine: str | None = None,
    json_to: Path | None = None,
    junit_to: Path | None = None,
) -> Exit:
    """Runs every check of a file; the worst exit code."""
    checks = read(path, engine)
    if not checks:
        raise Failure(Exit.NOTHING, f"{path} has no [[check]]")
    codes: list[Exit] = []
    records: list[dict[str, Any]] = []
    suite = ElementTree.Element("testsuite", name=str(path.name))
    kinds = {"failure": 0, "error": 0}
    for check in checks:
        began = time.monotonic()
        wrong, record, numbers = _run(check)
        record["gate"] = {"name": check.name, "wrong": [text for _, text in wrong]}
        records.append(record)
        case = ElementTree.SubElement(suite, "testcase", classname="reassure.gate", name=check.name)
        case.set("time", f"{time.monotonic() - began:.3f}")
        row = Text(f"{'ok  ' if not wrong else 'FAIL'} ", style="green" if not wrong else "bold red")
        row.append(f"{check.name}: {check.expect}, {numbers}", style="default")
        console.print(row, soft_wrap=True)
        for code, text in wrong:
            codes.append(code)
            console.print(Text(f"     {text}", style="red"), soft_wrap=True)
        if wrong:
            console.print(Text(f"     again: {check.asked.repro()}", style="dim"), soft_wrap=True)
            kind = "failure" if wrong[0][0] in (Exit.EXPECTATION, Exit.DRIFT, Exit.VACUOUS) else "error"
            kinds[kind] += 1
            said = ElementTree.SubElement(case, kind, type=VERDICTS[wrong[0][0]], message=wrong[0][1])
            said.text = "\n".join([*(text for _, text in wrong), f"again: {check.asked.repro()}"])
        if record["stopped_because"] == "interrupted":
            codes.append(Exit.INCONCLUSIVE)
            break
    left = len(checks) - len(records)
    code = worst(codes)
    failed = sum(bool(r["gate"]["wrong"]) for r in records)
    text = f"{len(checks)} check{'s' * (len(checks) > 1)}, {failed} failed"
    text += f", {left} not run" if left else ""
    console.print(Text(f"{text} (exit code {code.value})", style="bold"))
    if json_to:
        whole = {"schema": 1, "exit_code": code.value, "verdict": VERDICTS[code], "complete": not left}
        write_atomically(json_to, json.dumps({**whole, "checks": records}, indent=2) + "\n")
    if junit_to:
        for key, count in (("tests", len(records)), ("failures", kinds["failure"]), ("errors", kinds["error"])):
            suite.set(key, str(count))
        write_atomically(junit_to, ElementTree.tostring(suite, encoding="unicode") + "\n")
    return code


def _run(check: Check) -> tuple[list[tuple[Exit, str]], dict[str, Any], str]:
    """Runs a check: what is not as expected, the record, and the counts in words."""
    try:
        verdict, _ = run(check.asked, Progress())
    except Failure as failure:
        wrong = [(failure.code, str(failure))] if VERDICTS[failure.code] != check.expect else []
        return wrong, error_record(failure.code, str(failure), check.asked.model, check.asked.repro()), "no verdict"
    except KeyboardInterrupt:
        record = error_record(Exit.INCONCLUSIVE, "interrupted", check.asked.model, check.asked.repro())
        return [(Exit.INCONCLUSIVE, "interrupted")], record, "no verdict"
    if verdict.ended(StopReason.INTERRUPTED):
        wrong = [(Exit.INCONCLUSIVE, "interrupted")]
    else:
        wrong = judge(check, verdict)
    return wrong, verdict.record({}), f"{verdict.stats.distinct:,} distinct, {verdict.stats.generated:,} generated"
