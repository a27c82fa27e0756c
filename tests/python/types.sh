#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# types.sh [PYTHON] - mypy --strict over the package, stubtest of the extension's stubs, pyright; each that PYTHON has. make python comes first.
cd -- "$(dirname -- "$0")/../../python" || exit 1
python=${1:-${PYTHON:-python3}} passed=0 failed=0 skipped=0
check() { # MODULE COMMAND...
    "$python" -c "import $1" 2>/dev/null || { skipped=$((skipped + 1)) && echo "  skipped: $1 is not installed" && return; }
    module=$1 && shift
    log=$("$@" 2>&1) && passed=$((passed + 1)) || { failed=$((failed + 1)) && echo "  FAILED: $module" && echo "$log" | tail -20; }
}
check mypy "$python" -m mypy --strict -p encoderfile_c
check mypy.stubtest env PYTHONPATH=. "$python" -m mypy.stubtest encoderfile_c._core --allowlist ../tests/python/stubtest.txt --ignore-unused-allowlist
check pyright "$python" -m pyright -p . --pythonpath "$python"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
