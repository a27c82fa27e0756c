#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# platforms.sh - packages that were stripped, and packages for another CPU. Nothing here runs on that CPU (see
# tests/arm): the base program is this one with another machine number. usage: tests/cli/platforms.sh [PROGRAM]
. "$(dirname -- "$0")/lib.sh" || exit 1
TEXT="AC sleeper bus from Bangalore to Mumbai tomorrow"
skip() { # under CI the tools are installed
    if [ -n "${EF_CI:-}" ]; then flunk "$1"; else skipped=$((skipped + 1)) && echo "  skipped: $1"; fi
}
same() { cmp -s "$2" "$3" && pass || flunk "$1: $2 and $3 differ"; }
members() { "$1" inspect "$2" --verify >txt 2>err && grep '"verified": true' txt && grep -A3 '"name": ".*",$' txt | grep '"length"\|"sha256"'; }
# page MODEL: every member of a page and more begins at one.
page() {
    "$EF" inspect "$1" | sed -n 's/.*"\(offset\|length\)": \([0-9]*\).*/\2/p' | paste - - |
        awk '$1 % ($2 < 4096 ? 64 : 4096) { bad = 1 } END { exit bad || NR < 5 }'
    check $? "members of $1 at pages"
}

works "export" "$EF" export "$BUS" m
printf 'encoderfile:\n  name: x\n  path: m\n  model_type: token_classification\n  output_path: x.encoderfile\n' >c.yml
prints "build says what for" "x.encoderfile ($(uname -m)-unknown-linux-gnu, " "$EF" build -f c.yml
./x.encoderfile infer "$TEXT" >answer
members "$EF" x.encoderfile >wanted
[ -s answer ] && [ -s wanted ] && pass || flunk "a package to begin with"
page x.encoderfile

# ---- strip ----
# survives NAME COMMAND...: the command strips y.encoderfile in place.
survives() {
    name=$1 && shift
    command -v "$1" >/dev/null || { skip "$1 is not installed" && return; }
    cp x.encoderfile y.encoderfile
    works "$name" "$@" y.encoderfile
    cmp -s x.encoderfile y.encoderfile && flunk "$name: nothing was moved" || pass
    ./y.encoderfile infer "$TEXT" >found 2>err
    same "$name: its answer" found answer
    members ./y.encoderfile y.encoderfile >found
    same "$name: its members, by itself" found wanted
    members "$EF" y.encoderfile >found
    same "$name: its members" found wanted
    page y.encoderfile
    works "$name: as a program" "$EF" build -f c.yml -o z.encoderfile --base-binary-path y.encoderfile
    ./z.encoderfile infer "$TEXT" >found 2>err
    same "$name: as a program, its answer" found answer
    [ "$(wc -c <z.encoderfile)" -le "$(wc -c <x.encoderfile)" ] && pass || flunk "$name: the old payload is still in it"
}
survives strip strip
survives "strip -g" strip -g
survives "strip --strip-unneeded" strip --strip-unneeded
survives "objcopy -S" objcopy -S
llvm=$(command -v llvm-strip || ls /usr/bin/llvm-strip-* 2>/dev/null | tail -1)
survives llvm-strip "${llvm:-llvm-strip}"
survives "llvm-strip -g" "${llvm:-llvm-strip}" -g

# ---- another CPU ----
case $(uname -m) in
    x86_64) own=x86_64 other=aarch64 number='\267\000' ;;
    *) own=aarch64 other=x86_64 number='\076\000' ;;
esac
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; } # FILE OFFSET OCTAL
cp "$EF" other && poke other 18 "$number"
mkdir bin && cp "$EF" bin/encoderfile
for name in $own $own-linux $own-unknown-linux-gnu $own-unknown-linux-musl; do
    works "target $name" "$EF" build -f c.yml -o y.encoderfile --target "$name"
    same "target $name" y.encoderfile x.encoderfile
done
refuses "nothing beside" "found no encoderfile-$other-linux beside this program" bin/encoderfile build -f c.yml -o no --target $other
refuses "another target" "target: found .riscv64-unknown-linux-gnu., wanted x86_64-unknown-linux-gnu" "$EF" build -f c.yml -o no --target riscv64-unknown-linux-gnu
refuses "another system" "target: found .$own-apple-darwin." "$EF" build -f c.yml -o no --target $own-apple-darwin
cp other bin/encoderfile-$other-linux
for name in $other $other-linux $other-unknown-linux-gnu; do
    prints "target $name" "y.encoderfile ($other-unknown-linux-gnu, " bin/encoderfile build -f c.yml -o y.encoderfile --target "$name"
    members "$EF" y.encoderfile >found
    same "target $name: members" found wanted
done
prints "inspect says what for" "\"target\": \"$other-unknown-linux-gnu\"" "$EF" inspect y.encoderfile
works "by path" "$EF" build -f c.yml -o z.encoderfile --base-binary-path other
same "by path" y.encoderfile z.encoderfile
works "by path and target" "$EF" build -f c.yml -o z.encoderfile --base-binary-path other --target $other
same "a package of it as the base" y.encoderfile z.encoderfile
works "from a package of another CPU" "$EF" build -f c.yml -o z.encoderfile --base-binary-path y.encoderfile
same "from a package of another CPU" y.encoderfile z.encoderfile
refuses "path and another target" "other: program for $other-unknown-linux-gnu, wanted $own-unknown-linux-gnu" "$EF" build -f c.yml -o no --base-binary-path other --target $own
cp "$EF" bin/encoderfile-$other-linux
refuses "a wrong program beside" "program for $own-unknown-linux-gnu, wanted $other-unknown-linux-gnu" bin/encoderfile build -f c.yml -o no --target $other
refuses "a program of somebody else" "not an encoderfile program" "$EF" build -f c.yml -o no --base-binary-path "$(command -v dd)"
cp other wide && poke wide 5 '\002'
refuses "big endian" "wanted ELF of 64 bits, little endian" "$EF" build -f c.yml -o no --base-binary-path wide
cp other third && poke third 18 '\050\000'
refuses "a third CPU" "found ELF machine 40, wanted 62 (x86-64) or 183 (aarch64)" "$EF" build -f c.yml -o no --base-binary-path third
[ ! -e no ] && pass || flunk "something was written"
finish
