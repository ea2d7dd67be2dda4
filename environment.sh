# Sourced by run.sh and test.sh: an environment of this checkout's own, made once and again when pyproject.toml changes.
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
    local stamp=".venv/made-for"
    local wanted
    wanted="$1 $(cksum < pyproject.toml)"
    if [ ! -f "$stamp" ] || ! grep -qxF "$wanted" "$stamp"; then
        echo "installing into .venv, which takes about a minute" >&2
        [ -x .venv/bin/python ] || "$python" -m venv .venv
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable "$1"
        echo "$wanted" >> "$stamp"
    fi
}
