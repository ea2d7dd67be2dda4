"""A second opinion: TLC searches the exported module, and its answers are compared with those of our engine."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.own_files import temporary_folder
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.result import CheckResult, PropertyResult, PropertyStatus
from reassure.checkers.request.run_identity import OpinionRecord
from reassure.checkers.tla.module import TlaModule, cfg_head, export
from reassure.checkers.tla.tlc import CONSTANT_FALSE, TlcInstallation, TlcRun, TlcTrace, Unreadable, read_value, run_tlc
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Step
from reassure.spec.semantics.liveness import assumptions_of, fates, violated_by

HARNESS = "SecondOpinion"
FIRST_STATE, FIRST_STEP = "first state", "first step"
DECIDED = (PropertyStatus.HOLDS, PropertyStatus.HOLDS_WITHIN_BOUNDS, PropertyStatus.VIOLATED, PropertyStatus.VACUOUS)


@dataclass(frozen=True)
class ComparedAnswer:
    """One answer of both. ours, theirs: in words."""

    about: str
    ours: str
    theirs: str
    note: str = ""

    @property
    def same(self) -> bool:
        return self.ours == self.theirs


@dataclass
class Opinion:
    """TLC's answers beside ours. reason: why there is no complete one."""

    rows: list[ComparedAnswer] = field(default_factory=list)
    traces: int = 0
    """Counterexamples of TLC that plain Python has executed."""
    seconds: float = 0.0
    """Of the search of all states, Java's start included."""
    processor: float = 0.0
    """Seconds of processor of that search."""
    reason: str = ""
    no_run: list[str] = field(default_factory=list)
    """Properties about whole runs that hold for TLC, as no run violates them, and are vacuous for us."""
    undecided: list[str] = field(default_factory=list)
    """Properties of which TLC did not finish a search of their own in time."""

    @property
    def differences(self) -> list[ComparedAnswer]:
        return [row for row in self.rows if not row.same]

    def exit(self) -> Exit:
        """The exit code of the comparison alone."""
        if self.differences:
            return Exit.DISAGREE
        return Exit.INCONCLUSIVE if self.reason or self.undecided else Exit.OK

    def record(self) -> OpinionRecord:
        """Its part of the run record."""
        return {
            "checker": "tlc",
            "same": self.exit() is Exit.OK,
            "compared": len(self.rows),
            "differences": [vars(row) for row in self.differences],
            "traces": self.traces,
            "reason": self.reason,
            "undecided": self.undecided,
            "seconds": round(self.seconds, 2),
        }


def ask_tlc(
    result: CheckResult, bound: BoundModel, options: SearchOptions, tlc: TlcInstallation, progress: Progress
) -> Opinion:
    """TLC's opinion of a search that is over.

    TLC has the search's budget for all its runs, and its memory for each. A limit of processor is for the search of
    all states, and again for all other runs together.
    """
    if not result.complete:
        return Opinion(reason=f"our own search is not complete: {result.stopped_because}")
    exported = export(bound)
    with temporary_folder("tla") as folder:
        asked = Asked(result, bound, options, tlc, exported, folder)
        try:
            return asked.compare(progress)
        except KeyboardInterrupt:
            asked.opinion.reason = "interrupted"
            return asked.opinion


