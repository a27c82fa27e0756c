#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PROGRAM] [NAME...] - the page in a real browser: Debian's Chromium, driven by playwright-core, judged by axe-core. Both come
# from npm, once, into build/page. Without node, npm, Chromium or a network that is "skipped". NAME: only these tests.
cd -- "$(dirname -- "$0")/../.." || exit 1
program=${1:-build/encoderfile}
[ $# = 0 ] || shift
lacks() { echo "  skipped: $1" && echo "0 passed, 0 failed, 1 skipped" && exit 0; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || lacks "no Chromium (apt install chromium)"
command -v node >/dev/null && command -v npm >/dev/null || lacks "no node or no npm"
[ -x "$program" ] || lacks "no $program"
mkdir -p build/page
if ! cmp -s tests/page/package.json build/page/installed; then
    cp tests/page/package.json build/page/package.json
    (cd build/page && npm install --silent --no-audit --no-fund) >build/page/log 2>&1 || { tail -3 build/page/log && lacks "npm could not install playwright-core and axe-core"; }
    cp tests/page/package.json build/page/installed
fi
cp tests/page/*.mjs build/page/
EF_PROGRAM=$(realpath "$program") EF_CHROMIUM=$chromium EF_ROOT=$PWD exec node build/page/main.mjs "$@"
