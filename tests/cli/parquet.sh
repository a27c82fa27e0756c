#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# parquet.sh [PROGRAM] - `map` from and to Parquet, and its checkpoints: killed KILLS times (default: 4) and gone on
# with. The last line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/parquet
same() { # NAME A B
    cmp -s "$2" "$3"
    check $? "$1: $2 and $3 differ"
}
map() { case $1 in -m) "$EF" map "$@" ;; *) "$EF" map -m "$BUS" "$@" ;; esac; }

# ---- what comes in, whoever wrote it ----
works "the rows as JSON lines" map --keep id --errors keep --input-format jsonl --output-format jsonl "$GOLDEN/rows.json"
sed 's/"message":"[^"]*",//' txt >wanted
for writer in pyarrow spark duckdb-v2 polars daft; do
    works "map of $writer's" map --keep id --errors keep --output-format jsonl "$GOLDEN/$writer.parquet"
    sed 's/"message":"[^"]*",//' txt >found
    same "map of $writer's" found wanted
done
[ "$(grep -c '"error"' found)" = 9 ] && grep -q '"message":"row 4: text: found null' txt
check $? "a text that is null is a row that failed"

# ---- what is not taken (docs/scale.md) ----
mkdir -p values/lang=en && cp "$GOLDEN/pyarrow.parquet" values/lang=en/
refuses "a value of a partition" '--keep: found no column "lang"' map values/lang=en/pyarrow.parquet --keep lang
refuses "a text inside a struct" 'found no column "place.city"' map "$GOLDEN/pyarrow.parquet" --column place.city

# ---- what goes out: equal to Arrow's ----
columns=id,text,word,flag,score,small,day,time,price,vector,tags,place
for how in "" "--vectors list --compression gzip" "--results tokens"; do
    rm -f out.arrow out.parquet
    arrow=$(echo "$how" | sed 's/--compression gzip//')
    works "to Arrow $how" map --keep $columns --column text $arrow -o out.arrow "$GOLDEN/pyarrow.parquet" --errors keep
    works "to Parquet $how" map --keep $columns --column text $how -o out.parquet "$GOLDEN/pyarrow.parquet" --errors keep
    what=$(echo "$how" | grep -o tokens || echo entities)
    for form in arrow parquet; do
        works "read again, $form" map -m "$ROOT/tests/golden/pipelines/masks" out.$form --column word --errors keep --output-format jsonl \
            --keep id,flag,small,day,price,vector,tags,place,time,$what
        mv txt $form.txt
    done
    same "Parquet says what Arrow says $how" parquet.txt arrow.txt
done
[ "$(grep -c . parquet.txt)" = 60 ] && grep -q 'DEST"' parquet.txt
check $? "results are there"

# Vectors: lists of one length are told in Arrow's schema, and a row that failed has zeros.
printf '{"id":1,"text":"bus to Goa"}\n{"id":2,"text":""}\n' >two.jsonl
for form in list fixed; do
    works "vectors, $form" map -m "$ROOT/tests/golden/sentence/mean" two.jsonl --vectors $form --keep text -o $form.parquet
    works "vectors, $form, again" map $form.parquet --keep embedding --output-format jsonl --errors keep
    sed -n '2s/.*"embedding":\([^,]*\),.*/\1/p' txt >second.$form
done
grep -q ARROW:schema fixed.parquet && ! grep -q ARROW:schema list.parquet && grep -q '^\[0' second.fixed && grep -q null second.list
check $? "vectors: ARROW:schema where all have one length, zeros for a row that failed"

# ---- ids that nobody asked for, and such that are ----
works "pairs beside ids of 16 bytes" map "$GOLDEN/meant.parquet" --column2 json --output-format csv
[ "$(grep -c '^.*,$' txt)" = 4 ]
check $? "no row fails by its id"
works "ids in lines" map "$GOLDEN/meant.parquet" --column2 json --output-format jsonl
has "a UUID is the id of its line" '^{"id":"00112233-4455-6677-8899-aabbccddee10","tokens"'
works "no ids in lines" map "$GOLDEN/meant.parquet" --keep '' --output-format jsonl
lacks "no id where none is kept" '"id"'
works "values in CSV" map "$GOLDEN/pyarrow.parquet" --keep id,day,time,price --output-format csv
has "dates, times and decimals are text" '^0,2024-02-29,2024-02-29T12:30:05.250000,-5.00,'
works "such as JSON" map "$GOLDEN/pyarrow.parquet" --keep id,day,time,price --output-format jsonl --errors keep
has "also in lines" '^{"id":0,"day":"2024-02-29","time":"2024-02-29T12:30:05.250000","price":"-5.00","tokens"'

