#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pairs.sh [PROGRAM] - models that read pictures and texts (CLIP, SigLIP), on the command line: infer, map, export, build, inspect,
# verify. Models: tests/golden/pairs, by tools/oracle/picture_pairs.py; all numbers are compared in tests/test_task_pairs.c.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
CLIP=$ROOT/tests/golden/pairs/clip SIGLIP=$ROOT/tests/golden/pairs/siglip P=$ROOT/tests/golden/images/base420_37x29.jpg
labels='{"labels":\[{"label":"cat","index":0,"score":0.9425[0-9]*},{"label":"dog","index":1,"score":0.0574[0-9]*}\]}'

# ---- infer and map ----
prints "labels of the line" "$labels" "$EF" infer -m "$CLIP" --candidate-labels 'cat, dog' -f jsonl "$P"
prints "as JSON" "$labels" "$EF" infer -m "$CLIP" --params '{"candidate_labels":["cat","dog"]}' -f jsonl "$P"
prints "another template" '"label":"dog"' "$EF" infer -m "$CLIP" --candidate-labels cat,dog --hypothesis-template 'a {}' -f jsonl "$P"
prints "logits" '"score":-\{0,1\}[0-9]*\.' "$EF" infer -m "$CLIP" --candidate-labels cat,dog --function-to-apply none -f jsonl "$P"
prints "SigLIP" '"label":"dog","index":1,"score":0.4574' "$EF" infer -m "$SIGLIP" --candidate-labels cat,dog -f jsonl "$P"
prints "an ONNX file of Optimum's form" '"label":"dog","index":1,"score":0.5309' \
    "$EF" infer -m "$ROOT/tests/golden/pairs/clip_onnx" --candidate-labels cat,dog -f jsonl "$P"
refuses "no labels" 'candidate_labels: found nothing, wanted at least one label' "$EF" infer -m "$CLIP" "$P"
refuses "no gap" 'hypothesis_template: found no {}' "$EF" infer -m "$CLIP" --candidate-labels cat --hypothesis-template photo "$P"
refuses "labels for another model" 'wanted one for zero_shot_image_classification' \
    "$EF" infer -m "$ROOT/tests/golden/pictures/vit" --candidate-labels cat "$P"
refuses "a text in a picture's place" 'two cats' "$EF" infer -m "$CLIP" --candidate-labels cat "two cats"
printf '%s\n%s\n' "$P" "$P" >list.txt
prints "map" "$labels" "$EF" map -m "$CLIP" --candidate-labels cat,dog list.txt
prints "one tower" '{"embedding":\[0.1672[0-9]*,' "$EF" infer -m "$CLIP" --task image_embedding -f jsonl "$P"

# ---- export, build ----
works "export" "$EF" export "$CLIP" out
prints "the exported folder" "$labels" "$EF" infer -m out --candidate-labels cat,dog -f jsonl "$P"
prints "build" 'clip 0.1.0: zero_shot_image_classification, fp32, pictures, resized to 24 x 24 (CLIPImageProcessor) and texts of up to 20 tokens (BPE)' \
    "$EF" build "$CLIP" -o clip.encoderfile
prints "a package answers alike" "$labels" ./clip.encoderfile infer --candidate-labels cat,dog -f jsonl "$P"
prints "in fewer bits" 'int8' "$EF" build "$SIGLIP" --precision int8 -o small.encoderfile
prints "int8" '"label":"dog","index":1,"score":0.4' ./small.encoderfile infer --candidate-labels cat,dog -f jsonl "$P"
prints "inspect" '"text_graph": {' "$EF" inspect clip.encoderfile
has "what a request needs" '"candidate_labels"'
has "both members" '"name": "text_panels"'
has "its tokenizer" '"tokenizer": {'
works "verify" "$EF" verify "$CLIP"
works "tokenize" "$EF" tokenize -m "$CLIP" "a text"

# ---- folders that lack something ----
cp -r "$CLIP" bare && rm bare/preprocessor_config.json
refuses "no processor" 'preprocessor_config.json' "$EF" infer -m bare --task zero_shot_image_classification "$P"
cp -r "$CLIP" mute && rm mute/tokenizer.json
prints "no tokenizer: vectors of pictures" '{"embedding":\[0.1672[0-9]*,' "$EF" infer -m mute -f jsonl "$P"
refuses "no tokenizer" 'tokenizer' "$EF" infer -m mute --task zero_shot_image_classification --candidate-labels cat "$P"
finish
