"""The explorer as one file: the page with what it asks for, which opens from a disk without a server.

The file has the paths of a trace and of what a search found, as the explorer shows them, and of a space of at most
`MOST_STATES` states every state and every step.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, TypedDict

from reassure.checkers.engines.native.state_graph import StateGraph, reachable_graph
from reassure.checkers.explorer.loaded import Loaded
from reassure.checkers.explorer.session import Answered
from reassure.checkers.explorer.view import guard_json, starts, view
from reassure.checkers.explorer.worker import searched
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.pictures.html_page import POLICY, asset
from reassure.checkers.pictures.lifelines import picture
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.named_path import NamedStep, follow_path, from_text, named_step, to_text
from reassure.checkers.traces.refusals import ExplainingModel
from reassure.checkers.traces.render import call_text, flat

MOST_STATES = 50_000
"""States of a space whose every step is in the file."""
MOST_EXPLAINED = 2_000
"""States of a space in which the file says of every disabled action which guard forbids it."""
MOST_PATHS = 20
"""Paths of a search that are in the file with their pictures."""
MODULES = ("dom.js", "graph.js", "picture.js", "sections.js", "searches.js", "offline.js", "explorer.js")
"""The modules of the page, each after those that it imports."""


class PageData(TypedDict):
    """What the page would ask the explorer for. views, pictures: of paths, by their texts. space: None: it is cut."""

    about: Answered
    begin: str
    search: Answered | None
    views: dict[str, Answered]
    pictures: dict[str, Answered]
    space: Answered | None


def one_file(prepared: Prepared, path: list[NamedStep], options: SearchOptions, progress: Progress) -> tuple[str, str]:
    """The text of the file, and a sentence on what is in it. path: a trace to begin at the end of; none: the start."""
    loaded = Loaded(prepared.bound, ExplainingModel(prepared.bound), prepared.sha256)  # its classes are the graph's
    model, settings = prepared.source, list(prepared.settings)
    graph = reachable_graph(prepared, options, progress, MOST_STATES)
    claims = (*prepared.bound.properties, *prepared.bound.covers, prepared.bound.model.deadlock)
    looks = (graph.complete or not path) and any(claims)
    search = searched(model, settings, options, progress) if looks else None
    paths = [path] if path else []
    for result in [*(search["properties"] if search else ()), *(search["covers"] if search else ())]:
        if result["path"] is not None and len(paths) < MOST_PATHS:
            paths.append(from_text(result["path"]))
    if not paths and not graph.complete:
        raise Failure(
            Exit.USAGE,
            f"a file has all states of a model of up to {MOST_STATES:,}; here {graph.stopped.text}, and the search has "
            "no path to show: give --trace FILE",
        )
    bound = loaded.bound
    data: PageData = {
        "about": {
            "model": bound.model.name,
            "source": model,
            "settings": settings,
            "config": loaded.config,
            "digest": loaded.digest,
            "forms": [],
            **starts(loaded),
        },
        "begin": to_text(path) if path else "",
        "search": None if search is None else {**search, "model": loaded.digest, "stale": False},
        "views": {},
        "pictures": {},
        "space": _space(graph, loaded, progress) if graph.complete else None,
    }
    for one in paths:
        _add_path(data, one, loaded)
    every = (
        f"every one of {quantity(graph.count, 'state')} and {quantity(graph.edge_count, 'step')}"
        if graph.complete
        else "no other state"
    )
    what = f"{quantity(len(paths), 'path')} with pictures, and {every}"
    return _page(bound.model.name, data), what


def _add_path(data: PageData, path: list[NamedStep], loaded: Loaded) -> None:
    """Adds what the explorer shows of a path and of its beginnings. `Failure` where the model does not have it."""
    followed = follow_path(path, loaded.bound)
    trace = followed.trace
    if followed.problem is not None or trace is None:
        step, reason = (followed.problem.step, followed.problem.reason) if followed.problem else (0, "no such state")
        raise Failure(Exit.USAGE, f"--at: step {step} is not possible: {reason}")
    paths = [to_text(path[: i + 1]) for i in range(len(path))]
    for i, text in enumerate(paths):
        if text not in data["views"]:
            data["views"][text] = {"digest": loaded.digest, **view(loaded, path[: i + 1])}
    trace.meta |= {"model": loaded.bound.model.name, "config": loaded.config}
    data["pictures"][paths[-1]] = {"picture": picture(trace, loaded.bound, every=True), "paths": paths}


def _space(graph: StateGraph, loaded: Loaded, progress: Progress) -> dict[str, object]:
    """Every state, as its difference from the one before it on a shortest path, and every step, in few numbers."""
    bound = graph.bound
    fields, values, calls, guards = _Table(), _Table(), _Table(), _Table()
    states: list[list[int]] = []
    steps: list[list[int]] = []
    explained: list[list[list[int]]] = []
    numbers = {action.name: i for i, action in enumerate(bound.model.actions)}
    shown: list[dict[str, str]] = []
    for n in range(graph.count):
        progress.proof(f"writing {n:,} of {quantity(graph.count, 'state')}")
        now = {name: plain(value) for name, value in flat(graph.state(n)).items()}
        edge = int(graph.parents[n])
        before = shown[int(graph.sources[edge])] if edge >= 0 else {}
        shown.append(now)
        row = [int(graph.sources[edge]) if edge >= 0 else -1]
        for name in [*now, *(name for name in before if name not in now)]:
            if before.get(name) != now.get(name):
                row += [fields.number(name), values.number(now[name]) if name in now else -1]
        states.append(row)
        first, following = int(graph.begins[n]), []
        for j in range(first, int(graph.begins[n + 1])):
            step = graph.step(j)
            call = call_text(step.action.name, step.params)
            text = to_text([named_step(step.action.name, step.params, bound)])
            following += [calls.number((numbers[step.action.name], call, text)), int(graph.targets[j]) - n]
        steps.append(following)
        if graph.count <= MOST_EXPLAINED:
            attempts = loaded.explaining.attempts_by_action(graph.state(n))
            explained.append(
                [
                    [guards.number(json.dumps(guard_json(guard, name))) for guard in attempts[name].guards]
                    for name in numbers
                ]
            )
    flags = list(graph.kernel.state_flags[:-1])
    return {
        "fields": fields.entries, "values": values.entries, "calls": calls.entries, "states": states, "steps": steps,
        "guards": [json.loads(text) for text in guards.entries], "explained": explained,
        "actions": [{"name": a.name, "who": a.who, "doc": (a.function.__doc__ or "").strip().split("\n\n")[0]}
                    for a in bound.model.actions],
        "properties": [{"name": p.name, "kind": p.kind, "doc": (p.doc or "").split("\n\n")[0]}
                       for p in (*bound.properties, *bound.covers)],
        "state_hits": {name: [n for n in range(graph.count) if int(graph.state_claims[n]) >> bit & 1]
                       for bit, name in enumerate(flags)},
        "step_hits": {name: hits.nonzero()[0].tolist() for name, hits in graph.step_claims.items()},
        "starts": _starts(graph, loaded),
    }  # fmt: skip


def _starts(graph: StateGraph, loaded: Loaded) -> dict[str, int]:
    """The numbers of the initial states, by the beginning of a path."""
    numbers = {}
    for declared, params, state in loaded.bound.initial_states():
        if (number := graph.find(loaded.bound.lift(state))) >= 0:
            numbers[to_text([named_step(declared.name, params, loaded.bound)])] = number
    return numbers


class _Table:
    """Values that occur often, each with a number."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, entry: Any) -> int:
        """The number of an entry, a new one if it has none."""
        if entry not in self._numbers:
            self._numbers[entry] = len(self.entries)
            self.entries.append(entry)
        return self._numbers[entry]


