#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pipelines.sh [PROGRAM] - run and process on the command line: which task, where inputs and parameters come from, what is refused. All
# results are compared with transformers' in tests/test_dialect_pipeline.c, all tensors in tests/test_model_feed.c.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
G=$ROOT/tests/golden P=$G/pipelines PICTURE=$G/images/cmyk.jpg
A="Ada Lovelace was born in London" B="The river Thames flows through the city."
one() { tr -d ' \n' <txt >flat && mv flat txt; } # the JSON of the last command, on one line

# ---- which task ----
works "found from the model" "$EF" run -m "$P/labels" "$A"
one && has "as its pipeline" '^\[{"score":0.919[0-9]*,"label":"contradiction"}\]$'
works "the model as a word" "$EF" run "$P/labels" "$A"
works "a task" "$EF" run sentiment-analysis -m "$P/labels" "$A"
works "a task and a model as words" "$EF" run TEXT_CLASSIFICATION "$P/labels" "$A"
works "--task" "$EF" run --task ner -m "$P/tags" "$A"
works "a text that is called as a task" "$EF" run --task text-classification -m "$P/labels" ner
one && has "one input" '^\[{"score":[0-9.]*,"label":"[a-z]*"}\]$'
works "the other task of a model" "$EF" run zero-shot-classification -m "$P/labels" "$A" -p candidate_labels=machines,rivers
one && has "zero-shot" '"labels":\["[a-z]*","[a-z]*"\],"scores":'
works "by its parameter" "$EF" run -m "$P/labels" "$A" -p candidate_labels=machines,rivers
one && has "zero-shot, too" '"labels":\["[a-z]*","[a-z]*"\],"scores":'
refuses "a task of another model" 'ForSequenceClassification' "$EF" run ner -m "$P/labels" "$A"
refuses "a misspelled task" 'did you mean text-classification' "$EF" run text-clasification -m "$P/labels" "$A"
refuses "a task that nobody does here" 'translation' "$EF" run translation -m "$P/labels" "$A"
refuses "no model" 'a model can be named: encoderfile run MODEL' "$EF" run

# ---- inputs ----
works "two texts" "$EF" run -m "$P/labels" "$A" "$B"
one && has "a list" '^\[{.*},{.*}\]$'
printf '%s\n' "$A" >in.txt
works "a file" "$EF" run -m "$P/labels" -i in.txt -p top_k=1
one && has "a list of lists" '^\[\[{"score":0.919[0-9]*,"label":"contradiction"}\]\]$'
printf '{"text":"%s","text_pair":"%s"}\n' "$A" "$B" >in.jsonl
works "pairs" "$EF" run -m "$P/labels" -i in.jsonl
cp txt pair
works "text_pair" "$EF" run -m "$P/labels" "$A" -p text_pair="$B"
cmp -s txt pair
check $? "the same pair"
works "question, context" "$EF" run -m "$P/answers" "Who was born?" "$A"
cp txt answer
works "a parameter for a part" "$EF" run qa -m "$P/answers" -p question="Who was born?" "$A"
cmp -s txt answer
check $? "the same answer"
works "parameters for all parts" "$EF" run -m "$P/answers" -p question="Who was born?" -p context="$A"
cmp -s txt answer
check $? "the same answer again"
works "similarity" "$EF" run sentence-similarity -m "$P/vectors" "a city" "a city" "the river"
one && has "a number for each" '^\[1[.0-9]*,[-0-9.]*\]$'
works "ranking" "$EF" run rerank -m "$P/one" "Who?" "Ada" "the river" -p return_text=true
one && has "the best first" '^\[{"index":[01],"text":"[a-zA-Z]*","score":'
works "masks" "$EF" run fill-mask -m "$P/masks" "Ada [MASK] was born" -p targets=river,city -p top_k=2
one && has "of those" '"token_str":"\(river\|city\|[a-z]\)"'
works "a picture" "$EF" run -m "$G/pictures/vit" "$PICTURE" -p top_k=1
one && has "its label" '^\[{"label":"bird","score":0.48'
works "objects" "$EF" run object-detection "$G/pictures/yolos" "$PICTURE"
one && has "with boxes" '^\[{"score":0.[0-9]*,"label":"[a-z]*","box":{"xmin":'
works "a sound" "$EF" run audio-classification -m "$G/speech/wav2vec2" "$G/sounds/speech.flac" -p top_k=1
one && has "its label" '^\[{"score":0.299[0-9]*,"label":"no"}\]$'
works "a page" "$EF" run -m "$G/documents/layoutlm_qa" -p question="Who?" -p 'word_boxes=[["Ada",[0,0,90,20]],["wrote",[100,0,200,20]]]'
one && has "its answers" '^\[{"score":[0-9.e-]*,"answer":"[Adawrote]*","start":[01],"end":[01]}\]$'
refuses "no input" 'run: wanted at least one text' "$EF" run -m "$P/labels"
refuses "no picture" 'gone.jpg' "$EF" run -m "$G/pictures/vit" gone.jpg

# ---- parameters ----
for way in none simple first average max; do
    works "aggregation: $way" "$EF" run ner -m "$P/tags" "$A" -p aggregation_strategy=$way
