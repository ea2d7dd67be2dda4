"""Regions that need no graph: what forbids every loop of each bucket, and what does not; faults in it are noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import layout_of, state_layout
from reassure.checkers.engines.native.exploration import Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.excluded_buckets import MOST_BITS, SurveyArguments, bit_of
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel
from reassure.checkers.engines.native.kernels.region_edges import RegionArguments
from reassure.checkers.engines.native.liveness import decide
from reassure.checkers.engines.native.liveness.buckets import Ranking
from reassure.checkers.engines.native.liveness.decide import Liveness, Survey, needs_parameters
from reassure.checkers.engines.native.liveness.temporal_claims import Candidates
from reassure.checkers.engines.native.model.model_kernel import judge_of
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.machine.memory import OutOfMemory
from reassure.checkers.request.prepare import prepare
from reassure.spec.language.types import IntType, RecordType
from reassure.spec.semantics.liveness import assumptions_of
from tests.helpers.labelled_graph import Steps, graph_file, leads_to_text
from tests.helpers.runs import checked, everything

CIRCLE = ((0, 1), (1, 0))
OUT = ((0, 2), (1, 2))
CASES: dict[str, tuple[dict[str, Steps], bool, str]] = {
    # what: actions, from 0 to the goal 2 or 3; whether each bucket is excluded; the answer
    "the way out is always open": ({"turn": Steps(CIRCLE), "leave": Steps(OUT, "weak")}, True, "holds"),
    "strong fairness is weak too": ({"turn": Steps(CIRCLE), "leave": Steps(OUT, "strong")}, True, "holds"),
    "for each value, the same one": ({"turn": Steps(CIRCLE), "leave": Steps(OUT, "weak", True)}, True, "holds"),
    "one state after the other": ({"go": Steps(((0, 1), (1, 2)), "weak")}, True, "holds"),
    "for each value, now this one, now that": (
        {"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 3)), "weak", True)}, False, "violated"
    ),
    "taken inside": ({"turn": Steps(CIRCLE), "go": Steps(((0, 1), (0, 2), (1, 2)), "weak")}, False, "violated"),
    "taken inside by another name": (
        {"turn": Steps(CIRCLE), "same": Steps(((0, 1), (1, 2)), "weak")}, False, "violated"
    ),
    "not open in one state": (
        {"turn": Steps(CIRCLE, "weak"), "leave": Steps(((1, 2),), "weak")}, False, "violated"
    ),
    "not open in one state, strong": (
        {"turn": Steps(CIRCLE, "weak"), "leave": Steps(((1, 2),), "strong")}, False, "holds"
    ),
    "open where nothing changes": ({"turn": Steps(CIRCLE), "stay": Steps(((0, 0), (1, 1)), "weak")}, False, "violated"),
    "nothing is fair": ({"turn": Steps(CIRCLE), "leave": Steps(OUT)}, False, "violated"),
    "open by steps out of a bound": (
        {"turn": Steps(CIRCLE), "leave": Steps(((0, 2), (1, 9)), "weak")}, False, "holds_within_bounds"
    ),
}  # fmt: skip


def surveyed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Gets what each survey from now on finds."""
    found, right = list[bool](), Survey.excludes_all

    def noting(self: Survey, candidates: Candidates) -> bool:
        found.append(right(self, candidates))
        return found[-1]

    monkeypatch.setattr(Survey, "excludes_all", noting)
    return found


def status(case: str, folder: Path, engine: str = "native") -> str:
    """What an engine says of a case."""
    actions, _, _ = CASES[case]
    path = graph_file(folder, actions, leads_to_text([0], [2, 3]))
    result, _ = checked(path, [], engine)
    return str(result.properties[0].status)


