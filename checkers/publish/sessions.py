"""Sessions in pages: a command and what it prints, run in a folder that has the files which the page shows.

A block of `console` is generated: after each line `$ reassure ...` stands what the command prints now. A block of
`text` that begins with such a line is shortened by hand: its line `...` stands for any lines, and a test compares the
others. A page shows a file as a block whose first line is a comment with the file's name, or after a line `$ cat NAME`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reassure.checkers.cli.main import main as command

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# ([a-z_]+(?:/[a-z_]+)*\.[a-z]+)$")
NEW = re.compile(r"^\$ reassure new (\w+)$", re.MULTILINE)
"""A command that writes a model: its name."""
TIMES = re.compile(r"^\d+\.\d+ s.*$", re.MULTILINE)
LEMMAS = re.compile(r"^an inductive invariant of \d+ lemmas\n(  .*\n)+", re.MULTILINE)
"""The lemmas of a proof, which are the solver's choice."""


def commands(block: str) -> list[tuple[str, str]]:
    """Each line of a session that begins with `$`, without it, and what stands below."""
    parts = re.split(r"^\$ (.*)\n?", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the content of each fenced block of a page."""
    return [(block[1], block[2]) for block in BLOCK.finditer(text)]


def files(text: str) -> dict[str, str]:
    """The files that a page shows, by name."""
    shown = {}
    for _, block in blocks(text):
        if name := NAMED.match(block.split("\n", 1)[0]):
            shown[name[1]] = block
        for line, below in commands(block):
            if line.startswith("cat "):
                shown[line.removeprefix("cat ")] = below.rstrip() + "\n"
    return shown


@contextlib.contextmanager
def folder(text: str, root: Path) -> Iterator[Path]:
    """A working directory for a page: the files that it shows, and links to the top folders of the checkout."""
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        place = Path(made)
        for below in ("checkers", "counterexamples", "models", "tests"):
            (place / below).symlink_to(root / below)
        for name, content in files(text).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(content, encoding="utf-8")
        written = {Path(name).stem for name in files(text)} | set(NEW.findall(text))
        with _imports_of_its_own(place, written):
            yield place


@contextlib.contextmanager
def _imports_of_its_own(place: Path, names: set[str]) -> Iterator[None]:
    """These names mean the files of this page: another page, or a test, has files of the same names."""
    folders, replaced = list(sys.path), {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.path[:] = folders
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(replaced)


def renewed(text: str, root: Path) -> str:
    """A page whose sessions are what the commands print now. root: of the checkout."""

    def rerun(block: re.Match[str]) -> str:
        prompts = commands(block[2]) if block[1] == "console" else []
        if not any(line.startswith("reassure ") for line, _ in prompts):
            return block[0]
        return "```console\n" + "\n\n".join(_session(line, below) for line, below in prompts) + "\n```"

    with folder(text, root):
        return BLOCK.sub(rerun, text)


def _session(line: str, below: str) -> str:
    printed = output(shlex.split(line)[1:]) if line.startswith("reassure ") else below
    return f"$ {line}\n{printed.strip()}".rstrip()


def output(words: list[str]) -> str:
    """The standard output of a command, without what changes from run to run."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        command(words)
    text = TIMES.sub("...", printed.getvalue().replace("\r", ""))
    text = LEMMAS.sub("an inductive invariant of ... lemmas\n  ...\n", text)
    text = re.sub(r"^\d+ lemmas hold", "... lemmas hold", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.replace(os.getcwd() + os.sep, "").splitlines())


def agrees(shortened: str, printed: str) -> bool:
    """Whether a session shortened by hand is of what is printed: `...` at a line's end or as a line stands for more."""
    pattern = []
    for line in shortened.strip().splitlines():
        if line.strip() == "...":
            pattern.append(r"(?:.*\n)*?")
        elif line.endswith("..."):
            pattern.append(re.escape(line.removesuffix("...")) + r".*\n")
        else:
            pattern.append(re.escape(line) + r" *\n")
    return re.fullmatch("".join(pattern), printed.strip() + "\n") is not None
