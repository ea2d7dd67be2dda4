"""What a command line without a model asks for: the version, the list of commands. It is answered before all else is
imported.
"""

from __future__ import annotations

import reassure

GROUPS = {
    "check": {
        "new": ("cli.commands.new", "write a small model with its test and its entry in a gate file"),
        "models": ("cli.commands.models", "list the models, or print what one of them declares"),
        "lint": ("cli.commands.lint", "list what is outside the language, as file:line:column for editors"),
        "check": ("cli.commands.check", "search every reachable state of a model"),
        "simulate": ("cli.commands.simulate", "take random walks through a model: finds bugs, proves nothing"),
        "prove": ("cli.commands.prove", "prove invariants for runs of any length, or refute them"),
        "verify": ("cli.commands.verify", "check a certificate of `prove` with a fresh solver"),
        "replay": ("cli.commands.replay", "execute a trace, or a folder of them, in plain Python"),
        "show": ("cli.commands.show", "print a trace as text, Markdown, a picture, a diagram or JSON"),
        "explore": ("explorer.command", "walk through a model in the browser, step by step"),
        "gate": ("gate.command", "run all checks of a file; exit with the most severe code"),
        "serve": ("cli.commands.serve", "keep a process with everything imported: commands start sooner"),
        "completion": ("cli.commands.completion", "print a script by which bash, zsh or fish complete commands"),
    },
    "ask": {
        "find": ("analyses.find.command", "find the shortest trace that makes an expression true"),
        "stuck": ("analyses.stuck.command", "find states from which a goal is unreachable on every path"),
        "guards": ("analyses.guards.command", "remove each guard in turn: which properties depend on it?"),
        "mutants": ("analyses.mutants.command", "make one mistake at a time: which properties does it violate?"),
        "fairness": ("analyses.fairness.command", "drop and weaken each fairness assumption: which are needed?"),
        "diff": ("analyses.diff.command", "compare a model and a variant: states, steps and properties"),
        "sweep": ("analyses.sweep.command", "check every configuration of a grid, here or on Spark"),
        "traces": ("analyses.suites.command", "write few traces that together cover every action, pair or state"),
        "validate": ("analyses.validate.command", "find a run of a model that matches a log"),
        "graph": ("analyses.graph.command", "draw the reachable states of a model, or groups of them"),
        "query": ("cli.commands.query", "run SQL over the state space that a Spark run has kept"),
        "export": ("tla.command", "write a model as a TLA+ module, with its configuration for TLC"),
    },
    "Kafka": {
        "plan": ("kafka.plan.command", "check a reassignment of a real cluster, or propose one"),
        "audit": ("kafka.audit.command", "judge every change of a partition in a KRaft metadata log"),
        "claims": ("ledger.command", "print what the documents promise, and the verdicts"),
        "kafka": ("kafka.command", "run Kafka's own controller; compare it with a model"),
    },
}
"""Every command, by the group that `reassure --help` lists it in: its module below `reassure.checkers`, imported when
the command is given; and what it does, short enough for a line of the help in 80 columns."""
MODULES = {name: module for rows in GROUPS.values() for name, (module, _) in rows.items()}
COMMANDS = {name: text for rows in GROUPS.values() for name, (_, text) in rows.items()}
"""What each command does, by its name."""
WELCOME = f"""\
reassure {reassure.__version__}: write a protocol in plain Python, and find the shortest run that breaks a promise.

  reassure new lease       write a small model, lease.py, with its test
  reassure check lease.py  search every reachable state of it
  reassure models          list the models that come with it
  reassure --help          list every command"""
"""What `reassure` prints without a word after it."""
TITLES = {
    "check": "check (write a model, check it, read its counterexamples)",
    "ask": "ask (further questions about a model)",
    "Kafka": "Kafka (clusters, logs, documents and released code)",
}
"""The headings of the groups of commands."""
USAGE = """\
usage: reassure [-h] [--version] COMMAND

Specification and model checking of protocols in plain Python: any protocol can
be modelled; those of Kafka's partition reassignment come with it.

positional arguments:
  COMMAND     one of those below

options:
  -h, --help  show this help message and exit
  --version   show program's version number and exit
"""


def overview() -> str:
    """What `reassure --help` prints."""
    width = max(map(len, COMMANDS))
    groups = [
        "\n".join([f"{TITLES[group]}:", *(f"  {name:{width}}  {COMMANDS[name]}" for name in names)])
        for group, names in GROUPS.items()
    ]
    [program] = reassure.__path__
    return "\n\n".join([USAGE.rstrip(), *groups, f"the language of models: {program}/spec/README.md"])