# ---- what is wrong ----
refuses "another column" 'found no column "texd": did you mean "text"' map "$GOLDEN/pyarrow.parquet" --field texd -o x.parquet
refuses "another column to keep" '--keep: found no column "prize": did you mean "price"' map "$GOLDEN/pyarrow.parquet" --keep prize -o x.parquet
refuses "pages of Arrow" '--compression gzip: found an output of arrow, wanted parquet' map "$GOLDEN/pyarrow.parquet" --compression gzip -o x.arrow
refuses "a column of numbers" 'column "id": found the type int, wanted texts, or lists of two' map "$GOLDEN/pyarrow.parquet" --column id -o x.parquet
[ ! -e x.parquet ]
check $? "a column of numbers is refused before a row is"
rm -f x.parquet
works "lists of lists" map "$GOLDEN/deep.parquet" --keep text,boxes,pages,words,named -o x.parquet
works "lists of lists, again" map x.parquet --keep text,boxes,pages,words,named --output-format jsonl
sed 's/,"tokens":.*/}/' txt >deep.found && tr -d ' ' <"$GOLDEN/deep.json" >deep.wanted && sed -i 's/"text":"bus/"text":"bus /' deep.wanted
same "lists of lists" deep.found deep.wanted
refuses "compression" 'found the compression BROTLI' map "$GOLDEN/refused-brotli.parquet" -o y.parquet
prints "an encrypted column beside the text" '^2,"\[{""label""' map "$GOLDEN/secret.parquet" --keep id --output-format csv
refuses "an encrypted column" 'column "secret", row group 1: found it encrypted' map "$GOLDEN/secret.parquet" --keep secret --output-format csv
printf 'PARE    \4\0\0\0PARE' >secret.parquet
refuses "an encrypted footer" 'found a file whose footer is encrypted' map secret.parquet
cat "$GOLDEN/pyarrow.parquet" | map >txt 2>err
grep -q 'a file of parquet in a pipe or packed, wanted the file itself' err
check $? "Parquet in a pipe"
head -c 5000 "$GOLDEN/pyarrow.parquet" >cut.parquet
refuses "a file that is cut short" 'not written whole' map cut.parquet -o z.parquet
refuses "Parquet to a pipe" 'wanted a file' map "$GOLDEN/pyarrow.parquet" --output-format parquet
refuses "a name that is taken" 'is there already' map "$GOLDEN/pyarrow.parquet" -o x.parquet

# ---- a checkpoint ----
i=0
while [ $i -lt 1200 ]; do
    printf '{"id":%d,"text":"bus %d from Pune to Goa via stop %d"}\n' $i $((i * 7919 % 1000)) $((i % 37))
    i=$((i + 1))
