"""Pictures that pages show, as commands write them: of a trace, of a change on a page, of a cover, of all states."""

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


def picture_of_cover(model: str, setting: str, cover: str) -> str:
    """The picture of the run by which a cover is reached, as `check --witness` draws it. setting: KEY=VALUE."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["check", model, f"--set={setting}", f"--property={cover}", "--witness", f"--trace-dir={folder}"]
        sessions.output(words)
        (path,) = Path(folder).glob("*.svg")
        return path.read_text(encoding="utf-8")


def picture_of_states(example: str, setting: str, root: Path) -> str:
    """The picture of every state of a model that `reassure new` writes, as `graph` draws it. setting: KEY=VALUE."""
    with sessions.folder("", root) as folder:
        sessions.output(["new", example])
        sessions.output(["graph", f"{example}.py", f"--set={setting}", "--out=states.svg"])
        return (folder / "states.svg").read_text(encoding="utf-8")
