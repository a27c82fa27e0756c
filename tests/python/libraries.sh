#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libraries.sh [PYTHON] - libraries.py by a Python that has some of them. make python comes first.
cd -- "$(dirname -- "$0")/../.." || exit 1
python=${1:-${PYTHON:-python3}}
if PYTHONPATH=python "$python" -c 'import numpy, encoderfile_c; encoderfile_c.Model' 2>/dev/null; then
    PYTHONPATH=python exec "$python" tests/python/libraries.py
fi
echo "  skipped: libraries: $python has no numpy, or the extension is not made"
echo "0 passed, 0 failed, 1 skipped"
