#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bulk.sh [PROGRAM] - many texts at once: what `infer` reads and writes, and `map` over streams: in order, with
# errors in their place, cut off and resumed. The last line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
MODEL=$BUS
same() { # NAME A B
    cmp -s "$2" "$3"
    check $? "$1: $2 and $3 differ"
}

# ---- infer ----
printf 'bus from Pune to Goa\nAC sleeper to Chennai\n' >t.txt
printf '{"text":"bus from Pune to Goa"}\n"AC sleeper to Chennai"\n' >t.jsonl
printf 'n,note\r\n1,"bus from Pune to Goa"\r\n2,AC sleeper to Chennai\r\n' >t.csv
works "two words on the line" "$EF" infer -m "$MODEL" -f jsonl "bus from Pune to Goa" "AC sleeper to Chennai"
mv txt wanted
for input in "-i t.txt" "-i t.jsonl" "-i t.csv --field note"; do
    works "infer $input" "$EF" infer -m "$MODEL" -f jsonl $input
    same "infer $input" txt wanted
done
"$EF" infer -m "$MODEL" -f jsonl <t.txt >txt 2>err && cmp -s txt wanted
check $? "infer from a pipe"
works "infer, csv out" "$EF" infer -m "$MODEL" -f csv -i t.txt
[ "$(head -1 txt | cut -c1-20)" = "row,token_info.token" ] && [ "$(grep -c . txt)" = $(($(grep -o '"token":' wanted | grep -c .) + 1)) ]
check $? "csv: a line of names, a line a token"
works "infer, npy out" "$EF" infer -m "$MODEL" -f npy "bus from Pune"
[ "$(head -c 6 txt | tail -c 5)" = NUMPY ]
check $? "npy begins as such"
refuses "npy of several texts" "one text" "$EF" infer -m "$MODEL" -f npy -i t.txt
refuses "unknown format" "wanted json" "$EF" infer -m "$MODEL" -f xml x
refuses "unknown input format" "wanted text" "$EF" infer -m "$MODEL" -i t.txt --input-format xml
refuses "no such file" "cannot be opened" "$EF" infer -m "$MODEL" -i nowhere
refuses "no such column" "no column \"text\"" "$EF" infer -m "$MODEL" -i t.csv
printf '"a"\n{"x":1}\n' >bad.jsonl
refuses "a bad record" "line 2: found no \"text\"" "$EF" infer -m "$MODEL" -i bad.jsonl
printf 'text\n"open\n' >bad.csv
printf 'a text\n\n' >bad.txt
refuses "an empty line" "bad.txt: line 2: Cannot tokenize empty string" "$EF" infer -m "$MODEL" -i bad.txt
refuses "two forms of output" "wanted one of them" "$EF" infer -m "$MODEL" --entities -f csv "bus to Goa"
refuses "an open quote" "never closed" "$EF" infer -m "$MODEL" -i bad.csv

# ---- map ----
i=0
while [ $i -lt 1500 ]; do
    printf '{"id":%d,"text":"bus %d from Pune to Goa via stop %d"}\n' $i $((i * 7919 % 1000)) $((i % 37))
    i=$((i + 1))
done >many.jsonl
printf 'a text\n\nanother\n' | "$EF" map -m "$MODEL" --input-format text >txt 2>err
[ "$(grep -c tokens txt)" = 2 ] && sed -n 2p txt | grep -q '{"error":{"message":"line 2: Cannot tokenize empty string"'
check $? "map of an empty line"
head -3 many.jsonl >few.json && cp few.json few && printf 'a text\n' >plain
works "map of .json" "$EF" map -m "$MODEL" few.json
cp txt few.wanted
works "map of a name that says nothing" "$EF" map -m "$MODEL" few
same "lines of JSON unless the name says something else" txt few.wanted
[ "$(grep -c '^{"id":' txt)" = 3 ]
check $? "lines of JSON have ids"
"$EF" map -m "$MODEL" /dev/stdin <few >txt 2>err
same "map of /dev/stdin" txt few.wanted
fails "plain text under such a name" '"line 1, column 1: found' "$EF" map -m "$MODEL" plain
works "infer of .json" "$EF" infer -m "$MODEL" -i few.json -f jsonl
[ "$(sed 's/"id":[0-9]*,//' few.wanted)" = "$(cat txt)" ]
check $? "infer of .json: lines of JSON"
for id in 9223372036854775808 18446744073709551615 9999999999999999999 -1 1.5; do
    echo "{\"id\":$id,\"text\":\"a\"}" >hash.jsonl
    prints "the id $id" "^{\"id\":$id,\"tokens\"" "$EF" map -m "$MODEL" hash.jsonl
    prints "a column of ids $id" "^$id," "$EF" map -m "$MODEL" hash.jsonl --keep id --output-format csv
