# The whole service on a GPU machine: API, Redis, CUDA worker, sandboxed runner; asked with curl for the
# official benchmarks, and for the fourth of them with files of tests/candidates. About a minute.
#     . bench/h200/setup.sh; bash bench/h200/whole_service.sh OUT_FOLDER [CANDIDATE...]
set -euo pipefail
out=$1
HB=/opt/hb/bin
$HB/halfbyte up --port 8000 --data "$(mktemp -d)" > "$out/up.log" 2>&1 &
up=$!
trap 'kill $up; wait $up' EXIT
for _ in $(seq 300); do
    grep -q serving "$out/up.log" && break
    sleep 0.2
done
cat "$out/up.log"
api=http://127.0.0.1:8000
answer() { # name, curl arguments of the POST
    local name=$1 id
    shift
    id=$(curl -sSg "$@" | python3 -c 'import json,sys; print(json.load(sys.stdin)["id"])')
    for _ in 1 2 3; do
        curl -sS "$api/v1/jobs/$id?wait=60&samples=true" > "$out/$name.json"
        grep -q '"state":"finished"' "$out/$name.json" && break
    done
    python3 - "$out/$name.json" "$name" <<'PY'
import json, sys
job = json.load(open(sys.argv[1]))
verdict = job["verdict"]
print(sys.argv[2], job["state"], verdict and verdict["summary"][:160], verdict and verdict["score"])
for case in (verdict or {}).get("cases", []):
    t = case["timing"]
    if t:
        print("   %.2f us [%.2f, %.2f] n=%d %s unstable=%s light=%.2f" % (t["median_us"], t["p10_us"], t["p90_us"], t["samples"], t["method"], t["unstable"], t["fraction_of_speed_of_light"]))
PY
}
answer official_builtin -H 'content-type: application/json' -d '{"mode":"benchmark"}' $api/v1/jobs
answer official_example -F file=@examples/my_kernel.py -F mode=benchmark $api/v1/submissions
answer official_builtin_again -H 'content-type: application/json' -d '{"mode":"benchmark"}' $api/v1/jobs
shift
case4=(-F 'm=[128,384]' -F 'n=[4096,4096]' -F 'k=[1536,1536]' -F mode=benchmark)
for candidate in "$@"; do
    answer "$candidate" -F file=@tests/candidates/$candidate.py "${case4[@]}" $api/v1/submissions
done
curl -sS $api/v1/workers
