"""The answers of commands about properties, runs and models, as their records have them, against plain Python."""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import Any

from reassure.checkers.machine.exit_codes import VERDICTS, Exit, worst
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.vacuity import vacuous_claims
from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.language.types import DomainError
from reassure.spec.language.values import Map
from reassure.spec.language.vocabulary import LanguageError, Property
from reassure.spec.semantics.interpreter import ConfigError, ModelError
from reassure.spec.semantics.trace import JsonObject
from tests.fuzz.brute import (
    Fairness,
    Graph,
    declared_fairness,
    graph_of,
    in_no_fair_run,
    premise_of,
    reaching,
    violated_by_a_fair_run,
    violated_within,
)
from tests.fuzz.command_frame import Facts, Found, Frame, Ran, expected_exit, facts_of
from tests.fuzz.compare_guards import without
from tests.fuzz.subject import STATES, Refused, loaded
from tests.helpers.runs import bind, plain_result


def check(f: Frame) -> Found:
    """Statuses, depths, counts and the exit code of `check`."""
    yield from searched(f, f.run("check", f.path, "--workers", 2))
    mode = f.rng.choice(("on", "auto", "any-order"))
    ran = f.run("check", f.path, "--symmetry", mode, record=False)
    if ran.code is not Exit.USAGE:  # something can be renamed
        yield from of_classes(f, f.run("check", f.path, "--symmetry", mode), mode == "any-order")


def of_classes(f: Frame, ran: Ran, any_order: bool) -> Found:
    """What the record of a search of classes has. any_order: steps are added, and what they hide may stay open."""
    facts, open_ones = f.facts, ("unknown",) if any_order else ()
    fallen = {name for name, violated in facts.runs.items() if violated}
    fallen |= {name for name, level in facts.hits.items() if level is not None}
    for row in ran.record["properties"]:
        name, violated = row["name"], row["status"] == "violated"
        if row["status"] not in open_ones and (violated != (name in fallen) or row["status"] == "not_checked"):
            yield "symmetry: another status", row
        if violated and name in facts.hits and row["depth"] != facts.hits[name]:
            yield "symmetry: another depth", (row, facts.hits[name])
    for cover in ran.record["covers"]:
        if cover["depth"] != facts.hits[cover["name"]] and not (any_order and cover["depth"] is None):
            yield "symmetry: another cover", (cover, facts.hits)
    if ran.code != expected_exit(f.graph, facts) and not (any_order and ran.code is Exit.INCONCLUSIVE):
        yield "symmetry: another exit code", (ran.code, expected_exit(f.graph, facts))


def searched(f: Frame, ran: Ran) -> Found:
    """What the record of a search has, by whatever engine."""
    graph, facts = f.graph, f.facts
    holds = "holds_within_bounds" if graph.clipped else "holds"
    for row in ran.record["properties"]:
        name = row["name"]
        violated = facts.runs[name] if name in facts.runs else facts.hits[name] is not None
        want = "violated" if violated else "vacuous" if name in facts.vacuous else holds
        if row["status"] != want:
            yield "another status", (name, row["status"], want)
        count, beyond, rests = facts.premises.get(name, (0, 0, False))
        told = {"states": count, "without_fair_run": beyond, "rests_on_a_bound": rests}
        want_premise = told if (beyond or rests) and not violated else None
        if row.get("premise") != want_premise:
            yield "other fair runs that leave a bound", (name, row, want_premise)
        if name in facts.hits and row["depth"] != facts.hits[name]:
            yield "another depth", (name, row["depth"], facts.hits[name])
    reached = {c["name"]: c["depth"] for c in ran.record["covers"]}
    if reached != {c.name: facts.hits[c.name] for c in graph.bound.covers}:
        yield "other covers", (reached, facts.hits)
    counts = {k: ran.record["stats"][k] for k in ("distinct", "generated", "clipped", "depth")}
    want_counts = {
        "distinct": len(graph.states),
        "generated": graph.started + len(graph.every_edge),
        "clipped": graph.clipped,
        "depth": max(graph.level),
    }
    if counts != want_counts:
        yield "other counts", (counts, want_counts)
    taken = Counter(e.action for e in graph.every_edge)
    if {a: n["taken"] for a, n in ran.record["actions"].items()} != {a: taken[a] for a in ran.record["actions"]}:
        yield "other steps of actions", ran.record["actions"]
    if ran.code != expected_exit(graph, facts):
        yield "another exit code", (ran.code, expected_exit(graph, facts))


