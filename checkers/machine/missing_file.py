"""The file that a user may have meant, where one is missing."""

from __future__ import annotations

import difflib
from pathlib import Path


def did_you_mean(path: Path) -> str:
    """The end of a message about a file that is not there: the file beside it whose name is nearest, if one is near."""
    if path.exists():
        return ""
    try:
        beside = sorted(one.name for one in path.parent.iterdir())
    except OSError:
        return ""
    alike = [name for name in beside if Path(name).suffix == path.suffix]
    near = difflib.get_close_matches(path.name, alike or beside, n=1)
    return f"; did you mean {path.parent / near[0]}?" if near else ""
