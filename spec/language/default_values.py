"""Fields of a dataclass without default values."""

from __future__ import annotations

import dataclasses


def fields_without_default(cls: type) -> list[str]:
    """The fields that must be given when a record of the class is made; none of a class that is not a dataclass."""
    missing = dataclasses.MISSING
    found = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return [f.name for f in found if f.default is missing and f.default_factory is missing]
