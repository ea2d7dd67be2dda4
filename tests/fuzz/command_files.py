"""The files that commands write and read, against plain Python: suites, pictures, logs, traces, gate files."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.explorer.session import ExplorerSession
from reassure.checkers.explorer.view import MOST_STEPS
from reassure.checkers.machine.exit_codes import VERDICTS, Exit
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.format_value import map_entries, plain
from reassure.checkers.traces.plain_json import to_plain
from reassure.checkers.traces.render import flat
from reassure.spec.language.keys import TupleType
from reassure.spec.language.types import MapType, RecordType, Type
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import Params
from reassure.spec.semantics.trace import JsonObject, encode, from_itf
from tests.fuzz.brute import Edge, Graph, first_hit, step_truth
from tests.fuzz.command_answers import searched
from tests.fuzz.command_frame import Found, Frame, Ran, expected_exit


def traces(f: Frame) -> Found:
    """Suites: every trace is a run, and what they cover is what the index says."""
    cover = f.rng.choice(("actions", "pairs", "covers", "states", "transitions", "guards", "branches"))
    if len(f.graph.states) > 1_000:  # a long chain: a suite of all its states is hundreds of runs of thousands of steps
        cover = "actions"
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
            yield "a trace is not a run", row["file"]
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
    """A trace as the first state's number and edges; None if it is not a run from an initial state."""
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
    rest = [n for n, row in enumerate(g.edges) if not row and bound.model.deadlock]
    dead = sum(not bound.is_terminal(g.states[n]) for n in rest)
    if sum(node["deadlock"] for node in data["nodes"]) != dead:
        yield "other deadlocks", dead
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


def validate(f: Frame) -> Found:
    """A log of a random run, perhaps with a line that is wrong: the lines that are matched, and the possible states."""
    g, rng = f.graph, f.rng
    lines, hidden = _log(f), {a.name for a in g.bound.model.actions if rng.random() < 0.2}
    path = f.folder / "log.jsonl"
    path.write_text("".join(json.dumps(_written(g, line)) + "\n" for line in lines), encoding="utf-8")
    engine = rng.choice(("native", "reference"))
    ran = f.run(
        "validate", f.path, path, "--engine", engine, *(["--hidden", ",".join(sorted(hidden))] if hidden else [])
    )
    possible = {n for n, level in enumerate(g.level) if level == 1}
    clipped, explained, widest = g.clipped > sum(e.target is None for e in g.every_edge), 0, len(possible)
    for line in lines:
        before = _closed(g, possible, hidden)
        asked = hidden | (line.actions or set())
        clipped = clipped or any(e.target is None and e.action in asked for n in before for e in g.edges[n])
        widest = max(widest, len(before))
        after = {n for n in before if line.agrees(g, n)} if line.actions is None else line.after(g, before)
        if not after:
            possible = before
            break
        explained, possible = explained + 1, after
    else:
        widest = max(widest, len(possible))
    code = Exit.OK if explained == len(lines) else Exit.INCONCLUSIVE if clipped else Exit.TRACE
    if code is Exit.OK and not any(
        line.actions is not None or _says(_written(g, line)["state"], g.bound.type) for line in lines
    ):
        if ran.code is not Exit.NOTHING:
            yield "a log that observes nothing", ran.code
        return
    said = [ran.code, *(ran.record[k] for k in ("lines_explained", "possible_states", "widest"))]
    if said != [code, explained, len(possible), widest]:
        yield "another answer", (said, [code, explained, len(possible), widest], [_written(g, line) for line in lines])


@dataclass(frozen=True)
class Observed:
    """A line of a log. actions: None for a look at the state. fields: of the state."""

    actions: set[str] | None
    params: Params
    fields: JsonObject

    def agrees(self, graph: Graph, number: int) -> bool:
        """Whether a state is what is observed."""
        return all(getattr(graph.states[number], name) == value for name, value in self.fields.items())

    def after(self, graph: Graph, before: set[int]) -> set[int]:
        """The states after the steps that the line may be of."""
        assert self.actions is not None
        return {
            e.target
            for n in before
            for e in graph.edges[n]
            if e.target is not None
            and e.action in self.actions
            and self.agrees(graph, e.target)
            and all(e.params[name] == value for name, value in self.params.items())
        }


