#!/usr/bin/env bash
# The tests with other versions of the libraries: tests/packaging/dependencies.sh lowest|newest [WORDS FOR PYTEST]
# lowest: the lower bounds in pyproject.toml; newest: what the package index has within the upper bounds.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=.venv/${1:?lowest or newest}
python=${PYTHON:-python3}
"$python" -m venv --clear "$folder"
"$python" - "$1" > "$folder/constraints.txt" << 'END'
import re, sys, tomllib

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    name, lowest, others = re.fullmatch(r"([\w-]+)>=([\d.]+)(.*)", requirement).groups()
    print(f"{name}=={lowest}" if sys.argv[1] == "lowest" else requirement)
END
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$folder/constraints.txt" --editable '.[test]'
"$folder/bin/python" -m pip freeze --exclude-editable
shift
exec "$folder/bin/python" -m pytest -n 3 "$@"
