#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# explore.sh [PROGRAM] [NODES] - runs explore.mjs with what tests/page installs (playwright-core from npm, Debian's Chromium).
cd -- "$(dirname -- "$0")/.." || exit 1
program=$(realpath "${1:-build/encoderfile}")
EF_CHROMIUM=$(command -v chromium) || { echo "no Chromium (apt install chromium)" >&2; exit 1; }
mkdir -p build/page
[ -d build/page/node_modules/playwright-core ] || (cd build/page && npm install --silent --no-audit --no-fund playwright-core) || exit 1
cp bench/explore.mjs build/page/bench_explore.mjs
EF_PROGRAM=$program EF_CHROMIUM=$EF_CHROMIUM EF_ROOT=$PWD exec node build/page/bench_explore.mjs "${2:-5000}"