def _says(written: Any, kind: Type) -> bool:
    """Whether JSON has anything in it but records without fields; that an optional is there is something."""
    if isinstance(kind, RecordType) and not isinstance(kind, TupleType):
        return any(_says(written[name], inner) for name, inner in kind.fields if name in written)
    return any(_says(v, kind.value) for v in written.values()) if isinstance(kind, MapType) else True


def _closed(graph: Graph, among: set[int], hidden: set[str]) -> set[int]:
    """The states with those that hidden steps lead to."""
    reached, pending = set(among), list(among)
    while pending:
        for e in graph.edges[pending.pop()]:
            if e.action in hidden and e.target is not None and e.target not in reached:
                reached.add(e.target)
                pending.append(e.target)
    return reached


def _log(f: Frame) -> list[Observed]:
    """Lines of a random walk; in every second log one of them is of another state."""
    g, rng = f.graph, f.rng
    names = [a.name for a in g.bound.model.actions]
    here = rng.choice([n for n, level in enumerate(g.level) if level == 1])

    def seen(number: int) -> JsonObject:
        return {name: value for name, value in vars(g.states[number]).items() if rng.random() < 0.5}

    lines = [Observed(None, {}, seen(here))]
    for _ in range(rng.randint(0, 7)):
        steps = [e for e in g.edges[here] if e.target is not None]
        if not steps:
            break
        edge = rng.choice(steps)
        assert edge.target is not None
        here = edge.target
        actions = rng.choice(({edge.action}, {edge.action}, set(names), {edge.action, rng.choice(names)}))
        params = {k: v for k, v in edge.params.items() if rng.random() < 0.5} if len(actions) == 1 else {}
        lines.append(Observed(actions, params, seen(here)))
    if rng.random() < 0.5:
        at = rng.randrange(len(lines))
        lines[at] = replace(lines[at], fields=vars(rng.choice(g.states)) | {})
    return lines


def _written(graph: Graph, line: Observed) -> JsonObject:
    """The line as plain JSON."""
    kinds = dict(graph.bound.type.fields)
    data: JsonObject = {"state": {name: to_plain(value, kinds[name]) for name, value in line.fields.items()}}
    if line.actions is None:
        return data
    action = next(iter(line.actions)) if len(line.actions) == 1 else sorted(line.actions)
    types = dict(graph.bound.parameters(action)) if isinstance(action, str) else {}
    return {"action": action, "params": {k: to_plain(v, types[k]) for k, v in line.params.items()}, **data}


def replay(f: Frame) -> Found:
    """Traces of `check`, as they are and with one thing changed: accepted if they are runs that show their property."""
    folder = f.folder / "traces"
    shutil.rmtree(folder, ignore_errors=True)
    f.run("check", f.path, "--trace-dir", folder)
    for path in sorted(folder.glob("*.itf.json"))[:3]:
        if f.run("replay", path, "--model", f.path, record=False).code != Exit.OK:
            yield "a trace of check is refused", path.name
        data = json.loads(path.read_text(encoding="utf-8"))
        _damage(f, data["states"])
        path.write_text(json.dumps(data), encoding="utf-8")
        ran = f.run("replay", path, "--model", f.path, record=False)
        if ran.code is not Exit.OK:
            if ran.code not in (Exit.TRACE, Exit.EXPECTATION, Exit.USAGE):
                yield "another exit code for a damaged trace", (ran.code, ran.err)
            continue
        if path_of(f.graph, from_itf(data, f.graph.bound)) is None:
            yield "a damaged trace is accepted", data


