"""Sessions in pages: a command and what it prints, run in a folder that has the files which the page shows.

A block of `console` is generated: after each line `$ reassure ...` stands what the command prints now. A block of
`text` that begins with such a line is shortened by hand: its line `...` stands for any lines, and a test compares the
others. A page shows a file as a block whose first line is a comment with the file's name, or after a line `$ cat NAME`.

The pages of `tests/sessions` tell more: messages, and below them the exit code in brackets unless it is 0. A command
may end with a pipe or a redirection, and a line of another program is executed by the shell. Each section of such a
page, from a heading to the next, is executed by itself, with the files that the page shows above its first heading.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from reassure.checkers.cli.main import main as command
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.import_file import forget_files

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# ([a-z_]+(?:/[a-z_]+)*\.[a-z]+)$")
NEW = re.compile(r"^\$ reassure new (\w+)$", re.MULTILINE)
"""A command that writes a model: its name."""
TIMES = re.compile(r"^\d+\.\d+ s.*$", re.MULTILINE)
LEMMAS = re.compile(r"^an inductive invariant of \d+ lemmas\n(  .*\n)+", re.MULTILINE)
"""The lemmas of a proof, which are the solver's choice."""
CHOICES = re.compile(r"\(choose from [^)]*\)")
"""Words that Python quotes or not, by its version."""
HEADING = re.compile(r"^(?=## )", re.MULTILINE)
COMMAND = re.compile(r"""(reassure (?:[^|>'"]|'[^']*'|"[^"]*")*)(.*)""")
"""A command of this program, and the pipe or redirection behind it."""


def commands(block: str) -> list[tuple[str, str]]:
    """Each line of a session that begins with `$`, without it, and what stands below."""
    parts = re.split(r"^\$ (.*)\n?", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the content of each fenced block of a page."""
    return [(block[1], block[2]) for block in BLOCK.finditer(text)]


def files_of_page(text: str) -> dict[str, str]:
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
def page_folder(text: str, root: Path) -> Iterator[Path]:
    """A working directory for a page: the files that it shows, and links to the top folders of the checkout."""
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        place = Path(made)
        for below in ("checkers", "counterexamples", "models", "tests"):
            (place / below).symlink_to(root / below)
        for name, content in files_of_page(text).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(content, encoding="utf-8")
        written = {Path(name).stem for name in files_of_page(text)} | set(NEW.findall(text))
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
    with page_folder(text, root):
        return _rerun(text, _printed)


def sections(text: str) -> dict[str, str]:
    """The sections of a page of tests by heading; the one without a heading is what stands above the first."""
    parts = (part.partition("\n") for part in HEADING.split(text))
    return {line.removeprefix("## ") if line[:3] == "## " else "": line + end + rest for line, end, rest in parts}


def retold(section: str, opening: str, root: Path) -> str:
    """A section of a page of tests as its commands print now. opening: of the page."""
    with page_folder(opening + section, root):
        try:
            return _rerun(section, _told)
        finally:
            forget_files()


def promoted(text: str, root: Path) -> str:
    """A page of tests that expects what its commands print now."""
    parts = sections(text)
    return "".join(retold(part, parts[""], root) if name else part for name, part in parts.items())


def _rerun(text: str, printed: Callable[[str, str], str]) -> str:
    """A page with other texts below its commands. printed: the text of a command, from its line and the old text."""

    def rerun(block: re.Match[str]) -> str:
        prompts = commands(block[2]) if block[1] == "console" else []
        if not any(line.startswith("reassure ") for line, _ in prompts):
            return block[0]
        told = (f"$ {line}\n{printed(line, below).strip()}".rstrip() for line, below in prompts)
        return "```console\n" + "\n\n".join(told) + "\n```"

    return BLOCK.sub(rerun, text)


def _printed(line: str, below: str) -> str:
    """What a line prints now; `Failure` if that is nothing and was something, as where a machine has no memory left."""
    if not line.startswith("reassure "):
        return below
    text = output(shlex.split(line)[1:])
    if below.strip() and not text.strip():
        raise Failure(Exit.SYSTEM, f"`{line}` prints nothing where the page shows what it prints: run it by itself")
    return text


def _told(line: str, below: str) -> str:
    """All that a line prints, and its exit code in brackets unless that is 0. The text below it does not matter."""
    words, rest = found.groups() if (found := COMMAND.fullmatch(line)) else ("", line)
    printed, messages, code = "", "", 0
    if words:
        streams = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = command(shlex.split(words)[1:])
        printed, messages = (stream.getvalue() for stream in streams)
        forget_files()
    if rest:
        shell = ["sh", "-c", f"cat {rest}" if words else rest]
        done = subprocess.run(shell, input=printed, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        printed, code = done.stdout, code or done.returncode
    ending = f"[{code}]" if code else ""
    return "\n".join(filter(None, (_steady(printed), _steady(messages), ending)))


def output(words: list[str]) -> str:
    """The standard output of a command, without what changes from run to run."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        command(words)
    return _steady(printed.getvalue())


def _steady(printed: str) -> str:
    """What was printed, without what changes from run to run."""
    for folder_name in (os.getcwd(), str(CHECKOUT)):
        printed = printed.replace(folder_name + os.sep, "")
    text = TIMES.sub("...", printed.replace("\r", ""))
    text = CHOICES.sub("(choose from ...)", text)
    text = LEMMAS.sub("an inductive invariant of ... lemmas\n  ...\n", text)
    text = re.sub(r"^\d+ lemmas hold", "... lemmas hold", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines())


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