def find(f: Frame) -> Found:
    """Whether an expression is ever true, the shortest trace to it, and the exit code."""
    states, graph = [e for e in f.asks if "before" not in e], f.graph
    shapes = [*f.asks, *(f"not {e}" for e in f.asks), " and ".join(states), f"not ({' or '.join(states)})"]
    shapes = [e for e in shapes if e not in ("", "not ()")]
    if f.rng.random() < 0.5 and graph.states:
        name, value = f.rng.choice(list(vars(f.rng.choice(graph.states)).items()))
        shapes += [f"s.{name} is None"] if value is None else [f"s.{name} == {value}"] if type(value) is int else []
    for asked in f.rng.sample(shapes, min(2, len(shapes))):
        looks = _looks(f, asked)
        hit = min((level for level, value in looks if value), default=None)
        raised = min((level for level, value in looks if value is None), default=None)
        guards = f.rng.random() < 0.2
        more = ["--symmetry", f.rng.choice(("on", "auto", "any-order"))] if f.rng.random() < 0.4 else []
        ran = f.run("find", f.path, asked, *more, *([] if guards else ["--no-guards"]), record=not more)
        if more and ran.code is not Exit.USAGE:
            ran = f.run("find", f.path, asked, *more, "--no-guards")
            if more[1] == "any-order" and ran.code is Exit.INCONCLUSIVE:
                continue  # a step that is added reaches it
        if "outside the language" in ran.err or "can be renamed" in ran.err or "renamings" in ran.err:
            continue
        code = Exit.INCONCLUSIVE if graph.undeclared else Exit.VACUOUS
        if hit is not None and (raised is None or hit <= raised):
            code = Exit.OK
        elif raised is not None:
            code, hit = Exit.MODEL, None
        if ran.code != code or ran.record.get("depth") != (hit and hit + ("before" in asked)):
            yield "another answer", (asked, ran.code, ran.record.get("depth"), code, hit, ran.err)


def _looks(f: Frame, asked: str) -> list[tuple[int, bool | None]]:
    """An expression's value in every state, or on every step: with the level of that state, or of the one before."""
    states, level = f.graph.states, f.graph.level
    if "before" not in asked:
        return [(level[n], f.value(asked, s=s)) for n, s in enumerate(states)]
    pairs = {(e.source, e.target or 0) for e in f.graph.inner}
    return [(level[n], f.value(asked, before=states[n], after=states[after])) for n, after in pairs]


def stuck(f: Frame) -> Found:
    """From which states the goal of a leads-to is out of reach."""
    claims = [p for p in f.graph.bound.properties if p.kind == "leads_to"]
    if not claims:
        return
    fair_only = f.rng.random() < 0.5
    graph, bound = f.graph, f.graph.bound
    actions = {a.name for a in bound.model.actions if a.fair is not None or not fair_only}
    unknown = reaching(graph, {e.source for e in graph.every_edge if e.target is None and e.action in actions}, actions)
    ran = f.run("stuck", f.path, *(["--fair-only"] if fair_only else []))
    codes = []
    for claim, row in zip(claims, ran.record["properties"], strict=True):
        premise = {n for n, s in enumerate(graph.states) if bound.holds(claim, s)}
        ends = reaching(graph, {n for n, s in enumerate(graph.states) if bound.goal_holds(claim, s)}, actions)
        trapped = premise - ends - unknown
        depth = min((graph.level[n] for n in trapped), default=None)
        want = [claim.name, len(premise), len(premise & ends), len(trapped), depth]
        if [row[k] for k in ("name", "claimed", "can_end", "trapped", "depth")] != want:
            yield "other trapped states", (fair_only, row, want)
        if trapped and not fair_only and not f.facts.runs[claim.name]:
            yield "trapped, but no run violates it", row
        codes.append(Exit.LIVENESS if trapped else Exit.INCONCLUSIVE if premise else Exit.VACUOUS)
    if ran.code != worst(codes):
        yield "another exit code", (ran.code, codes)
    asked = f.rng.choice([e for e in f.asks if "before" not in e] or ["True"])
    values = [f.value(asked, s=s) for s in graph.states]
    ends = reaching(graph, {n for n, value in enumerate(values) if value}, actions) | unknown
    ran = f.run("stuck", f.path, asked, *(["--fair-only"] if fair_only else []), record=False)
    trapped = len(ends) < len(values)
    if None not in values and (ran.code is Exit.LIVENESS) != trapped and "language" not in ran.err:
        yield "another answer to an expression", (asked, ran.code, trapped)