@pytest.mark.parametrize("case", CASES)
def test_what_excludes(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where every state has it, and no step inside takes it; the first start is asked first."""
    found, (_, excluded, expected) = surveyed(monkeypatch), CASES[case]
    assert status(case, tmp_path) == status(case, tmp_path, "reference") == expected
    rests = case in ("nothing is fair", "open where nothing changes")
    assert found == ([] if rests else [excluded])


def forgets_what_is_taken(words: int, a: RegionArguments, s: SurveyArguments) -> None:
    native(decide.survey_buckets)(words, a, s)
    s.taken[:] = 0  # type: ignore[index]


def keeps_what_is_enabled_once(words: int, a: RegionArguments, s: SurveyArguments) -> None:
    once, end = 0, a.high
    while a.low < end:  # state by state
        a.high = a.low + 1
        s.always[:] = -1  # type: ignore[index]
        native(decide.survey_buckets)(words, a, s)
        once |= int(s.always[0])
    s.always[:] = once  # type: ignore[index]


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        (forgets_what_is_taken, "taken inside"),
        (forgets_what_is_taken, "taken inside by another name"),
        (keeps_what_is_enabled_once, "for each value, now this one, now that"),
    ],
)
def test_faults_are_noticed(
    fault: Callable[..., None], case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(kernel: Kernel, function: Callable[..., Any], *arguments: Any) -> Any:
        return (fault if function is decide.survey_buckets else native(function))(*arguments)

    monkeypatch.setattr(Kernel, "run", run)
    assert status(case, tmp_path) == "holds" != CASES[case][2]


def test_labels_have_bits() -> None:
    """As many as a word has room for; a label that the threads do not know has none."""
    assert [bit_of(label) for label in (-1, 0, 1, MOST_BITS, MOST_BITS + 1)] == [0, 0, 2, 1 << MOST_BITS, 0]


def test_fields_that_stand_still() -> None:
    """They come last: a field that is changed only where an earlier one rises; not without a step that shows it."""
    layout = layout_of(RecordType(object, (("a", IntType(0, 7)), ("b", IntType(0, 7)), ("c", IntType(0, 7)))))
    shifts = [f.shift for f in layout.fields]

    def ranking(steps: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[tuple[int, int]]:
        before, after = (
            np.array([[sum(x << s for x, s in zip(state, shifts, strict=True))] for state in states], np.int64)
            for states in zip(*steps, strict=True)
        )
        fields = Ranking.of(layout, before, after, still=True).fields
        return [("abc"[shifts.index(shift)], way) for _, shift, _, way in fields.tolist()]

    turns = [((1, 5, 0), (1, 5, 1)), ((1, 5, 1), (1, 5, 0))]
    assert ranking([((0, 5, 1), (1, 7, 0)), ((0, 7, 1), (1, 5, 0)), *turns]) == [("a", 1), ("b", 1)]
    assert ranking(turns) == [("a", 1), ("b", 1)]
    assert ranking([((0, 5, 1), (1, 7, 0)), ((0, 7, 0), (1, 5, 1))]) == [("a", 1)]


@pytest.mark.parametrize(("piece", "first_look", "workers"), [(1000, 256, 3), (70, 3, 2), (1 << 16, 1, 1)])
def test_the_survey_of_core(
    piece: int, first_look: int, workers: int, wrong_guesses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By several threads in small pieces; a sample that says too much is noticed, and made again."""
    expected, _ = checked("core_liveness", [], "reference")
    monkeypatch.setattr(decide, "PIECE", piece)
    monkeypatch.setattr(decide, "FIRST_LOOK", first_look)
    found = surveyed(monkeypatch)
    result, _ = checked("core_liveness", [], "native", workers=workers)
    assert everything(result) == everything(expected)
    assert found == [True, False]
    assert bool(wrong_guesses) == (first_look == 1)


def test_memory_is_counted() -> None:
    """The states, what is copied of them, and the buckets."""
    prepared = prepare("core_liveness", ["brokers=4"])
    bound, lowered = prepared.bound, prepared.lowered
    kernel = compiled(lowered, state_layout(bound), parameters=needs_parameters(assumptions_of(bound.model)))
    search = Search(kernel, 1)
    explore(bound, kernel, Start.of(bound, kernel.model.layout), search, Limits())
    prop = next(p for p in bound.properties if p.name == "a_leader_comes_back")

    def decided(most: int) -> tuple[bool, int]:
        def allow(more: int) -> None:
            if more > most:
                raise OutOfMemory("too much")

        liveness = Liveness(
            bound,
            Translation.of(lowered, kernel.model.layout),
            kernel,
            search.found.arrays,
            [prop.name],
            allow,
            lambda: None,
        )
        region, _ = liveness.region(prop)
        answer: Any = liveness.has_fair_loop(region, liveness.assumptions)
        return answer, liveness.peak

    answer, peak = decided(1 << 30)
    states = 8 * liveness_states(search, lowered, kernel.model.layout, prop.name)
    assert not answer and 2 * states <= peak <= 6 * states
    with pytest.raises(OutOfMemory):
        decided(peak - 1)


def liveness_states(search: Search, lowered: Any, layout: Any, name: str) -> int:
    """The states of a region."""
    claims = decide.TemporalClaims(judge_of(lowered, layout), layout.words)
    rows = np.concatenate([rows for parts in search.found.arrays for rows in parts])
    return int(claims.claims[name].stays(claims.verdicts(rows)).sum())
