#!/bin/bash
# All that a machine with an H200 has to say about the Hopper kernels; results go to folder $1.
# About two minutes; with `plans` as $2, which sets costs of the planner, half a minute more. Needs PyTorch for
# CUDA with its CUDA bindings, and for the tests what bench/h200/setup.sh makes.
set -u
out=${1:?where results go}
tests=${HB:-/opt/hb/bin}/python
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1 TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-/tmp/halfbyte-cache}
timeout 50 python3 bench/kernel_times.py --samples 40 --out "$out/kernels.json" 2>&1 | tee "$out/kernels.log"
[ "${2:-}" = plans ] && timeout 60 python3 bench/hopper_plans.py --out "$out/hopper_plans.json"
# Nothing below is timed, so all of it runs at once.
sanitize() { # tool, options of the tool, --, options of the script
    local tool=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    timeout 25 compute-sanitizer --tool "$tool" --error-exitcode 9 "${options[@]}" \
        python3 bench/hopper_sanitize.py "$@" > "$out/$tool.txt" 2>&1
    echo "$tool: $? $(tail -n 1 "$out/$tool.txt")"
}
ours=(--kernel-name kns=grouped_gemm --kernel-name kns=decode_a)
sanitize memcheck --report-api-errors no "${ours[@]}" -- &
sanitize racecheck "${ours[@]}" -- --every-lane &
sanitize initcheck -- --few &
if [ -x "$tests" ]; then
    for which in any_sizes "not any_sizes"; do
        file=$out/hopper_tests_${which// /_}.txt
        (timeout 60 "$tests" -m pytest -v -p no:randomly -p no:cacheprovider -m gpu -k "$which" \
            tests/kernels/test_hopper_gemm.py > "$file" 2>&1
        tail -n 2 "$file") &
    done
fi
wait
