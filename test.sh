#!/usr/bin/env bash
# The tests: style, types, and the suite. Makes its own environment. Further words go to pytest.
set -euo pipefail
cd "$(dirname "$0")"
. ./environment.sh
environment
if ! command -v java > /dev/null; then echo "no Java runtime: what needs Spark is not tested"; fi
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
unset PYTHONDONTWRITEBYTECODE
.venv/bin/mypy &
types=$!
# Meanwhile the tests are compiled, once for all processes. What fails here fails below, and is said there.
.venv/bin/python -m pytest --collect-only --quiet "$@" > /dev/null 2>&1 || true
wait "$types"
exec .venv/bin/python -m pytest -n 3 --dist worksteal "$@"