class Asked:
    """One question to TLC: the module in a folder, and the runs that answer it."""

    def __init__(
        self,
        result: CheckResult,
        bound: BoundModel,
        options: SearchOptions,
        tlc: TlcInstallation,
        exported: TlaModule,
        folder: Path,
    ) -> None:
        self.result, self.bound, self.options, self.tlc = result, bound, options, tlc
        self.exported, self.folder = exported, folder
        self.claims = {p.name: p for p in [*bound.properties, *bound.covers]}
        self.opinion = Opinion()
        self.began = time.monotonic()
        self.processor = 0.0
        """Seconds of processor of the runs that share a limit."""
        (folder / f"{exported.name}.tla").write_text(exported.text, encoding="utf-8")

    def run(self, module: str, text: str, lines: list[str], *options: str) -> TlcRun:
        """One run: of a module that extends the model's, with the lines of its configuration and TLC's options."""
        (self.folder / f"{module}.tla").write_text(text, encoding="utf-8")
        head = cfg_head(self.exported.constants, self.exported.nones)
        if any(line.startswith("INIT ") for line in lines):
            head = head[:-1]
        (self.folder / f"{module}.cfg").write_text("\n".join([*head, *lines, ""]), encoding="utf-8")
        budget = self.options.budget
        left = None if budget is None else budget - (time.monotonic() - self.began)
        if left is not None and left <= 0:
            return TlcRun(0, False)
        tlc = self.tlc
        if tlc.processor is not None:
            if self.processor >= tlc.processor:
                return TlcRun(0, False)
            tlc = replace(tlc, processor=tlc.processor - self.processor)
        run = run_tlc(tlc, self.folder, module, left, self.options.memory, *options)
        self.processor += run.processor
        return run

    def limit(self) -> str:
        """The time that a run has, in words."""
        if self.tlc.processor is not None:
            return f"{self.tlc.processor:g} s of processor"
        return f"{self.options.budget:g} s"

    # -- the search ------------------------------------------------------------------------------------

    def watched(self) -> list[str]:
        """Properties and covers that one search decides, of those that were asked for."""
        asked = [a.name for a in self.result.answers if a.name in self.exported.names]
        return [name for name in asked if name not in self.exported.temporal and name != "deadlock"]

    def traced(self) -> dict[str, str]:
        """Properties of states and steps that our engine found violated, and the definitions that TLC's search of all
        states finds violated once: it goes on then, and prints a counterexample of each.
        """
        violated = [p.name for p in self.result.properties if p.status is PropertyStatus.VIOLATED]
        return {name: f"First{number}" for number, name in enumerate(violated, 1) if name in self.watched()}

    def harness(self) -> str:
        """The module that notes at which level TLC sees what first."""
        on_state, on_step = [f'Seen(1, "{FIRST_STATE}", TRUE)'], [f'Seen(2, "{FIRST_STEP}", TRUE)']
        for number, name in enumerate(self.watched(), 3):
            definition = self.exported.names[name]
            cover = name in self.claims and self.claims[name].kind == "cover"
            line = f'Seen({number}, "{name}", {"" if cover else "~"}{definition})'
            (on_step if name in self.exported.steps else on_state).append(line)
        count = len(on_state) + len(on_step)
        firsts = []
        for number, (name, first) in enumerate(self.traced().items(), count + 1):
            definition = self.exported.names[name]
            if name in self.exported.steps:
                firsts.append(f"{first} == [][First({number}, {definition} \\/ UNCHANGED vars)]_vars")
            else:
                firsts.append(f"{first} == vars = vars /\\ First({number}, {definition})")
        lines = [
            f"---- MODULE {HARNESS} ----",
            f"EXTENDS {self.exported.name}, TLC",
            rf"ASSUME \A slot \in 1..{count + len(firsts)} : TLCSet(slot, 0)",
            "Seen(slot, name, hit) == IF TLCGet(slot) = 0 /\\ hit"
            ' THEN TLCSet(slot, 1) /\\ PrintT(<<"reassure", name, TLCGet("level")>>) ELSE TRUE',
            r"First(slot, holds) == holds \/ TLCGet(slot) = 1 \/ ~TLCSet(slot, 1)",
            *firsts,
            "OnState ==",
            *(f"    /\\ {line}" for line in on_state),
            "OnStep ==",
            *(f"    /\\ {line}" for line in on_step),
            "====",
        ]
        return "\n".join([*lines, ""])

    def compare(self, progress: Progress) -> Opinion:
        """Every answer of both."""
        opinion = self.opinion
        progress.proof("TLC: every reachable state")
        on_state, on_step = (
            [first for name, first in self.traced().items() if (name in self.exported.steps) is over_steps]
            for over_steps in (False, True)
        )
        lines = [
            f"INVARIANTS OnState TypeOK {' '.join(on_state)}",
            "ACTION_CONSTRAINT OnStep",
            *(f"PROPERTY {first}" for first in on_step),
        ]
        run = self.run(HARNESS, self.harness(), lines, "-deadlock", "-continue")
        opinion.seconds, opinion.processor, self.processor = run.seconds, run.processor, 0.0
        if not (run.finished and run.complete):
            so_far = f"{run.generated:,} generated and {run.distinct:,} distinct states"
            last = f"; its last report was of {so_far}" if run.distinct else ""
            why = (
                f"stopped: {(run.error or run.first.violated).removesuffix('.')}"
                if run.finished
                else f"did not finish in {self.limit()}"
            )
            opinion.reason = f"TLC {why}{last}"
            return opinion
        stats = self.result.stats
        opinion.rows += [
            ComparedAnswer("distinct states", f"{stats.distinct:,}", f"{run.distinct:,}"),
            ComparedAnswer("generated states", f"{stats.generated - stats.clipped:,}", f"{run.generated:,}"),
            ComparedAnswer("depth", str(stats.depth), str(run.depth)),
        ]
        if any(trace.name == "TypeOK" for trace in run.traces):
            opinion.rows.append(ComparedAnswer("TypeOK", "holds", "violated"))
        for name in self.watched():
            opinion.rows.append(ComparedAnswer(name, self.ours(name), self.level(run, name)))
        self.counterexamples(run, progress)
        return opinion

    def ours(self, name: str) -> str:
        """Our answer about a property or a cover, in words."""
        for cover in self.result.covers:
            if cover.name == name:
                return "not reached" if cover.depth is None else f"reached: {cover.depth} states"
        answer = next(p for p in self.result.properties if p.name == name)
        if answer.status is PropertyStatus.VIOLATED:
            return f"violated: {answer.depth} states"
        return "holds" if answer.status in DECIDED else answer.status.value

    def level(self, run: TlcRun, name: str) -> str:
        """TLC's answer about a property or a cover, in words."""
        cover = name in self.claims and self.claims[name].kind == "cover"
        if name not in run.seen:
            return "not reached" if cover else "holds"
        if name in self.exported.steps:
            states = run.seen[name] - run.seen[FIRST_STEP] + 2
        else:
            states = run.seen[name] - run.seen[FIRST_STATE] + 1
        return f"{'reached' if cover else 'violated'}: {states} states"

    # -- counterexamples -----------------------------------------------------------------------------------

    def counterexamples(self, run: TlcRun, progress: Progress) -> None:
        """Every counterexample of TLC's, and what it searches for by itself."""
        printed = {trace.name: trace for trace in run.traces}
        temporal = []
        for answer in self.result.properties:
            if answer.name in self.exported.temporal and answer.status in DECIDED:
                temporal.append(answer)
            elif answer.name == "deadlock" and answer.status in DECIDED:
                progress.proof("TLC: deadlock")
                self.deadlock(answer)
            elif answer.status is PropertyStatus.VIOLATED and answer.name in self.exported.names:
                progress.proof(f"TLC: {answer.name}")
                self.trace(answer.name, answer.depth or 0, printed.get(self.traced()[answer.name]))
        self.temporal(temporal, progress)

    def trace(self, name: str, depth: int, printed: TlcTrace | None) -> None:
        """TLC's own counterexample, executed by plain Python: as long as ours, and a violation.

        printed: of the search of all states. TLC prints one for each state, so that it has no shortest one of a
        property that is first violated where another one is.
        """
        about, still = f"{name}, TLC's run", self._changes_nothing(name)
        if printed is not None and (len(printed.states) == depth or (still and len(printed.states) > depth)):
            self.opinion.rows.append(self._replayed(about, len(printed.states), printed, name))
            return
        definition = self.exported.names[name]
        formula = self.exported.formulas.get(name)
        lines = [f"PROPERTY {formula}"] if formula else [f"INVARIANT {definition}"]
        run = self.run(f"{HARNESS}Trace", self._extending(), lines, "-deadlock")
        if not run.finished:
            self.opinion.undecided.append(name)
        elif run.complete and still:
            kept = "its last step changes nothing"
            self.opinion.rows.append(ComparedAnswer(about, kept, kept))
        elif run.first.violated == CONSTANT_FALSE:  # TLC does not search: every initial state is a counterexample
            self.opinion.rows.append(ComparedAnswer(about, f"{depth} states", "1 states"))
        else:
            length = max(depth, len(run.first.states)) if still else depth
            self.opinion.rows.append(self._replayed(about, length, run.first, name))

    def deadlock(self, answer: PropertyResult) -> None:
        """TLC's own search for a deadlock: it ends at the first."""
        bounds = ["CONSTRAINT InBounds"] if "\nInBounds ==" in self.exported.text else []
        # With `vars`, since TLC refuses a `Next` that is a constant: that of a model without steps.
        next_ = next(n for n in ("StepOrEnd", "Step", "Next") if f"\n{n} ==" in self.exported.text)
        definition = f"NextOrEnd == vars = vars /\\ {next_}\n"
        run = self.run(f"{HARNESS}Trace", self._extending(definition), ["INIT Init", "NEXT NextOrEnd", *bounds])
        if not run.finished:
            self.opinion.undecided.append("deadlock")
        elif run.complete:
            self.opinion.rows.append(ComparedAnswer("deadlock", self.ours("deadlock"), "holds"))
        elif run.first.violated == "deadlock":
            row = ComparedAnswer("deadlock", self.ours("deadlock"), f"violated: {len(run.first.states)} states")
            self.opinion.rows.append(row)
            if answer.status is PropertyStatus.VIOLATED:
                row = self._replayed("deadlock, TLC's run", answer.depth or 0, run.first, "deadlock")
                self.opinion.rows.append(row)
        else:
            self.opinion.reason = f"TLC stopped: {run.error}"

    def _extending(self, more: str = "") -> str:
        return f"---- MODULE {HARNESS}Trace ----\nEXTENDS {self.exported.name}\n{more}====\n"

    def _changes_nothing(self, name: str) -> bool:
        """Whether the last step of our run changes nothing: TLA+ says nothing of such, and may have a longer run."""
        ours = next(p for p in self.result.properties if p.name == name).trace
        return name in self.exported.steps and ours is not None and ours.states[-1:] == ours.states[-2:-1]

    def _replayed(self, about: str, length: int, trace: TlcTrace, name: str) -> ComparedAnswer:
        expected = f"{length} states, executed"
        try:
            states = self.states_of(trace)
            last = self.executed(states)
        except (Unreadable, Refusal) as error:
            return ComparedAnswer(about, expected, str(error))
        if not self._violates(name, states, last):
            return ComparedAnswer(about, expected, f"{len(states)} states, executed, no violation")
        self.opinion.traces += 1
        return ComparedAnswer(about, expected, f"{len(states)} states, executed")

    def _violates(self, name: str, states: list[Any], last: list[Step]) -> bool:
        """Whether the last state, or a step that leads to it, violates a property in plain Python."""
        if name == "deadlock":
            return not any(True for _ in self.bound.steps(states[-1])) and not self.bound.is_terminal(states[-1])
        claim = self.claims[name]
        if not claim.over_steps:
            return not self.bound.holds(claim, states[-1])
        concerned = [s for s in last if self.bound.concerns(claim, s.action)]
        return any(not self.bound.holds_on(claim, states[-2], s) for s in concerned)

    def states_of(self, trace: TlcTrace) -> list[Any]:
        """The states of TLC's counterexample."""
        kinds = dict(self.bound.type.fields)
        return [
            self.bound.model.state(
                **{name: read_value(state[v], kinds[name]) for name, v in self.exported.variables.items()}
            )
            for state in trace.states
        ]

    def executed(self, states: list[Any]) -> list[Step]:
        """Executes a run in plain Python; the steps that lead to its last state. Raises `Refusal`."""
        if not states:
            raise Refusal("TLC printed no counterexample")
        if not any(states[0] == s for _, _, s in self.bound.initial_states()):
            raise Refusal("its first state is not an initial state in Python")
        last: list[Step] = []
        for number, (before, after) in enumerate(pairwise(states), 1):
            last = self.between(before, after)
            if not last:
                raise Refusal(f"Python has no step from its state {number} to the next")
        return last

    def between(self, before: Any, after: Any) -> list[Step]:
        """The steps from one state to another."""
        return [s for s in self.bound.steps(before) if s.after == after]

    # -- whole runs -------------------------------------------------------------------------------------------

    def temporal(self, answers: list[PropertyResult], progress: Progress) -> None:
        """Properties about whole runs: those that hold in one run of TLC, unless one does not hold there."""
        holding = [a.name for a in answers if a.status is not PropertyStatus.VIOLATED]
        vacuous = [a.name for a in answers if a.status is PropertyStatus.VACUOUS]
        if len(holding) > 1:
            progress.proof(f"TLC: {', '.join(holding)}")
            if self.lasting(holding).complete:
                self.opinion.rows += [ComparedAnswer(name, "holds", "holds") for name in holding]
                answers = [a for a in answers if a.name not in holding]
        for answer in answers:
            progress.proof(f"TLC: {answer.name}")
            self.about_runs(answer.name, "holds" if answer.name in holding else "violated")
        agreed = {row.about for row in self.opinion.rows if row.same}
        self.opinion.no_run = [name for name in vacuous if name in agreed]

    def lasting(self, names: list[str]) -> TlcRun:
        """A run of TLC that checks properties about whole runs."""
        lines = [f"PROPERTY {self.exported.names[name]}" for name in names]
        once = evaluated_once(self.exported.text)
        if once:
            lines.insert(0, "CONSTANT Becomes <- BecomesOnce")
        return self.run(f"{HARNESS}Trace", self._extending(once), lines, "-deadlock")

    def about_runs(self, name: str, ours: str) -> None:
        """A property about whole runs; TLC's lasso is executed, and must be fair and violate it."""
        run = self.lasting([name])
        if not run.finished:
            self.opinion.undecided.append(name)
        elif run.traces:
            self.opinion.rows.append(ComparedAnswer(name, ours, self._lasso(run.first, self.claims[name])))
        elif run.complete:
            self.opinion.rows.append(ComparedAnswer(name, ours, "holds"))
        else:
            self.opinion.reason = f"TLC stopped: {run.error}"

    def _lasso(self, trace: TlcTrace, claim: Property) -> str:
        try:
            states = self.states_of(trace)
            self.executed(states)
        except (Unreadable, Refusal) as error:
            return f"violated, but {error}"
        loop = len(states) - 1 if trace.loop is None else trace.loop
        assumptions = assumptions_of(self.bound.model)
        if states[-1] != states[loop] and not self.between(states[-1], states[loop]):
            return "violated, but Python has no step that closes its loop"
        if not all(f.fair for f in fates(self.bound, states[loop:], assumptions)):
            return "violated, but its loop is not fair in Python"
        if not violated_by(self.bound, claim, states, loop):
            return "violated, but not in Python"
        self.opinion.traces += 1
        return "violated"


