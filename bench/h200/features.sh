# Ranked, profile, telemetry and a worker a GPU through the whole service, asked with curl.
#     . bench/h200/setup.sh; bash bench/h200/features.sh OUT_FOLDER
# Keeps OUT_FOLDER/features.tar.gz: each job's JSON, the profiler's text, logs.
set -uo pipefail
out=$1
kept=$(mktemp -d)
HB=/opt/hb/bin
data=$(mktemp -d)
began=$(date +%s)
stamp() { echo "[$(($(date +%s) - began)) s] $*"; }
finish() {
    kill "$up" 2> /dev/null && wait "$up"
    cp -r "$data/logs" "$kept/" 2> /dev/null
    tar -C "$kept" -czf "$out/features.tar.gz" .
}
$HB/halfbyte up --port 8000 --data "$data" > "$kept/up.log" 2>&1 &
up=$!
trap finish EXIT
for _ in $(seq 450); do
    grep -q serving "$kept/up.log" && break
    kill -0 $up 2> /dev/null || break
    sleep 0.2
done
cat "$kept/up.log"
stamp "serving"
api=http://127.0.0.1:8000
curl -sS $api/v1/workers | tee "$kept/workers.json"
echo
answer() { # name, curl arguments of the POST
    local name=$1 id
    shift
    curl -sSg "$@" > "$kept/$name.accepted.json"
    id=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1])).get("id", ""))' "$kept/$name.accepted.json")
    if [ -z "$id" ]; then cat "$kept/$name.accepted.json"; return; fi
    for _ in 1 2 3; do
        curl -sS "$api/v1/jobs/$id?wait=60&samples=true" > "$kept/$name.json"
        grep -q '"state":"\(finished\|failed\|cancelled\)"' "$kept/$name.json" && break
    done
    curl -sS "$api/v1/jobs/$id/artifacts/profile.txt" > "$kept/$name.txt"
    python3 - "$kept/$name.json" "$name" <<'PY'
import json, sys
job = json.load(open(sys.argv[1]))
verdict = job["verdict"] or {}
print(sys.argv[2], job["state"], verdict.get("summary", "")[:200], job["error"], verdict.get("score"))
print("   hidden", verdict.get("hidden"), "seed", verdict.get("seed"), "audit", verdict.get("audit"))
for case in verdict.get("cases", []):
    t = case["timing"]
    if t:
        print("   %.2f us [%.2f, %.2f] n=%d %s unstable=%s" % (t["median_us"], t["p10_us"], t["p90_us"], t["samples"], t["method"], t["unstable"]), t["telemetry"])
print("   calibration", verdict.get("calibration"))
profile = verdict.get("profile")
if profile:
    print("   profile", profile["tool"], profile["note"])
    for kernel in profile["kernels"][:12]:
        print("     ", kernel)
PY
    stamp "$name"
}
one=(-F 'm=[128,384]' -F 'n=[4096,4096]' -F 'k=[1536,1536]')
# A GPU has one worker: a second one is refused, and told who has it. Meanwhile nothing is timed.
timeout 25 $HB/halfbyte worker --gpus all --data "$data" > "$kept/second.log" 2>&1 &
second=$!
answer profile -F file=@examples/my_kernel.py "${one[@]}" -F mode=profile $api/v1/submissions
wait $second
tail -n 3 "$kept/second.log" "$data"/logs/gpu-worker-1.log
stamp "a second worker"
answer ranked -F file=@examples/my_kernel.py -F mode=ranked $api/v1/submissions
answer refused -F file=@examples/my_kernel.py -F mode=ranked -F 'seed=1' $api/v1/submissions
curl -sS $api/v1/workers > "$kept/workers_after.json"
