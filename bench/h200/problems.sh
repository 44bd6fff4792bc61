#!/bin/bash
# Each problem's built-in kernel through the judge on a GPU machine, under a minute; JSON goes to
# folder $1.
#     . bench/h200/setup.sh; bash bench/h200/problems.sh OUT_FOLDER [PROBLEM ...]
set -euo pipefail
out=${1:?where results go}
shift
timeout 100 ${HB:-/opt/hb/bin}/python -m bench.h200.problems "$out/problems.json" "$@"
