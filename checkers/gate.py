"""`reassure gate`: a TOML file of checks with expected verdicts and pinned counts, run and judged.

[[check]]
model = "kraft"
set = { brokers = 3 }
expect = "pass"                          # or another verdict string, such as "safety-violation"
violated = ["goal_not_reached"]          # exactly these properties, with the length of the trace if given
pin = { distinct = 16, generated = 97, depth = 8 }
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from checkers.options import Options, Progress
from checkers.run import DEFAULT_ENGINE, ENGINES, Asked, Failure, run
from checkers.verdict import VERDICTS, Exit, Verdict, error_record, worst, write_atomically

KEYS = {"model", "set", "expect", "violated", "pin", "engine", "budget", "depth", "accept_clipping", "property", "name"}
PINS = ("distinct", "generated", "depth", "clipped")


@dataclass
class Check:
    """One entry of the file."""

    name: str
    asked: Asked
    expect: str
    violated: dict[str, int | None] | None
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
    unknown = set(entry) - KEYS
    if unknown:
        raise Failure(
            Exit.USAGE, f"{where}: unknown {', '.join(sorted(unknown))}; a check has {', '.join(sorted(KEYS))}"
        )
    if not isinstance(entry.get("model"), str):
        raise Failure(Exit.USAGE, f'{where}: it needs model = "..."')
    expect = entry.get("expect")
    if not isinstance(expect, str) or expect not in VERDICTS.values():
        raise Failure(Exit.USAGE, f"{where}: expect is one of {', '.join(VERDICTS.values())}, not {expect!r}")
    chosen = engine or entry.get("engine", DEFAULT_ENGINE)
    if chosen not in ENGINES:
        raise Failure(Exit.USAGE, f"{where}: engine is one of {', '.join(ENGINES)}, not {chosen!r}")
    pin = entry.get("pin", {})
    if not isinstance(pin, dict) or set(pin) - set(PINS) or not all(type(v) is int for v in pin.values()):
        raise Failure(Exit.USAGE, f"{where}: pin gives whole numbers for {', '.join(PINS)}")
    violated = entry.get("violated")
    if isinstance(violated, list):
        violated = dict.fromkeys(violated)
    if violated is not None and not isinstance(violated, dict):
        raise Failure(Exit.USAGE, f"{where}: violated is a list of properties, or a table property = states")
    if not isinstance(entry.get("set", {}), dict):
        raise Failure(Exit.USAGE, f"{where}: set is a table of configuration values")
    pairs = [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in entry.get("set", {}).items()]
    options = Options(list(entry.get("property", [])), entry.get("depth"), entry.get("budget"))
    asked = Asked(entry["model"], pairs, chosen, options, bool(entry.get("accept_clipping", False)))
    name = entry.get("name") or " ".join([entry["model"], *pairs])
    return Check(name, asked, expect, violated, pin)


def judge(check: Check, verdict: Verdict) -> list[tuple[Exit, str]]:
    """What is not as the check expects."""
    wrong: list[tuple[Exit, str]] = []
    code = verdict.exit()
    if VERDICTS[code] != check.expect:
        wrong.append((Exit.EXPECTATION, f"expected {check.expect}, got {VERDICTS[code]}"))
    fallen = {p.name: len(p.trace) if p.trace else None for p in verdict.properties if p.status == "violated"}
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
    for check in checks:
        case = ElementTree.SubElement(suite, "testcase", classname="reassure.gate", name=check.name)
        try:
            verdict, _ = run(check.asked, Progress())
            wrong = judge(check, verdict)
            record = verdict.record({})
            numbers = f"{verdict.stats.distinct:,} distinct, {verdict.stats.generated:,} generated"
        except Failure as failure:
            wrong = [(failure.code, str(failure))]
            if VERDICTS[failure.code] == check.expect:
                wrong = []
            record = error_record(failure.code, str(failure), check.asked.model, check.asked.repro())
            numbers = "no verdict"
        record["gate"] = {"name": check.name, "wrong": [text for _, text in wrong]}
        records.append(record)
        row = Text(f"{'ok  ' if not wrong else 'FAIL'} ", style="green" if not wrong else "bold red")
        row.append(f"{check.name}: {check.expect}, {numbers}", style="default")
        console.print(row, soft_wrap=True)
        for code, text in wrong:
            codes.append(code)
            console.print(Text(f"     {text}", style="red"), soft_wrap=True)
            kind = "failure" if code in (Exit.EXPECTATION, Exit.DRIFT) else "error"
            ElementTree.SubElement(case, kind, type=VERDICTS[code], message=text)
        if wrong:
            console.print(Text(f"     again: {check.asked.repro()}", style="dim"), soft_wrap=True)
    code = worst(codes)
    failed = sum(bool(r["gate"]["wrong"]) for r in records)
    console.print(Text(f"{len(checks)} checks, {failed} failed (exit code {code.value})", style="bold"))
    if json_to:
        whole = {"schema": 1, "exit_code": code.value, "verdict": VERDICTS[code], "checks": records}
        write_atomically(json_to, json.dumps(whole, indent=2) + "\n")
    if junit_to:
        suite.set("tests", str(len(checks)))
        suite.set("failures", str(failed))
        write_atomically(junit_to, ElementTree.tostring(suite, encoding="unicode") + "\n")
    return code
