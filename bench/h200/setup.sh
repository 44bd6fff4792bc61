# Sourced on a GPU machine that has PyTorch but not the service's packages: makes /opt/hb, a virtual
# environment of that PyTorch, the wheels in .whl/ and this checkout. After it, `$HB` is its bin folder.
set -euo pipefail
HB=/opt/hb/bin
if [ ! -x $HB/halfbyte ]; then
    python3 -m venv --without-pip /opt/hb
    site=$($HB/python -c 'import site; print(site.getsitepackages()[0])')
    python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" .whl/*.whl
    python3 -c 'import site; print(site.getsitepackages()[0])' > "$site/torch.pth"
    pwd > "$site/halfbyte.pth"
    mkdir -p "$site/halfbyte-0.1.0.dist-info"
    printf 'Metadata-Version: 2.1\nName: halfbyte\nVersion: 0.1.0\n' > "$site/halfbyte-0.1.0.dist-info/METADATA"
    printf '#!%s/python\nfrom client.main import main\nmain()\n' $HB > $HB/halfbyte
    chmod +x $HB/halfbyte
fi