def _damage(f: Frame, states: list[JsonObject]) -> None:
    """Changes a state, a step or the order of what a trace says."""
    rng, at = f.rng, f.rng.randrange(len(states))
    how = rng.randrange(5)
    if how == 0:
        states[at] |= {k: v for k, v in states[rng.randrange(len(states))].items() if k != "#meta"}
    elif how == 1:
        states[at]["#meta"]["action"] = rng.choice([a.name for a in f.graph.bound.model.actions])
    elif how == 2 and len(states) > 1:
        del states[at]
    elif how == 3:
        other = rng.choice(f.graph.states)
        states[at] |= encode(other, f.graph.bound.type)
    else:
        states[at]["#meta"]["params"] = states[rng.randrange(len(states))]["#meta"]["params"]


def gate(f: Frame) -> Found:
    """A gate file that expects what plain Python says passes; with one expectation changed it fails."""
    g, facts = f.graph, f.facts
    fallen: dict[str, int] = {}
    for name, level in facts.hits.items():
        if level is not None and name not in {c.name for c in g.bound.covers}:
            fallen[name] = level
    if any(facts.runs.values()) or facts.vacuous or g.undeclared:
        return  # lengths of fair loops are not judged here; bounds that are not declared fail a gate
    idle = sorted(c.name for c in g.bound.covers if facts.hits[c.name] is None)
    expect, counts = VERDICTS[expected_exit(g, facts)], {"distinct": len(g.states), "depth": max(g.level)}
    right = _gate_file(f.path, expect, fallen, idle, counts)
    if expect == VERDICTS[Exit.INCONCLUSIVE]:
        return
    first = _gated(f, right)
    if first.code != Exit.OK:
        yield "what is expected fails", (right, first.out[-300:])
    changes = [(other, fallen, idle, counts) for other in ("pass", "deadlock", "safety-violation") if other != expect]
    changes += [(expect, fallen, idle, counts | {name: counts[name] + 1}) for name in counts]
    changes += [(expect, {k: v for k, v in fallen.items() if k != name}, idle, counts) for name in list(fallen)[:2]]
    changes += [(expect, fallen | {next(iter(fallen)): 99}, idle, counts)] if fallen else []
    changes += [(expect, fallen, [n for n in idle if n != name], counts) for name in idle[:2]]
    changes += [(expect, fallen | {p.name: 1}, idle, counts) for p in g.bound.properties if p.name not in fallen][:1]
    wrong = _gate_file(f.path, *f.rng.choice(changes))
    if _gated(f, wrong).code == Exit.OK:
        yield "what is not so passes", wrong


def _gate_file(model: str, expect: str, fallen: dict[str, int], idle: list[str], counts: dict[str, int]) -> str:
    tables = [f"violated = {{ {', '.join(f'{k} = {v}' for k, v in fallen.items())} }}"]
    tables += [f"unreached = {json.dumps(idle)}", f"pin = {{ {', '.join(f'{k} = {v}' for k, v in counts.items())} }}"]
    return "\n".join(["[[check]]", f"model = {json.dumps(model)}", f'expect = "{expect}"', *tables]) + "\n"


def _gated(f: Frame, text: str) -> Ran:
    path = f.folder / "gate.toml"
    path.write_text(text, encoding="utf-8")
    return f.run("gate", path, "--jobs", 1, record=False)