done
printf 'id,txt\n1,a\n' >near.csv
refuses "a column of CSV that is near" 'found no column "text": did you mean --field txt?' "$EF" map -m "$MODEL" near.csv
refuses "a column of CSV to keep" '--keep: found no column "ids": did you mean "id"?' "$EF" map -m "$MODEL" near.csv --column txt --keep ids
for name in error tokens; do
    refuses "--keep $name" "found \"$name\", which is a member of the results, too" "$EF" map -m "$MODEL" many.jsonl --keep "id,$name"
done
printf '[\n{"text":"bus to Goa"}\n]\n' >array.json && printf '[{"text":"bus to Goa"}]\n' >one.json
for file in array one; do
    fails "a file that is one list of JSON" "line 1: found a JSON array, wanted one record a line: jq -c '.\[\]'" "$EF" map -m "$MODEL" $file.json
done
printf '\357\273\277{"id":7,"text":"bus to Goa"}\r\n' >mark.jsonl && printf '\357\273\277bus to Goa\r\n' >mark.txt
prints "a byte order mark before JSON lines" '{"id":7,"entities":\[{"entity_group":"DEST",.*"start":7,' "$EF" map -m "$MODEL" mark.jsonl --aggregation simple
prints "a byte order mark before lines" '"word":"goa","start":7,' "$EF" map -m "$MODEL" mark.txt --aggregation simple
prints "and to infer" '"word":"goa","start":7,' "$EF" infer -m "$MODEL" -i mark.txt --aggregation simple -f jsonl
printf 'PARENT_ID,text\n1,bus to Goa\n' >pare.csv && printf 'PAREIL: bus to Goa\n' >pare.txt
works "a column whose name begins as encrypted Parquet does" "$EF" map -m "$MODEL" pare.csv --keep PARENT_ID
works "a text that begins so" "$EF" map -m "$MODEL" pare.txt
works "map" "$EF" map -m "$MODEL" many.jsonl -o whole.jsonl
[ "$(grep -c . whole.jsonl)" = 1500 ] && [ "$(sed -n 's/^{"id":\([0-9]*\),.*/\1/p' whole.jsonl | sort -nc && echo yes)" = yes ]
check $? "map keeps every line, in order"
sed -n 1200p many.jsonl >one && "$EF" infer -m "$MODEL" -i one --input-format jsonl -f jsonl >alone 2>err
sed -n 1200p whole.jsonl | sed 's/"id":[0-9]*,//' >there
same "a line of map is that of infer" alone there
refuses "output that has lines" "--resume goes on" "$EF" map -m "$MODEL" many.jsonl -o whole.jsonl
refuses "resume without output" "wanted --output" "$EF" map -m "$MODEL" many.jsonl --resume
for cut in 0 1 777 50001; do # in the middle of a line, or not even begun
    head -c $cut whole.jsonl >cut.jsonl
    works "resume behind $cut bytes" "$EF" map -m "$MODEL" many.jsonl -o cut.jsonl --resume
    same "resume behind $cut bytes" cut.jsonl whole.jsonl
