#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# promises.sh - everything that docs/benchmarks.md says, measured again, one part after another:
#
#     MINILM=folder bench/promises.sh [PART...]     parts: avx2 threads native gemm families forty fresh bytes accuracy
#
# MINILM: a real all-MiniLM-L6-v2 (model.onnx, tokenizer.json, config.json); without it random weights are timed, and
# fresh and accuracy are skipped. MINILM_INT8: its published int8 .onnx. RUST: a package of the Rust encoderfile.
# PYTHON: with torch, transformers, onnx, onnxscript, onnxruntime, openvino, tokenizers. WORK: models and results
# (10 GB). RUN: put before every timing (a lock, `timeout` of four minutes; a timing that was cut short is begun again,
# twice at most, and goes on where it stopped). KEEP=1: cases that were measured before are not measured again. A
# part's text goes to WORK/parts, all of them between the words of bench/page.md to WORK/benchmarks.md.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
program=$PWD/build/encoderfile
work=${WORK:-build/bench-work}
python=${PYTHON:-python3}
run=${RUN:-}
mkdir -p "$work/parts"
[ -x "$program" ] && [ -x build/bench/turns ] || { echo "promises: build first: make all bench" >&2 && exit 1; }
if [ -n "${MINILM:-}" ] && [ ! -e "$work/minilm/script17.onnx" ]; then
    mkdir -p "$work/minilm"
    ln -s "$(realpath "$MINILM/model.onnx")" "$work/minilm/script17.onnx"
    [ -z "${MINILM_INT8:-}" ] || ln -s "$(realpath "$MINILM_INT8")" "$work/minilm/published-int8.onnx"
fi

slot() { # 124: timeout's word for it
    for _ in 1 2 3; do
        $run "$@" 2>>"$work/errors.txt"
        [ $? = 124 ] || return 0
    done
}
peers() { slot "$python" bench/peers.py "$program" "$work" --results "$work/$part.jsonl" "$@" >>"$work/log.txt"; }
report() { "$python" bench/report.py "$@" "$work/$part.jsonl" | grep -v '^not measured'; }
models() { "$python" bench/models.py "$program" "$work" "$@" >>"$work/log.txt" 2>&1; }
again() { [ -n "${KEEP:-}" ] || rm -f "$work/$part.jsonl"; }
few="ours fp32,torch fp32,ort fp32,openvino fp32,ours int8,ort int8,ort int8 published"

avx2() {
    models minilm bert-base && again
    "$python" bench/hide.py "$work/avx2" >>"$work/log.txt"
    peers --isa avx2 --peers "$few" --models minilm --cases 1x16,1x128,8x32
    peers --isa avx2 --peers "$few" --models minilm --cases 1x512,mixed
    peers --isa avx2 --peers "$few" --models bert-base --cases 1x16,1x128,8x32
    peers --isa avx2 --peers "$few" --models bert-base --cases 1x512
    peers --isa avx2 --peers "$few" --models bert-base --cases mixed
    report
}

threads() {
    models minilm bert-base && again
    peers --isa avx2 --threads 2 --peers "$few" --models minilm,bert-base --cases 1x128
    report
}

native() {
    models minilm bert-base && again
    peers --models minilm --cases 1x16,1x128,8x32
    peers --models minilm --cases 1x512,mixed
    peers --models bert-base --cases 1x16,1x128
    peers --models bert-base --cases 8x32
    peers --models bert-base --cases mixed --peers "$few"
    report --tables
}

gemm() {
    echo '```'
    slot build/bench/kernels avx2 0.1 | grep 'M 256'
    slot build/bench/kernels avx512 0.1 | grep 'gemm_f32.*M 256'
    slot build/bench/kernels avx512vnni 0.1 | grep 'gemm_i8.*M 256'
    slot build/bench/kernels avx512bf16 0.1 | grep 'gemm_bf16.*M 256'
    echo '```'
}

families() {
    again
    for name in distilbert roberta mpnet albert modernbert deberta-v3; do
        models $name
        peers --peers "ours fp32,ort fp32" --seconds 0.3 --cases 1x128,mixed \
            --models $name:script17,$name:dynamo18,$name:ours
    done
    report | grep -v '^ok'
}

forty() {
    for name in bus-ner minilm-ner; do slot "$python" bench/forty.py "$program" "$work" --models $name; done
    slot "$python" bench/forty.py "$program" "$work" --models bert-base --cases query,long
    slot "$python" bench/forty.py "$program" "$work" --models bert-base --cases "mixed 32" --blocks 3
}

fresh() {
    [ -n "${MINILM:-}" ] || { echo "skipped: no MINILM" && return; }
    slot "$python" bench/fresh.py "$program" "$work" "$MINILM" ${RUST:+--rust "$RUST"}
}

bytes() { "$python" bench/footprint.py "$program" "$work" ${MINILM:+"$MINILM"} 2>>"$work/errors.txt"; }

accuracy() {
    [ -n "${MINILM:-}" ] || { echo "skipped: no MINILM" && return; }
    "$python" bench/quality.py "$program" "$work/quality" "$MINILM" ${MINILM_INT8:+"$MINILM_INT8"}
}

all="avx2 threads native gemm families forty fresh bytes accuracy"
for part in ${*:-$all}; do
    echo "$part" >&2
    $part | sed -E 's/^(ok|BROKEN) +/- \1: /; s/^        /- /' >"$work/parts/$part.txt"
done
for part in $all; do
    [ -f "$work/parts/$part.txt" ] || continue
    echo
    sed -n "/^<!-- $part -->/,/^<!-- end -->/p" bench/page.md | sed '/^<!--/d'
    echo
    cat "$work/parts/$part.txt"
done >"$work/body.md"
sed '/^<!--/,$d' bench/page.md | sed '$d' | cat - "$work/body.md" | cat -s >"$work/benchmarks.md"
grep -h 'BROKEN' "$work"/parts/*.txt
echo "written: $work/benchmarks.md" >&2