def explore(f: Frame) -> Found:
    """What the explorer's page shows along a random walk: states, enabled steps, properties."""
    g, bound = f.graph, f.graph.bound
    session = ExplorerSession(ModelSource(f.path, []), SearchOptions())
    about = session.ask("about", {})
    first = [e for e in g.level if e == 1]
    if about["clipped"] + about["count"] != g.started or len({s["path"] for s in about["starts"]}) < len(first):
        yield "other initial states", about
    here = f.rng.choice(about["starts"])
    number = next(n for n, s in enumerate(g.states) if g.level[n] == 1 and _fields(s) == here["state"])
    edge, path = None, here["path"]
    for _ in range(6):
        shown = session.ask("view", {"path": path})
        rows = [
            {"field": row["field"], "value": row["value"]}
            for row in shown["state"]
            if row["value"] != "-" or row["field"] in flat(g.states[number])
        ]
        if not _is_shown_by(rows, g.states[number]):
            yield "another state", (path, rows)
        steps = {a.name: [e for e in g.edges[number] if e.action == a.name] for a in bound.model.actions}
        enabled = {a["name"]: a["enabled"] for a in shown["actions"]}
        unlisted = {a["name"]: a["unlisted"] for a in shown["actions"]}
        if {n: ([s["path"] is None for s in row], unlisted[n]) for n, row in enabled.items()} != {
            n: ([e.target is None for e in row[:MOST_STEPS]], max(0, len(row) - MOST_STEPS)) for n, row in steps.items()
        }:
            yield "other steps", (path, enabled)
            return
        told = {p["name"]: p["status"] for p in shown["properties"]}
        for claim in bound.properties:
            if not claim.over_steps and not claim.temporal:
                want = "holds" if bound.holds(claim, g.states[number]) else "violated"
            elif claim.over_steps and edge is not None and claim.name in about_step(g, edge):
                want = "holds" if step_truth(g, claim)(edge) else "violated"
            else:
                want = "not_checked"
            if told[claim.name] != want:
                yield "another status", (path, claim.name, told[claim.name], want)
        going = [(e, s) for name, row in steps.items() for e, s in zip(row, enabled[name], strict=False) if s["path"]]
        if not going:
            return
        edge, step = f.rng.choice(going)
        assert edge.target is not None
        number, path = edge.target, step["path"]


def about_step(graph: Graph, edge: Edge) -> set[str]:
    """The properties that are about a step of this action."""
    action = next(a for a in graph.bound.model.actions if a.name == edge.action)
    return {p.name for p in graph.bound.properties if p.over_steps and graph.bound.concerns(p, action)}


def _fields(state: Any) -> list[dict[str, str]]:
    """A state as the page has it."""
    return [{"field": name, "value": plain(value)} for name, value in flat(state).items()]


def _is_shown_by(rows: list[dict[str, str]], state: Any) -> bool:
    """Whether rows are a state: each of its fields once, by itself or in the row of an optional value that has come."""
    whole = {path: plain(value) for path, value in _values(state, "")}
    above = [[row["field"] for row in rows if _is_within(leaf, row["field"])] for leaf in flat(state)]
    return all(len(one) == 1 for one in above) and all(whole.get(row["field"]) == row["value"] for row in rows)


def _is_within(path: str, of: str) -> bool:
    return path == of or path.startswith((f"{of}.", f"{of}["))


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A value and all that it has, by path."""
    yield path, value
    if hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _values(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, Map):
        for key, inner in map_entries(value):
            parts = key if isinstance(key, tuple) else (key,)
            yield from _values(inner, f"{path}[{', '.join(map(plain, parts))}]")


def query(f: Frame) -> Found:
    """A search on Spark, and what SQL finds in its tables. Needs a Java runtime."""
    g, out = f.graph, f.folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    ran = f.run("check", f.path, "--engine", "spark", "--master", "local[1]", "--out", out)
    yield from searched(f, ran)
    asked = {
        "select count(*) from states": [[len(g.states)]],
        "select count(*) from edges": [[len(g.inner)]],
        "select action, count(*) from edges group by action order by action": sorted(
            [a, n] for a, n in Counter(e.action for e in g.inner).items()
        ),
        "select level, count(*) from states group by level order by level": sorted(
            [level, n] for level, n in Counter(g.level).items()
        ),
    }
    sql = f.rng.choice(list(asked))
    said = f.run("query", out, sql, "--format", "json", "--master", "local[1]", record=False)
    rows = [list(json.loads(line).values()) for line in said.out.splitlines()]
    if rows != asked[sql]:
        yield "another answer to SQL", (sql, rows, asked[sql], said.err[-300:])
