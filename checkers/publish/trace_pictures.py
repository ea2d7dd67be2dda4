"""Pictures of traces that pages show, as `reassure show` writes them: of a file, and of a change that a page makes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from reassure.checkers.publish import sessions


def picture_of_file(path: Path, model: str = "") -> str:
    """The picture of a trace, under the last of its configurations. model: its file, if it is not the project's own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.svg"
        of = [f"--model={model}"] if model else []
        sessions.output(["show", str(path), "--format=svg", f"--out={out}", *of])
        return out.read_text(encoding="utf-8")


def picture_on_page(page: Path, model: str, root: Path) -> str:
    """The picture of the only violation of a model that a page shows, by its file's name. root: of the checkout."""
    with sessions.folder(page.read_text(encoding="utf-8"), root) as folder:
        sessions.output(["check", model, "--trace-dir", "violations", "--quiet"])
        (path,) = (folder / "violations").iterdir()
        return picture_of_file(path, model)
