"""The model's own part of a kernel: bits of claims, the tally, and what is refused because there is no room for it."""

# ruff: noqa: E501 - a model is one line
from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import LayoutError, layout_of
from reassure.checkers.engines.native.exploration import shape_of
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel
from reassure.checkers.engines.native.kernels.model_code import (
    ACTION_MASK,
    ACTIONS_AT,
    CLIPS_TOTAL,
    ERROR,
    SWITCH,
    TERMINAL,
    TERMINAL_RAISES,
)
from reassure.checkers.engines.native.model.kernel_numbers import ModelKernel
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.model_text import model

STAY = "@action(who='x')\ndef stay(s: State, c: Config) -> State:\n    return s\n"


def kernel_of(text: str, folder: Path, switches: bool = False) -> tuple[BoundModel, ModelKernel]:
    bound = BoundModel(model(text, folder))
    return bound, model_kernel(lower_model(bound, switches), layout_of(bound.type))


class Driver:
    """Calls the two functions for one state at a time."""

    def __init__(self, kernel: ModelKernel) -> None:
        pointer, word = ctypes.c_void_p, ctypes.c_int64
        self.kernel = kernel
        shape = shape_of(kernel)
        functions = Kernel(shape).addresses
        self._check = ctypes.CFUNCTYPE(word, pointer, pointer, word)(functions["check"])
        self._expand = ctypes.CFUNCTYPE(word, pointer, pointer, word, pointer, word)(functions["expand"])
        self.tally = np.zeros(shape.tally_words, np.int64)
        self.out = np.zeros((kernel.max_successors + 4, shape.row_words), np.int64)

    def _row(self, state: Any) -> np.ndarray[Any, Any]:
        return np.array(self.kernel.layout.encode(state), np.uint64)

    def check(self, state: Any, where: int = 0) -> int:
        return int(self._check(self._row(state).ctypes.data, self.tally.ctypes.data, where))

    def expand(self, state: Any, n: int = 0, where: int = 0) -> int:
        """The new end of `out`."""
        row = self._row(state)
        return int(self._expand(row.ctypes.data, self.out.ctypes.data, n, self.tally.ctypes.data, where))


def starting(bound: BoundModel, **changes: Any) -> Any:
    ((_, _, state),) = bound.initial_states()
    return type(state)(**{**vars(state), **changes})


def test_actions_are_inlined_before_they_are_simplified(tmp_path: Path) -> None:
    """Simplified first and then once more in their caller, they take a third longer."""
    _, kernel = kernel_of(STAY + STAY.replace("stay", "also"), tmp_path)
    heads = [line for line in kernel.ir.splitlines() if line.startswith("define internal i64 @action_")]
    assert len(heads) == 2
    assert all(head.endswith(" alwaysinline nounwind {") for head in heads)


def test_claims_of_states_are_bits(tmp_path: Path) -> None:
    text = STAY + "".join(
        f"@{'cover' if i % 3 else 'invariant'}\ndef claim_{i}(s: State) -> bool:\n    return s.number == {i % 6}\n"
        for i in range(60)
    )
    bound, kernel = kernel_of(text, tmp_path)
    driver = Driver(kernel)
    for number in range(6):
        bits = driver.check(starting(bound, number=number))
        hit = {name for i, name in enumerate(kernel.state_flags[:-1]) if bits >> i & 1}
        assert hit == {f"claim_{i}" for i in range(60) if (number == i % 6) == bool(i % 3)}
        assert not bits >> 60


def test_more_claims_of_states_than_bits_are_refused(tmp_path: Path) -> None:
    text = STAY + "".join(f"@invariant\ndef claim_{i}(s: State) -> bool:\n    return True\n" for i in range(61))
    with pytest.raises(LanguageError, match="61 invariants and covers of states: at most 60"):
        kernel_of(text, tmp_path)


