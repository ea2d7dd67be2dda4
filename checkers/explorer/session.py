"""Answers the questions of the page as plain JSON; it knows nothing of HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from reassure.checkers.explorer.evaluation import Evaluator
from reassure.checkers.explorer.export import FORMS, Exported, describe_path, export_path
from reassure.checkers.explorer.jobs import ExplorerJob
from reassure.checkers.explorer.loaded import Loaded, ModelSource
from reassure.checkers.explorer.neighbourhood import neighbourhood
from reassure.checkers.explorer.view import starts, view
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.pictures.lifelines import picture
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.named_path import NamedStep, follow_path, from_text, to_text
from reassure.spec.semantics.interpreter import ModelError
from reassure.spec.semantics.trace import Trace, TraceError

Query = Mapping[str, str]
Answered = Mapping[str, object]
"""An answer, ready for `json.dumps`."""
LONGEST_EXPRESSION = 10_000


class BadRequest(Exception):
    """A question that cannot be answered; the message says what to ask instead."""


class ExplorerSession:
    """A model, the search behind the page, and the last question by an expression."""

    def __init__(self, source: ModelSource, options: SearchOptions) -> None:
        self.source = source
        self.search = ExplorerJob(source.model, source.settings, options)
        self.find = ExplorerJob(source.model, source.settings, options)
        self.evaluator = Evaluator(source)
        self._lock = threading.Lock()
        self.questions: dict[str, Callable[[Query], Answered]] = {
            "about": self._about,
            "view": self._view,
            "picture": self._picture,
            "neighbourhood": self._neighbourhood,
            "values": self._values,
            "search": lambda query: self._search_status(),
            "find": lambda query: self.find.status(),
        }
        """By name, what a page may ask."""
        self.commands: dict[str, Callable[[Query], Answered]] = {
            "search": self._command_search,
            "find": self._command_find,
        }
        """By name, what changes something."""

    def ask(self, name: str, query: Query) -> Answered:
        """The answer to a question. Raises `BadRequest`, or `Failure` where the model cannot be loaded or raises."""
        with self._lock:
            return self.questions[name](query)

    def command(self, name: str, query: Query) -> Answered:
        """Starts or stops a search; its status. Raises `BadRequest`."""
        with self._lock:
            return self.commands[name](query)

    def exported(self, query: Query) -> Exported:
        """The path as a file. Raises as `ask`."""
        with self._lock:
            form = query.get("form", "")
            if form not in FORMS:
                raise BadRequest(f"a path is written as {', '.join(FORMS)}, not as {form!r}")
            loaded = self.source.loaded()
            trace, _ = self._trace(loaded, query)
            return export_path(form, trace, loaded, self.source)

    def close(self) -> None:
        """Ends what runs."""
        self.search.stop(wait=True)
        self.find.stop(wait=True)
        self.evaluator.stop()

    def _about(self, query: Query) -> Answered:
        loaded = self.source.loaded()
        model = loaded.bound.model
        about = {"model": model.name, "source": self.source.model, "settings": self.source.settings}
        digest, forms = loaded.digest, list(FORMS)
        return {**about, "config": loaded.config, "digest": digest, "forms": forms, **_raising(lambda: starts(loaded))}

    def _view(self, query: Query) -> Answered:
        loaded = self.source.loaded()
        path = _path(query)
        return {"digest": loaded.digest, **_raising(lambda: view(loaded, path))}

    def _picture(self, query: Query) -> Answered:
        """The path as lifelines, and the path up to each of its steps."""
        loaded = self.source.loaded()
        trace, path = self._trace(loaded, query)
        describe_path(trace, loaded, self.source)
        paths = [to_text(path[: i + 1]) for i in range(len(path))]
        return _raising(lambda: {"picture": picture(trace, loaded.bound, every=True), "paths": paths})

    def _neighbourhood(self, query: Query) -> Answered:
        loaded = self.source.loaded()
        radius = query.get("radius", "1")
        if radius not in ("1", "2"):
            raise BadRequest(f"a radius is 1 or 2, not {radius[:20]!r}")
        trace, path = self._trace(loaded, query)
        return _raising(lambda: neighbourhood(loaded, path, trace.states[-1], int(radius)))

    def _values(self, query: Query) -> Answered:
        """The value of an expression in each state of a path."""
        expression = query.get("expression", "").strip()
        if not expression or len(expression) > LONGEST_EXPRESSION:
            raise BadRequest(f"an expression has 1 to {LONGEST_EXPRESSION:,} characters")
        self.source.loaded()  # what cannot be loaded is told as of every question
        path = to_text(_path(query))
        try:
            return {"expression": expression, "values": self.evaluator.values(path, expression)}
        except Failure as failure:
            raise BadRequest(str(failure)) from None

    def _trace(self, loaded: Loaded, query: Query) -> tuple[Trace, list[NamedStep]]:
        """The whole of a path; `BadRequest` if the model has only a part of it."""
        path = _path(query)
        followed = follow_path(path, loaded.bound)
        if followed.problem is not None or followed.trace is None:
            why = followed.problem.reason if followed.problem is not None else ""
            raise BadRequest(f"the model does not have this path: {why}")
        return followed.trace, path

    def _search_status(self) -> Answered:
        """The progress of the search, and whether it is of the model as it is now."""
        status = self.search.status()
        loaded = self.source.loaded()
        searched = status.get("digest"), status.pop("values", None)
        stale = searched[0] is not None and searched != (loaded.digest, loaded.values)
        return status | {"model": loaded.digest, "stale": stale}

    def _command_search(self, query: Query) -> Answered:
        match query.get("do"):
            case "start":
                self.search.start()
            case "stop":
                self.search.stop()
            case other:
                raise BadRequest(f"a search is told to start or to stop, not to {other!r}")
        return self._search_status()

    def _command_find(self, query: Query) -> Answered:
        expression = query.get("expression", "").strip()
        if query.get("do") == "stop":
            self.find.stop()
        elif not expression:
            raise BadRequest("an expression is missing: for example s.holder is None")
        elif len(expression) > LONGEST_EXPRESSION:
            raise BadRequest(f"an expression has at most {LONGEST_EXPRESSION:,} characters")
        else:
            self.find.start(expression)
        return self.find.status()


def _path(query: Query) -> list[NamedStep]:
    try:
        path = from_text(query.get("path", ""))
    except TraceError as error:
        raise BadRequest(str(error)) from None
    if not path:
        raise BadRequest("a path begins with an initial state")
    return path


def _raising(call: Callable[[], Answered]) -> Answered:
    """The result of a call; `BadRequest` where the model raises outside of an action and a property."""
    try:
        return call()
    except ModelError as error:
        raise BadRequest(f"the model raises: {error}") from None
