"""The part of a model's packed states that Kafka's controller holds: everything else is a ghost to it."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import Field, Layout, rebuild
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.words import ControllerState, packed
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.types import Type

HELD = ("partition", "unclean", "unfenced", "broker_epochs", "shutting_down", "min_isr", "cordoned", "unregistered")
"""Fields of a model's state that the controller holds."""


@dataclass(frozen=True)
class ControllerPart:
    """The part of a model's state that the controller holds.

    model: the fields of the state, by name. words: those of the driver's protocol.
    """

    model: Any
    state: ControllerState
    words: tuple[int, int, int]


class PartDecoder:
    """Cuts the controller's part out of packed states; equal parts are one object."""

    def __init__(self, lowered: LoweredModel, layout: Layout, view: ModelView) -> None:
        self.view = view
        roots = [leaf.path.split(".")[0].split("[")[0] for leaf in lowered.leaves]
        self.fields: list[tuple[str, Type, list[Field]]] = [
            (name, kind, [f for f in layout.fields if roots[f.code.leaf] == name])
            for name, kind in layout.type.fields
            if name in HELD
        ]
        mask = [0] * layout.words
        for _, _, fields in self.fields:
            for f in fields:
                mask[f.word] |= (1 << f.code.bits) - 1 << f.shift
        self.mask: Rows = np.array(mask, np.uint64).view(np.int64)
        self.columns = np.flatnonzero(self.mask)
        """Words of a state that hold something of it."""
        self._parts: dict[bytes, ControllerPart] = {}
        self._values: dict[tuple[str, tuple[int, ...]], Any] = {}

    def masked(self, states: Rows) -> Rows:
        """The words of rows of states that matter, without what is a ghost in them."""
        return states[:, self.columns] & self.mask[self.columns]

    def part(self, row: Rows) -> ControllerPart:
        """The controller's part of a state."""
        words = row & self.mask
        key = words.tobytes()
        if key not in self._parts:
            values = SimpleNamespace(**{n: self._value(n, kind, fields, words) for n, kind, fields in self.fields})
            state = self.view.state(values)
            self._parts[key] = ControllerPart(values, state, packed(state))
        return self._parts[key]

    def _value(self, name: str, kind: Type, fields: list[Field], words: Rows) -> Any:
        stored = tuple(int(words[f.word]) % (1 << 64) >> f.shift & ((1 << f.code.bits) - 1) for f in fields)
        if (name, stored) not in self._values:
            self._values[name, stored] = rebuild(kind, iter(stored))
        return self._values[name, stored]
