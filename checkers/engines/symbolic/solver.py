"""Z3 as the provers use it: solvers with a seed and a time limit, and answers that are yes or no; cvc5 beside it.

An answer that Z3 does not give is an exception, never a value: `unknown` cannot be taken for either.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import z3

from reassure.checkers.machine import polled_interrupts
from reassure.checkers.machine.memory import MEBIBYTE, MemoryLimit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, NO_MEMORY, Interrupted, Stop, StopReason, budget_ended


def prepare_z3(seed: int) -> None:
    """Sets the random seed of every solver made from now on, and limits Z3 to the memory that is free.

    They are settings of the process, not of one solver.
    """
    z3.set_param("memory_max_size", max(1, MemoryLimit.of(None).bytes // MEBIBYTE))
    for name in ("sat.random_seed", "smt.random_seed"):
        z3.set_param(name, seed)


def context_of_any_thread() -> z3.Context:
    """A context of its own in which any thread may drop terms and solvers; see `droppable`."""
    return droppable(z3.Context())


def droppable(context: z3.Context) -> z3.Context:
    """The context, in which from now on any thread may drop terms and solvers while another works in it.

    Python collects garbage in the thread that happens to allocate: the one that looks for Ctrl-C or draws the progress,
    while Z3 builds terms in the main one. Z3 counts references without a lock unless it is told to.
    """
    z3.Z3_enable_concurrent_dec_ref(context.ref())
    return context


droppable(z3.main_ctx())


def finite_domain_solver() -> z3.Solver:
    """A solver for bools and bit-vectors that keeps what it has learned between queries."""
    return z3.SolverFor("QF_FD")


def satisfiable(solver: z3.Solver, *assumptions: z3.BoolRef, seconds: float | None = None) -> bool:
    """Whether what a solver holds and the assumptions have a model.

    seconds: the time that it may take. Raises `Interrupted` if Z3 gives no answer.
    """
    if seconds is not None:
        solver.set(timeout=milliseconds(seconds))
    answer = checked(solver, *assumptions)
    if answer == z3.unknown:
        raise query_interrupted(solver.reason_unknown())
    return bool(answer == z3.sat)


EFFORT_USED = "Z3 used up the effort for a goal"


class Unanswered(Exception):
    """A query that Z3 does not answer, while others may be."""


def answered(solver: z3.Solver, *assumptions: z3.BoolRef, seconds: Callable[[], float | None], effort: int) -> bool:
    """As `satisfiable`, but `Unanswered` where Z3 needs more than an effort, or does not know.

    seconds: that are left; effort: in Z3's units of work. `Interrupted` where time or memory is up.
    """
    if (left := seconds()) is not None:
        solver.set(timeout=milliseconds(left))
    end = spent(solver) + effort
    solver.set("rlimit", max(1, effort))
    answer = checked(solver, *assumptions)
    solver.set("rlimit", 0)
    if answer == z3.unknown:
        why, left = query_interrupted(solver.reason_unknown()), seconds()
        if why.stop.reason is not StopReason.SOLVER or (left is not None and left <= 0):
            raise why
        raise Unanswered(EFFORT_USED if spent(solver) >= end else why.stop.text)
    return bool(answer == z3.sat)


def spent(solver: z3.Solver) -> int:
    """Z3's units of work so far, in the solver's context."""
    return int(solver.statistics().get_key_value("rlimit count"))


def checked(solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
    """The answer of a solver, which Ctrl-C can end within `interruptible`; it then raises `Interrupted`."""
    # not by `check`, whose conversions take longer than Z3 where there are thousands of assumptions
    given = (z3.Ast * len(assumptions))(*(a.as_ast() for a in assumptions))
    with query(solver.ctx):
        return z3.CheckSatResult(z3.Z3_solver_check_assumptions(solver.ctx.ref(), solver.solver, len(given), given))


@contextlib.contextmanager
def query(context: z3.Context) -> Iterator[None]:
    """The block in which Z3 is asked. Raises `Interrupted` before it, and after, if Ctrl-C has ended it."""
    polled_interrupts.look()
    _contexts.append(context)
    try:
        yield
    finally:
        _contexts.pop()
    polled_interrupts.look()


_contexts: list[z3.Context] = []
"""The context in which Z3 works."""


def _cancel() -> None:
    for context in _contexts[:]:
        with contextlib.suppress(z3.Z3Exception):  # of the other thread
            context.interrupt()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """The block in which Ctrl-C ends a query of Z3, and otherwise takes effect where the clock is looked at.

    Raises `Interrupted` when that, or an error of Z3, has ended the work.
    """
    with polled_interrupts.polled_interrupts(_cancel):
        try:
            yield
        except z3.Z3Exception as error:
            polled_interrupts.look()
            raise Interrupted(StopReason.SOLVER, f"Z3: {error}") from None


def milliseconds(seconds: float) -> int:
    """A time limit as Z3 takes it, not shorter: what it cuts short has used up a budget of so many seconds."""
    return max(1, math.ceil(1000 * seconds))


def query_interrupted(reason: str) -> Interrupted:
    """The exception for a query without an answer. Outside of `interruptible`, Z3 catches Ctrl-C itself."""
    if "keyboard" in reason or polled_interrupts.interrupted():
        return Interrupted(BY_USER.reason, BY_USER.text)
    if "memory" in reason:
        return Interrupted(NO_MEMORY.reason, f"Z3: {NO_MEMORY.text}")
    return Interrupted(StopReason.SOLVER, f"Z3 gave no answer: {reason}")


class ProofClock:
    """The time of a proof. budget: in seconds; None for no limit."""

    def __init__(self, budget: float | None, progress: Progress) -> None:
        self.began, self.budget, self.progress = time.monotonic(), budget, progress

    def seconds_left(self) -> float | None:
        return None if self.budget is None else self.budget - (time.monotonic() - self.began)

    def say(self, what: str) -> None:
        """Reports progress; raises `Interrupted` when the budget is over."""
        self.progress.proof(what)
        self.look()

    def begin(self, what: str) -> None:
        """As `say`, of work that may take long: told at once, since the progress before it would stand there."""
        self.progress.ready(what)
        self.look()

    def look(self) -> None:
        """Raises `Interrupted` when the budget is over, or Ctrl-C has ended the work."""
        polled_interrupts.look()
        if ended := self._ended():
            raise ended

    def cause(self, stop: Stop | None) -> Stop | None:
        """What has ended the work: the budget if it is used up, whatever Z3 calls that."""
        ended = self._ended()
        return ended.stop if ended is not None and stop not in (None, BY_USER) else stop

    def _ended(self) -> Interrupted | None:
        if self.budget is None or time.monotonic() - self.began < self.budget:
            return None
        return budget_ended(self.budget)


def constants(formula: z3.ExprRef) -> list[z3.ExprRef]:
    """The uninterpreted constants of a formula, each once."""
    seen, leaves, todo = set(), [], [formula]
    while todo:
        e = todo.pop()
        if e.get_id() in seen:
            continue
        seen.add(e.get_id())
        if z3.is_const(e) and e.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            leaves.append(e)
        todo += e.children()
    return leaves


Settles = Callable[[str, float | None], bool]
"""Whether a solver finds that a script has no model, in so many seconds; None for no limit."""


def cvc5_settles(logic: str) -> Settles | None:
    """Scripts of an SMT-LIB logic asked of cvc5; None if it is not installed.

    What it returns raises `Interrupted` where cvc5 gives no answer.
    """
    try:
        import cvc5
    except ImportError:
        return None

    def settles(text: str, seconds: float | None) -> bool:
        solver: Any = cvc5.Solver()
        if seconds is not None:
            solver.setOption("tlimit-per", str(milliseconds(seconds)))
        parser: Any = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic {logic})\n{text}", "obligation")
        symbols, answer = parser.getSymbolManager(), ""
        while not (command := parser.nextCommand()).isNull():
            answer = str(command.invoke(solver, symbols)).strip() or answer
        if answer not in ("sat", "unsat"):
            raise Interrupted(StopReason.SOLVER, f"cvc5 gave no answer: {answer}")
        return answer == "unsat"

    return settles
