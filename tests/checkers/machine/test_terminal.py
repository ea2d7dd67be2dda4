"""Long lines: a terminal breaks them between words; a pipe and a command that is copied stay whole."""

from __future__ import annotations

import io

import pytest
import rich.console
from rich.table import Table
from rich.text import Text

from reassure.checkers.cli.main import main
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.machine.drawn_terminal import DrawnConsole, broken
from reassure.checkers.machine.terminal import Console, StyledText, first_few, message, print_error, printable, quantity
from reassure.checkers.machine.terminal import printed as printed_by


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("", [""]),
        ("0123456789 12345678", ["0123456789 12345678"]),
        ("a line that is too long", ["a line that is too", "    long"]),
        ("  two: one, three, four, five, six", ["  two: one, three,", "      four, five,", "      six"]),
        ("a_word_that_is_longer_than_the_line b", ["a_word_that_is_longer_than_the_line", "    b"]),
        ("a b_word_that_is_longer_than_the_line", ["a", "    b_word_that_is_longer_than_the_line"]),
        ("again: reassure check a_model --set=a=b", ["again: reassure check a_model --set=a=b"]),
        ("  n  one two three four", ["  n  one two three", "     four"]),
        ("  a_name  int  one two three", ["  a_name  int  one", "      two three"]),
        ("one\nand a line that is too long", ["one", "and a line that is", "    too long"]),
        ("a line that is long and twelve letters", ["a line that is long", "    and twelve", "    letters"]),
        ("a line that is long until its end here", ["a line that is long", "    until its end", "    here"]),
        ("a line that is long and then sixteen", ["a line that is long", "    and then sixteen"]),
    ],
)
def test_a_line_is_broken_between_words(line: str, pieces: list[str]) -> None:
    assert broken(Text(line), 20).plain.split("\n") == pieces


@pytest.mark.parametrize(("number", "text"), [(0, "0 states"), (1, "1 state"), (2, "2 states"), (1200, "1,200 states")])
def test_a_number_with_its_noun(number: int, text: str) -> None:
    assert quantity(number, "state") == text


@pytest.mark.parametrize(
    ("most", "text"), [(0, " and 3 more (--full)"), (2, "a, b and 1 more (--full)"), (3, "a, b, c"), (9, "a, b, c")]
)
def test_the_first_few_of_several(most: int, text: str) -> None:
    assert first_few(["a", "b", "c"], most, " (--full)") == text


def test_a_last_column_in_the_right_half_keeps_its_place_where_its_words_fit() -> None:
    row = f"{'n':<40}  three words here and some more"
    assert broken(Text(row), 70).plain.split("\n") == [row[:68].rstrip(), " " * 42 + "more"]
    long = f"{'n':<40}  a {'word' * 8}"
    assert broken(Text(long), 70).plain.split("\n")[1:] == [" " * 4 + "word" * 8]


def test_the_lines_of_a_table_end_with_their_last_words() -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("a name")
    table.add_column("what")
    table.add_row("x", "a value that is longer")
    table.add_row("y", "value " * 50)
    assert (
        printed_by(lambda console: console.print(table))
        == f"a name  what\nx       a value that is longer\ny       {('value ' * 50).rstrip()}\n"
    )


def test_an_error_in_a_terminal_is_broken_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "reassure: a message of some words"
    print_error(text)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    print_error(text)
    assert capsys.readouterr().err == f"{text}\nreassure: a message\n    of some words\n"


def test_colours_survive() -> None:
    text = Text("violated: ", style="red")
    text.append("one, two, three, four", style="dim")
    lines = broken(text, 20).split("\n")
    assert [line.plain for line in lines] == ["violated: one, two,", "    three, four"]
    assert "dim" in {str(span.style) for span in lines[1].spans}


def printed(monkeypatch: pytest.MonkeyPatch, terminal: bool, columns: bool) -> str:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", "20")
    out = io.StringIO()
    Console(lambda: None, file=out, force_terminal=terminal, no_color=True, width=20).print("a line that is too long")
    return out.getvalue()


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with FORCE_COLOR, as in the log of a CI job, whose width is not known."""
    assert printed(monkeypatch, terminal=False, columns=True) == "a line that is too long\n"
    assert printed(monkeypatch, terminal=True, columns=False) == "a line that is too long\n"
    assert printed(monkeypatch, terminal=True, columns=True) == "a line that is too\n    long\n"


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a\nb", "a\n", "\n\na", "  a  b", "a ", "a \nb", " ", "a\tb", "\ta", "a\rb", "a\x07b", "a\x1bb"),
        *("[red]a[/red]", ":smile:", "é 漢字 \u2003", "x" * 300, "word " * 60, " " * 300 + "\na", "a\udc80"),
    ],
)
def test_a_pipe_gets_without_rich_what_it_gets_with_it(text: str) -> None:
    plain, drawn, pieces = io.StringIO(), io.StringIO(), io.StringIO()
    Console(file=plain, width=200, no_color=True, force_terminal=False).print(text, style="red")
    DrawnConsole(lambda: None, printable, file=drawn, width=200, no_color=True, force_terminal=False).draw(
        text, style="red"
    )
    Console(file=pieces, width=200, force_terminal=False).print(StyledText(text[:1], "red").append(text[1:], "dim"))
    assert plain.getvalue() == drawn.getvalue() == pieces.getvalue()
    assert plain.getvalue().endswith("\n")


def test_a_text_in_pieces_has_the_styles_of_rich() -> None:
    written, drawn = io.StringIO(), io.StringIO()
    Console(file=written, force_terminal=True).print(StyledText("a ", "cyan").append("b", "bold red").append(" c"))
    rich.console.Console(file=drawn, force_terminal=True).print(Text("a ", "cyan").append("b", "bold red").append(" c"))
    assert written.getvalue() == drawn.getvalue()
    assert "\x1b[" in written.getvalue()


def test_the_list_of_commands_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > len(COMMANDS)
    assert [line for line in lines if len(line) > 80] == []


CLEARS = "\x1b[2J\x9b31m\u202e"
WRITTEN_OUT = r"\x1b[2J\x9b31m\u202e"


def test_control_characters_of_a_file_are_written_out() -> None:
    """What others wrote does not move the cursor of a terminal, and colours are this program's own."""
    table = Table("a", box=None)
    table.add_row(Text(f"x{CLEARS}", style="red"))

    def write(console: Console) -> None:
        console.print(f"a{CLEARS} b")
        console.print(Text(f"c{CLEARS}", style="red"))
        console.print(table)

    told = printed_by(write)
    assert [line.split() for line in told.splitlines()[:3]] == [[f"a{WRITTEN_OUT}", "b"], [f"c{WRITTEN_OUT}"], ["a"]]
    assert told.splitlines()[3].strip().startswith(r"x\x1b")
    assert all(letter.isprintable() for line in told.splitlines() for letter in line)


def test_a_message_quotes_little_of_a_file() -> None:
    assert message(f"{CLEARS}\n" + "x" * 9_000) == f"{WRITTEN_OUT}\n" + "x" * 2_000 + "..."
    assert message("one\ntwo") == "one\ntwo"
