#!/bin/bash
# All that a machine with an H200 has to say about the Hopper kernels; results go to folder $1.
# Under two minutes. Needs PyTorch for CUDA with its CUDA bindings; nothing else is installed.
set -u
out=${1:?where results go}
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1 TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-/tmp/halfbyte-cache}
timeout 90 python3 bench/kernel_times.py --out "$out/kernels.json"
timeout 60 python3 bench/hopper_plans.py --out "$out/hopper_plans.json"
timeout 40 python3 bench/hopper_sweep.py --seconds 10 --out "$out/hopper_sweep.json"
sanitize() { # name, options of the tool, --, options of the script
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    timeout 100 compute-sanitizer --tool "$name" --kernel-name kns=grouped_gemm \
        --kernel-name kns=decode_a --error-exitcode 9 "${options[@]}" \
        python3 bench/hopper_sanitize.py "$@" > "$out/$name.txt" 2>&1
    echo "$name: $? $(tail -1 "$out/$name.txt")"
}
sanitize memcheck --report-api-errors no -- &
sanitize racecheck -- --every-lane &
wait
