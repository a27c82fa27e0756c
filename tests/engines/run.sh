#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PROGRAM] - the adapters of python/encoderfile_c in the engines themselves, tables of pyarrow and of the engines through
# `map`, and `map` killed at random times. ENGINES names a Python that has pyarrow and the engines (default: python3); what
# is not there is skipped by name. ENGINE_ROWS (default 20000), TABLES (10000). Run by ./dev test-all; the last line is "N passed, N
# failed, N skipped".
cd -- "$(dirname -- "$0")/../.." || exit 1
EF=$(realpath "${1:-build/encoderfile}") python=${ENGINES:-python3} passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

if ! "$python" -c 'import pyarrow' 2>/dev/null; then
    echo "  skipped: engines: no Python module pyarrow (ENGINES=$python)"
    echo "0 passed, 0 failed, 1 skipped"
    exit
fi

# judge NAME COMMAND...: status 77 is skipped.
judge() {
    name=$1 begin=$(date +%s) && shift
    "$@" >"$work/log" 2>&1 </dev/null
    case $? in
        0) passed=$((passed + 1)) && echo "$name: $(($(date +%s) - begin)) s: $(tail -n 1 "$work/log")" ;;
        77) skipped=$((skipped + 1)) && echo "  skipped: $name: $(tail -n 1 "$work/log")" ;;
        *) failed=$((failed + 1)) && echo "  FAILED: $name" && tail -n 20 "$work/log" ;;
    esac
}

"$EF" export examples/bus-ner "$work/bus-ner" --quantize >/dev/null || exit 1
"$EF" build "$work/bus-ner" -o "$work/bus.encoderfile" --name bus >/dev/null || exit 1
judge "what adapters send and refuse" "$python" tests/engines/adapters.py "$EF" "$work/bus.encoderfile"
judge "random tables" "$python" tools/oracle/arrow.py check "$EF" "${TABLES:-10000}"
judge "tables of engines" "$python" tools/oracle/arrow.py engines "$EF" 200
judge "map killed" "$python" tests/engines/kill.py "$work/bus.encoderfile"
[ -x build/tests/test_data_parquet ] || make -s build/tests/test_data_parquet
judge "random tables of Parquet" "$python" tools/oracle/parquet.py check build/tests/test_data_parquet "${TABLES:-10000}"
judge "Parquet of engines" "$python" tools/oracle/parquet.py engines build/tests/test_data_parquet 200
judge "memory of Parquet" "$python" tools/oracle/parquet.py memory "$EF"
judge "checkpoints killed 100 times" env KILLS=100 tests/cli/parquet.sh "$EF"
"$python" tests/engines/engines.py data "$work/bus.encoderfile" "$work/rows" "${ENGINE_ROWS:-20000}" >/dev/null 2>&1 || exit 1
for engine in stream duckdb polars daft spark ray; do
    judge "$engine" "$python" tests/engines/engines.py $engine "$work/bus.encoderfile" "$work/rows"
    rm -rf "$work/rows/$engine.parquet"
done
for engine in spark ray daft; do
    judge "$engine, a process killed" "$python" tests/engines/engines.py $engine "$work/bus.encoderfile" "$work/rows" kill
    rm -rf "$work/rows/$engine.parquet"
done
judge "ray, an actor killed" "$python" tests/engines/engines.py ray "$work/bus.encoderfile" "$work/rows" actor
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