def test_claims_of_steps_fill_several_words(tmp_path: Path) -> None:
    text = STAY + "".join(
        f"@step_property\ndef claim_{i}(before: State, after: State) -> bool:\n    return after.number != {i % 7}\n"
        for i in range(100)
    )
    bound, kernel = kernel_of(text, tmp_path)
    driver = Driver(kernel)
    assert kernel.step_words == 3
    for number in range(6):
        assert driver.expand(starting(bound, number=number)) == 1
        words = driver.out[0, kernel.layout.words :].tolist()
        hit = {i for i in range(100) if words[i // 47] >> (16 + i % 47) & 1}
        assert hit == {i for i in range(100) if i % 7 == number}
        assert words[0] & ACTION_MASK == 0


def test_many_actions_have_each_their_number_and_count(tmp_path: Path) -> None:
    text = "".join(
        f"@action(who='x')\ndef act_{i}(s: State, c: Config) -> State:\n    require(s.number == {i % 5})\n    return s\n"
        for i in range(300)
    )
    bound, kernel = kernel_of(text, tmp_path)
    driver = Driver(kernel)
    for number in range(5):
        n = driver.expand(starting(bound, number=number))
        assert [w & ACTION_MASK for w in driver.out[:n, kernel.layout.words].tolist()] == list(range(number, 300, 5))
    assert driver.tally[ACTIONS_AT : ACTIONS_AT + 300].tolist() == [1] * 300


def test_rows_are_appended_and_the_tally_is_added_to(tmp_path: Path) -> None:
    text = (
        "@action(who='x')\ndef up(s: State, c: Config, n: Node) -> State:\n    return replace(s, number=s.number + 1)\n"
    )
    bound, kernel = kernel_of(text, tmp_path)
    driver = Driver(kernel)
    driver.out[:2] = -7
    assert driver.expand(starting(bound), n=2) == 5
    assert (driver.out[:2] == -7).all()
    assert driver.expand(starting(bound, number=5), where=3) == 0  # beyond its bound
    assert kernel.clips == (("number", False),)
    assert driver.tally[CLIPS_TOTAL] == driver.tally[ACTIONS_AT + 1] == 3
    assert driver.tally[ACTIONS_AT] == 6 and driver.tally[ERROR] == 0


def test_an_error_names_its_row(tmp_path: Path) -> None:
    text = "@action(who='x')\ndef act(s: State, c: Config) -> State:\n    return replace(s, leader=max(s.alive))\n"
    bound, kernel = kernel_of(text, tmp_path)
    driver = Driver(kernel)
    assert driver.expand(starting(bound), where=4) == 1 and driver.tally[ERROR] == 0
    assert driver.expand(starting(bound, alive=frozenset()), where=4) == 0 and driver.tally[ERROR] == 5


TERMINALS = """
@terminal
def small(s: State) -> bool:
    return s.number < 0

@terminal
def led(s: State) -> bool:
    return max(s.alive) == s.leader
"""


def test_terminal_raises_only_where_it_is_asked(tmp_path: Path) -> None:
    bound, kernel = kernel_of(STAY + TERMINALS, tmp_path)
    driver = Driver(kernel)

    def bits(**changes: Any) -> tuple[bool, bool]:
        found = driver.check(starting(bound, **changes))
        return bool(found >> TERMINAL & 1), bool(found >> TERMINAL_RAISES & 1)

    assert bits(alive=frozenset()) == (False, True)
    assert bits(alive=frozenset(), number=-1) == (True, False)  # the first one holds: the second is not asked
    assert bits() == (False, False)
    assert driver.tally[ERROR] == 0


def test_guards_are_turned_off_by_number(tmp_path: Path) -> None:
    text = (
        "@action(who='x')\ndef act(s: State, c: Config, n: Node) -> State:\n"
        "    require(n not in s.alive)\n    require(s.number > 3)\n    return s\n"
    )
    bound, kernel = kernel_of(text, tmp_path, switches=True)
    driver = Driver(kernel)
    counts = []
    for switch in range(3):
        driver.tally[SWITCH] = switch
        counts.append(driver.expand(starting(bound, number=4)))
    assert counts == [0, 3, 0]


def test_more_sets_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    kind = "Annotated[frozenset[Message], MaxSize(4)]"
    text = f"@action(who='x')\ndef act(s: State, c: Config, p: {kind}) -> State:\n    return s\n"
    with pytest.raises(LanguageError, match="sets to choose from, at most 65,536"):
        kernel_of(text, tmp_path)


def test_more_steps_of_one_state_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    text = "".join(
        f"@action(who='x')\ndef act_{i}(s: State, c: Config, p: Annotated[int, Range(1, 1 << 20)]) -> State:\n    return s\n"
        for i in range(65)
    )
    with pytest.raises(LanguageError, match="one state may have 68,157,440 steps, 1,048,576 of them by act_0"):
        kernel_of(text, tmp_path)


def test_a_docstring_or_a_name_changes_nothing_of_the_code(tmp_path: Path) -> None:
    one = "@action(who='x')\ndef act(s: State, c: Config) -> State:\n    '''One.'''\n    return s\n"
    other = "# moved\n\n\n@action(who='y')\ndef other(s: State, c: Config) -> State:\n    '''Two.'''\n    return s\n"
    assert kernel_of(one, tmp_path)[1].ir == kernel_of(other, tmp_path)[1].ir


def test_a_long_chain_needs_no_deep_stack(tmp_path: Path) -> None:
    steps = "".join(f"    n = {'max(n - 1, -2)' if i % 2 else 'min(n + 1, 5)'}\n" for i in range(3000))
    text = (
        f"@action(who='x')\ndef act(s: State, c: Config) -> State:\n    n = s.number\n{steps}"
        "    return replace(s, number=n)\n"
        "@step_property\ndef stays(before: State, after: State) -> bool:\n    return after.number == before.number\n"
    )
    bound, kernel = kernel_of(text, tmp_path)
    driver, state = Driver(kernel), starting(bound, number=2)
    assert driver.expand(state) == 1
    assert kernel.layout.decode(driver.out[0].view(np.uint64)) == state


@pytest.mark.parametrize("bits", [55, 56, 57, 60, 61])
def test_wide_fields_stand_behind_the_tag(bits: int, tmp_path: Path) -> None:
    text = f"""
    @dataclass(frozen=True)
    class Wide:
        a: Annotated[int, Range(0, (1 << {bits}) - 1)] = 3
        b: bool = True
        c: Annotated[int, Range(0, (1 << {bits}) - 1)] = 4
    """
    from reassure.spec.language.annotations import record_type
    from tests.helpers.model_text import module

    made = module(text, tmp_path)
    layout = layout_of(record_type(made.Wide, made.Config()), tag=8)
    for a in (0, 3, (1 << bits) - 1):
        for b in (False, True):
            state = made.Wide(a, b, (1 << bits) - 1 - a)
            words = layout.encode(state)
            assert layout.decode(words) == state
            assert all(0 <= w < 1 << 64 for w in words) and words[0] < 1 << 56


def test_a_field_that_fits_no_word_is_refused(tmp_path: Path) -> None:
    from reassure.spec.language.types import IntType, OptionType

    with pytest.raises(LayoutError, match="takes 63 bits"):
        layout_of(_record(IntType(0, (1 << 63) - 1)))
    with pytest.raises(LayoutError, match="takes 63 bits"):
        layout_of(_record(OptionType(IntType(0, (1 << 62) - 1))))


def _record(kind: Any) -> Any:
    from reassure.spec.language.types import RecordType

    return RecordType(object, (("a", kind),))
