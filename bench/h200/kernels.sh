#!/bin/bash
# All that a machine with an H200 has to say about the Hopper kernels; results go to folder $1.
# About three minutes. Needs PyTorch for CUDA with its CUDA bindings; nothing else is installed.
set -u
out=${1:?where results go}
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1 TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-/tmp/halfbyte-cache}
timeout 90 python3 bench/hopper_sweep.py --seconds 30 --out "$out/hopper_sweep_h200.json"
timeout 60 python3 bench/hopper_sanitize.py && echo "small cases are right"
timeout 90 python3 bench/kernel_times.py --out "$out/kernels_h200.json"
timeout 60 python3 bench/hopper_plans.py --out "$out/hopper_plans_h200.json"
for tool in memcheck racecheck; do
    timeout 100 compute-sanitizer --tool "$tool" --kernel-regex kns=grouped_gemm \
        --error-exitcode 9 python3 bench/hopper_sanitize.py > "$out/$tool.txt" 2>&1
    echo "$tool: $? $(tail -1 "$out/$tool.txt")"
done
