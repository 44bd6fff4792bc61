#!/bin/bash
# All that a machine with an H200 has to say, the most wanted first; each part has its own limit of time.
#     bash bench/h200/everything.sh OUT_FOLDER [kernels service trust compare candidates features calibration]
# Without names all parts, about thirteen minutes. OUT_FOLDER/everything.tar.gz holds what is known so far,
# every few seconds anew, so that a run that is cut off has not been for nothing.
set -u
out=${1:?where results go}
shift
parts=("$@")
[ $# -gt 0 ] || parts=(kernels service trust compare candidates features calibration)
kept=$(mktemp -d)
keep() { tar -C "$kept" -czf "$out/.growing" . && mv "$out/.growing" "$out/everything.tar.gz"; }
(while sleep 5; do keep; done) &
saver=$!
trap 'kill $saver; keep' EXIT
. bench/h200/setup.sh
set +eo pipefail
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1 HB
python=$HB/python

trust() {
    timeout 190 $python bench/h200/trust.py "$kept/trust.json" 180
    timeout 25 $python bench/h200/do_bench.py "$kept/do_bench.json" \
        {portable:{one_group,two_groups,four_groups,official_4,official_3,official_2},{matmul,zero,nothing}:two_groups}
    $python bench/h200/trust_table.py "$kept/trust.json" "$kept/do_bench.json"
}
kernels() { bash bench/h200/kernels.sh "$kept"; }
compare() { timeout 280 $python bench/h200/compare.py "$kept/compare.json" 20; }
candidates() {
    timeout 170 $python -m pytest -q -p no:randomly -p no:cacheprovider -m gpu tests/worker/test_candidates.py
}
service() { mkdir "$kept/service" && timeout 120 bash bench/h200/whole_service.sh "$kept/service"; }
features() { timeout 200 bash bench/h200/features.sh "$kept"; }
calibration() { timeout 90 $HB/halfbyte calibrate --runs 3 --json | tee "$kept/calibrate.json"; }

for part in "${parts[@]}"; do
    echo "[$SECONDS s] $part"
    $part > "$kept/$part.log" 2>&1
    tail -n 25 "$kept/$part.log" | cut -c1-240
done
echo "[$SECONDS s] done"
