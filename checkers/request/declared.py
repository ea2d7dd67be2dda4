"""An option of a command, declared once: the parser, the command that repeats a run, a gate's keys and the reference
page are made from it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

SECRET = "(?i)secret|password|token|access[._]?key"
"""Settings whose values are not printed, as Spark has it."""
OF_THE_REPORT = frozenset({"stories", "full", "show", "format"})
"""Outputs that say how much of the report is printed, and how."""


@dataclass(frozen=True)
class Option:
    """An option or a positional argument of a command.

    usage: as a user writes it, `--limit N`, `-j --jobs N` or `--quiet`; of a positional argument `MODEL`, or `log FILE`
    if its value has another name than its placeholder. type: reads a value; None: text, bool: a switch. nargs: as
    argparse has it. const: the value of an option that is given without one. group: of options with one group at most
    one is given, and one must be if they are required.
    """

    usage: str
    help: str
    type: Callable[[str], Any] | None = None
    default: Any = None
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    nargs: str | None = None
    const: Any = None
    required: bool = False
    group: str = ""
    output: bool = False
    """Says where results go, how they are printed, or how many processes compute them: it changes no result."""
    always: bool = False
    """Whether the command that repeats a run has it at its default too."""
    place: int = 9
    """Its place in the command that repeats a run: the lower, the earlier."""
    secret: bool = False
    """Whether values KEY=VALUE are left out of that command if KEY names a secret."""

    @property
    def flags(self) -> list[str]:
        """Its names on the command line, the long one last; none of a positional argument."""
        return [word for word in self.usage.split() if word.startswith("-")]

    @property
    def flag(self) -> str:
        """Its long name on the command line; "" for a positional argument."""
        return self.flags[-1] if self.flags else ""

    @property
    def name(self) -> str:
        """The name of its value among the parsed arguments."""
        return self.flag[2:].replace("-", "_") or self.usage.split()[0].lower()

    @property
    def metavar(self) -> str | None:
        """The placeholder of its value; None if it has none, or shows its choices."""
        last = self.usage.split()[-1]
        return None if last.startswith("-") else last

    @property
    def switch(self) -> bool:
        """Whether it takes no value."""
        return self.type is bool

    @property
    def must_be_given(self) -> bool:
        """Whether the command line is wrong without it."""
        return self.required and not self.group if self.flag else self.nargs not in ("?", "*")

    @property
    def initial(self) -> Any:
        """The value if it is not given."""
        if self.default is None and (self.repeatable or self.switch):
            return [] if self.repeatable else False
        return self.default

    def words(self, value: Any) -> list[str]:
        """The option with a value on a command line."""
        if self.switch:
            return [self.flag] if value else []
        several = isinstance(value, list) and (self.repeatable or not self.flag)
        values = pairs(value) if isinstance(value, dict) else value if several else [value]
        texts = [_text(one) for one in values]
        if self.secret:
            texts = [text for text in texts if not re.search(SECRET, text.partition("=")[0])]
        return [f"{self.flag}={text}" for text in texts] if self.flag else texts


def pairs(settings: Mapping[str, Any]) -> list[str]:
    """A table as KEY=VALUE."""
    return [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in settings.items()]


def _text(value: Any) -> str:
    """One value as the command line takes it; a number with a point is a time in seconds."""
    match value:
        case float():
            exact = f"{Decimal(repr(value)):f}"
            return (exact.rstrip("0").rstrip(".") if "." in exact else exact) + "s"
        case tuple():
            return "=".join(map(str, value))
        case list():
            return ",".join(map(str, value))
    return str(value)


def repro(command: str, options: Iterable[Option], values: Mapping[str, Any], as_given: bool = False) -> str:
    """The command that repeats a run: its options with these values, but for defaults and for outputs.

    An output that must be given is its placeholder, `--out=DIR`. as_given: for the reader who gave the options: with
    those of `OF_THE_REPORT`, and without any default.
    """
    words = ["reassure", *command.split()]
    for option in sorted(options, key=lambda o: (bool(o.flag), o.place)):
        value = values.get(option.name, option.initial)
        if option.output and not (as_given and option.name in OF_THE_REPORT):
            words += option.words(option.metavar) if option.required and not option.group else []
        elif value is not None and ((option.always and not as_given) or value != option.initial):
            words += option.words(value)
    return shlex.join(words)
