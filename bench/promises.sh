#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# promises.sh - everything that docs/benchmarks.md says, measured again, one part after another:
#
#     MINILM=folder bench/promises.sh [PART...]
#     QUICK=1 WORK=folder bench/promises.sh         # does everything run? One short block each; no figures to keep
#
# Parts, and about how many minutes each takes once the models are made (by the first run: 10 more): avx2 15, threads 3,
# native 12, gemm 1, families 12, forty 8, fresh 1, bytes 4, accuracy 5. What each took is said on stderr.
#
# MINILM: a real all-MiniLM-L6-v2 (model.onnx, tokenizer.json, config.json); without it random weights are timed, and
# fresh and accuracy are skipped. MINILM_INT8: its published int8 .onnx. RUST: a package of the Rust encoderfile.
# PYTHON: with torch, transformers, onnx, onnxscript, onnxruntime, openvino, tokenizers. WORK: models and results
# (10 GB). RUN: put before every timing (a lock, `timeout` of four minutes). Its status 75, "not now", is asked again
# after ten seconds, for an hour at most; 124 and 137, "cut short", at once, nine times at most: a case goes on with the
# block where it stopped. KEEP=1: cases that were measured before are not measured again. A part's text goes to
# WORK/parts, all of them between the words of bench/page.md to WORK/benchmarks.md. Ends with 1 where something could
# not be measured; a broken promise is a result.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
program=$PWD/build/encoderfile
work=${WORK:-build/bench-work}
python=${PYTHON:-python3}
run=${RUN:-}
quick=${QUICK:+--blocks 1 --seconds 0.02}
mkdir -p "$work/parts"
[ -x "$program" ] && [ -x build/bench/turns ] || { echo "promises: build first: make all bench" >&2 && exit 1; }
if [ -n "${MINILM:-}" ] && [ ! -e "$work/minilm/script17.onnx" ]; then
    mkdir -p "$work/minilm"
    ln -s "$(realpath "$MINILM/model.onnx")" "$work/minilm/script17.onnx"
    [ -z "${MINILM_INT8:-}" ] || ln -s "$(realpath "$MINILM_INT8")" "$work/minilm/published-int8.onnx"
fi

# slot COMMAND...: one timing. 1 is a promise that is broken, unless Python says otherwise.
slot() {
    cuts=0 waits=0
    while :; do
        $run "$@" 2>"$work/stderr.txt"
        code=$?
        cat "$work/stderr.txt" >>"$work/errors.txt"
        case $code in
        75) waits=$((waits + 1)) && [ $waits -le 360 ] && sleep 10 && continue ;;
        124 | 137) cuts=$((cuts + 1)) && [ $cuts -le 9 ] && continue ;;
        esac
        break
    done
    [ $code -gt 1 ] || grep -q '^Traceback' "$work/stderr.txt" || return 0
    echo "$part: status $code of: $*: $(tail -n 1 "$work/stderr.txt")" | tee -a "$work/failed.txt" >&2
}
peers() {
    slot "$python" bench/peers.py "$program" "$work" --results "$work/$part.jsonl" "$@" $quick >>"$work/log.txt"
}
untimed() { run= && slot "$@"; }
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
    seconds=${QUICK:+0.005}
    slot build/bench/kernels avx2 ${seconds:-0.1} | grep 'M 256'
    slot build/bench/kernels avx512 ${seconds:-0.1} | grep 'gemm_f32.*M 256'
    slot build/bench/kernels avx512vnni ${seconds:-0.1} | grep 'gemm_i8.*M 256'
    slot build/bench/kernels avx512bf16 ${seconds:-0.1} | grep 'gemm_bf16.*M 256'
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

against_torch() { slot "$python" bench/forty.py "$program" "$work" "$@" $quick; }
forty() {
    for name in bus-ner minilm-ner; do against_torch --models $name; done
    against_torch --models bert-base --cases query,long
    against_torch --models bert-base --cases "mixed 32" --blocks 3
}

fresh() {
    [ -n "${MINILM:-}" ] || { echo "skipped: no MINILM" && return; }
    slot "$python" bench/fresh.py "$program" "$work" "$MINILM" ${RUST:+--rust "$RUST"} ${QUICK:+--repeat 2}
}

bytes() { untimed "$python" bench/footprint.py "$program" "$work" ${MINILM:+"$MINILM"}; }

accuracy() {
    [ -n "${MINILM:-}" ] || { echo "skipped: no MINILM" && return; }
    untimed "$python" bench/quality.py "$program" "$work/quality" "$MINILM" ${MINILM_INT8:+"$MINILM_INT8"}
}

all="avx2 threads native gemm families forty fresh bytes accuracy"
rm -f "$work/failed.txt"
for part in ${*:-$all}; do
    case " $all " in *" $part "*) ;; *) echo "promises: no part $part, of: $all" >&2 && exit 2 ;; esac
    begin=$(date +%s)
    $part | sed -E 's/^(ok|BROKEN) +/- \1: /; s/^        /- /' >"$work/parts/$part.txt"
    echo "$part: $((($(date +%s) - begin + 30) / 60)) minutes" >&2
    grep -q '[^`]' "$work/parts/$part.txt" || echo "$part: nothing came out" | tee -a "$work/failed.txt" >&2
done
for part in avx2 threads native amx gemm families forty fresh bytes accuracy; do # amx: by hand, elsewhere
    [ -f "$work/parts/$part.txt" ] || continue
    echo
    sed -n "/^<!-- $part -->/,/^<!-- end -->/p" bench/page.md | sed '/^<!--/d'
    echo
    cat "$work/parts/$part.txt"
done >"$work/body.md"
sed '/^<!--/,$d' bench/page.md | sed '$d' | cat - "$work/body.md" | cat -s >"$work/benchmarks.md"
grep -h 'BROKEN' "$work"/parts/*.txt
echo "written: $work/benchmarks.md" >&2
[ ! -s "$work/failed.txt" ]
