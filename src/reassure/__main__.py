"""`python -m reassure` is the command `reassure`."""

from reassure.checkers.cli.own_process import run

if __name__ == "__main__":
    raise SystemExit(run())