def _page(model: str, data: PageData) -> str:
    """The page of the explorer with its files and its data in it."""
    own = files(__package__) / "assets"
    html = (own / "explorer.html").read_text(encoding="utf-8")
    packed = base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)).decode()
    styles = (own / "explorer.css").read_text(encoding="utf-8") + asset("picture.css")
    head, body = html.split("<body>", 1)
    head = "\n".join(line for line in head.splitlines() if not line.lstrip().startswith(("<link", "<script", "</head")))
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    title = f"<title>{model}: reassure explore</title>"
    head = re.sub("<title>.*</title>", lambda _: title, head)
    scripts = [
        f'<script type="text/plain" id="offline-data">{packed}</script>',
        f"<script>{asset('lifelines.js')}</script>",
        f"<script>{_bundled((own / name).read_text(encoding='utf-8') for name in MODULES)}</script>",
    ]
    body = body.replace("</body>", "\n".join([*scripts, "</body>"]))
    return f"{head}\n{policy}\n<style>{styles}</style>\n</head>\n<body>{body}"


def _bundled(texts: Iterable[str]) -> str:
    """Modules as one script, since a page that is opened from a disk can import none: each is a function."""
    pieces = ["const modules = {};"]
    for name, text in zip(MODULES, texts, strict=True):
        exported = re.findall(r"^export (?:async )?function (\w+)", text, re.MULTILINE)
        text = re.sub(r'^import (\{[^}]*\}) from "\./([^"]+)";', r'const \1 = modules["\2"];', text, flags=re.MULTILINE)
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        pieces.append(f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {", ".join(exported)} }};\n}})();')
    return '"use strict";\n' + "\n".join(pieces).replace("</script", "<\\/script")
