"""The renamings of a model's ids as machine code: representatives of states, and how many states a class has.

Where nothing in a state relates two ids, their columns are sorted (`emit_columns.py`); else `kernels/canonical.py` has
the representative, by a plan that is written here.

Also here: from a path of representatives to a run of the model, found step by step in plain Python.

A search that visits one state of each class has paths of representatives: each has a successor in the class of the
next. The model takes a step into that class from every state of the class, so that a run is found by going forward. If
the order of ids was forgotten, the model may have no such run.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import Layout, packed_fields
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels import canonical as kernel
from reassure.checkers.engines.native.kernels.kernel_shape import LEVEL, Rows
from reassure.checkers.engines.native.kernels.orbit import orbit
from reassure.checkers.engines.native.levels import slices
from reassure.checkers.engines.native.model.kernel_numbers import Flag
from reassure.checkers.engines.native.symmetry.cells import Sort
from reassure.checkers.engines.native.symmetry.emit_columns import column_functions, columns_of
from reassure.checkers.engines.native.symmetry.entries import FieldEntry, entries_of
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.engines.native.translator.native_function import ModelFunction, native, text_of
from reassure.checkers.engines.native.translator.word_rows import WordRows, zeros
from reassure.checkers.traces.reconstruct import Disagreement, Raised, note_in, raised_in, replayed_trace
from reassure.spec.language.types import Type
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import Clipped, FailedCall, Step
from reassure.spec.semantics.trace import Trace

FURTHER_ROUNDS = 2
"""Rounds in which the colours of ids are told by those of others, where a state holds relations between ids."""
MOST_NAMES = 40_320
"""Renamings, at most, under which a state is listed: those of 8 ids."""
AT_A_TIME = 1 << 14
"""States whose classes are counted at a time."""


class Renamings:
    """The renamings of a model's ids, and the representatives of its states."""

    def __init__(self, sorts: Sequence[Sort], layout: Layout, columns: bool = True) -> None:
        """columns: sort columns where that suffices; representatives are others without, and classes the same."""
        self.sorts, self.layout = tuple(sorts), layout
        first: dict[Type, int] = {}
        count = 0
        for sort in sorts:
            first[sort.type] = count
            count += sort.type.count
        self.first, self.ids = first, count
        unordered = [sort.type for sort in sorts if sort.lists_forgotten]
        self.entries = entries_of(layout.type, first, unordered)
        self.functions = (self._of_columns() if columns else "") or self._of_plan()
        """LLVM IR: `representatives(rows, low, high, row words)` puts representatives in the place of the states that
        rows begin with; `stabilisers(rows, count, same)` writes how many renamings leave each as it is."""
        names = ("representatives", "stabilisers")
        addresses = llvm.compiled_functions(llvm.code_key(self.functions), lambda: self.functions, names, LEVEL)
        self._representatives = ModelFunction(addresses["representatives"], "wiii")
        self._stabilisers = ModelFunction(addresses["stabilisers"], "wiw")

    @property
    def order(self) -> int:
        """The number of renamings."""
        return prod(sort.order for sort in self.sorts)

    def representatives(self, states: Rows) -> Rows:
        """The representative of each row's class."""
        rows = np.array(states, np.int64, order="C")
        self._representatives(rows, 0, len(rows), self.layout.words)
        return rows

    def representative(self, row: tuple[int, ...]) -> tuple[int, ...]:
        """The representative of a state, both as unsigned words."""
        rows = self.representatives(np.array([row], np.uint64).view(np.int64))
        return tuple(int(word) for word in rows.view(np.uint64)[0])

    def class_of(self, row: tuple[int, ...], most: int = MOST_NAMES) -> list[tuple[int, ...]] | None:
        """The states of the class of a state, all in signed words. None: lists have no order, or there are more
        renamings than `most`."""
        if self.order > most or any(sort.lists_forgotten for sort in self.sorts):
            return None
        cells = [[self.first[sort.type] + one for one in cell] for sort in self.sorts for cell in sort.cells]
        groups = [number for cell in cells if len(cell) > 1 for number in (len(cell), *sorted(cell))]
        slots = max((e.count for e in self.entries if e.kind == kernel.SLOTS), default=0)
        states = WordRows.zeros(self.order, self.layout.words)
        plan, names, ids = array("q", self.plan()), array("q", range(self.ids)), array("q", [*groups, 0])
        native(orbit)(
            self.layout.words,
            memoryview(plan),
            memoryview(array("q", row)),
            memoryview(names),
            memoryview(ids),
            states.memory,
            zeros(slots + 1),
        )
        return sorted(set(map(tuple, np.asarray(states).tolist())))

    def states_of(
        self, representatives: Iterable[Rows], threads: int = 1, look: Callable[[], None] = lambda: None
    ) -> int:
        """The number of states of the classes that these representatives stand for.

        look: called now and then; raises to end the work.
        """
        pieces = (part[low:high] for part, low, high in slices(representatives, AT_A_TIME))
        total = 0
        with ThreadPoolExecutor(threads) as pool:
            while some := list(islice(pieces, threads)):
                total += sum(pool.map(self._states_of, some))
                look()
        return total

    def _states_of(self, representatives: Rows) -> int:
        values, counts = np.unique(self.sizes_of(representatives), return_counts=True)
        return sum(int(n) * int(size) for size, n in zip(values, counts, strict=True))

    def sizes_of(self, representatives: Rows) -> Rows:
        """The number of states of the class of each representative."""
        rows = np.array(representatives, np.int64, order="C")
        same = np.zeros(len(rows), np.int64)
        self._stabilisers(rows, len(rows), same)
        return self.order // same

    # -- by columns ---------------------------------------------------------------------------------

    def _of_columns(self) -> str:
        """The functions that sort columns; "" if that does not suffice."""
        columns = []
        for sort in self.sorts:
            of_sort = columns_of(self.first[sort.type], sort.cells, self.entries)
            if of_sort is None:
                return ""
            columns.append(of_sort)
        words = self.layout.words
        return f"""declare i64 @llvm.cttz.i64(i64, i1)
{column_functions(columns, self.layout.fields, words)}
define i64 @representatives(ptr %rows, i64 %low, i64 %high, i64 %row_words) nounwind {{
entry:
  %any = icmp slt i64 %low, %high
  br i1 %any, label %next, label %end
next:
  %i = phi i64 [ %low, %entry ], [ %following, %next ]
  %at = mul i64 %i, %row_words
  %row = getelementptr i64, ptr %rows, i64 %at
  %done = call i64 @representative(ptr %row)
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %high
  br i1 %more, label %next, label %end
end:
  ret i64 0
}}
define i64 @stabilisers(ptr %rows, i64 %count, ptr %same) nounwind {{
entry:
  %any = icmp slt i64 0, %count
  br i1 %any, label %next, label %end
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %at = mul i64 %i, {words}
  %row = getelementptr i64, ptr %rows, i64 %at
  %number = call i64 @stabiliser(ptr %row)
  %place = getelementptr i64, ptr %same, i64 %i
  store i64 %number, ptr %place, align 8
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %end
end:
  ret i64 0
}}
"""

    # -- by a plan ----------------------------------------------------------------------------------

    def _of_plan(self) -> str:
        """The functions that call those of `kernels/canonical.py` with the plan."""
        plan, words = self.plan(), self.layout.words
        slots = max((e.count for e in self.entries if e.kind == kernel.SLOTS), default=0)
        scratch = kernel.scratch_words(words, self.ids, slots)
        numbers = ", ".join(f"i64 {word}" for word in plan)
        return f"""{text_of(kernel, words)}
@plan = internal constant [{len(plan)} x i64] [{numbers}]
define i64 @representatives(ptr %rows, i64 %low, i64 %high, i64 %row_words) nounwind {{
  %scratch = alloca i64, i64 {scratch}, align 8
  call void @canonical_rows(ptr @plan, ptr %rows, i64 %low, i64 %high, i64 %row_words, ptr %scratch)
  ret i64 0
}}
define i64 @stabilisers(ptr %rows, i64 %count, ptr %same) nounwind {{
  %scratch = alloca i64, i64 {scratch}, align 8
  call void @canonical_stabilisers(ptr @plan, ptr %rows, i64 %count, ptr %same, ptr %scratch)
  ret i64 0
}}
"""

    def plan(self) -> list[int]:
        """The plan, as `kernels/canonical.py` describes it."""
        cells = [[self.first[sort.type] + one for one in cell] for sort in self.sorts for cell in sort.cells]
        places = [number for field in self.layout.fields for number in (field.word, field.shift)]
        entries: list[tuple[FieldEntry, int, int]] = []
        """Each with the place that its fields are counted from, and the number of its record's first entry."""
        records: list[tuple[FieldEntry, int, int]] = []
        for entry in self.entries:
            base, inner = len(places) // 2, len(self.entries) + len(records)
            if entry.record_type is not None:
                places += [number for _, below in packed_fields(entry.record_type) for number in (0, below)]
                records += [(one, base, 0) for one in entry.record]
            entries.append((entry, 0, inner))
        related = max((e.members for e in self.entries), default=0) > 1
        rounds = 1 + (FURTHER_ROUNDS if related else 0)
        cell_words = [number for cell in cells for number in (len(cell), *cell)]
        cells_at = kernel.PLACES + 1
        entries_at = cells_at + len(cell_words)
        keys_at = entries_at + kernel.ENTRY * (len(entries) + len(records))
        keys: list[int] = []
        entry_words: list[int] = []
        for entry, base, inner in [*entries, *records]:
            slots = entry.kind == kernel.SLOTS
            entry_words += [
                entry.kind, base + entry.field, entry.shape, len(entry.record) if slots else entry.sort,
                (1 << entry.code.bits) - 1, entries_at + kernel.ENTRY * inner if slots else entry.item, entry.count,
                keys_at + len(keys), len(entry.keys), base + entry.flag if entry.flag >= 0 else -1,
            ]  # fmt: skip
            keys += [number for key in entry.keys for number in key]
        header = [self.ids, rounds, len(cells), cells_at, len(entries), entries_at, keys_at + len(keys)]
        return [*header, *cell_words, *entry_words, *keys, *places]


