"""Judges a run record: the problems are what is not as the check expects."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from reassure.checkers.console.commands import Record
from reassure.checkers.gate.gate_file import PROPERTIES, Check
from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit
from reassure.checkers.machine.stop import ENDED_EARLY, StopReason
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.engine_results import PremiseStates
from reassure.checkers.request.result import RAISES, PropertyStatus, after, fair_runs_beyond
from reassure.checkers.request.run_identity import PropertyRecord, RunRecord

UNDECIDED = (PropertyStatus.UNKNOWN, PropertyStatus.NOT_CHECKED)
INCONCLUSIVE, VACUOUS = VERDICTS[Exit.INCONCLUSIVE], VERDICTS[Exit.VACUOUS]
VIOLATIONS = (VERDICTS[Exit.SAFETY], VERDICTS[Exit.LIVENESS], VERDICTS[Exit.DEADLOCK])
PASSES = (VERDICTS[Exit.OK], PASS_TO_DEPTH)
LEAVES_OPEN = (INCONCLUSIVE, VERDICTS[Exit.MODEL])
"""Verdicts that leave properties and covers without an answer."""
FAULTS = (Exit.INTERNAL, Exit.DISAGREE, Exit.SYSTEM, Exit.CONFIG, Exit.MODEL, Exit.USAGE)
"""Codes of what is wrong with a model, a question or a program, rather than with what is expected."""
DIGITS = 12
"""Hexadecimal digits of the digest of a property list."""


@dataclass
class Problem:
    """One thing that is not as the check expects. about: the property, cover or pin that it concerns, if it is one."""

    code: Exit
    text: str
    about: str = ""
    of_pin: bool = False
    """It concerns a pin, and no property of that name."""


def judge_record(check: Check, record: RunRecord) -> list[Problem]:
    """Lists what is not as the check expects."""
    if record["stop_reason"] == StopReason.NOT_STARTED:
        return _judge_failure(check, record)
    problems: list[Problem] = []
    if record["verdict"] != check.expect:
        if Exit(record["exit_code"]) is Exit.MODEL:
            raises = Problem(Exit.MODEL, f"the model raises: {_error(record)}", RAISES)
            return [raises, *_judge_violations(check, record)]
        problems.append(_mismatch(check, record))
    problems += _judge_runs(check, record)
    problems += _judge_violations(check, record)
    problems += _judge_covers(check, record)
    problems += _judge_actions(check, record)
    problems += _judge_undecided(check, record)
    problems += _judge_second_opinion(check, record)
    return problems + _judge_pins(check, record)


def _judge_failure(check: Check, record: RunRecord) -> list[Problem]:
    """Of a command that could not answer: nothing that was asked is known, unless that is what is expected."""
    if record["verdict"] != check.expect:
        return [Problem(Exit(record["exit_code"]), record["stopped_because"])]
    parts = (_judge_violations, _judge_covers, _judge_actions, _judge_second_opinion, _judge_pins)
    return [problem for part in parts for problem in part(check, record)]


def _mismatch(check: Check, run: Record, where: str = "") -> Problem:
    actual = Exit(run["exit_code"])
    unanswered = run["verdict"] == INCONCLUSIVE or actual in FAULTS
    why = f": {run['stopped_because']}" if unanswered and run["stopped_because"] else ""
    text = f"{where}expected {check.expect}, got {run['verdict']}{why}"
    return Problem(actual if unanswered else Exit.EXPECTATION, text)


def _judge_runs(check: Check, record: RunRecord) -> list[Problem]:
    """What is expected of several runs together must not hide that one of them has another answer, or none."""
    runs = check.about.runs(record)
    accepted = {check.expect, *PASSES, *(VIOLATIONS if _asks_for_violation(check) else ())}
    return [_mismatch(check, r, f"{name}: ") for name, r in runs.items() if name and r["verdict"] not in accepted]


def lengths(check: Check, record: RunRecord) -> dict[str, int | None]:
    """The violated properties, with the lengths of their shortest traces in states."""
    found: dict[str, int | None] = {}
    for run in check.about.runs(record).values():
        for p in run["properties"]:
            if p["status"] == PropertyStatus.VIOLATED:
                known = [n for n in (found.get(p["name"]), p["depth"]) if n is not None]
                found[p["name"]] = min(known, default=None)
    return found


def unexpected(check: Check, record: RunRecord) -> list[str]:
    """Properties that are violated and should not be, those with the shortest traces first."""
    found = lengths(check, record)
    expected = check.violated if check.violated is not None else found if _asks_for_violation(check) else {}
    extra = {name: n for name, n in found.items() if name not in expected}
    return sorted(extra, key=lambda name: (extra[name] is None, extra[name] or 0, name))


def _error(record: RunRecord) -> str:
    """The error that the model raises in a reachable state."""
    return next((str(p["error"]) for p in record["properties"] if "error" in p), str(record["stopped_because"]))


def _asks_for_violation(check: Check) -> bool:
    return check.expect in VIOLATIONS


def _judge_violations(check: Check, record: RunRecord) -> list[Problem]:
    fallen, expected = lengths(check, record), check.violated or {}
    kinds = {p["name"]: p["kind"] for run in check.about.runs(record).values() for p in run["properties"]}
    if check.kind == "stuck":  # whose runs end where the goal is out of reach
        kinds = {}
    told = {name: f" {after(states, kinds.get(name, ''))}" if states else "" for name, states in fallen.items()}
    problems = [Problem(Exit.EXPECTATION, f"violated: {n}{told[n]}", n) for n in unexpected(check, record)]
    for name in sorted(set(expected) - set(fallen)):
        problems.append(Problem(Exit.EXPECTATION, f"not violated: {name}", name))
    for name, states in expected.items():
        if states is not None and name in fallen and fallen[name] != states:
            found = f"violated{told[name]} ({quantity(fallen[name] or 0, 'state')})"
            problems.append(Problem(Exit.DRIFT, f"{name}: {found}, pinned {quantity(states, 'state')}", name))
    return problems


def _judge_covers(check: Check, record: RunRecord) -> list[Problem]:
    """An expected violation must not hide that nothing interesting happens any more."""
    idle = {c["name"] for c in record["covers"] if not c["reached"]}
    expected = set(check.unreached or ())
    problems = [
        Problem(Exit.EXPECTATION, f"{name} is not an unreachable cover", name) for name in sorted(expected - idle)
    ]
    open_is_expected = check.expect in LEAVES_OPEN or (check.expect == VACUOUS and check.unreached is None)
    if open_is_expected or not check.about.decides or record["stop_reason"] == StopReason.NOT_STARTED:
        return problems
    for name in sorted(idle - expected):
        if record["complete"]:
            problems.append(Problem(Exit.VACUOUS, f"cover {name} is never reached", name))
        else:
            problems.append(Problem(Exit.INCONCLUSIVE, f"cover {name} is not decided: it is not reached so far", name))
    return problems


def _judge_actions(check: Check, record: RunRecord) -> list[Problem]:
    """The actions that no step takes, if the check lists them; of an incomplete search nobody knows."""
    if check.never_taken is None:
        return []
    idle, expected = {name for name, a in record["actions"].items() if not a["taken"]}, set(check.never_taken)
    text = "is never taken" if record["complete"] else "is not taken so far"
    code = Exit.VACUOUS if record["complete"] else Exit.INCONCLUSIVE
    known = idle & expected if record["complete"] else set()
    problems = [
        Problem(Exit.EXPECTATION, f"{name} is not an action that is never taken", name)
        for name in sorted(expected - known)
    ]
    return problems + [Problem(code, f"action {name} {text}", name) for name in sorted(idle - expected)]


def _judge_undecided(check: Check, record: RunRecord) -> list[Problem]:
    """An expected violation must not hide that other properties were not decided, or say nothing."""
    if check.expect in LEAVES_OPEN or not check.about.decides:
        return []
    open_ones = [p["name"] for p in record["properties"] if p["status"] in UNDECIDED]
    problems = [Problem(Exit.INCONCLUSIVE, f"{name} is not decided", name) for name in open_ones]
    if check.expect != VACUOUS:
        vacuous = [p for p in record["properties"] if p["status"] == PropertyStatus.VACUOUS]
        code = Exit.INCONCLUSIVE if record["stop_reason"] in ENDED_EARLY else Exit.VACUOUS
        for p in vacuous:
            problems.append(Problem(code, f"{p['name']} is vacuous{_why_vacuous(p, record)}", p["name"]))
    beyond = record["stats"].get("undeclared", 0)
    if beyond and not check.given.get("accept_clipping"):
        problems.append(
            Problem(Exit.INCONCLUSIVE, f"bounds that the model does not declare are left by {quantity(beyond, 'step')}")
        )
    return problems


def _why_vacuous(p: PropertyRecord, record: RunRecord) -> str:
    """The bound that every fair run leaves, if that is the reason; "" else."""
    if "premise" not in p:
        return ""
    premise = PremiseStates(p["premise"]["states"], p["premise"]["without_fair_run"])
    return f": {fair_runs_beyond(p['kind'], premise, record['stats'].get('clipped_at', {}))}"


def _judge_second_opinion(check: Check, record: RunRecord) -> list[Problem]:
    """An expected verdict must not hide that TLC said something else, or nothing."""
    opinion = record.get("second_opinion")
    if opinion is None:
        asked = check.given.get("second_opinion")
        return [Problem(Exit.INCONCLUSIVE, "no second opinion: TLC was not asked")] if asked else []
    if opinion["same"]:
        return []
    if opinion["differences"]:
        rows = opinion["differences"]
        return [Problem(Exit.DISAGREE, f"{r['about']}: ours {r['ours']}, TLC's {r['theirs']}") for r in rows]
    why = opinion["reason"] or f"TLC did not finish in time: {', '.join(opinion['undecided'])}"
    return [Problem(Exit.INCONCLUSIVE, f"no second opinion: {why}")]


def _judge_pins(check: Check, record: RunRecord) -> list[Problem]:
    problems = []
    figures = check.about.figures(record)
    for name, pinned in check.pin.items():
        if name == PROPERTIES:
            digest = property_digest(record)
            if not _property_names(record):
                problems.append(Problem(Exit.DRIFT, f"no property is reported, pinned {pinned}", name, True))
            elif digest != pinned:
                has = ", ".join(_property_names(record))
                text = f"the properties, or their texts, are not as pinned: digest {digest}, pinned {pinned}"
                text += f"; there are {has}"
                problems.append(Problem(Exit.DRIFT, text, name, True))
        elif name not in figures:
            problems.append(Problem(Exit.DRIFT, f"{name} is not known, pinned {pinned:,}", name, True))
        elif figures[name] != pinned:
            problems.append(Problem(Exit.DRIFT, f"{name} {figures[name]:,}, pinned {pinned:,}", name, True))
    for name in check.about.seldom if check.pin else ():
        if name not in check.pin and figures.get(name):  # it is left out where it is 0
            problems.append(Problem(Exit.DRIFT, f"{name} {figures[name]:,}, pinned 0 (it is not listed)", name, True))
    return problems


def _property_names(record: RunRecord) -> list[str]:
    kinds = [f"{p['name']} ({p['kind']})" for p in record["properties"]]
    kinds += [f"{c['name']} (cover)" for c in record["covers"]]
    return sorted([*kinds, *(f"{name} (not applicable)" for name in record["not_applicable"])])


def property_digest(record: RunRecord) -> str:
    """The digest of the properties and covers that were checked, in any order, and of what they mean.

    A dropped invariant changes it, and so does one that another text takes the place of.
    """
    meanings = record.get("meanings", {})
    words = [f"{name} {meanings.get(name.split()[0], '')}" for name in _property_names(record)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:DIGITS]
