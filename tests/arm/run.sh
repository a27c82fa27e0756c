#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - packages for 64-bit ARM, built here and there, answering under an emulator: needs build/encoderfile,
# build/arm/encoderfile (./dev build --target aarch64-linux), qemu-user-static and curl. Run by ./dev test-all. The last
# line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." || exit 1
ARM=$PWD/build/arm/encoderfile
. tests/cli/lib.sh
trap '[ -z "${server:-}" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
TEXT="AC sleeper bus from Bangalore to Mumbai tomorrow"
BODY="{\"inputs\":[\"$TEXT\",\"Volvo from Pune to Goa on Sunday\"]}"
skip() { skipped=$((skipped + 1)) && echo "  skipped: $1"; }
same() { cmp -s "$2" "$3" && pass || flunk "$1: $2 and $3 differ"; }
arm() { QEMU_CPU=${cpu:-max} qemu-aarch64-static "$@"; }
members() { "$EF" inspect "$1" --verify | grep '"length"\|"sha256"\|"verified": true'; }
# answer PACKAGE OUT COMMAND...: a server of it, one request, the end of the server.
answer() {
    package=$1 out=$2 port= tries=0 && shift 2
    "$@" "$package" serve --http-hostname 127.0.0.1 --http-port 0 --grpc-port 0 2>log &
    server=$!
    while [ -z "$port" ] && [ $tries -lt 300 ]; do
        sleep 0.1
        port=$(sed -n 's/.*http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' log)
        tries=$((tries + 1))
    done
    curl -s -m 60 -H 'Content-Type: application/json' -d "$BODY" "http://127.0.0.1:$port/predict" >"$out"
    curl -s -m 60 --http2-prior-knowledge "http://127.0.0.1:$port/metrics" | grep build_info >metrics
    kill "$server" && wait "$server"
    check $? "$package: exit code of serve"
    server=
}

cp "$EF" . && cp "$ARM" encoderfile-aarch64-linux && chmod +x encoderfile*
for precision in fp32 bf16 int8; do
    works "export" ./encoderfile export "$BUS" "m-$precision"
    printf 'encoderfile:\n  name: x\n  path: m-%s\n  precision: %s\n  model_type: token_classification\n' $precision $precision >c.yml
    works "x86-64, $precision" ./encoderfile build -f c.yml -o here
    works "aarch64 from x86-64, $precision" ./encoderfile build -f c.yml -o arm --target aarch64-linux
    works "aarch64 from aarch64, $precision" arm encoderfile-aarch64-linux build -f c.yml -o native
    works "x86-64 from aarch64, $precision" arm encoderfile-aarch64-linux build -f c.yml -o back --base-binary-path encoderfile
    same "built there and here, $precision" arm native
    same "and the other way, $precision" here back
    members here >wanted && members arm >found
    [ "$(grep -c sha256 wanted)" -ge 6 ] && pass || flunk "members, $precision"
    same "members, $precision" found wanted
    answer ./here wanted env EF_CPU=avx2
    grep -q '"results"' wanted && pass || flunk "HTTP, $precision"
    for cpu in cortex-a57 cortex-a76 max; do
        export QEMU_CPU=$cpu
        answer ./arm found qemu-aarch64-static
        same "HTTP, $precision, $cpu" found wanted
    done
    case $precision in int8) isa=dotprod ;; *) isa=neon ;; esac
    grep -q "isa=\"$isa\"" metrics && grep -q "$precision, $isa," log && pass || flunk "the kernels it says it has, $precision: $(cat metrics)"
done
cpu=cortex-a57 && arm ./arm version --json >txt && has "a57" '"int8": "neon"' && lacks "a57" dotprod
cpu=cortex-a76 && arm ./arm version --json >txt && has "a76" '"int8": "dotprod"' && lacks "a76" i8mm
cpu=max && arm ./arm version --json >txt && has "max" '"i8mm"' && has "max" '"bf16"$'
arm ./arm infer "$TEXT" >wanted
for page in 16384 65536; do # bytes of a page, as some kernels of ARM have them
    arm -p $page ./arm infer "$TEXT" >found
    same "pages of $page bytes" found wanted
done
for tool in aarch64-linux-gnu-strip llvm-strip; do
    command -v $tool >/dev/null || { skip "no $tool" && continue; }
    works "$tool" $tool -o stripped arm
    members arm >wanted && members stripped >found
    same "$tool: members" found wanted
    arm ./arm infer "$TEXT" >wanted && arm ./stripped infer "$TEXT" >found
    same "$tool: answer" found wanted
done
finish
