"""A second opinion: TLC searches the exported module, and its answers are compared with those of our engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult, PropertyResult, PropertyStatus
from reassure.checkers.base.temporary_folders import temporary_folder
from reassure.checkers.tla.module import TlaModule, cfg_head, export
from reassure.checkers.tla.tlc import CONSTANT_FALSE, TlcInstallation, TlcRun, run_tlc
from reassure.checkers.tla.tlc_values import Unreadable, read_value
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
    reason: str = ""
    undecided: list[str] = field(default_factory=list)
    """Properties of which TLC did not finish a run of their own in time."""

    @property
    def differences(self) -> list[ComparedAnswer]:
        return [row for row in self.rows if not row.same]

    def exit(self) -> Exit:
        """The exit code of the comparison alone."""
        if self.differences:
            return Exit.DISAGREE
        return Exit.INCONCLUSIVE if self.reason or self.undecided else Exit.OK

    def record(self) -> dict[str, Any]:
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
    """TLC's opinion of a search that is over; the budget and the memory of the search are TLC's for each run too."""
    if not result.complete:
        return Opinion(reason=f"our own search is not complete: {result.stopped_because}")
    exported = export(bound)
    with temporary_folder("tla") as folder:
        asked = Asked(result, bound, options, tlc, exported, folder)
        return asked.compare(progress)


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
        (folder / f"{exported.name}.tla").write_text(exported.text, encoding="utf-8")

    def run(self, module: str, text: str, lines: list[str], deadlocks: bool = False) -> TlcRun:
        """One run: of a module that extends the model's, and the lines of its configuration."""
        (self.folder / f"{module}.tla").write_text(text, encoding="utf-8")
        head = cfg_head(self.exported.constants, "\n    None\n" in self.exported.text)
        if deadlocks:
            head = head[:-1]
        (self.folder / f"{module}.cfg").write_text("\n".join([*head, *lines, ""]), encoding="utf-8")
        return run_tlc(self.tlc, self.folder, module, self.options.budget, self.options.memory, deadlocks)

    # -- the search ------------------------------------------------------------------------------------

    def watched(self) -> list[str]:
        """Properties and covers that one search decides, of those that were asked for."""
        asked = [a.name for a in self.result.answers if a.name in self.exported.names]
        return [name for name in asked if name not in self.exported.temporal and name != "deadlock"]

    def harness(self) -> str:
        """The module that notes at which level TLC sees what first."""
        on_state, on_step = [f'Seen(1, "{FIRST_STATE}", TRUE)'], [f'Seen(2, "{FIRST_STEP}", TRUE)']
        for number, name in enumerate(self.watched(), 3):
            definition = self.exported.names[name]
            cover = name in self.claims and self.claims[name].kind == "cover"
            line = f'Seen({number}, "{name}", {"" if cover else "~"}{definition})'
            (on_step if name in self.exported.steps else on_state).append(line)
        count = len(on_state) + len(on_step)
        lines = [
            f"---- MODULE {HARNESS} ----",
            f"EXTENDS {self.exported.name}, TLC",
            rf"ASSUME \A slot \in 1..{count} : TLCSet(slot, 0)",
            "Seen(slot, name, hit) == IF TLCGet(slot) = 0 /\\ hit"
            ' THEN TLCSet(slot, 1) /\\ PrintT(<<"reassure", name, TLCGet("level")>>) ELSE TRUE',
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
        run = self.run(HARNESS, self.harness(), ["INVARIANTS OnState TypeOK", "ACTION_CONSTRAINT OnStep"])
        opinion.seconds = run.seconds
        if not run.finished:
            opinion.reason = f"TLC did not finish in {self.options.budget:g} s"
            return opinion
        if not run.complete:
            opinion.reason = f"TLC stopped: {run.error or run.violated}"
            return opinion
        stats = self.result.stats
        opinion.rows += [
            ComparedAnswer("distinct states", f"{stats.distinct:,}", f"{run.distinct:,}"),
            ComparedAnswer("generated states", f"{stats.generated - stats.clipped:,}", f"{run.generated:,}"),
            ComparedAnswer("depth", str(stats.depth), str(run.depth)),
        ]
        for name in self.watched():
            opinion.rows.append(ComparedAnswer(name, self.ours(name), self.level(run, name)))
        for answer in self.result.properties:
            if answer.name in self.exported.temporal and answer.status in DECIDED:
                progress.proof(f"TLC: {answer.name}")
                self.temporal(answer.name, answer.status is PropertyStatus.VIOLATED)
            elif answer.name == "deadlock" and answer.status in DECIDED:
                progress.proof("TLC: deadlock")
                self.deadlock(answer)
            elif answer.status is PropertyStatus.VIOLATED and answer.name in self.exported.names:
                progress.proof(f"TLC: {answer.name}")
                self.trace(answer.name, answer.depth or 0)
            if opinion.reason:
                break
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

    def trace(self, name: str, depth: int) -> None:
        """TLC's own counterexample, executed by plain Python: as long as ours, and a violation."""
        definition = self.exported.names[name]
        formula = self.exported.formulas.get(name)
        lines = [f"PROPERTY {formula}"] if formula else [f"INVARIANT {definition}"]
        run = self.run(f"{HARNESS}Trace", self._extending(), lines)
        about = f"{name}, TLC's run"
        if not run.finished:
            self.opinion.undecided.append(name)
            return
        if run.complete and name in self.exported.steps:
            self.opinion.rows.append(self._changes_nothing(about, name))
            return
        if run.violated == CONSTANT_FALSE:  # TLC does not search: every initial state is a counterexample
            self.opinion.rows.append(ComparedAnswer(about, f"{depth} states", "1 states"))
            return
        self.opinion.rows.append(self._replayed(about, f"{depth} states, executed", run, name))

    def deadlock(self, answer: PropertyResult) -> None:
        """TLC's own search for a deadlock: it ends at the first."""
        bounds = ["CONSTRAINT InBounds"] if "\nInBounds ==" in self.exported.text else []
        run = self.run(f"{HARNESS}Trace", self._extending(), ["INIT Init", "NEXT StepOrEnd", *bounds], deadlocks=True)
        if not run.finished:
            self.opinion.undecided.append("deadlock")
        elif run.complete:
            self.opinion.rows.append(ComparedAnswer("deadlock", self.ours("deadlock"), "holds"))
        elif run.violated == "deadlock":
            row = ComparedAnswer("deadlock", self.ours("deadlock"), f"violated: {len(run.states)} states")
            self.opinion.rows.append(row)
            about, expected = "deadlock, TLC's run", f"{answer.depth} states, executed"
            self.opinion.rows.append(self._replayed(about, expected, run, "deadlock"))
        else:
            self.opinion.reason = f"TLC stopped: {run.error}"

    def _extending(self) -> str:
        return f"---- MODULE {HARNESS}Trace ----\nEXTENDS {self.exported.name}\n====\n"

    def _changes_nothing(self, about: str, name: str) -> ComparedAnswer:
        """TLA+ says nothing of steps that change nothing: such must be the last step of our run."""
        ours = next(p for p in self.result.properties if p.name == name).trace
        still = ours is not None and len(ours) > 1 and ours.states[-1] == ours.states[-2]
        kept = "its last step changes nothing"
        return ComparedAnswer(about, kept if still else "its last step changes something", kept)

    def _replayed(self, about: str, expected: str, run: TlcRun, name: str) -> ComparedAnswer:
        try:
            states = self.states_of(run)
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

    def states_of(self, run: TlcRun) -> list[Any]:
        """The states of TLC's counterexample."""
        kinds = dict(self.bound.type.fields)
        return [
            self.bound.model.state(
                **{name: read_value(state[v], kinds[name]) for name, v in self.exported.variables.items()}
            )
            for state in run.states
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

    def temporal(self, name: str, violated: bool) -> None:
        """A property about whole runs; TLC's lasso is executed, and must be fair and violate it."""
        run = self.run(f"{HARNESS}Trace", self._extending(), [f"PROPERTY {self.exported.names[name]}"])
        ours = "violated" if violated else "holds"
        if not run.finished:
            self.opinion.undecided.append(name)
        elif run.violated:
            self.opinion.rows.append(ComparedAnswer(name, ours, self._lasso(run, self.claims[name])))
        elif run.complete:
            self.opinion.rows.append(ComparedAnswer(name, ours, "holds"))
        else:
            self.opinion.reason = f"TLC stopped: {run.error}"

    def _lasso(self, run: TlcRun, claim: Property) -> str:
        try:
            states = self.states_of(run)
            self.executed(states)
        except (Unreadable, Refusal) as error:
            return f"violated, but {error}"
        loop = len(states) - 1 if run.loop is None else run.loop
        assumptions = assumptions_of(self.bound.model)
        if states[-1] != states[loop] and not self.between(states[-1], states[loop]):
            return "violated, but Python has no step that closes its loop"
        if not all(f.fair for f in fates(self.bound, states[loop:], assumptions)):
            return "violated, but its loop is not fair in Python"
        if not violated_by(self.bound, claim, states, loop):
            return "violated, but not in Python"
        self.opinion.traces += 1
        return "violated"


class Refusal(Exception):
    """Plain Python does not execute TLC's run."""


def lines_of(opinion: Opinion) -> Iterator[str]:
    """The opinion in words, a line each."""
    for row in opinion.differences:
        yield f"  {row.about}: ours {row.ours}, TLC's {row.theirs}"
    if opinion.undecided:
        yield f"TLC did not finish in time: {', '.join(opinion.undecided)}"
    if opinion.reason:
        yield f"no second opinion: {opinion.reason}"
    elif opinion.differences:
        yield f"TLC disagrees about {len(opinion.differences)} of {len(opinion.rows)} answers"
    else:
        runs = f", {opinion.traces} of TLC's counterexamples executed in plain Python" if opinion.traces else ""
        yield f"TLC agrees: {len(opinion.rows)} answers the same{runs}; its search took {opinion.seconds:.1f} s"


__all__ = ["Opinion", "ask_tlc", "lines_of"]