done >many.jsonl
sed -n 1,150p many.jsonl >a.jsonl && sed -n 151,157p many.jsonl >b.jsonl && : >c.jsonl
works "input" map many.jsonl --keep id,text -o many.parquet
for name in a b; do works "input $name" map $name.jsonl --keep id,text -o in-$name.parquet; done
run() { dir=$1 && shift && map --checkpoint "$dir" --rows-per-part 100 --keep id "$@"; }
begin=$(date +%s%N)
works "undisturbed" run whole many.parquet
took=$(($(date +%s%N) - begin))
[ "$(echo $(ls whole))" = "$(echo lock $(seq -f 'part-00000-%05.0f.parquet' 0 11) run.json)" ]
check $? "parts of 100 rows"
works "done already" run whole many.parquet
grep -q 'many.parquet is whole: nothing is left' err
check $? "done already is said"
# Killed at random: parts are whole or absent, and in the end those of the undisturbed run. A run that was faster than
# its killer does not count, and the next killer is faster.
kills=0 tries=0 wanted=${KILLS:-4}
while [ $kills -lt "$wanted" ] && [ $tries -lt $((wanted * 10)) ]; do
    tries=$((tries + 1))
    after=$(awk -v seed="$tries$$" -v took="$took" 'BEGIN { srand(seed); print 0.005 + rand() * took / 1e9 }')
    if timeout -s KILL "$after" "$EF" map -m "$BUS" --checkpoint cut --rows-per-part 100 --keep id many.parquet >/dev/null 2>&1; then
        took=$((took * 3 / 4)) && rm -rf cut && continue
    fi
    kills=$((kills + 1))
    for part in cut/part-*.parquet; do
        [ ! -f "$part" ] || cmp -s "$part" "whole/${part#cut/}" || flunk "after a kill: $part differs"
    done
    [ $((kills % 4)) != 0 ] && [ $kills -lt "$wanted" ] && continue
    : >cut/part-00000-00001.parquet.tmp.a1B2c3 && : >cut/run.json.tmp.a1B2c3 # where a file system has no files without names
    works "gone on with" run cut many.parquet
    for part in whole/*; do same "after $kills kills" "$part" "cut/${part#whole/}"; done
    [ "$(ls cut | grep -c .)" = "$(ls whole | grep -c .)" ]
    check $? "nothing else is left behind"
    [ $kills = "$wanted" ] || rm -rf cut
done
[ $kills = "$wanted" ]
check $? "$kills of $tries runs were killed"
echo "  $kills of $tries runs were killed"
rm whole/part-00000-00003.parquet && works "a part that was lost" run whole many.parquet
same "a part that was lost" whole/part-00000-00003.parquet cut/part-00000-00003.parquet
# Whatever form the input has: the same rows are the same parts, also from the middle on.
works "the input as Arrow" map many.jsonl --keep id,text --batch-rows 700 -o many.arrow
for form in jsonl arrow; do
    works "a checkpoint of $form" run of-$form many.$form
    rm of-$form/part-00000-00005.parquet && works "a checkpoint of $form, gone on with" run of-$form many.$form
    for part in cut/part-*; do same "parts of $form" "$part" "of-$form/${part#cut/}"; done
done
refuses "another model's options" 'begun with other options' run whole many.parquet --results tokens
refuses "other columns" 'begun with other options' map --checkpoint whole --rows-per-part 100 --keep text many.parquet
mkdir mixed && printf 'id,text\n1,bus to Goa\n' >mixed/a.csv && printf 'text,id\nbus to Goa,1\n' >mixed/b.csv
refuses "columns in another order" 'mixed/b.csv: found a column text: utf8?, wanted id: utf8? as in the parts' map --checkpoint mixed.out --keep all mixed
refuses "other parts" 'begun with --rows-per-part 100, found 300' map --checkpoint whole --rows-per-part 300 --keep id many.parquet
cp -r "$BUS" other && sed 's/"B-SRC"/"B-FROM"/; s/"I-SRC"/"I-FROM"/' "$BUS/config.json" >other/config.json
refuses "another model" 'begun with another model' "$EF" map -m other --checkpoint whole --rows-per-part 100 --keep id many.parquet
cp many.parquet kept.parquet && touch many.parquet
refuses "an input that has changed" 'many.parquet has changed since its first part' run whole many.parquet
refuses "a pipe" 'wanted inputs that can be read again' run pipe -
refuses "no input" 'wanted inputs that can be read again' run pipe
refuses "beside --output" 'output' run pipe many.parquet -o x.parquet
cp -r whole lost && rm lost/run.json
for rows in 100 300; do
    refuses "parts without run.json" 'lost: found part-00000-00000.parquet, of which no run.json tells' map --checkpoint lost --rows-per-part $rows --keep id kept.parquet
done
[ ! -e lost/run.json ] && cp whole/run.json lost && cp lost/part-00000-00000.parquet lost/part-00001-00007.parquet
refuses "parts of no input" 'lost: found part-00001-00007.parquet, of which no run.json tells' run lost in-a.parquet
same "run.json is left as it is" lost/run.json whole/run.json

# Several inputs, and names that stand for them; one more later.
works "several" run several 'in-?.parquet' c.jsonl
[ "$(echo $(ls several))" = "lock part-00000-00000.parquet part-00000-00001.parquet part-00001-00000.parquet part-00002-00000.parquet run.json" ]
check $? "parts of each input, and columns of an empty one"
works "one more" run several 'in-?.parquet' c.jsonl a.jsonl
[ "$(ls several | grep -c part-00003)" = 2 ]
check $? "one more input"

# Folders of other engines: partitions, _SUCCESS, checksums; names with * in any part.
mkdir -p hive/day=1 hive/day=2/hour=3 hive/_delta_log hive/.hidden
cp in-a.parquet hive/day=2/part-0.parquet && cp in-b.parquet hive/day=1/part-0.snappy.parquet
cp in-b.parquet hive/day=2/hour=3/x.parquet && gzip -c b.jsonl >hive/day=2/hour=3/y.jsonl.gz
mkdir empty && : >empty/_SUCCESS
for junk in _SUCCESS day=1/.part-0.parquet.crc day=1/README _delta_log/0.parquet .hidden/1.parquet; do echo no >"hive/$junk"; done
inputs() { grep -o '"path":"[^"]*"' "$1/run.json" | sed 's/.*hive.//; s/"$//' | tr '\n' ' '; }
works "a folder" run folder hive
[ "$(inputs folder)" = "day=1/part-0.snappy.parquet day=2/hour=3/x.parquet day=2/hour=3/y.jsonl.gz day=2/part-0.parquet " ]
check $? "all files below a folder, in order"
works "a name with * in a folder's part" run stars 'hive/day=*/*.parquet'
[ "$(inputs stars)" = "day=1/part-0.snappy.parquet day=2/part-0.parquet " ]
check $? "* in any part"
works "a name with * that matches folders" run days 'hive/day=[2]'
[ "$(inputs days)" = "day=2/hour=3/x.parquet day=2/hour=3/y.jsonl.gz day=2/part-0.parquet " ]
check $? "folders that match"
refuses "a folder without inputs" 'found a folder without files of a known ending' run none empty
# A checkpoint in the folder of its inputs, or below it: neither its parts nor its run.json are inputs of the next run.
mkdir -p round && printf 'id,text\n1,bus to Goa\n2,Volvo\n' >round/a.csv
for into in round round/out; do
    for inputs in round 'round/*'; do
        for run in first second; do works "$inputs into $into, $run run" map --checkpoint $into --rows-per-part 1 --keep id,text "$inputs"; done
        works "$inputs into $into, names by the shell" map --checkpoint $into --rows-per-part 1 --keep id,text $inputs
        [ "$(find round -name 'part-*' | wc -l)" = 2 ]
        check $? "$inputs into $into: two parts: $(find round -name 'part-*' | xargs)"
    done
    works "parts of $into are inputs of another one" map --checkpoint again --rows-per-part 1 --keep id $into
    [ "$(find again -name 'part-*' | wc -l)" = $(( 2 + $(ls $into | grep -c csv) * 2 )) ]
    check $? "$into again: $(ls again | xargs)"
    rm -rf again round/out round/part-* round/run.json round/lock
