#!/usr/bin/env bash
# The main job: every model checked against what gate.toml expects of it. Makes its own environment.
set -euo pipefail
cd "$(dirname "$0")"
. ./environment.sh
environment
exec .venv/bin/reassure gate "$@"
