# What a calibration says, and whether Nsight Compute runs inside the sandbox; without the service.
#     . bench/h200/setup.sh; bash bench/h200/profile.sh OUT_FOLDER
set -uo pipefail
out=$1
HB=/opt/hb/bin
command -v ncu && ncu --version
ls -ld /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/* 2> /dev/null
head -c 600 /usr/local/cuda/bin/ncu | strings | head -20
timeout 200 $HB/python bench/h200/ncu_in_sandbox.py > "$out/ncu_in_sandbox.txt" 2>&1
cat "$out/ncu_in_sandbox.txt"
timeout 90 $HB/halfbyte calibrate --runs 3 --json > "$out/calibrate.json"
cat "$out/calibrate.json"
