"""What a search takes of a translation is kept: the next check gives the same answers without translating the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.model import translation
from reassure.checkers.engines.native.model.translation import Kept, Translation, look_up
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.spec.frontend import lowering
from tests.helpers.configurations import SMALL
from tests.helpers.runs import checked, everything

VACUOUS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, initial, invariant, leads_to, replace, require

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 5)]

@initial
def zero() -> State:
    return State(0)

@action(who="fate", fair="weak")
def up(s: State) -> State:
    return replace(s, n=s.n + 1)

@invariant
def says_nothing(s: State) -> bool:
    return 1 < 2

@leads_to(lambda s: s.n == 4)
def rises(s: State) -> bool:
    return s.n == 1

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
"""Steps leave a bound, and a claim is the constant true."""


MADE_BY = translation.MADE_BY
"""As it is outside of tests, where translations are kept."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    with mock.patch.object(translation, "MADE_BY", MADE_BY):
        yield tmp_path / "cache" / "kernels"


@pytest.fixture
def lowerings() -> Iterator[list[str]]:
    """The names of the models that are translated."""
    names, lower = list[str](), lowering.lower_model

    def counted(bound: Any, *rest: Any) -> Any:
        names.append(bound.model.name)
        return lower(bound, *rest)

    with mock.patch.object(lowering, "lower_model", counted):
        yield names


MODELS = [
    ("core", [], {}),
    ("core", ["brokers=4"], {"properties": ["isr_*"]}),
    ("core", ["brokers=4"], {"properties": ["reassignment_pending"], "witness": True}),
    ("core_liveness", [], {}),
    ("die_hard", [], {"depth": 3}),
    ("kraft", SMALL["kraft"], {}),
    ("kraft", SMALL["kraft"], {"properties": ["reassignment_ends"]}),
    ("throttle", SMALL["throttle"], {}),
]


@pytest.mark.parametrize(("model", "pairs", "options"), MODELS)
def test_the_next_check_gives_the_same_without_translating(
    model: str, pairs: list[str], options: Mapping[str, Any], lowerings: list[str]
) -> None:
    first, _ = checked(model, pairs, "native", **options)
    assert lowerings == [model]
    again, _ = checked(model, pairs, "native", **options)
    assert lowerings == [model]
    assert everything(again) == everything(first)
    assert again.record({})["properties"] == first.record({})["properties"]


def test_vacuous_claims_and_steps_beyond_bounds(tmp_path: Path, lowerings: list[str]) -> None:
    file = tmp_path / "rising.py"
    file.write_text(VACUOUS, encoding="utf-8")
    first, _ = checked(str(file), [], "native")
    again, _ = checked(str(file), [], "native")
    assert {p.name: p.status.value for p in again.properties} == {"says_nothing": "vacuous", "rises": "vacuous"}
    assert again.record({})["properties"] == first.record({})["properties"]
    assert everything(again) == everything(first)
    assert len(lowerings) == 1


@pytest.mark.parametrize("model", ["core", "core_liveness", "die_hard", "two_phase_commit", "throttle", "kraft"])
def test_what_is_kept_is_what_the_translation_has(model: str) -> None:
    options = SearchOptions()
    checked(model, SMALL.get(model, []), "native")
    prepared = prepare(model, SMALL.get(model, []))
    kept, layout = look_up(prepared, options), state_layout(prepared.bound)
    assert kept is not None and kept.facts is not None
    fresh = Translation.of(prepared.lowered, layout)
    old = Translation(pytest.fail, layout, prepared.bound, kept)  # type: ignore[arg-type]
    assert (old.clipping, old.parameters, old.judge) == (fresh.clipping, fresh.parameters, fresh.judge)
    assert kept.constant == fresh.constant
    from reassure.checkers.engines.native.model.model_kernel import model_kernel

    for parameters in (False, True):
        made, read = model_kernel(prepared.lowered, layout, parameters), old.kept_kernel(parameters)
        assert read is not None
        names = ("step_flags", "clips", "actions", "max_successors", "parameter_words", "parameters", "state_flags")
        assert [getattr(read, name) for name in names] == [getattr(made, name) for name in names]
        assert read.flags() == made.flags()


def damaged(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def shortened(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def of_another_key(file: Path) -> None:
    other = max(file.parent.glob("t*.object"), key=lambda one: one != file)
    file.write_bytes(other.read_bytes())


def written_by_others(file: Path) -> None:
    file.chmod(0o666)


@pytest.mark.parametrize("spoil", [damaged, shortened, of_another_key, written_by_others])
def test_what_cannot_be_trusted_is_not_used(
    spoil: Callable[[Path], None], own_cache: Path, lowerings: list[str]
) -> None:
    first, _ = checked("core", ["brokers=4"], "native")
    (file,) = own_cache.glob("t*.object")
    checked("die_hard", [], "native")
    spoil(file)
    again, _ = checked("core", ["brokers=4"], "native")
    assert lowerings == ["core", "die_hard", "core"]
    assert everything(again) == everything(first)


def key(model: str = "core", *pairs: str, **options: Any) -> str:
    kept = look_up(prepare(model, list(pairs)), SearchOptions(**options))
    assert isinstance(kept, Kept)
    return kept.key


def test_the_key_is_of_all_that_a_translation_is_made_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rising.py"
    text = VACUOUS.replace("s.n + 1", "s.n + STEP").replace("@initial", 'STEP = int(os.environ["STEP"])\n\n@initial')
    text = f"import os\n{text}"
    keys = []
    for words, step in [(text, "1"), (text, "2"), (text.replace("== 4", "== 3"), "1"), (f"{text}# a remark\n", "1")]:
        monkeypatch.setenv("STEP", step)
        file.write_text(words, encoding="utf-8")
        keys.append(key(str(file)))
    assert len(set(keys)) == 3 and keys[3] == keys[0]
    others = [
        key(),
        key("core", "brokers=4"),
        key(properties=["isr_*"]),
        key("core_liveness"),
        key(traces=False, depth=3),
    ]
    assert len(set(others)) == 4 and others[4] == others[0]
    with mock.patch.object(translation, "MADE_BY", MADE_BY[1:]):
        assert key() != others[0]
    with mock.patch.object(translation, "MADE_BY", ("nothing_like_that",)):
        assert look_up(prepare("core", []), SearchOptions()) is None
