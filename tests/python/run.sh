#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PYTHON] - the Python package from the tree: every test_*.py of this folder. Wanted is Python 3.11 with its headers and numpy:
# PYTHON, python3, or the one that tests/clients has installed. Without, that is "skipped", and a failure where EF_CLIENTS=required.
# MADE=1: the extension is there already.
cd -- "$(dirname -- "$0")/../.." || exit 1
missing() {
    if [ "${EF_CLIENTS:-}" = required ]; then echo "  FAILED: $1" && echo "0 passed, 1 failed, 0 skipped" && exit 1; fi
    echo "  skipped: $1" && echo "0 passed, 0 failed, 1 skipped" && exit 0
}
fits='import sys, sysconfig, os, numpy; sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
for python in "${1:-${PYTHON:-python3}}" build/clients/venv/bin/python none; do
    "$python" -c "$fits" 2>/dev/null && break
done
[ "$python" != none ] || missing "python: no Python 3.11 with headers and numpy"
[ -n "${MADE:-}" ] || make -s -j"$(nproc)" python PYTHON="$python" >build/python.log 2>&1 ||
    { tail -20 build/python.log && echo "0 passed, 1 failed, 0 skipped" && exit 1; }
PYTHONPATH=python exec "$python" tests/python/run.py
