#!/usr/bin/env bash
# The tests: style, types, and the suite. Makes its own environment. Further words go to pytest.
#   ./test.sh          the ordinary tests, without those that tests/dear.txt lists
#   ./test.sh --all    all tests but the slow ones
#   ./test.sh PATH...  the tests of these files, -k WORD those of this name, dear or not
set -euo pipefail
cd "$(dirname "$0")"
tier=--ordinary
if [ "${1:-}" = --all ]; then
    tier=""
    shift
fi
. ./environment.sh
environment
if ! command -v java > /dev/null; then echo "no Java runtime: what needs Spark is not tested"; fi
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
unset PYTHONDONTWRITEBYTECODE
said=$(mktemp)
.venv/bin/mypy > "$said" 2>&1 &
types=$!
trap 'kill "$types" 2> /dev/null || true; rm -f "$said"' EXIT
if [ -z "$(find tests -name '*-pytest-*.pyc' -print -quit)" ]; then
    # The tests are compiled, once for all processes. What fails here fails below, and is said there.
    .venv/bin/python -m pytest --collect-only --quiet > /dev/null 2>&1 || true
fi
code=0
.venv/bin/python -m pytest -n 3 --dist worksteal $tier "$@" || code=$?
if [ -z "$tier" ] && [ "$#" = 0 ] && [ "$code" = 0 ]; then .venv/bin/python -m tests.costs --check || code=$?; fi
wait "$types" || code=$?
cat "$said"
exit "$code"