done
"$EF" map -m "$MODEL" many.jsonl -o killed.jsonl 2>/dev/null &
sleep 0.1 && kill -9 $! 2>/dev/null
wait $! 2>/dev/null
works "resume after kill -9" "$EF" map -m "$MODEL" many.jsonl -o killed.jsonl --resume
same "resume after kill -9" killed.jsonl whole.jsonl
works "nothing left to do" "$EF" map -m "$MODEL" many.jsonl -o killed.jsonl --resume
same "nothing left to do" killed.jsonl whole.jsonl
head -5 many.jsonl >few.jsonl
refuses "another input" "not of this input" "$EF" map -m "$MODEL" few.jsonl -o whole.jsonl --resume
printf '"fine"\n\n{"id":"q","text":""}\nnot json\n["a","b"]\n{"text":["a",1]}\n\377\n"last"' >mixed.jsonl
fails "map over bad lines" tokens "$EF" map -m "$MODEL" mixed.jsonl
grep -q '5 of 8 lines failed.*--keep-going' err
check $? "map says how many lines failed"
works "map over bad lines, --keep-going" "$EF" map -m "$MODEL" mixed.jsonl --keep-going
[ "$(sed 's/^{"id":"q",/{/; s/^{"\([a-z]*\)".*/\1/' txt | tr '\n' ' ')" = \
    "tokens error error error tokens error error tokens " ]
check $? "errors stand in their line"
grep -q '^{"id":"q","error":{"message":".*empty' txt
check $? "an error keeps its id"
cp txt kept.jsonl
head -2 txt >cut.jsonl
"$EF" map -m "$MODEL" mixed.jsonl -o cut.jsonl --resume >/dev/null 2>err && flunk "errors of before count: exit 0"
same "resume over bad lines" cut.jsonl kept.jsonl
printf '"fine"\n"good"\n{x' >place.jsonl
fails "one place for an error" '"line 3, column 2: found' "$EF" map -m "$MODEL" place.jsonl
grep -q 'line 1' txt && flunk "two places for an error"
"$EF" tokenize -t "$MODEL" --jsonl <place.jsonl >txt 2>err
grep -q 'error: line 3, column 2: found' err
check $? "one place for an error of tokenize"

# ---- files that --resume must not touch ----
foreign() { # NAME INPUT: ./foreign is refused as output, and keeps every byte
    cp foreign foreign.before
    refuses "resume: $1" "left as it is" "$EF" map -m "$MODEL" "$2" -o foreign --resume
    same "resume: $1" foreign foreign.before
}
printf 'dear diary\nnothing happened\n' >foreign && foreign "lines of something else" few.jsonl
printf 'no line end at all' >foreign && foreign "one line without an end" few.jsonl
printf '{"id":0,"text":"x"}\n' >foreign && foreign "objects that are no answers" few.jsonl
printf '{"id":0,"tok_' >foreign && foreign "a beginning of no answer" few.jsonl
printf '{"id":0,"tokens":"mine' >foreign && foreign "a member of an answer with another value" few.jsonl
sed 1d whole.jsonl | head -3 >foreign && foreign "answers to other lines" few.jsonl
sed -n '2s/.\{9\}$//p' whole.jsonl >foreign && foreign "broken JSON" few.jsonl
head -6 whole.jsonl >foreign && foreign "more lines than the input has" few.jsonl
head -c 9 whole.jsonl >foreign && foreign "a beginning, but no input" /dev/null
printf '{"id":0,"embedding":[1.0]}\n' >foreign && foreign "answers of another task" few.jsonl
printf '\0\0\0' >foreign && foreign "zeros" few.jsonl
printf '{"id":0,"error":{"message":"m","type":"t"}}\n{"id":1,"err' >cut.jsonl
refuses "resume in the middle of an error" "1 of 5 lines failed" "$EF" map -m "$MODEL" few.jsonl -o cut.jsonl --resume
[ "$(grep -c . cut.jsonl)" = 5 ] && sed -n '2,$p' cut.jsonl >rest && sed -n '2,5p' whole.jsonl | cmp -s - rest
check $? "resume in the middle of an error: the rest is right"

# ---- records without ids are told apart by their answers ----
sed 's/.*"text":"\(.*\)"}/\1/' many.jsonl | head -300 >plain.txt
works "map of plain lines" "$EF" map -m "$MODEL" plain.txt -o plain.jsonl
for cut in 1 2 3 100 299; do
    head -$cut plain.jsonl >cut.jsonl
    works "resume behind line $cut" "$EF" map -m "$MODEL" plain.txt -o cut.jsonl --resume
    same "resume behind line $cut" cut.jsonl plain.jsonl
