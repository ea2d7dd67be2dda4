# Sourced by run.sh and test.sh: one environment of this checkout for both, made once and again when pyproject.toml changes.
environment() {
    local python=""
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if command -v "$candidate" > /dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        echo "Python 3.11 or newer is needed" >&2
        exit 153
    fi
    local stamp=".venv/made-for" pyproject
    pyproject=$(cksum < pyproject.toml)
    exec 9< pyproject.toml
    "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' # two scripts started at once install in turn
    if [ ! -x .venv/bin/python ] || [ ! -f "$stamp" ] || [ "$(< "$stamp")" != "$pyproject" ]; then
        echo "installing into .venv, which takes a minute or more" >&2
        rm -f "$stamp" # an installation that is interrupted from here on is repeated
        .venv/bin/python -m pip --version > /dev/null 2>&1 || "$python" -m venv --clear .venv
        .venv/bin/python -m pip install --progress-bar off --disable-pip-version-check --editable '.[test]'
        echo "$pyproject" > "$stamp"
    fi
    # Where PYTHONDONTWRITEBYTECODE is set, as in many containers, each command would compile the package.
    env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m compileall -q src/reassure src/reassure/*/ > /dev/null || true
    exec 9<&-
}
