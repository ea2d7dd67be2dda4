"""The Python API: what its page shows, and bad input."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import reassure
from reassure.checkers import api
from reassure.checkers.check import ENGINES, CheckRequest, run
from reassure.checkers.request.options import DEFAULT_ENGINE, ENGINE_NAMES, EXHAUSTIVE_ENGINES
from reassure.checkers.testing.state_machine import state_machine
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import ModelError
from tests.helpers.outside_models import SOURCES, counter, set_step


def test_the_example_of_the_page() -> None:
    ran = doctest.testmod(api)
    assert (ran.attempted, ran.failed) == (7, 0)


def test_check_is_the_command() -> None:
    from reassure.checkers.machine.progress import Progress
    from reassure.checkers.request.options import SearchOptions

    expected, _ = run(CheckRequest("core", ["brokers=3"], "reference", SearchOptions()), Progress(quiet=True))
    result = reassure.check("core", engine="reference", brokers=3)
    assert (result.stats.distinct, result.stats.generated) == (1668, 7699)
    assert result.record({})["properties"] == expected.record({})["properties"]
    assert result.exit() is reassure.Exit.OK
    shallow = reassure.check("core", engine="reference", depth=2)
    assert {p.status for p in shallow.properties} == {reassure.PropertyStatus.HOLDS_TO_DEPTH}


def test_walking() -> None:
    model = reassure.load("die_hard")
    (state,) = model.initial_states()
    state = model.take(state, "fill_big")
    assert model.holds("goal_not_reached", state)
    with pytest.raises(ModelError, match="no action 'nothing_like_it'"):
        model.take(state, "nothing_like_it")
    core = reassure.load("core")
    (start,) = core.initial_states()
    with pytest.raises(GuardRefused):
        core.take(start, "unfence", broker=1)


@pytest.mark.parametrize(
    ("name", "settings", "code"),
    [("krat", {}, "USAGE"), ("core", {"brokers": 99}, "CONFIG"), ("core", {"broker": 3}, "CONFIG")],
)
def test_what_is_wrong(name: str, settings: dict[str, int], code: str) -> None:
    with pytest.raises(reassure.Failure) as failure:
        reassure.load(name, **settings)
    assert failure.value.code.name == code


def test_a_model_needs_the_standard_library_only(tmp_path: Path) -> None:
    text = "import sys\nfrom reassure import *\nfrom reassure.models.kraft import kraft\n"
    text += "print(sorted({m.split('.')[0] for m in sys.modules} & {'z3', 'numpy', 'llvmlite', 'rich', 'pyspark'}))\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_no_such_name() -> None:
    with pytest.raises(AttributeError, match="module 'reassure' has no attribute 'chek'"):
        _ = reassure.chek  # type: ignore[attr-defined]


def test_every_engine_that_an_option_names_is_there() -> None:
    """The names stand below the engines, in `request/options.py`: a name without an engine would show only in a run."""
    assert set(EXHAUSTIVE_ENGINES) <= set(ENGINE_NAMES) <= set(ENGINES)
    assert DEFAULT_ENGINE in EXHAUSTIVE_ENGINES


def test_settings_of_a_loaded_model_are_refused() -> None:
    """They would be passed over: a search would be of another configuration than the one asked for."""
    loaded = reassure.load("die_hard", goal=3)
    for call in (
        lambda: reassure.check(loaded, goal=4),
        lambda: reassure.check(loaded, dept=2),
        lambda: state_machine(loaded, lambda state: state, lambda tested: {}, goal=4),
    ):
        with pytest.raises(
            reassure.Failure, match=r"is loaded already; give its settings to reassure\.load"
        ) as refused:
            call()
        assert refused.value.code is reassure.Exit.USAGE
    assert reassure.check(loaded).exit() is reassure.Exit.SAFETY


def test_a_result_is_neither_true_nor_false() -> None:
    """`assert check(...)` would pass with a violated property."""
    result = reassure.check("die_hard")
    with pytest.raises(TypeError, match=r"compare result.exit\(\) with Exit.OK"):
        assert result
    assert result.exit() is reassure.Exit.SAFETY


def test_traces_are_of_the_model_that_was_loaded(tmp_path: Path) -> None:
    """`check` imports a file again; the states that it returns are of the classes that the caller has."""
    path = tmp_path / "jugs.py"
    path.write_text((Path(__file__).parents[2] / "models/examples/die_hard.py").read_text(encoding="utf-8"))
    model = reassure.load(path)
    (found,) = [p for p in reassure.check(model, engine="reference").properties if p.trace is not None]
    assert found.trace is not None and found.trace.meta["property"] == found.name
    for before, step, after in zip(found.trace.states, found.trace.steps[1:], found.trace.states[1:], strict=False):
        assert model.take(before, step.action, **step.params) == after
    path.write_text(path.read_text(encoding="utf-8").replace("big=5", "big=4"), encoding="utf-8")
    with pytest.raises(reassure.Failure, match="was changed since it was loaded: load it again"):
        reassure.check(model, engine="reference")


@pytest.mark.parametrize("source", SOURCES)
def test_a_model_that_was_loaded_with_other_values_from_outside(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is the same, and the result is of another model than the caller's."""
    path = counter(tmp_path, source)
    set_step(1, tmp_path, monkeypatch)
    model = reassure.load(path)
    assert reassure.check(model, engine="reference").exit() is reassure.Exit.OK
    set_step(3, tmp_path, monkeypatch)
    with pytest.raises(reassure.Failure, match="was changed since it was loaded: load it again"):
        reassure.check(model, engine="reference")
    assert reassure.check(reassure.load(path), engine="reference").exit() is reassure.Exit.SAFETY
