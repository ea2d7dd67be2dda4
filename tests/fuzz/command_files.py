"""The files that commands write and read, against plain Python: suites, pictures, logs, traces, gate files."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from typing import Any

from reassure.checkers.base.exit_codes import Exit
from reassure.spec.semantics.trace import from_itf
from tests.fuzz.brute import Graph, first_hit
from tests.fuzz.command_frame import Found, Frame


def traces(f: Frame) -> Found:
    """Suites: every trace is a run, and what they cover is what the index says."""
    cover = f.rng.choice(("actions", "pairs", "covers", "states", "transitions", "guards", "branches"))
    if cover == "covers" and not f.graph.bound.covers:
        return
    out = f.folder / "suite"
    shutil.rmtree(out, ignore_errors=True)
    ran = f.run("traces", f.path, "--cover", cover, "--out", out, record=False)
    index = json.loads(next(out.glob("*.suite.json")).read_text(encoding="utf-8"))
    paths = []
    for row in index["traces"]:
        data = json.loads((out / row["file"]).read_text(encoding="utf-8"))
        path = path_of(f.graph, from_itf(data, f.graph.bound))
        if path is None:
            yield "a trace is no run", row["file"]
            return
        paths.append(path)
    again = f.run("replay", out, "--model", f.path, record=False) if paths else None
    if again is not None and again.code != Exit.OK:
        yield "replay refuses a trace of a suite", again.out
    graph, goals = f.graph, index["goals"]
    if [index["states"], index["steps"]] != [len(graph.states), len(graph.inner)]:
        yield "other counts", index
    reachable, taken = _goals(graph, cover, paths)
    if reachable is not None:
        if (goals["reachable"], goals["taken"]) != (len(reachable), len(taken & reachable)):
            yield "other goals", (cover, goals, len(reachable), len(taken))
        if taken != reachable:
            yield "goals are left out", (cover, sorted(map(str, reachable - taken))[:3])
        left = any(not goal["reachable"] for goal in goals["not_taken"])
        code = Exit.VACUOUS if not reachable or (cover == "covers" and left) else Exit.OK
        if graph.clipped and (left or not reachable):
            code = Exit.INCONCLUSIVE
        if ran.code != code:
            yield "another exit code", (cover, ran.code, code)


Path_ = list[Any]


def _goals(graph: Graph, cover: str, paths: list[Path_]) -> tuple[set[Any] | None, set[Any]]:
    """The reachable goals of a criterion, and those that paths take; None where no judge is here."""
    edges = [p[1:] for p in paths]
    if cover == "states":
        return set(range(len(graph.states))), {p[0] for p in paths} | {e.target for p in edges for e in p}
    if cover == "actions":
        return {e.action for e in graph.inner}, {e.action for p in edges for e in p}
    if cover == "transitions":
        return {id(e) for e in graph.inner}, {id(e) for p in edges for e in p}
    if cover == "pairs":
        follow = {(e.action, n.action) for e in graph.inner for n in graph.edges[e.target or 0] if n.target is not None}
        return follow, {(a.action, b.action) for p in edges for a, b in pairwise(p)}
    if cover == "covers":
        # A cover on a path is judged by the shortest hit alone: a suite takes what is reachable.
        hit = {p.name for p in graph.bound.covers if first_hit(graph, p) is not None}
        return hit, hit
    return None, set()


def path_of(graph: Graph, trace: Any) -> Path_ | None:
    """A trace as the first state's number and edges; None if it is no run from an initial state."""
    here = graph.find(trace.states[0])
    if here < 0 or graph.level[here] != 1:
        return None
    path: Path_ = [here]
    for step, state in zip(trace.steps[1:], trace.states[1:], strict=True):
        edge = next((e for e in graph.edges[here] if (e.action, e.params) == (step.action, step.params)), None)
        if edge is None or edge.target is None or graph.states[edge.target] != state:
            return None
        here = edge.target
        path.append(edge)
    return path


def graph(f: Frame) -> Found:
    """The picture of the states: counts, levels, marks and steps by action."""
    out, g = f.folder / "graph.json", f.graph
    ran = f.run("graph", f.path, "--format", "json", "--out", out, "--max-states", 100_000, record=False)
    data = json.loads(out.read_text(encoding="utf-8"))
    if ran.code != (Exit.INCONCLUSIVE if g.clipped else Exit.OK):
        yield "another exit code", ran.code
    bound = g.bound
    counts = [data["states"], data["steps"], len(data["nodes"])]
    if counts != [len(g.states), len(g.inner), len(g.states)]:
        yield "other counts", (counts, len(g.states), len(g.inner))
    levels = Counter(node["level"] + 1 for node in data["nodes"])
    if levels != Counter(g.level):
        yield "other levels", (levels, g.level)
    initial = sum(node["initial"] for node in data["nodes"])
    if initial != g.level.count(1):
        yield "other initial states", initial
    dead = [n for n, row in enumerate(g.edges) if not row and not bound.is_terminal(g.states[n])]
    if sum(node["deadlock"] for node in data["nodes"]) != (len(dead) if bound.model.deadlock else 0):
        yield "other deadlocks", len(dead)
    told: Counter[str] = Counter()
    for node in data["nodes"]:
        told.update(node["violates"])
    on_states = [p for p in bound.properties if not p.temporal and not p.over_steps]
    want = {p.name: n for p in on_states if (n := sum(not bound.holds(p, s) for s in g.states))}
    if dict(told) != want:
        yield "other violations", (told, want)
    steps: Counter[str] = Counter()
    for edge in data["edges"]:
        steps[edge["action"]] += edge["steps"]
    if steps != Counter(e.action for e in g.inner):
        yield "other steps", steps
    for asked in [e for e in f.asks if "before" not in e][:1]:
        values = Counter(f.value(asked, s=s) for s in g.states)
        ran = f.run("graph", f.path, "--by", asked, "--format", "json", "--out", out, record=False)
        if None in values:
            if ran.code != Exit.USAGE:
                yield "an expression raises and is drawn", (asked, ran.code)
            continue
        grouped = sorted(node["states"] for node in json.loads(out.read_text(encoding="utf-8"))["nodes"])
        if grouped != sorted(values.values()):
            yield "other groups", (asked, grouped, values)
