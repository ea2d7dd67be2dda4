"""What the numbers of a model's kernel mean, and its text: all that a search has to have of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from reassure.checkers.encoding.state_layout import Code, Field, Layout, codes, leaf_count
from reassure.checkers.engines.native.kernels.model_code import DEADLOCK, STEP_BITS
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.types import IntType, Type, bits_of

if TYPE_CHECKING:
    from reassure.checkers.engines.native.model.loop_form import ActionLoops

Flag = tuple[int, int]
"""Word and bit: word 0 is of the claims over states, the others of those over steps."""
DEAD: Flag = (0, DEADLOCK)
"""A state with nothing enabled that is not terminal."""


MOST_TEMPORAL = 31
"""Properties about whole runs that one word holds."""
RAISES_AT = 2 * MOST_TEMPORAL
"""The bit of a verdict on a state for what raises in it."""


class JudgeText(NamedTuple):
    """The properties about whole runs as a function in LLVM IR, `judge`, that gives their verdicts on a state.

    claims: names and kinds, in the order of the verdict's bits. may_raise: whether one raises in some state, perhaps an
    unreachable one.
    """

    text: str
    claims: tuple[tuple[str, str], ...]
    may_raise: bool


class KernelParameter(NamedTuple):
    """A parameter of an action. packed: whether it is a member of a message set, which is one number."""

    name: str
    type: Type
    packed: bool


def parameter_codes(parameters: Iterable[KernelParameter]) -> list[Code]:
    """The codes of an action's parameters, one after the other."""
    stored: list[Code] = []
    leaf = 0
    for _, kind, packed in parameters:
        if packed:
            bits = bits_of(kind)
            stored.append(Code(leaf, IntType(1, 1 << bits), False, max(1, bits)))  # as in its slot, where 0 is none
        else:
            stored += codes(kind, leaf)
        leaf += 1 if packed else leaf_count(kind)
    return stored


def step_words(claims: int) -> int:
    """Words behind a successor: its action and the claims over steps."""
    return max(1, -(-claims // STEP_BITS))


@dataclass
class ModelKernel:
    """The text of the two functions and what its numbers mean."""

    ir: str
    layout: Layout
    step_flags: tuple[str, ...]
    clips: tuple[tuple[str, bool], ...]
    """Bounds that steps may leave, by number: path and whether it is declared."""
    actions: tuple[str, ...]
    max_successors: int
    parameter_words: int | None
    """Words for the parameters of a step; None: successors come without."""
    parameters: tuple[tuple[Field, ...], ...]
    """By action: where its parameters' scalars are in those words."""
    state_flags: tuple[str, ...]
    """Names of the claims over states, by bit: an invariant that fails, a cover that holds; `terminal` last."""
    loops: tuple[ActionLoops, ...] = ()
    """What the text was made from; nothing where the text was kept from another run."""

    @property
    def step_words(self) -> int:
        """Words for a step's action and claims."""
        return step_words(len(self.step_flags))

    def flags(self) -> dict[str, Flag]:
        """The flags by which the search notes that a claim was hit."""
        flags = {name: (0, bit) for bit, name in enumerate(self.state_flags[:-1])}
        for number, name in enumerate(self.step_flags):
            word, bit = divmod(number, STEP_BITS)
            flags[name] = (1 + word, bit)
        return {**flags, "deadlock": DEAD}
