"""Messages of a trace: records that come into a set of records of the state, and leave it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reassure.checkers.pictures.actors import RECEIVERS, SENDERS, Cast, Lifeline, places
from reassure.checkers.traces.format_value import plain


@dataclass
class Message:
    """A record in a set of records. sent, taken: numbers of steps; taken is None while it stays in the set."""

    field: str
    type: str
    text: str
    sender: Lifeline | None
    receiver: Lifeline | None
    sent: int
    taken: int | None = None

    def as_json(self) -> dict[str, object]:
        """The message as plain JSON."""
        return {
            "field": self.field,
            "type": self.type,
            "text": self.text,
            "from": self.sender.id if self.sender else None,
            "to": self.receiver.id if self.receiver else None,
            "sent": self.sent,
            "taken": self.taken,
        }


@dataclass
class Post:
    """Follows the messages from state to state."""

    cast: Cast
    messages: list[Message] = field(default_factory=list)
    _waiting: dict[tuple[str, Any], Message] = field(default_factory=dict)

    def start(self, state: Any) -> None:
        """The messages of the initial state."""
        for path, record in _records(state):
            self._send(path, record, None, 0)

    def step(self, number: int, actor: Lifeline, before: Any, after: Any) -> None:
        """Notes the records that a step of this actor sends, and those that it takes out of the sets."""
        old, new = _records(before), _records(after)
        for key in old:
            message = self._waiting.pop(key) if key not in new else None
            if message is not None:
                message.receiver, message.taken = actor, number
        for path, record in new:
            if (path, record) not in old:
                self._send(path, record, actor, number)

    def _send(self, path: str, record: Any, actor: Lifeline | None, number: int) -> None:
        message = Message(
            path,
            type(record).__name__,
            plain(record),
            self._named(record, SENDERS) or actor,
            self._named(record, RECEIVERS),
            number,
        )
        self._waiting[path, record] = message
        self.messages.append(message)

    def _named(self, record: Any, names: tuple[str, ...]) -> Lifeline | None:
        """The lifeline that the first of these fields of a record names."""
        lifelines = (self.cast.of(getattr(record, name, None)) for name in names)
        return next((line for line in lifelines if line is not None), None)


def _records(state: Any) -> dict[tuple[str, Any], None]:
    """The records in the sets of a state, with the paths of the sets, in an order that every process has."""
    records_by_path: dict[tuple[str, Any], None] = {}
    for place in places(state):
        if isinstance(place.value, frozenset):
            records = [member for member in place.value if hasattr(member, "__dataclass_fields__")]
            records_by_path |= {(place.path, record): None for record in sorted(records, key=plain)}
    return records_by_path
