"""A random model, what plain Python says of it (`brute`), and the commands that are run on it."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reassure.checkers.cli.main import main
from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit, worst
from reassure.checkers.request.vacuity import vacuous_claims
from reassure.spec.semantics.trace import JsonObject
from tests.fuzz.brute import (
    Graph,
    deadlock,
    declared_fairness,
    first_hit,
    in_no_fair_run,
    premise_of,
    violated_by_a_fair_run,
    violated_within,
)
from tests.fuzz.subject import Subject

FAULTS = (Exit.INTERNAL, Exit.DISAGREE, Exit.SYSTEM)
"""Codes that no random model deserves."""
Found = Iterator[tuple[str, Any]]
"""Differences: what sort, and the details."""


@dataclass
class Facts:
    """What plain Python says of every property and cover."""

    hits: dict[str, int | None]
    """By property of states or steps, cover, and "deadlock": the first level; None: nowhere."""
    runs: dict[str, bool]
    """By property of whole runs: whether a fair run violates it."""
    vacuous: set[str]
    premises: dict[str, tuple[int, int, bool]]
    """By property of whole runs: the states that satisfy its premise, and those of them that are in no fair run; and
    whether a fair run would violate it if no step that leaves a bound was enabled."""


@dataclass
class Ran:
    """A command that ended."""

    code: Exit
    record: JsonObject
    out: str
    err: str


class Wrong(Exception):
    """A command ended as none may."""


@dataclass
class Frame:
    """A model, its graph, and a folder for what commands write."""

    subject: Subject
    graph: Graph
    facts: Facts
    folder: Path
    rng: random.Random
    last: str = ""
    """The command line that ran last."""

    @property
    def path(self) -> str:
        return str(self.subject.path)

    def run(self, command: str, *words: object, record: bool = True) -> Ran:
        """Runs a command in this process; its record too, if it writes one."""
        file = self.folder / "record.json"
        file.unlink(missing_ok=True)
        line = [command, *map(str, words), *(["--json", str(file)] if record else [])]
        self.last = " ".join(line)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = Exit(main(line))
        if code in FAULTS:
            raise Wrong(f"{code.name}: {err.getvalue()[-300:]}")
        data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        verdict = PASS_TO_DEPTH if code is Exit.OK and data.get("stop_reason") == "depth" else VERDICTS[code]
        if record and (not data or data["exit_code"] != code.value or verdict != data["verdict"]):
            raise Wrong(f"ends with {code}, its record says {data.get('exit_code')}, {data.get('verdict')}")
        return Ran(code, data, out.getvalue(), err.getvalue())

    @cached_property
    def asks(self) -> list[str]:
        """Expressions over a state `s`, or over a step: calls of the model's functions that are there for that."""
        calls = {"ask0": "ask0(s, c)", "ask1": "ask1(s, c)", "ask2": "ask2(before, after, c)"}
        return [call for name, call in calls.items() if name in self.names]

    @cached_property
    def silent(self) -> set[str]:
        """The properties that say nothing by their text, which a search does not see."""
        return set(vacuous_claims(self.subject.bound, self.subject.lowered))

    @property
    def names(self) -> dict[str, object]:
        """Those of the model's module; commands import its file anew."""
        names: dict[str, object] = self.subject.bound.model.initials[0].function.__globals__
        return names

    def value(self, expression: str, **names: Any) -> Any:
        """An expression's value by plain Python; None where it raises."""
        try:
            return eval(expression, dict(self.names), {"c": self.subject.bound.config, **names})
        except Exception:  # of whatever a model's function may raise
            return None


def facts_of(graph: Graph) -> Facts:
    """Every property by plain Python. Raises `ModelError` where one raises."""
    bound = graph.bound
    hits = {p.name: first_hit(graph, p) for p in [*bound.properties, *bound.covers] if not p.temporal}
    if bound.model.deadlock:
        hits["deadlock"] = deadlock(graph)
    fairness = declared_fairness(bound)
    temporal = [p for p in bound.properties if p.temporal]
    runs = {p.name: violated_by_a_fair_run(graph, p, fairness) for p in temporal}
    beyond = in_no_fair_run(graph, fairness) if temporal and graph.clipped else set()
    premises = {p.name: premise_of(graph, p) for p in temporal}
    vacuous = {name for name, premise in premises.items() if premise <= beyond}
    told = {
        p.name: (
            len(premises[p.name]),
            len(premises[p.name] & beyond),
            bool(graph.clipped) and p.name not in vacuous and violated_within(graph, p, fairness),
        )
        for p in temporal
    }
    return Facts(hits, runs, vacuous, told)


def expected_exit(graph: Graph, facts: Facts) -> Exit:
    """The exit code of `check`."""
    kinds = {p.name: p.kind for p in graph.bound.properties}
    codes = [] if facts.hits or facts.runs else [Exit.NOTHING]
    for name, level in facts.hits.items():
        if name not in kinds and name != "deadlock":
            codes += [Exit.VACUOUS] if level is None else []
        elif level is not None:
            codes.append(Exit.DEADLOCK if name == "deadlock" else Exit.SAFETY)
    codes += [Exit.LIVENESS for violated in facts.runs.values() if violated]
    codes += [Exit.VACUOUS for name in facts.vacuous if not facts.runs.get(name) and facts.hits.get(name) is None]
    codes += [Exit.INCONCLUSIVE] if graph.undeclared else []
    return worst(codes)
