#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitizers.sh [PYTHON] - the tests of the extension with it and the library under AddressSanitizer and UBSan, then its threads under
# ThreadSanitizer, in an interpreter that knows of neither (LD_PRELOAD). Wanted is what tests/python/run.sh wants. ONLY=san, ONLY=tsan: one of
# them; EF_LONG=1: 8 threads with 10,000 calls each.
cd -- "$(dirname -- "$0")/../.." || exit 1
fits='import sys, sysconfig, os, numpy; sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
for python in "${1:-${PYTHON:-python3}}" build/clients/venv/bin/python none; do
    "$python" -c "$fits" 2>/dev/null && break
done
[ "$python" != none ] || { echo "  skipped: no Python 3.11 with headers and numpy" && echo "0 passed, 0 failed, 1 skipped" && exit; }
passed=0 failed=0 wrap=
setarch -R true 2>/dev/null && wrap="setarch -R" # shadows are placed by address

# under NAME FLAGS LIBRARIES TESTS...: the package with an extension made so, and these tests.
under() {
    name=$1 flags=$2 preload= && shift 2
    [ "${ONLY:-$name}" = "$name" ] || return 0
    for library in $1; do preload="$preload $(${CC:-gcc} -print-file-name=$library)"; done
    shift
    folder=build/$name/python && rm -rf "$folder" && mkdir -p "$folder" && cp -r python/encoderfile_c "$folder"
    { make -s -j"$(nproc)" "$(echo "$name" | tr sant SANT)=1" PARTS=library &&
        "$python" python/build.py --library "build/$name/lib/libencoderfile.a" --cflags "$flags" --out "$folder/encoderfile_c/_core.abi3.so"; } \
        >"$folder/log" 2>&1 || { tail -20 "$folder/log" && failed=$((failed + 1)) && echo "  FAILED: $name: it does not build" && return; }
    EF_PROGRAM=$PWD/build/encoderfile EF_SLOW=1 PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=66 LD_PRELOAD=$preload \
        PYTHONPATH=$folder:tests/python $wrap "$python" tests/python/run.py "$@" >"$folder/log" 2>&1
    if [ $? = 0 ] && ! grep -q 'WARNING: ThreadSanitizer\|ERROR: AddressSanitizer\|runtime error:' "$folder/log"; then
        passed=$((passed + 1))
    else
        tail -60 "$folder/log" && failed=$((failed + 1)) && echo "  FAILED: $name"
    fi
}
under san "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" "libasan.so libubsan.so" test_core test_faces test_arrow
under tsan "-O1 -g -fsanitize=thread" libtsan.so test_core.Hard.test_threads test_core.Hard.test_close_while_others_call \
    test_arrow.Threads.test_another_thread_reads test_arrow.Threads.test_released_by_a_thread_of_another_library
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