def fairness(f: Frame) -> Found:
    """Which assumptions each property of whole runs needs."""
    graph, declared = f.graph, declared_fairness(f.graph.bound)
    claims = {p.name: p for p in graph.bound.properties if p.temporal}
    if not claims:
        return
    ran = f.run("fairness", f.path)
    for row in ran.record["fairness"]:
        claim = claims[row["property"]]
        if "suggestion" in row:
            yield from _suggested(graph, claim, declared, row["suggestion"])
        elif not declared and not row["holds"]:
            yield "nothing is suggested", claim.name
        if row["holds"] is f.facts.runs[claim.name]:
            yield "another verdict", (row["holds"], claim.name)
            continue
        want = {}
        holds = row["holds"] and claim.name not in f.facts.vacuous
        rests = f.facts.premises[claim.name][2]
        if holds:
            for name, weaker in weakened(declared):
                needed = violated_by_a_fair_run(graph, claim, weaker)
                needed = needed or (not rests and violated_within(graph, claim, weaker))
                want[name, weaker.get(name)] = "needed" if needed else "not needed"
        got = {}
        for w in row["weakenings"]:
            instead = w["instead"] and (w["instead"]["strength"], tuple(w["instead"]["each"]))
            got[w["assumption"]["action"], instead] = w["verdict"]
        if got != want:
            yield "other needs", (claim.name, got, want)
        if (row["enough"] is None) is (holds and not rests):
            yield "enough, or not", (claim.name, row["enough"], rests)
        if row["enough"] is not None:
            enough = {a["action"]: (a["strength"], tuple(a["each"])) for a in row["enough"]}
            fewer = [{k: v for k, v in enough.items() if k != name} for name in enough]
            if not _suffices(graph, claim, enough):
                yield "what is called enough is not", (claim.name, enough)
            if any(_suffices(graph, claim, less) for less in fewer):
                yield "what is called enough is more than enough", (claim.name, enough)
    codes = [Exit.LIVENESS for name in claims if f.facts.runs[name]]
    vacuous = [Exit.VACUOUS for name in claims if name in f.facts.vacuous and not f.facts.runs[name]]
    beyond = [Exit.INCONCLUSIVE] if graph.undeclared else []
    if ran.code != worst([*codes, *vacuous, *beyond]):
        yield "another exit code", ran.code


def _suffices(graph: Graph, claim: Property, fairness: Fairness) -> bool:
    """Whether no fair run violates a property, even if no step that leaves a bound was enabled."""
    return not violated_by_a_fair_run(graph, claim, fairness) and not violated_within(graph, claim, fairness)


def _suggested(graph: Graph, claim: Property, declared: Fairness, suggestion: JsonObject) -> Found:
    """Whether what a model without a fair action is told to assume is enough, and not more."""
    if declared:
        yield "a suggestion beside declared fairness", (claim.name, declared)
    every: Fairness = {a.name: ("strong", ()) for a in graph.bound.model.actions}
    if suggestion["enough"] is None:
        hollow = premise_of(graph, claim) <= in_no_fair_run(graph, every)
        if not hollow and _suffices(graph, claim, every):
            yield "strong fairness of everything is enough", (claim.name, suggestion)
        return
    enough: Fairness = {a["action"]: (a["strength"], tuple(a["each"])) for a in suggestion["enough"]}
    if not _suffices(graph, claim, enough) or premise_of(graph, claim) <= in_no_fair_run(graph, enough):
        yield "what is suggested is not enough", (claim.name, enough)
    for name, (strength, _) in enough.items():
        for less in [None, *(["weak"] if strength == "strong" else [])]:
            others: Fairness = {k: v for k, v in enough.items() if k != name} | ({name: (less, ())} if less else {})
            if _suffices(graph, claim, others):
                yield "less than what is suggested is enough", (claim.name, enough, name)


def weakened(declared: Fairness) -> Iterator[tuple[str, Fairness]]:
    """Each assumption dropped, made weak, made for some values: the action, and what is assumed then."""
    for name, (strength, each) in declared.items():
        others = {k: v for k, v in declared.items() if k != name}
        yield name, others
        if strength == "strong":
            yield name, others | {name: ("weak", each)}
        for one in each:
            yield name, others | {name: (strength, tuple(n for n in each if n != one))}