done
head -100 plain.jsonl >foreign
sed 1d plain.txt >changed.txt && foreign "a line was removed" changed.txt
sed '50i to Goa' plain.txt >changed.txt && foreign "a line was put in" changed.txt
sed '100s/.*/to Goa/' plain.txt >changed.txt && foreign "the last answered line was edited" changed.txt
head -100 plain.txt >changed.txt && printf '\303\251 to Goa\n' >>changed.txt && works "lines that were not answered yet may change" \
    "$EF" map -m "$MODEL" changed.txt -o foreign --resume
refuses "other options" "line 101 .*another answer now" "$EF" map -m "$MODEL" changed.txt -o foreign --resume --offsets chars
awk '{ gsub(/[0-9]\.[0-9]+/, "&1"); print }' plain.jsonl | head -100 >cut.jsonl
works "resume where another CPU began" "$EF" map -m "$MODEL" plain.txt -o cut.jsonl --resume

# ---- gzip and others ----
head -700 many.jsonl | gzip >many.jsonl.gz && sed -n '701,$p' many.jsonl | gzip >>many.jsonl.gz
works "map of two gzip members" "$EF" map -m "$MODEL" many.jsonl.gz -o zipped.jsonl
same "map of two gzip members" zipped.jsonl whole.jsonl
"$EF" map -m "$MODEL" <many.jsonl.gz >txt 2>err && cmp -s txt whole.jsonl
check $? "map of gzip from a pipe"
gzip -c t.csv >t.csv.gz && works "infer of .csv.gz" "$EF" infer -m "$MODEL" -f jsonl -i t.csv.gz --field note
same "infer of .csv.gz" txt wanted
head -c 9000 many.jsonl.gz >cut.jsonl.gz
refuses "gzip that is cut short" "cut short" "$EF" map -m "$MODEL" cut.jsonl.gz -o part.jsonl
[ "$(grep -c . part.jsonl)" -gt 600 ] && head -"$(grep -c . part.jsonl)" whole.jsonl | cmp -s - part.jsonl
check $? "lines before the cut are answered"
works "resume with the whole file" "$EF" map -m "$MODEL" many.jsonl.gz -o part.jsonl --resume
same "resume with the whole file" part.jsonl whole.jsonl
cp many.jsonl.gz more.jsonl.gz && echo tail >>more.jsonl.gz
refuses "something behind gzip" "other bytes behind the end" "$EF" map -m "$MODEL" more.jsonl.gz
printf PAR1 >x.parquet && refuses "parquet by name" "not written whole" "$EF" map -m "$MODEL" x.parquet
mv x.parquet x.jsonl && refuses "parquet by its bytes" "not written whole" "$EF" map -m "$MODEL" x.jsonl
"$EF" map -m "$MODEL" <many.jsonl >txt 2>err && cmp -s txt whole.jsonl
check $? "map from a pipe"
# ---- Arrow ----
ARROW=$ROOT/tests/golden/arrow
untold() { sed 's/"message":"[^"]*",//' "$1"; }
works "JSON lines with a null" "$EF" map -m "$MODEL" --keep-going --input-format jsonl "$ARROW/polars.arrow.json"
untold txt >wanted
for input in polars.arrow polars.arrows; do
    works "map of $input" "$EF" map -m "$MODEL" --keep-going --output-format jsonl "$ARROW/$input"
    untold txt >found && same "map of $input" found wanted
    [ "$(grep -c '"error":{"message":"row [26]: ' txt)" = 2 ]
    check $? "$input: a null and an empty text have their rows"
done
gzip -c "$ARROW/polars.arrows" | "$EF" map -m "$MODEL" --keep-going --output-format jsonl >txt 2>err
untold txt >found && same "map of an Arrow stream, packed, from a pipe" found wanted
refuses "another column" 'found no column "utf": did you mean "utf8"' "$EF" map -m "$MODEL" "$ARROW/stream.arrows" --field utf
works "a column by name" "$EF" map -m "$MODEL" --keep-going --output-format jsonl "$ARROW/stream.arrows" --column view
[ "$(grep -c '"tokens"' txt)" = 5 ]
check $? "a column of views"
head -c 700 "$ARROW/polars.arrows" >cut.arrows
refuses "Arrow that is cut short" "cut short in message 2" "$EF" map -m "$MODEL" cut.arrows
cat "$ARROW/polars.arrow" | "$EF" map -m "$MODEL" >txt 2>err
grep -q "found a file of arrow in a pipe or packed, wanted the file itself" err
check $? "an Arrow file in a pipe"
for input in arrow/polars.arrow parquet/pyarrow.parquet; do
    "$EF" map -m "$MODEL" --keep id --output-format csv "$ROOT/tests/golden/$input" >wanted 2>err
    "$EF" map -m "$MODEL" --keep id --output-format csv <"$ROOT/tests/golden/$input" >txt 2>err
    check $? "a file that stdin was redirected from, $input"
    same "a file that stdin was redirected from, $input" txt wanted
done

# ---- one schema, and a batch of any size ----
printf '{"id":1,"text":"Pune","n":"2"}\n' >one.jsonl
"$EF" map -m "$MODEL" one.jsonl --keep id,text --output-format arrow >first.arrows 2>err
"$EF" map -m "$MODEL" one.jsonl --keep n,text --output-format arrow >second.arrows 2>err
{ head -c -8 first.arrows && cat second.arrows; } >both.arrows # without the end mark between them
refuses "a stream with two schemas" "found a second schema" "$EF" map -m "$MODEL" both.arrows
"$EF" map -m "$MODEL" first.arrows --keep id --output-format csv >alone.csv 2>err
cat first.arrows first.arrows >twice.arrows
{ cat alone.csv && tail -n +2 alone.csv; } >twice.csv
works "two streams one behind the other" "$EF" map -m "$MODEL" twice.arrows --keep id --output-format csv
same "both are answered" txt twice.csv
{ gzip -c first.arrows && gzip -c first.arrows; } | "$EF" map -m "$MODEL" --keep id --output-format csv >txt 2>err
same "both, packed, from a pipe" txt twice.csv
works "two streams to a file" "$EF" map -m "$MODEL" twice.arrows --keep id -o twice.arrow
head -c -400 twice.arrow >half.arrow
works "two streams, gone on with" "$EF" map -m "$MODEL" twice.arrows --keep id -o half.arrow --resume
same "the same file" half.arrow twice.arrow
works "two streams as a checkpoint" "$EF" map -m "$MODEL" twice.arrows --keep id --checkpoint twice --rows-per-part 1
[ "$(ls twice/part-* | wc -l)" = 2 ]
check $? "two streams, two parts"
cat "$ARROW/replaced.arrows" "$ARROW/replaced.arrows" >words.arrows
"$EF" map -m "$MODEL" "$ARROW/replaced.arrows" --column word --keep word --output-format jsonl --errors keep >wanted 2>err
cat wanted wanted >wanted2
works "two streams with dictionaries" "$EF" map -m "$MODEL" words.arrows --column word --keep word -o words2.arrows
works "and read" "$EF" map -m "$MODEL" words2.arrows --column word --keep word --output-format jsonl --errors keep
same "each has its own words" txt wanted2
size=$(wc -c <first.arrows)
cat first.arrows second.arrows >both.arrows
refuses "two streams with other columns" "byte $size: another stream: found column 1 as \"n\" (utf8), wanted \"id\" (utf8)" \
    "$EF" map -m "$MODEL" both.arrows --keep text
{ cat first.arrows && echo more; } >both.arrows
refuses "bytes behind a stream" "byte $size: found bytes behind the end of the stream" "$EF" map -m "$MODEL" both.arrows --keep id --output-format csv
same "what came before is answered" txt alone.csv
refuses "a checkpoint of two schemas" "one checkpoint has one schema" "$EF" map -m "$MODEL" --checkpoint two-schemas \
    --keep text "$ARROW/polars.arrow" first.arrows
cp "$ARROW/empty.arrows" empty.arrows # a batch without rows
for twice in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do cat empty.arrows empty.arrows >more.arrows && mv more.arrows empty.arrows; done
room="ulimit -v 200000"
sh -c "$room; '$EF' version" >/dev/null 2>&1 || room=: # a sanitizer needs more
works "65,536 batches without rows take no memory" \
    sh -c "$room; '$EF' map -m '$MODEL' --threads 1 empty.arrows --keep id -o empty.arrow"
rm -f empty.*
yes '{"id":1,"text":null}' | head -300000 >nulls.jsonl
works "300,000 rows as one batch" "$EF" map -m "$MODEL" nulls.jsonl --keep id,text --batch-rows 300000 -o nulls.arrow
works "and such a batch read" "$EF" map -m "$MODEL" nulls.arrow --keep id --output-format csv
[ "$(grep -c 'text: found null' txt)" = 300000 ]
check $? "a batch of 300,000 rows is answered row by row"
rm -f nulls.*

# ---- tables ----
# They are read again as CSV, which shows what an Arrow table holds.
"$EF" map -m "$MODEL" many.jsonl --keep id --output-format csv --batch-rows 100 >table.csv 2>err
check $? "map to CSV"
[ "$(wc -l <table.csv)" = $(($(wc -l <many.jsonl) + 1)) ] && [ "$(head -1 table.csv)" = id,entities,error ]
check $? "a line of names and a line for each record"
works "map to an Arrow file" "$EF" map -m "$MODEL" many.jsonl --keep id -o table.arrow --batch-rows 100
[ "$(head -c 6 table.arrow)" = ARROW1 ] && [ "$(tail -c 6 table.arrow)" = ARROW1 ]
check $? "an Arrow file has its head and its end"
works "Arrow columns as CSV" "$EF" map -m "$ROOT/tests/golden/pipelines/masks" table.arrow --column id --keep id,entities --output-format jsonl --errors keep
head -3 txt | grep -q '^{"id":"[^"]*","entities":\[' && [ "$(wc -l <txt)" = "$(wc -l <many.jsonl)" ]
check $? "the kept columns of an Arrow table come back"
for output in table.arrow table.arrows; do
    rm -f $output && works "$output whole" "$EF" map -m "$MODEL" many.jsonl -o $output --keep id --batch-rows 64
    cp $output wanted.table && size=$(wc -c <$output)
    for cut in 0 1 100 2000 $((size / 2)) $((size - 40)) $((size - 1)); do
        head -c "$cut" wanted.table >$output
        works "$output cut to $cut bytes" "$EF" map -m "$MODEL" many.jsonl -o $output --keep id --batch-rows 64 --resume
        same "$output goes on behind $cut bytes" $output wanted.table
    done
    refuses "$output of other options" "a table that other options began" "$EF" map -m "$MODEL" many.jsonl -o $output --resume
    same "$output that is refused" $output wanted.table
done
refuses "rows are there" "has rows already" "$EF" map -m "$MODEL" many.jsonl -o table.arrow
refuses "a column that is kept and a result" 'found "error", which is a column of the results' \
    "$EF" map -m "$MODEL" many.jsonl --keep error --output-format arrow
refuses "all of JSON lines" "wanted the names of keys" "$EF" map -m "$MODEL" many.jsonl --keep all --output-format csv
refuses "a column to keep" 'found no column "ix": did you mean "id"' "$EF" map -m "$MODEL" table.arrow --column id --keep ix --output-format csv
refuses "a table's option for lines" "wanted a table" "$EF" map -m "$MODEL" many.jsonl --results tokens
refuses "vectors of a model that has none" "results without vectors" "$EF" map -m "$MODEL" many.jsonl -o v.npy
[ ! -e v.npy ]
check $? "no file is left of what never began"
echo '{"text": ""}' | "$EF" map -m "$MODEL" --errors fail >txt 2>err
[ $? != 0 ] && grep -q -- "--errors fail: line 1" err
check $? "--errors fail ends at the first record that failed"
works "unusual types beside the text" "$EF" map -m "$MODEL" "$ARROW/unusual.arrows" --keep text --output-format csv
works "unusual types kept" "$EF" map -m "$MODEL" "$ARROW/unusual.arrows" --keep all -o unusual.arrow
prints "unusual types, written and read" '^b,c,y,"\[2,3\]",text 2,"\[' "$EF" map -m "$MODEL" unusual.arrow --column text --keep dense,sparse,runs,views,text --output-format csv
refuses "unusual types in Parquet" 'column "runs": found run_end_encoded, which Parquet' "$EF" map -m "$MODEL" "$ARROW/unusual.arrows" --keep runs -o unusual.parquet
works "a strange type beside the text" "$EF" map -m "$MODEL" "$ARROW/strange.arrow" --keep id --output-format csv
[ "$(grep -c '^[0-4],.*DEST' txt)" = 5 ]
check $? "rows beside a strange type"
refuses "a strange type kept" 'column "wide": found the type int with the numbers 128 1' "$EF" map -m "$MODEL" "$ARROW/strange.arrow" --keep wide
works "strange dictionaries beside the text" "$EF" map -m "$MODEL" "$ARROW/twice.arrows" --keep id --output-format csv
refuses "a nested dictionary kept" 'column "nested": found a dictionary inside of a dictionary' "$EF" map -m "$MODEL" "$ARROW/twice.arrows" --keep nested
prints "a dictionary of views kept" '^\[1\],"\[{' "$EF" map -m "$MODEL" "$ARROW/twice.arrows" --keep views --output-format csv
refuses "one of two columns kept" 'columns 5 and 6 of 6 are both "twice"' "$EF" map -m "$MODEL" "$ARROW/twice.arrows" --keep twice
refuses "two columns of one name" 'columns 5 and 6 of 6 are both "twice"' "$EF" map -m "$MODEL" "$ARROW/twice.arrows" --column twice
printf 'text,a,text\nx,1,y\n' >two.csv
refuses "two columns of one name, CSV" 'columns 1 and 3 of 3 are both "text"' "$EF" map -m "$MODEL" two.csv
refuses "a name that is kept twice" 'found "id" twice' "$EF" map -m "$MODEL" "$ARROW/strange.arrow" --keep id,text,id
"$EF" map -m "$MODEL" many.jsonl --output-format arrow 2>err | head -c 100 >/dev/null
[ ! -s err ] || ! grep -q error err
check $? "a reader that leaves is no error to tell"
if [ -c /dev/full ]; then
    "$EF" map -m "$MODEL" many.jsonl --output-format arrow >/dev/full 2>err
    [ $? != 0 ] && grep -q "cannot be written: No space left" err
    check $? "a disk that is full"
fi
if command -v zstd >/dev/null; then
    zstd -qf many.jsonl -o many.jsonl.zst
    works "map of .zst" "$EF" map -m "$MODEL" many.jsonl.zst && same "map of .zst" txt whole.jsonl
    head -c 3000 many.jsonl.zst >cut.zst
    refuses "zstd that is cut short" "zstd: the data is cut short" "$EF" map -m "$MODEL" cut.zst --input-format jsonl
else
    skipped=$((skipped + 1)) && echo "  skipped: packed with zstd: no such program"
fi
mkfifo two && { "$EF" map -m "$MODEL" --output-format arrow -o two.arrow <two 2>two.err & } && first=$! && exec 8>two
head -5 many.jsonl >&8
tries=0
while [ ! -s two.arrow ] && [ $tries -lt 300 ]; do sleep 0.1 && tries=$((tries + 1)); done
refuses "two writers" "another process is writing it" "$EF" map -m "$MODEL" many.jsonl -o two.arrow --resume
exec 8>&- && wait $first
check $? "the first writer goes on"

# Somebody sends some lines and waits for their answers before sending more.
mkfifo ask && { "$EF" map -m "$MODEL" <ask >>asked 2>err & } && exec 9>ask
for lines in 1 3 700; do
    head -$lines many.jsonl >&9
    tries=0
    while [ "$(grep -c . asked)" -lt $lines ] && [ $tries -lt 300 ]; do sleep 0.1 && tries=$((tries + 1)); done
    head -$lines whole.jsonl | cmp -s - asked
    check $? "map answers while its input is quiet: $lines lines"
    : >asked
done
exec 9>&- && wait $!
check $? "map ends when its input does"
# The same with streams of Arrow: the end mark came, and the pipe stays open.
mkfifo ends && { "$EF" map -m "$MODEL" --keep id --output-format csv <ends >ended 2>err & } && exec 9>ends
for wanted in alone.csv twice.csv; do
    cat first.arrows >&9
    tries=0
    while ! cmp -s ended "$wanted" && [ $tries -lt 300 ]; do sleep 0.1 && tries=$((tries + 1)); done
    same "map answers behind the end of a stream" ended "$wanted"
done
exec 9>&- && wait $!
check $? "map ends when its input does, behind the end of a stream"
same "and has added nothing" ended twice.csv
"$EF" map -m "$MODEL" <many.jsonl >/dev/full 2>err && flunk "full disk" || { grep -q 'cannot be written' err; check $? "full disk"; }
finish
