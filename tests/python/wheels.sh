#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheels.sh [PYTHON] - the wheels that ./dev wheel has put into dist/: size, tag, visible names, stable ABI, answers. PYTHON has auditwheel and
# abi3audit where these are to judge. The ARM wheel runs in an emulator with a Python of Debian's, which is fetched once into build/wheel.
cd -- "$(dirname -- "$0")/../.." || exit 1
python=${1:-${PYTHON:-python3}} passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
check() {
    what=$1 && shift
    if "$@" >"$dir/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "  FAILED: $what" && tail -5 "$dir/log"; fi
}
skip() { skipped=$((skipped + 1)) && echo "  skipped: $1"; }
wheel() { ls dist/encoderfile_c-*-cp311-abi3-manylinux_2_17_"$1".manylinux2014_"$1".whl 2>/dev/null | tail -1; }
finish() { echo "$passed passed, $failed failed, $skipped skipped" && [ $failed = 0 ] && exit; exit 1; }
[ -n "$(wheel x86_64)$(wheel aarch64)" ] || { skip "wheels: none in dist; ./dev wheel makes them" && finish; }

# What a wheel answers: numbers of the bundled example, as a digest.
cat >"$dir/answers.py" <<'END'
import hashlib
import json
import sys
import encoderfile_c
model = encoderfile_c.Model(sys.argv[1])
texts = ["AC sleeper bus from Bangalore to Mumbai tomorrow"] + ["Volvo from Pune to Goa on Sunday " * k for k in range(1, 12)]
digest = hashlib.sha256()
for tensor in model.tensors(texts):
    digest.update(memoryview(tensor).tobytes())
print(model.info()["kernels"], digest.hexdigest(), hashlib.sha256(json.dumps(model.predict(texts)).encode()).hexdigest())
END
unpack() { mkdir -p "$dir/$1" && "$python" -m zipfile -e "$(wheel "$1")" "$dir/$1"; }
for cpu in x86_64 aarch64; do
    file=$(wheel $cpu)
    [ -n "$file" ] || { skip "wheels: none for $cpu in dist" && continue; }
    unpack $cpu
    core=$dir/$cpu/encoderfile_c/_core.abi3.so
    check "$cpu: at most 10 MB" test "$(wc -c <"$file")" -le 10485760
    check "$cpu: one visible name" test "$(nm -D --defined-only "$core" | awk '{ print $3 }')" = PyInit__core
    check "$cpu: glibc 2.17" sh -c "! nm -D '$core' | grep -oE 'GLIBC_2[.][0-9]+' | sort -uV | tail -1 | grep -qvE 'GLIBC_2[.]([0-9]|1[0-7])\$'"
    check "$cpu: no library but the C library's" sh -c "! readelf -d '$core' | grep NEEDED | grep -qvE 'lib(c|m|pthread|dl)[.]so|ld-linux'"
    check "$cpu: assertions are on" sh -c "nm -D '$core' | grep -q __assert_fail"
    check "$cpu: stubs and py.typed" sh -c "ls '$dir/$cpu/encoderfile_c/py.typed' '$dir/$cpu/encoderfile_c/_core.pyi'"
    if "$python" -c 'import auditwheel' 2>/dev/null; then
        check "$cpu: auditwheel" sh -c "'$python' -m auditwheel show '$file' | tr '\n' ' ' | grep -q 'manylinux_2_17_$cpu'"
    else skip "$cpu: auditwheel is not installed"; fi
    if "$python" -c 'import abi3audit' 2>/dev/null; then
        check "$cpu: abi3audit" "$python" -m abi3audit -s "$file"
    else skip "$cpu: abi3audit is not installed"; fi
done

# The same bits as gcc's build, and on every Python that is here.
if [ "$(uname -m)" = x86_64 ] && [ -n "$(wheel x86_64)" ]; then
    for isa in scalar avx2 avx512; do
        EF_CPU=$isa PYTHONPATH=$dir/x86_64 "$python" "$dir/answers.py" examples/bus-ner >"$dir/zig.$isa" 2>&1
        if [ -f python/encoderfile_c/_core.abi3.so ]; then
            EF_CPU=$isa PYTHONPATH=python "$python" "$dir/answers.py" examples/bus-ner >"$dir/gcc.$isa" 2>&1
            check "x86_64: $isa: the numbers of this machine's own build, bit for bit" cmp "$dir/zig.$isa" "$dir/gcc.$isa"
        else skip "x86_64: no extension of this machine's compiler: make python"; fi
    done
    for other in python3.11 python3.12 python3.13 python3.14; do
        "$other" -c 'pass' 2>/dev/null || { skip "x86_64: no $other" && continue; }
        EF_CPU=avx2 PYTHONPATH=$dir/x86_64 "$other" "$dir/answers.py" examples/bus-ner >"$dir/other" 2>&1
        check "x86_64: $other" cmp "$dir/zig.avx2" "$dir/other"
    done
fi

# ARM: Debian's Python, unpacked, by an emulator.
arm() {
    root=$PWD/build/wheel/arm-root
    if [ ! -x "$root/usr/bin/python3.11" ]; then
        mkdir -p build/wheel/arm-debs "$root"
        (cd build/wheel/arm-debs && apt-get -q download python3.11-minimal:arm64 libpython3.11-minimal:arm64 libpython3.11-stdlib:arm64 \
            libc6:arm64 libexpat1:arm64 zlib1g:arm64 libgcc-s1:arm64) >"$dir/log" 2>&1 || return 1
        for deb in build/wheel/arm-debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
    fi
    [ -x "$root/usr/bin/python3.11" ]
}
if [ -n "$(wheel aarch64)" ] && [ "$(uname -m)" = x86_64 ]; then
    if command -v qemu-aarch64-static >/dev/null && arm; then
        for cpu in cortex-a57 cortex-a76; do
            PYTHONPATH=$dir/aarch64 qemu-aarch64-static -cpu $cpu -L "$root" "$root/usr/bin/python3.11" "$dir/answers.py" examples/bus-ner >"$dir/arm" 2>&1
            check "aarch64: $cpu answers" grep -qE '^(neon|dotprod) ' "$dir/arm"
            [ ! -f "$dir/zig.avx2" ] || check "aarch64: $cpu: x86-64's numbers" test "$(cut -d' ' -f2- "$dir/arm")" = "$(cut -d' ' -f2- "$dir/zig.avx2")"
        done
        chmod +x "$dir"/aarch64/encoderfile_c-*.data/scripts/encoderfile
        check "aarch64: the program" qemu-aarch64-static "$dir"/aarch64/encoderfile_c-*.data/scripts/encoderfile version
    else skip "aarch64: no emulator, or Debian's Python for ARM cannot be had"; fi
fi
finish
