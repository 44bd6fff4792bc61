# What several GPUs of a machine have to say, in one command of two minutes: see several_gpus.py.
#     bash bench/h200/several_gpus.sh OUT_FOLDER SEED_FILE
# OUT_FOLDER/several_gpus.tar.gz holds what is known so far, every few seconds anew.
set -u
out=$1
kept=$(mktemp -d)
keep() { tar -C "$kept" --exclude redis -czf "$out/.growing" . && mv "$out/.growing" "$out/several_gpus.tar.gz"; }
(while sleep 4; do keep; done) &
saver=$!
trap 'kill $saver; keep' EXIT
. bench/h200/setup.sh
set +eo pipefail
# A lost worker is noticed sooner than by default.
export HALFBYTE_QUEUE_LEASE_S=6 HALFBYTE_QUEUE_BEAT_S=1 PYTHONUNBUFFERED=1
$HB/python bench/h200/several_gpus.py "$kept" "$2"
tail -n 5 "$kept/up.log" "$kept/second.log" "$kept"/data/logs/*worker*.log | cut -c1-240
