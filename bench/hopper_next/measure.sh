#!/bin/bash
# The Hopper kernel as it is against `next_form.patch`, in turns, twice each; JSON goes to folder $1.
# Run from the root of a checkout on an H200 with PyTorch for CUDA.
set -eu
out=$(realpath "${1:?where results go}")
forms=$(mktemp -d)
trap 'rm -r "$forms"' EXIT
for form in present next; do
    mkdir "$forms/$form"
    cp -r kernels bench tests "$forms/$form"
done
patch -d "$forms/next" -p1 < bench/hopper_next/next_form.patch > "$out/patch.txt"
for turn in 1 2; do
    for form in present next; do
        (cd "$forms/$form" && TRITON_CACHE_DIR=$forms/cache-$form PYTHONPATH=$PWD \
            timeout 50 python3 bench/kernel_times.py --kernel hopper --samples 30 --out "$out/$form-$turn.json")
    done
done
