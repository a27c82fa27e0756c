#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [PYTHON] - `pip wheel ./python` by this machine's compiler, installed into a fresh environment without any other package: what works
# without numpy works there. Wanted is Python with pip and headers: PYTHON, python3, or the one that tests/clients has installed. Without, that is
# "skipped", and a failure where EF_CLIENTS=required.
cd -- "$(dirname -- "$0")/../.." || exit 1
python=${1:-${PYTHON:-python3}} passed=0 failed=0
missing() {
    if [ "${EF_CLIENTS:-}" = required ]; then echo "  FAILED: $1" && echo "0 passed, 1 failed, 0 skipped" && exit 1; fi
    echo "  skipped: $1" && echo "0 passed, 0 failed, 1 skipped" && exit 0
}
fits='import sys, sysconfig, os, pip, ensurepip; sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
for python in "$python" build/clients/venv/bin/python none; do
    "$python" -c "$fits" 2>/dev/null && break
done
[ "$python" != none ] || missing "install: no Python 3.11 with headers and pip"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$PWD
check() {
    what=$1 && shift
    if "$@" >"$dir/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "  FAILED: $what" && tail -5 "$dir/log"; fi
}
check "pip wheel" "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-index -w "$dir" ./python
check "sdist" "$python" -c "import sys; sys.path.insert(0, 'python'); import backend; print(backend.build_sdist('$dir'))"
check "an older Python is named" sh -c "'$python' -c 'import sys; sys.path.insert(0, \"python\"); sys.version_info = (3, 10, 0); import backend' 2>&1 |
    grep -q 'needs Python 3.11 or newer: this is 3.10'"
check "missing headers are named" sh -c "'$python' -c 'import sys; sys.path.insert(0, \"python\"); import backend; backend.sysconfig.get_path = lambda name: \"/nowhere\"
backend.Target(backend.platform.machine(), None).headers()' 2>&1 | grep -q '^/nowhere/Python.h: not there; it comes with python3-dev'"
check "the sdist has all that the wheel is made of" sh -c "tar tzf '$dir'/encoderfile_c-*.tar.gz | grep -q /src/api/api.c && tar tzf '$dir'/encoderfile_c-*.tar.gz | grep -q /native/module.c"
check "venv" "$python" -m venv "$dir/venv"
check "pip install" "$dir/venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-index "$dir"/encoderfile_c-*.whl
cat >"$dir/try.py" <<END
import sys
import encoderfile_c
assert encoderfile_c.__file__.startswith("$dir"), encoderfile_c.__file__
assert "numpy" not in sys.modules
from encoderfile_c import Model, Server, build, pipeline
labels = "$root/tests/golden/pipelines/labels"
assert pipeline("text-classification", labels)("Ada")[0]["label"] == "contradiction"
assert Model("$root/examples/bus-ner").predict(["bus to Goa"], {"extract": True})["results"][0]["extracted"]["DEST"] == "Goa"
assert build("$root/examples/bus-ner", "$dir/ner.encoderfile")["size"] > 1e6
with Server("$dir/ner.encoderfile") as server:
    assert server.predict(["bus to Goa"])["model_id"] == "bus-ner"
assert not server.running
END
check "the package, without numpy" env -C "$dir" "$dir/venv/bin/python" -I "$dir/try.py"
check "the program" "$dir/venv/bin/encoderfile" version
check "the package that build() wrote" "$dir/ner.encoderfile" infer "bus to Goa"
check "python -m encoderfile_c" "$dir/venv/bin/python" -m encoderfile_c version
check "licences" sh -c "grep -q libjpeg-turbo '$dir'/venv/lib/python*/site-packages/encoderfile_c-*.dist-info/licenses/NOTICES"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
