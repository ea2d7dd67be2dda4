"""`reassure completion`: a script by which a shell completes commands, options and their choices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from reassure.checkers.cli.own_process import SHELLS
from reassure.checkers.console.commands import options_of, subcommands
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.shared_options import Option

Words = dict[str, tuple[Option, ...]]
"""The options of each command; of `kafka conform` under this name."""


def _bash(commands: Words) -> str:
    cases = [f'    "{name}") words="{" ".join(_flags(options))}" ;;' for name, options in commands.items()]
    choices = [
        f'    "{name} {flag}") words="{" ".join(option.choices)}" ;;'
        for name, options in commands.items()
        for option in options
        for flag in option.flags
        if option.choices
    ]
    second = _below(commands) | {name: list(_first_words(options)) for name, options in commands.items()}
    below = [f'    "{name}") words="{" ".join(names)}" ;;' for name, names in second.items() if names]
    return "\n".join([
        "_reassure() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" name="${COMP_WORDS[1]}" words=""',
        '  local before="${COMP_WORDS[COMP_CWORD-1]}"',
        f'  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(COMMANDS)}"; fi',
        '  if [ "$COMP_CWORD" -eq 2 ]; then case "$name" in', *below, "  esac; fi",
        f'  case " {" ".join(_below(commands))} " in *" $name "*) name="$name ${{COMP_WORDS[2]}}" ;; esac',
        '  if [ "$COMP_CWORD" -gt 1 ] && [[ "$word" == -* ]]; then case "$name" in', *cases, "  esac; fi",
        '  case "$name $before" in', *choices, "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
        '  if [ -z "$words" ]; then COMPREPLY=($(compgen -f -- "$word")); fi',
        "}",
        "complete -o filenames -F _reassure reassure",
    ])  # fmt: skip


def _zsh(commands: Words) -> str:
    """Bash's function, which zsh executes."""
    begun = "(( $+functions[compdef] )) || { autoload -U compinit && compinit }"
    return f"{begun}\nautoload -U +X bashcompinit && bashcompinit\n{_bash(commands)}"


def _fish(commands: Words) -> str:
    lines = ["complete -c reassure -f -n __fish_use_subcommand"]
    lines += [
        f"complete -c reassure -n __fish_use_subcommand -a {name} -d {_quoted(COMMANDS[name])}" for name in COMMANDS
    ]
    for name, options in commands.items():
        first, _, second = name.partition(" ")
        seen = f"__fish_seen_subcommand_from {first}"
        if second:
            lines.append(f"complete -c reassure -f -n {_quoted(seen)} -a {second}")
            seen += f"; and __fish_seen_subcommand_from {second}"
        if choices := _first_words(options):
            lines.append(f"complete -c reassure -f -n {_quoted(seen)} -a {_quoted(' '.join(choices))}")
        for option in options:
            if not option.flags:
                continue
            words = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
            words += [] if option.switch else ["-r"]
            words += [f"-f -a {_quoted(' '.join(option.choices))}"] if option.choices else []
            lines.append(f"complete -c reassure -n {_quoted(seen)} {' '.join(words)} -d {_quoted(option.help)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _flags(options: tuple[Option, ...]) -> list[str]:
    return [flag for option in options for flag in option.flags]


def _first_words(options: tuple[Option, ...]) -> tuple[str, ...]:
    """The choices of an argument that has no flag."""
    return next((tuple(option.choices) for option in options if option.choices and not option.flags), ())


def _below(commands: Words) -> dict[str, list[str]]:
    """The commands that have others below them, with the names of these."""
    below: dict[str, list[str]] = {}
    for name in commands:
        first, _, second = name.partition(" ")
        if second:
            below.setdefault(first, []).append(second)
    return below


WRITERS: dict[str, Callable[[Words], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
OPTIONS = (Option("SHELL", "the shell", choices=SHELLS),)


def completion_script(shell: str) -> str:
    """The script of a shell, from the options of every command."""
    commands: Words = {}
    for name in COMMANDS:
        commands |= {f"{name} {word}": options_of(f"{name} {word}") for word in subcommands(name)} or {
            name: options_of(name)
        }
    return WRITERS[shell](commands) + "\n"


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints the script."""
    sys.stdout.write(completion_script(args.shell))
    return Exit.OK
