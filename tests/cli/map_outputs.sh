#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# map_outputs.sh [PROGRAM] - where the answers of `map` go: forms by names, pipes whose reader leaves, files that are
# whole or absent, tables that are gone on with. The last line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
same() { # NAME A B
    cmp -s "$2" "$3"
    check $? "$1: $2 and $3 differ"
}
map() { timeout 60 "$EF" map -m "$BUS" "$@"; }
begins() { [ "$(head -c "${#2}" "$1")" = "$2" ]; }

awk 'BEGIN { for (i = 0; i < 2000; i++) printf "{\"id\":%d,\"text\":\"bus %d from Pune to Goa via stop %d\"}\n", i, i * 7919 % 1000, i % 37 }' >many.jsonl
head -5 many.jsonl >few.jsonl
map few.jsonl --keep id,text -o few.arrow 2>err && map few.jsonl --keep id,text -o few.parquet 2>err
check $? "inputs"

# ---- the form: by the name, else that of the input ----
form() { # INPUT OUTPUT BYTES
    rm -f "$2"
    works "$1 to $2" map "$1" --keep id -o "$2"
    begins "$2" "$3"
    check $? "$1 to $2 begins with $3"
}
for file in x.arrow x.feather x.ipc x.any; do form few.arrow $file ARROW1; done
for file in x.parquet x.pq; do form few.arrow $file PAR1; done
for file in x.jsonl x.ndjson x.json x.txt; do form few.arrow $file '{"id":"0"'; done
form few.arrow x.csv id,entities
form few.parquet x.any PAR1
form few.jsonl x.any '{"id":0'
form few.jsonl x.ARROW ARROW1
form few.jsonl x.Parquet PAR1
form few.arrow x.JSONL '{"id":"0"'
form few.arrow x.Csv id,entities
refuses "tabs out" "x.TSV: found a name of tab-separated values, which are not written" map few.jsonl -o x.TSV
[ ! -e x.TSV ]
check $? "x.TSV was not made"
works "a form for any name" map few.jsonl -o x.TSV --output-format csv

# ---- names of inputs, whatever their case ----
mkdir case && printf 'id,text\n7,bus to Goa\n' >case/a.CSV && cp few.parquet case/b.Parquet && gzip -c few.jsonl >case/c.JSONL.GZ
printf 'id\ttext\n7\tbus to Goa\n' >case/d.TSV && cp few.arrow case/e.Arrow
for file in a.CSV b.Parquet c.JSONL.GZ e.Arrow; do
    prints "$file is read by its name" '"word":"goa"' map case/$file --aggregation simple --output-format jsonl
done
refuses "tabs in" "case/d.TSV: found tab-separated values, which are not read, wanted CSV" map case/d.TSV
prints "what a .tsv is may be said" '"word":"goa"' map case/d.TSV --input-format text --aggregation simple
refuses "tabs to infer" "found tab-separated values" "$EF" infer -m "$BUS" -i case/d.TSV
works "a folder of them" map case --checkpoint case.out
ls case.out | grep -c parquet >txt
has "its files but that of tabs" '^4$'
for file in x.arrow.gz x.jsonl.zst x.jsonl.GZ; do
    refuses "a name of what is packed" "$file: found a name of what is packed" map few.arrow -o $file
    [ ! -e $file ]
    check $? "$file was not made"
done
map few.arrow --keep id --output-format arrow >stream 2>err && map few.arrow --keep id -o /dev/stdout 2>err | cat >found
same "-o /dev/stdout is a stream" found stream
map few.parquet --keep id -o /dev/stdout 2>err | cat >found
begins found "$(printf '\377\377\377\377')"
check $? "-o /dev/stdout of Parquet is a stream of Arrow"
refuses "Parquet into a pipe" 'wanted a file' map few.arrow -o /dev/null --output-format parquet

# ---- a reader that leaves, or does not read ----
{ map many.jsonl -o /dev/stdout 2>err; echo $? >rc; } | head -c 6 >/dev/null
[ "$(cat rc)" = 141 ] && ! grep -q error err
check $? "-o /dev/stdout ends quietly when its reader leaves"
mkfifo pipe
for form in jsonl arrow; do
    map many.jsonl -o pipe --output-format $form 2>err & writer=$!
    head -c 6 pipe >/dev/null
    wait $writer
    [ $? = 141 ] && ! grep -q error err
    check $? "-o a pipe, as $form, ends quietly when its reader leaves"
done
"$EF" map -m "$BUS" many.jsonl -o pipe 2>err & writer=$! # 10 MB: it does not fit
exec 9<pipe && head -c 6 <&9 >/dev/null
sleep 0.3 && kill $writer
tries=0
while kill -0 $writer 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1 && tries=$((tries + 1)); done
kill -9 $writer 2>/dev/null
wait $writer
[ $? = 130 ] && grep -q 'interrupted after' err
check $? "a signal ends the wait for a reader that does not read"
exec 9<&-

# ---- Parquet and npy: whole or absent ----
mkdir whole
mkfifo never && { "$EF" map -m "$BUS" -o whole/x.parquet <never >/dev/null 2>err & } && writer=$! && exec 9>never
cat few.jsonl >&9
sleep 0.3
[ -z "$(ls whole/*.parquet 2>/dev/null)" ]
check $? "Parquet has no name before its end"
kill -9 $writer && wait $writer 2>/dev/null
exec 9>&-
works "after a kill the same command works" map few.jsonl -o whole/x.parquet
[ "$(ls whole | grep -v tmp)" = x.parquet ]
check $? "one file is there"
cp whole/x.parquet wanted.parquet
refuses "a file that is there" 'x.parquet: is there already, and parquet cannot be gone on with' map few.jsonl -o whole/x.parquet
same "a file that is there is left as it is" whole/x.parquet wanted.parquet
refuses "npy cannot be gone on with" 'found npy, wanted jsonl or arrow' map few.jsonl -o whole/y.npy --resume
VECTORS=$ROOT/tests/golden/sentence/mean
printf '{"text":""}\n{"text":""}\n' >none.jsonl
for dtype in f32 f16; do
    "$EF" map -m "$VECTORS" none.jsonl --errors keep --dtype $dtype -o whole/none.npy 2>err
    (echo '"x"' && cat none.jsonl) | "$EF" map -m "$VECTORS" --errors keep --dtype $dtype -o whole/some.npy 2>err
    width=$(grep -ao "'shape': (3, [0-9]*)" whole/some.npy | tr -dc '0-9 ' | cut -d ' ' -f 3)
    [ "${width:-0}" -gt 0 ] && grep -aq "'shape': (2, $width)" whole/none.npy
    check $? "the width of vectors where all rows failed, $dtype: $(head -c 100 whole/none.npy | tail -c 90)"
    tail -c +129 whole/none.npy >found.nan && tail -c $((2 * width * ${dtype#f} / 8)) whole/some.npy >wanted.nan
    same "their NaN, $dtype" found.nan wanted.nan
    rm -f whole/*.npy
done
printf '{"text":"x"}\n{"text":"y"}\n' | "$EF" map -m "$VECTORS" --dimensions 5 -o whole/five.npy 2>err
grep -aq "'shape': (2, 5)" whole/five.npy
check $? "of so many dimensions"
rm -f whole/five.npy
map few.jsonl -o whole/x.csv 2>err
refuses "nor can CSV" 'x.csv: is there already, and csv cannot' map few.jsonl -o whole/x.csv
rm whole/*
( trap '' XFSZ; ulimit -f 10; "$EF" map -m "$BUS" many.jsonl -o whole/x.parquet >/dev/null 2>err )
[ $? != 0 ] && grep -q 'cannot be written: File too large' err && [ -z "$(ls whole)" ]
check $? "no room: an error, and no file"

# ---- a table of another input ----
map many.jsonl --keep id,text --batch-rows 100 -o in.arrow 2>err
sed 's/Goa/Pune/' many.jsonl >other.jsonl
map other.jsonl --keep id,text --batch-rows 100 -o other.arrow 2>err
sed '/"id":511,/s/Goa/Delhi/' many.jsonl >edited.jsonl # row 512 is one of those that are answered again
map edited.jsonl --keep id,text --batch-rows 100 -o edited.arrow 2>err
for keep in "" "--keep id"; do
    rm -f all.arrow && works "a table $keep" map in.arrow $keep -o all.arrow
    size=$(wc -c <all.arrow)
    for input in other edited; do
        head -c $((size / 2)) all.arrow >cut.arrow && cp cut.arrow before
        refuses "another input, $input $keep" 'the file was left as it is: row [0-9]* is not of this input' map $input.arrow $keep -o cut.arrow --resume
        same "another input, $input $keep" cut.arrow before
    done
    works "the same input $keep" map in.arrow $keep -o cut.arrow --resume
    same "the same input $keep" cut.arrow all.arrow
    head -c $((size / 2)) all.arrow >cut.arrow
    map few.jsonl --keep id,text --output-format arrow >few.arrows 2>err
    refuses "fewer rows $keep" 'batch 1 has 100 rows, that of the input 5' map few.arrows $keep -o cut.arrow --resume
    refuses "a whole table, another input $keep" 'row [0-9]* is not of this input' map other.arrow $keep -o all.arrow --resume
    works "a whole table $keep" map in.arrow $keep -o all.arrow --resume
    grep -q 'nothing is left to do' err
    check $? "a whole table $keep: nothing is left to do"
done
map many.jsonl --keep id,text --batch-rows 100 --output-format arrow >in.arrows 2>err
head -c $((size / 2)) all.arrow >cut.arrow
map --input-format arrow --keep id -o cut.arrow --resume <in.arrows >/dev/null 2>err
same "gone on with from a pipe" cut.arrow all.arrow
works "a table from lines" map many.jsonl --keep id --batch-rows 100 -o lines.arrow
head -c 20000 lines.arrow >cut.arrow
refuses "other lines" 'row 1 is not of this input' map other.jsonl --keep id --batch-rows 100 -o cut.arrow --resume
sed '2s/"id":1,/"id":9,/' many.jsonl >ids.jsonl
refuses "other ids" 'row 2 is not of this input' map ids.jsonl --keep id --batch-rows 100 -o cut.arrow --resume
works "the same lines" map many.jsonl --keep id --batch-rows 100 -o cut.arrow --resume
same "the same lines" cut.arrow lines.arrow
refuses "more lines" 'the input has more' sh -c "sed '\$p' many.jsonl | timeout 60 $EF map -m $BUS --keep id --batch-rows 100 -o lines.arrow --resume"
refuses "other options" 'a table that other options began' map many.jsonl --keep id --batch-rows 10 -o lines.arrow --resume
refuses "no table" 'found no table of' map many.jsonl --keep id --batch-rows 100 -o wanted.parquet --output-format arrow --resume

# ---- options of the task: columns, or a refusal ----
LABELS=$ROOT/tests/golden/pipelines/labels
MEAN=$ROOT/tests/golden/sentence/mean
as() { model=$1 && shift && timeout 60 "$EF" map -m "$model" few.jsonl --output-format csv "$@"; }
works "--top-k of labels" as "$LABELS" --top-k 2
[ "$(head -1 txt)" = label,score,scores,top,error ]
check $? "--top-k of labels is a column"
order() { sed 's/""/"/g' "$1" | grep -o '"label":"[a-z]*","index":[0-9]' | head -10; }
"$EF" map -m "$LABELS" few.jsonl --top-k 2 >lines 2>err
[ "$(order lines | grep -c .)" = 10 ] && [ "$(order txt)" = "$(order lines)" ]
check $? "--top-k of labels says what lines say"
works "labels without it" as "$LABELS"
[ "$(head -1 txt)" = label,score,scores,error ]
check $? "labels without it"
refuses "--encoding base64" 'encoding base64: found a table, which has no column' as "$MEAN" --encoding base64
refuses "the same by --params" 'encoding base64: found a table, which has no column' as "$MEAN" --params '{"encoding": "base64"}'
refuses "--return-tokens" 'return-tokens: found a table, which has no column' as "$LABELS" --return-tokens
refuses "--extract" 'extract: found a table, which has no column' as "$BUS" --extract
refuses "--masks rle" 'masks rle: found a table, which has no column' as "$ROOT/tests/golden/pictures/segformer" --masks rle
refuses "--vectors fixed of tokens" 'vectors fixed: found a table without a column' as "$MEAN" --task embedding --vectors fixed
refuses "--dtype f16 of entities" 'dtype f16: found a table without lists of numbers' as "$BUS" --dtype f16

# ---- options are the same by their values, not by their words ----
alike() { # NAME MODEL A B: options that are alike, as words
    rm -f alike.arrow
    timeout 60 "$EF" map -m "$2" few.jsonl --keep id,text -o alike.arrow $3 2>err && head -c -300 alike.arrow >cut.arrow
    works "$1" timeout 60 "$EF" map -m "$2" few.jsonl --keep id,text -o cut.arrow --resume $4
    same "$1" cut.arrow alike.arrow
}
for words in "--column text" "--field text" "--vectors list" "--batch-rows 4096" "--dtype f32" "--offsets chars" "--results entities" \
    "--compression none" "--task token-classification" "--truncate true" "--params {}"; do
    alike "nothing and $words" "$BUS" "" "$words"
done
alike "another order" "$MEAN" "--dimensions 8 --normalize --vectors fixed" '--vectors fixed --normalize true --params {"dimensions":8.0}'
alike "the model's own pooling" "$MEAN" "" "--pooling mean"
rm -f alike.arrow
refuses "another number" 'a table that other options began' sh -c "timeout 60 $EF map -m $MEAN few.jsonl -o alike.arrow --dimensions 8 &&
    timeout 60 $EF map -m $MEAN few.jsonl -o alike.arrow --dimensions 7 --resume"
finish