def evaluated_once(module: str) -> str:
    """`Becomes` of a module, its argument being the member of a set: within `ENABLED`, TLC evaluates an argument again
    for each variable, but a member of a set once. "" where there is none.
    """
    found = re.search(r"^Becomes\((\w+)\) ==\n((?:    .*\n)+)", module, re.MULTILINE)
    if found is None:
        return ""
    state = found[1]
    body = [re.sub(rf"= {state}\.", f"= {state}_once.", f"    {line}") for line in found[2].splitlines()]
    return "\n".join([f"BecomesOnce({state}) ==", f"    \\E {state}_once \\in {{{state}}} :", *body, ""])


class Refusal(Exception):
    """Plain Python does not execute TLC's run."""


def opinion_lines(opinion: Opinion) -> Iterator[str]:
    """The opinion in words, a line each."""
    for row in opinion.differences:
        yield f"  {row.about}: ours {row.ours}, TLC's {row.theirs}"
    if opinion.no_run:
        yield f"for TLC too no run violates {', '.join(opinion.no_run)}: it holds there, and is vacuous here"
    if opinion.undecided:
        yield f"TLC did not finish in time: {', '.join(opinion.undecided)}"
    if opinion.reason:
        yield f"no second opinion: {opinion.reason}"
    elif opinion.differences:
        yield f"TLC disagrees about {len(opinion.differences)} of {len(opinion.rows)} answers"
    else:
        runs = f", {opinion.traces} of TLC's counterexamples executed in plain Python" if opinion.traces else ""
        yield f"TLC agrees: {len(opinion.rows)} answers the same{runs}; its search took {opinion.seconds:.1f} s"