done
refuses "a folder as the only input" 'hive: found a folder, wanted a file; map --checkpoint' map hive
mv hive moved && works "inputs that were moved" run folder moved
[ "$(ls folder | wc -l)" = 7 ] && grep -q 'part-0.parquet was .*hive.day=2.part-0.parquet' err
check $? "moved inputs keep their parts"
cp -p moved/day=2/part-0.parquet copy.parquet && works "a copy is another input" run folder moved copy.parquet
[ "$(ls folder | wc -l)" = 9 ]
check $? "a copy has parts of its own"
bytes=$(printf 'text\377.parquet') && cp copy.parquet "$bytes" 2>/dev/null
[ ! -e "$bytes" ] || refuses "a name that is no UTF-8" 'found a path that is no UTF-8' map --checkpoint unnamed "$bytes"
refuses "no match" 'found no file that matches' run several 'nothing-*.parquet'
refuses "another schema" 'found a column id: int 64 1?, wanted id: utf8?' run several "$GOLDEN/pyarrow.parquet"

# Two at once, and a disk that is full.
mkdir -p two && : >two/lock
( flock 9 && "$EF" map -m "$BUS" --checkpoint two --rows-per-part 100 --keep id kept.parquet >/dev/null 2>two.err; echo $? >two.rc ) 9>two/lock
[ "$(cat two.rc)" != 0 ] && grep -q 'two: another process is at work there' two.err
check $? "two processes at once"
( trap '' XFSZ; ulimit -f 10; "$EF" map -m "$BUS" --checkpoint full --rows-per-part 100 --keep id kept.parquet >/dev/null 2>full.err; echo $? >full.rc )
[ "$(cat full.rc)" != 0 ] && grep -q 'cannot be written: File too large' full.err && ! ls full/part-* >/dev/null 2>&1
check $? "no room: an error, and no half of a part"
works "room again" run full kept.parquet
for part in cut/part-*; do same "room again" "$part" "full/${part#cut/}"; done
finish
