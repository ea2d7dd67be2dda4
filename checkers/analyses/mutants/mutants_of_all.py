"""The mutants of every model that comes with the project, judged as `mutants.toml` says, and recorded."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rich.text import Text

from reassure.checkers.analyses.mutants.analysis import Fate, Judged
from reassure.checkers.analyses.mutants.mutant_run import MutantReport, MutantRequest, judge_mutants
from reassure.checkers.analyses.mutants.mutant_search import MutantLimits
from reassure.checkers.analyses.mutants.mutants import Mutant
from reassure.checkers.analyses.mutants.record import (
    PATHS,
    ModelRecord,
    MutantPaths,
    MutantPlan,
    Plans,
    Survivor,
    is_stale,
    read_plans,
    read_records,
    write_records,
)
from reassure.checkers.analyses.mutants.report import change_of, told_by
from reassure.checkers.machine.exit_codes import Exit, Failure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.digest import digest
from reassure.checkers.request.model_loader import load_model

TIMEOUT = 300.0
"""Seconds of one mutant's search. The limit of states comes first, so that no record depends on the machine."""
LISTED = (Fate.SURVIVED, Fate.CLIPPED, Fate.UNDECIDED)
"""The fates of the mutants that a record lists one by one."""


@dataclass
class MutantsOfAll:
    """One run of `reassure mutants --all`."""

    processes: int
    memory: int | None
    budget: float | None
    progress: Progress
    console: Console
    paths: MutantPaths = PATHS

    def run(self, model: str | None, write: bool) -> Exit:
        """Judges one model, or every one (written: those whose record is stale). The exit code.

        0: each was judged, and for each unexercised property a reason is stated; 15: a reason is missing.
        """
        plans, records = read_plans(self.paths.plan), read_records(self.paths.record)
        if model is not None and model not in plans.plans:
            raise Failure(
                Exit.USAGE, f"mutants.toml is about models that come with the project; {model} is none of them"
            )
        chosen = list(plans.plans) if model is None else [model]
        if write:
            records = {name: r for name, r in records.items() if name in plans.plans}
            chosen = [name for name in chosen if is_stale(plans, name, records)]
            if not chosen:
                self.console.print("nothing is stale")
        began, codes = time.monotonic(), [Exit.OK]
        for name in chosen:
            left = None if self.budget is None else self.budget - (time.monotonic() - began)
            if left is not None and left <= 0:
                self.console.print(f"{name} and what follows were not judged: the budget of {self.budget:g} s ended")
                codes.append(Exit.INCONCLUSIVE)
                break
            code, record = self._one(plans, records, plans.plans[name], left)
            codes.append(code)
            if isinstance(record, Stop):
                return record.exit_of_several(codes)
            if write:
                records[name] = record
                write_records(records, self.paths.record)
        return worst(codes)

    def _one(
        self, plans: Plans, records: dict[str, ModelRecord], plan: MutantPlan, left: float | None
    ) -> tuple[Exit, ModelRecord | Stop]:
        """Judges one model; the reason why it was ended early in place of a record, if it was."""
        began = time.monotonic()
        limits = MutantLimits(TIMEOUT, None, self.memory)
        excused = plans.excused(plan.model, records)
        request = MutantRequest(
            plan.model, plan.set, (), limits, plan.most, plan.seed, self.processes, plan.further, excused, plan.wider
        )
        report = judge_mutants(request, left, self.progress)
        self.progress.done()
        counts = ", ".join(f"{n:,} {fate}" for fate, n in report.counts.items())
        seconds = time.monotonic() - began
        head = f"{plan.model}: {report.extent}: {counts or 'none was judged'} ({seconds:.0f} s)"
        self.console.print(head, style="bold")
        if report.early:
            self.console.print(f"  this is incomplete: stopped because {report.early.text}", style="yellow")
            return Exit.INCONCLUSIVE, report.early
        code = Exit.OK
        for name in report.unexercised:
            reason = plans.reason(plan.model, name, records)
            line = Text(f"  unexercised: {name}: {reason or 'no reason is stated in mutants.toml'}")
            self.console.print(line, style="" if reason else "bold red")
            code = code if reason else Exit.EXPECTATION
        return code, record_of(report, plan)


def record_of(report: MutantReport, plan: MutantPlan) -> ModelRecord:
    """The part of a report that is kept."""
    noticed = report.noticed
    return ModelRecord(
        sha256=digest(load_model(plan.model)),
        set=list(plan.set),
        seed=plan.seed,
        mutants=len(report.mutants),
        judged=len(report.chosen),
        counts={str(fate): n for fate, n in report.counts.items()},
        kills={n.name: n.kills for n in noticed},
        violated=[n.name for n in noticed if n.violated],
        unexercised=report.unexercised,
        survivors=[_listed(m, j, j.note) for m, j in report.judged if j.fate in LISTED],
        equivalent=[
            _listed(m, j.told_by[1] if j.told_by else j, told_by(j, report.wider))
            for m, j in report.judged
            if j.fate is Fate.EQUIVALENT and report.wider
        ],
        wider=list(map(list, plan.wider)),
    )


def _listed(mutant: Mutant, judged: Judged, note: str) -> Survivor:
    return Survivor(mutant.place, mutant.where, mutant.kind, change_of(mutant), str(judged.fate), note)
