#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vision_graphs.sh [PROGRAM] - graphs of vision models as torch exports them (tests/golden/vision_graphs, by
# tools/oracle/vision_graphs.py): ONNX Runtime's numbers as they are, and with everything fused.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GRAPHS=$ROOT/tests/golden/vision_graphs
prints "as ONNX says" '4 passed, 0 failed, 0 unsupported' "$EF" onnx test "$GRAPHS"
prints "channels last, fused" '4 passed, 0 failed, 0 unsupported' "$EF" onnx test --optimize "$GRAPHS"
finish
