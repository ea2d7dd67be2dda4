"""`python -m reassure` is the command `reassure`."""

from reassure.checkers.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