def simulate(f: Frame) -> Found:
    """Walks find nothing that is not so, and call nothing established."""
    graph, facts = f.graph, f.facts
    depth = f.rng.choice((1, 2, 5, 30))
    ran = f.run("simulate", f.path, "--walks", 60, "--depth", depth, "--seed", f.rng.randrange(9))
    for row in ran.record["properties"]:
        level = facts.hits.get(row["name"])
        if row["status"] not in ("violated", "unknown", "not_checked") and row["name"] not in facts.vacuous:
            yield "establishes a property", row
        elif row["status"] == "violated" and (level is None or not level <= row["depth"] <= depth):
            yield "violates what holds", (row, level)
        elif depth == 1 and graph.started == len(graph.states) == 1 and level == 1 and row["status"] != "violated":
            yield "does not see the initial state", row
    for cover in ran.record["covers"]:
        level = facts.hits[cover["name"]]
        if cover["reached"] and (level is None or not level <= cover["depth"] <= depth):
            yield "reaches what is unreachable", (cover, level)
    possible = {e.action for e in graph.inner}
    for name, counts in ran.record["actions"].items():
        if counts["taken"] and name not in possible:
            yield "takes what is never enabled", name
    if ran.code == Exit.OK or (ran.code == Exit.VACUOUS) > bool(f.silent):
        yield "another exit code", ran.code
    if ran.record["stats"]["clipped"] and not graph.clipped:
        yield "clips where nothing is clipped", ran.record["stats"]


def sweep(f: Frame) -> Found:
    """Each configuration of a grid as a search of its own says."""
    grid = {"flag": ("true", "false"), "limit": f.rng.choice((("3",), ("2", "3"), ("0", "4")))}
    pairs = [f"{key}={','.join(values)}" for key, values in grid.items()]
    pairs = [pair.replace("2,3", "2..3") for pair in pairs]  # a range, which is the same
    ran = f.run("sweep", f.path, *(w for pair in pairs for w in ("--set", pair)), "--depth", 2, "--jobs", 1)
    got = {tuple(r["point"].values()): r for r in ran.record["configurations"]}
    model, codes = load_model(f.path), []
    for flag, limit in product(*grid.values()):
        record = got.pop((flag, limit), None)
        try:
            bound, lowered = bind(model, {"flag": flag == "true", "limit": int(limit)})
            plain = plain_result(bound, SearchOptions(depth=2))
        except (SubsetError, DomainError, LanguageError, ConfigError, ModelError):
            if record is not None and record["exit_code"] in (0, 5, 11, 12, 13, 16):
                yield "an answer where there is none", (flag, limit, record["verdict"])
            codes += [Exit(record["exit_code"])] if record is not None else []
            continue
        if record is None:
            yield "a configuration is missing", (flag, limit)
            continue
        if record["verdict"] == VERDICTS[Exit.NOTHING]:
            codes.append(Exit.NOTHING)
            if plain.stats.distinct and (bound.properties or bound.covers or bound.model.deadlock):
                yield "no answer where there is one", (flag, limit, record)
            continue
        quiet = vacuous_claims(bound, lowered)
        if quiet:  # by their text, which a search does not see
            codes.append(Exit(record["exit_code"]))
            continue
        codes.append(plain.exit())
        want = [(p.name, p.status, p.depth) for p in plain.properties], plain.stats.distinct, plain.exit().value
        rows = [(p["name"], p["status"], p["depth"]) for p in record["properties"]]
        if (rows, record["stats"]["distinct"], record["exit_code"]) != want:
            yield "another answer", (flag, limit, rows, record["stats"], want)
    if got:
        yield "another configuration", list(got)
    cut = any(record["stop_reason"] == "depth" for record in ran.record["configurations"])
    if (ran.record["stop_reason"], ran.record["complete"]) != (("depth", False) if cut else ("complete", True)):
        yield "another end of the whole", (cut, ran.record["stop_reason"])
    if ran.code != worst(codes) and codes:
        yield "another exit code", (ran.code, codes)


def diff(f: Frame) -> Found:
    """States and steps that only one of two models has: a model, and its text with something left out."""
    text = f.subject.path.read_text(encoding="utf-8")
    other = _changed(text, f.rng)
    path = Path(f"{f.subject.path.with_suffix('')}_other.py")
    path.write_text(other, encoding="utf-8")
    try:
        second = loaded(path, f.subject.seed)
        there = graph_of(second.bound, 4 * STATES)
        facts = None if there is None else facts_of(there)
    except (Refused, ModelError):
        return
    if there is None or facts is None:
        return
    ran = f.run("diff", f.path, path, "--quiet")
    yield from _differences(f, ran, (f.graph, there), (f.facts, facts))