done
works "None" "$EF" run -m "$P/labels" "$A" -p top_k=None
one && has "all labels" '^\[{.*},{.*},{.*}\]$'
works "JSON" "$EF" run -m "$P/labels" "$A" -p 'candidate_labels=["a, b", "c"]' -p multi_label=True
one && has "labels with commas" '"labels":\["\(c","a,b\|a,b","c\)"\]'
refuses "an unknown one" 'text-classification has no "topk": did you mean top_k' "$EF" run -m "$P/labels" "$A" -p topk=1
refuses "no number" '--param top_k=x: wanted a number' "$EF" run -m "$P/labels" "$A" -p top_k=x
refuses "no value" '--param top_k: wanted KEY=VALUE' "$EF" run -m "$P/labels" "$A" -p top_k
refuses "a bad one" 'top_k: found 0' "$EF" run -m "$P/labels" "$A" -p top_k=0
refuses "without its label" 'candidate_labels' "$EF" run zero-shot-classification -m "$P/labels" "$A"

# ---- other processors ----
mkdir other && printf '{"image_processor_type":"ViTImageProcessor","size":{"height":24,"width":24},"do_normalize":false}\n' >other/preprocessor_config.json
works "--processor" "$EF" run -m "$G/pictures/vit" "$PICTURE" --processor other
one && lacks "another result" '"bird","score":0.48641'
works "--image-processor" "$EF" run -m "$G/pictures/vit" "$PICTURE" --image-processor other/preprocessor_config.json
works "a tokenizer is one" "$EF" run -m "$P/labels" "$A" --processor "$P/tags"
one && has "the same tokenizer" '0.919'
refuses "none there" 'found no preprocessor_config.json' "$EF" run -m "$P/labels" "$A" --processor "$G/images"

# ---- packages ----
works "build" "$EF" build "$P/labels" -o labels.encoderfile
works "a package runs" ./labels.encoderfile run "$A"
one && has "alike" '^\[{"score":0.919'
works "another task of it" ./labels.encoderfile run zero-shot-classification "$A" -p candidate_labels=machines
refuses "not its task" 'this model is for sequence_classification' ./labels.encoderfile run ner "$A"

# ---- process ----
prints "process" '^input_ids int64 \[2, ' "$EF" process "$P/labels" "$A" "$B" --output-dir made/tensors
has "a file each" ' made/tensors/token_type_ids.npy$'
head -c 6 made/tensors/input_ids.npy | tail -c 5 | grep -q NUMPY
check $? "NumPy's"
grep -q '"file": "attention_mask.npy"' made/tensors/inputs.json
check $? "inputs.json names them"
prints "of a picture" '^pixel_values float32 \[1, 3, 24, 24\] ' "$EF" process "$G/pictures/vit" "$PICTURE" -o made
prints "of a sound" '^input_features float32 \[1, 16, 200\] ' "$EF" process "$G/speech/whisper" "$G/process/second.wav" -o made
prints "of sounds of two lengths" '^input_values float32 \[2, 29829\] ' "$EF" process "$G/speech/wav2vec2" "$G/process/second.wav" "$G/sounds/speech.flac" -o made
prints "of a package" '"name": "input_ids"' "$EF" process -m labels.encoderfile "$A" -o made --json
prints "of a question" '^token_type_ids int64 \[1, ' "$EF" process "$P/answers" "Who was born?" "$A" -o made
prints "of choices" '^input_ids int64 \[1, 2, ' "$EF" process "$G/multiple_choice/bert" "The bus" "leaves" "is a fork" -o made
refuses "where to" 'wanted --output-dir' "$EF" process "$P/labels" "$A"
refuses "nothing" 'process: wanted at least one text' "$EF" process "$P/labels" -o none
[ ! -e none ]
check $? "and nothing is written"
refuses "no folder" 'in.txt' "$EF" process "$P/labels" "$A" -o in.txt

# ---- shapes: the sidecar, then the graph ----
works "export" "$EF" export "$P/labels" fixed
prints "the export's own sidecar" '"shape_from": "sidecar"' "$EF" inspect fixed
has "which leaves them open" '"sequence_length"'
rm fixed/model_htp_metadata.json
prints "the graph's" '"shape_from": "graph"' "$EF" inspect fixed
printf '{"tracing":{"inputs":{"input_ids":{"shape":[1,12]},"attention_mask":{"shape":[1,12]},"token_type_ids":{"shape":[1,12]}}}}\n' >fixed/model_htp_metadata.json
prints "the sidecar's" '"shape_from": "sidecar"' "$EF" inspect fixed
prints "are kept" '^input_ids int64 \[1, 12\]' "$EF" process fixed "Ada" -o made
has "of all" '^token_type_ids int64 \[1, 12\]'
prints "long texts are cut to it" '^input_ids int64 \[1, 12\]' "$EF" process fixed "$A $B" -o made
prints "what it takes" '"takes": "a string or a pair of strings"' "$EF" inspect fixed
has "by which processor" '"type": "tokenizer"'
prints "of pictures" '"type": "image_processor"' "$EF" inspect "$G/pictures/vit"
if command -v script >/dev/null; then
    prints "for people" 'by its   image_processor (ViTImageProcessor), which feeds' script -qec "'$EF' inspect '$G/pictures/vit'" /dev/null
    has "its shapes" 'pixel_values float \[batch, 3, 24, 24\], by the graph'
    prints "JSON there too" '"image_processor"' script -qec "'$EF' inspect --json '$G/pictures/vit'" /dev/null
else
    skipped=1 && echo "  skipped: no script, which makes a terminal"
fi
finish