MOST = 2_000
"""States of one class that are followed at a time, where the order of ids was forgotten."""

Row = tuple[int, ...]
Ends = Callable[[Any], "tuple[Step | None] | None"]
"""From the last state of a run to the step with which it ends (none: in the state); None if it does not show it."""


class NoRun(Exception):
    """The model has no run along a path of representatives."""


class ClassPaths(Paths):
    """Runs of a model along paths of representatives."""

    def __init__(self, paths: Paths, renamings: Renamings, exact: bool) -> None:
        """exact: the model has a run along every path; without one, `Disagreement` is raised, else `NoRun`."""
        super().__init__(paths.bound, paths.layout, paths.find)
        self.renamings, self.exact = renamings, exact
        self._found: dict[tuple[Flag, int], Trace] = {}

    def shown(self, prop: Property | None, flag: Flag, level: int) -> Trace:
        """A shortest run to a hit of a claim (none: a deadlock), on this level."""
        if (flag, level) not in self._found:
            self._found[flag, level] = self._shown(prop, flag, level)
        return self._found[flag, level]

    def _shown(self, prop: Property | None, flag: Flag, level: int) -> Trace:
        def ends(state: Any) -> tuple[Step | None] | None:
            if prop is None or not prop.over_steps:
                return (None,) if self.shows(prop, state) else None
            for step in self.bound.attempts(state):
                if not isinstance(step, FailedCall) and self._shows_on(prop, state, step):
                    return (step,)
            return None

        return self._run(level, self.first_hit(level, flag), ends)

    def raising_in(self, level: int, state: Any, wants: Callable[[str], bool]) -> tuple[Trace, Raised]:
        """A shortest run to a state of this class in which the model raises, and what raises there."""
        found: list[Raised] = []

        def ends(one: Any) -> tuple[Step | None] | None:
            found[:] = [raised_in(self.bound, one, wants)]
            return (found[0].step,)

        trace = self._run(level, state, ends)
        note_in(trace, found[0])
        return trace, found[0]

    def _run(self, level: int, last: Any, ends: Ends) -> Trace:
        classes = [last]
        for k in range(level - 1, 0, -1):
            classes.insert(0, self._before(k, classes[0]))
        run = self._follow([self.layout.encode(state) for state in classes], ends)
        if run is None and self.exact:
            raise Disagreement(f"plain Python has no run to a state that is {last} but for the names of ids")
        if run is None:
            raise NoRun
        return replayed_trace(self.bound, *run)

    def _class_of(self, state: Any) -> Row:
        return self.renamings.representative(self.layout.encode(state))

    def _follow(self, classes: list[Row], ends: Ends) -> tuple[list[Any], list[Step]] | None:
        """A run through these classes: its states and steps. From one state of a class on, where any would do."""
        most = 1 if self.exact else MOST
        came: list[dict[Any, tuple[Any, Step] | None]] = [{}]
        for _, _, state in self.bound.initial_states():
            if len(came[0]) < most and not isinstance(state, Clipped) and self._class_of(state) == classes[0]:
                came[0][state] = None
        for row in classes[1:]:
            came.append({})
            for state in came[-2]:
                for step in self.bound.attempts(state):
                    if len(came[-1]) >= most:
                        break
                    if isinstance(step, FailedCall) or isinstance(step.after, Clipped) or step.after in came[-1]:
                        continue
                    if self._class_of(step.after) == row:
                        came[-1][step.after] = (state, step)
        for state in came[-1]:
            end = ends(state)
            if end is not None:
                return self._back(came, state, end[0])
        return None

    def _back(
        self, came: list[dict[Any, tuple[Any, Step] | None]], state: Any, last: Step | None
    ) -> tuple[list[Any], list[Step]]:
        states, steps = [state], list[Step]()
        for level in reversed(came):
            before = level[states[0]]
            if before is not None:
                states.insert(0, before[0])
                steps.insert(0, before[1])
        if last is not None:
            states.append(last.after)
            steps.append(last)
        return states, steps