def _changed(text: str, rng: random.Random) -> str:
    """The text with one guard left out, one constant changed, or as it is."""
    lines = text.splitlines()
    guards = [(n, m[1]) for n, line in enumerate(lines, 1) if (m := re.search(r"^\s+require\((.+)\)$", line))]
    if guards and rng.random() < 0.6:
        line, guard = rng.choice(guards)
        return without(text, line, ast.unparse(ast.parse(guard))) or text
    numbers = [
        (n, m)
        for n, line in enumerate(lines)
        if "Annotated" not in line  # the state's types stay
        for m in re.finditer(r"(?<=[ (])[0-3](?=[,) ])", line)
    ]
    if numbers and rng.random() < 0.7:
        n, m = rng.choice(numbers)
        lines[n] = f"{m.string[: m.start()]}{(int(m[0]) + 1) % 4}{m.string[m.end() :]}"
        return "\n".join(lines) + "\n"
    return text


def _key(value: Any) -> str:
    """A state of a class that is written twice; sets and maps in one order, however they were made."""
    if isinstance(value, Map):
        return f"{{{', '.join(sorted(f'{_key(k)}: {_key(v)}' for k, v in value.pairs()))}}}"
    if isinstance(value, frozenset | tuple):
        items = [_key(v) for v in value]
        return f"{type(value).__name__}({', '.join(items if isinstance(value, tuple) else sorted(items))})"
    if is_dataclass(value):
        return f"({', '.join(_key(getattr(value, f.name)) for f in fields(value))})"
    return repr(value)


GOOD, OPEN = ("holds", "holds_within_bounds", "reached"), ("unknown", "not_checked", "holds_to_depth")
"""Answers of `diff` that a variant may lose, and those by which nothing is known to be lost."""


def _differences(f: Frame, ran: Ran, graphs: tuple[Graph, Graph], facts: tuple[Facts, Facts]) -> Found:
    said = ran.record["diff"]
    if not said["whole"]:
        yield "states of one type are not compared whole", said["compared"]
        return
    keys = [[_key(s) for s in g.states] for g in graphs]
    common = set(keys[0]) & set(keys[1])
    only = [len(keys[side]) - len(common) for side in (0, 1)]
    if [said["states"]["both"], said["states"]["only"]] != [len(common), only]:
        yield "other states", (said["states"], len(common), only)
    labels = [ran.record["model"], said["variant"]["model"]]
    first = [{k for k, level in zip(keys[s], graphs[s].level, strict=True) if level == 1} for s in (0, 1)]
    want_initial = [labels[s] for s in (0, 1) if first[s] - first[1 - s]]
    if said["initial_only"] != want_initial:
        yield "other initial states", (said["initial_only"], want_initial)
    steps = [{(keys[s][e.source], e.action, keys[s][e.target or 0]): e for e in graphs[s].inner} for s in (0, 1)]
    want = {}
    for side in (0, 1):
        alone: dict[str, list[int]] = {}
        for step, edge in steps[side].items():
            if step[0] in common and step not in steps[1 - side]:
                alone.setdefault(edge.action, []).append(graphs[side].level[edge.source] + 1)
        want |= {(labels[side], action): (len(levels), min(levels)) for action, levels in alone.items()}
    got = {(d["only"], d["action"]): (d["steps"], d["depth"]) for d in said["steps"]}
    if got != want:
        yield "other steps", (got, want)
    clipped = any(g.clipped for g in graphs)
    code = Exit.EXPECTATION if want or want_initial else Exit.INCONCLUSIVE if clipped else Exit.OK
    lost = {p["after"] for p in said["properties"] if p["before"] in GOOD and p["after"] not in (*GOOD, None)}
    codes = [Exit.INCONCLUSIVE if after in OPEN else Exit.EXPECTATION for after in lost]
    if ran.code != worst([code, *codes]):
        yield "another exit code", (ran.code, code, lost)
    fallen = [
        {n for n, v in one.hits.items() if v is not None} | {n for n, v in one.runs.items() if v} for one in facts
    ]
    told = {p["name"]: [(p[k] in ("violated", "reached")) for k in ("before", "after")] for p in said["properties"]}
    names = {*facts[0].hits, *facts[0].runs} & {*facts[1].hits, *facts[1].runs}
    changed = {n: [n in fallen[0], n in fallen[1]] for n in names if (n in fallen[0]) != (n in fallen[1])}
    if {n: v for n, v in told.items() if v[0] != v[1] and n in names} != changed:
        yield "other properties", (said["properties"], changed)
