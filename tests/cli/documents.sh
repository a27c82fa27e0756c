#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# documents.sh [PROGRAM] - models that read pages, on the command line: infer, run, map, build, inspect; words by a program that
# stands for Tesseract. Models: tests/golden/documents, by tools/oracle/documents.py; all numbers are compared in
# tests/test_task_documents.c.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
D=$ROOT/tests/golden/documents P=$ROOT/tests/golden/documents/word.png
W='"words":["Ada"],"boxes":[[82,292,319,512]]' # of word.png: 97 x 41
mkdir bin
cat >bin/tesseract <<'END'
#!/bin/sh
/bin/cat >/dev/null
printf 'left\ttop\twidth\theight\ttext\n8\t12\t23\t9\tAda\n'
END
chmod +x bin/tesseract

# ---- words and boxes that are given ----
printf '{"id":1,"question":"What is the total?",%s}\n' "$W" >q.jsonl
prints "a question" '{"answers":\[{"score":0.0[0-9]*,"answer":"Ada","start":0,"end":0}\]}' "$EF" infer -m "$D/layoutlm_qa" -i q.jsonl -f jsonl
prints "options" '"answer":"Ada".*"answer":"Ada"' "$EF" map -m "$D/lilt_qa" --params '{"top_k":2}' q.jsonl
has "its id" '{"id":1,"answers":'
printf '{"id":1,"question":"What is the total?",%s,"path":"%s"}\n' "$W" "$P" >s.jsonl
prints "with its page" '"answer":"Ada","start":0,"end":0' "$EF" map -m "$D/layoutlmv3_qa" s.jsonl
fails "without it" '"message":"line 1: image: found nothing' "$EF" map -m "$D/layoutlmv3_qa" q.jsonl
printf 'question,words,boxes\nWhat?,"[""Ada""]","[[82,292,319,512]]"\n' >q.csv
prints "columns" '"answer":"Ada"' "$EF" map -m "$D/layoutlm_qa" q.csv
printf 'question,words,boxes,path\nWhat?,"[""Ada""]","[[82,292,319,512]]","%s"\n' "$P" >s.csv
prints "a column of paths" '"answer":"Ada","start":0,"end":0' "$EF" map -m "$D/layoutlmv3_qa" s.csv
refuses "no column of pictures" 's.csv: found no column "image"' sh -c "sed s/path/file/ s.csv >t.csv && mv t.csv s.csv && '$EF' map -m '$D/layoutlmv3_qa' s.csv"
printf '{%s,"path":"%s"}\n' "$W" "$P" >p.jsonl
prints "labels" '"predicted_label":"' "$EF" infer -m "$D/layoutlmv3_class" -i p.jsonl -f jsonl
prints "entities" '"first_word":0,"last_word":0,"box":\[82,292,319,512\]' "$EF" infer -m "$D/layoutlmv3_tags" -i p.jsonl -f jsonl --aggregation none
prints "for people" 'Ada' "$EF" infer -m "$D/layoutlm_qa" -i q.jsonl -f text
prints "as the pipeline" '"answer": "Ada"' "$EF" run document-question-answering -m "$D/layoutlm_qa" -p 'question=What is the total?' -p 'word_boxes=[["Ada",[82,292,319,512]]]'
refuses "a box outside" 'line 1: boxes\[0\]\[2\]: found 1001, wanted 0 to 1000' sh -c "printf '{\"question\":\"a\",\"words\":[\"a\"],\"boxes\":[[0,0,1001,0]]}\n' | '$EF' infer -m '$D/layoutlm_qa' --input-format jsonl"

# ---- words that are read ----
prints "infer" '{"answers":\[{"score":0.0[0-9]*,"answer":"Ada","start":0,"end":0}\]}' env PATH="$PWD/bin" "$EF" infer -m "$D/layoutlm_qa" --question "What is the total?" -f jsonl "$P"
prints "run" '"answer": "Ada"' env PATH="$PWD/bin" "$EF" run -m "$D/layoutlmv3_qa" -p 'question=What is the total?' "$P"
printf '{"id":3,"path":"%s"}\n' "$P" >r.jsonl
prints "map" '{"id":3,.*"predicted_label":"' env PATH="$PWD/bin" "$EF" map -m "$D/layoutlmv3_class" r.jsonl
prints "entities" '"box":\[82,292,319,512\]' env PATH="$PWD/bin" "$EF" infer -m "$D/layoutlmv3_tags" --aggregation none -f jsonl "$P"
refuses "no Tesseract" 'inputs\[0\]: found an image without its words, .*apt install tesseract-ocr' env PATH=/nowhere "$EF" infer -m "$D/layoutlmv3_class" "$P"
refuses "no question" 'found no question' env PATH="$PWD/bin" "$EF" infer -m "$D/layoutlm_qa" "$P"
refuses "serve: no such program" '\-\-ocr: found no program at "gone", wanted the path of Tesseract' "$EF" serve -m "$D/layoutlm_qa" --ocr gone --http-port 0

# ---- packages ----
prints "build" 'layoutlmv3_qa 0.1.0: document_question_answering, fp32' "$EF" build "$D/layoutlmv3_qa" -o q.encoderfile
refuses "what it reads" 'reads    pages, words with boxes, of up to 64 tokens (BPE), and their pictures, resized to 16 x 16' ./q.encoderfile
prints "a package answers alike" '"answer":"Ada","start":0,"end":0' ./q.encoderfile infer -i s.jsonl -f jsonl
"$EF" infer -m "$D/layoutlmv3_qa" -i s.jsonl -f jsonl >folder.json && ./q.encoderfile infer -i s.jsonl -f jsonl >package.json
works "to the last digit" cmp folder.json package.json
works "build: LayoutLM" "$EF" build "$D/layoutlm_qa" -o l.encoderfile
prints "and it answers" '"answer":"Ada"' ./l.encoderfile infer -i q.jsonl -f jsonl
prints "verify" '"ok": true' "$EF" verify -m "$D/layoutlmv3_qa" --json
prints "its task by name" '"answer":"Ada"' "$EF" infer -m "$D/layoutlm_qa" --task question-answering -i q.jsonl -f jsonl
cp -r "$D/layoutlmv3_qa" bare && rm bare/preprocessor_config.json
refuses "no processor" 'preprocessor_config.json not found' "$EF" infer -m bare -i s.jsonl
finish
