#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pictures.sh [PROGRAM] - models that read pictures, on the command line: infer, map, build, inspect. Models: tests/golden/pictures,
# by tools/oracle/picture_tasks.py; all numbers are compared in tests/test_task_pictures.c. And the bundled examples/road-signs.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
VIT=$ROOT/tests/golden/pictures/vit P=$ROOT/tests/golden/images/cmyk.jpg Q=$ROOT/tests/golden/images/png6_8_13x11.png

# ---- infer ----
prints "paths of the line" '"label": "bird"' "$EF" infer -m "$VIT" "$P" "$Q"
has "its score" '0.48641'
prints "options" '{"labels":\[{"label":"bird","index":6,"score":0.48[0-9]*}\]}' "$EF" infer -m "$VIT" --top-k 1 -f jsonl "$P"
prints "for people" 'bird' "$EF" infer -m "$VIT" -f text "$P"
prints "a table" 'bird' "$EF" infer -m "$VIT" -f csv "$P"
refuses "no such file" 'gone.jpg' "$EF" infer -m "$VIT" gone.jpg
refuses "a URL" 'URLs are not fetched' "$EF" infer -m "$VIT" https://example.com/a.jpg
refuses "no picture" 'inputs\[0\]: picture: found' "$EF" infer -m "$VIT" "$VIT/config.json"
refuses "nothing" 'wanted at least one picture' "$EF" infer -m "$VIT" -i /dev/null

# ---- map: paths, base64, columns ----
printf '%s\n%s\n' "$P" gone.jpg >list.txt
fails "a list of paths" '{"error":.*line 2: .*gone.jpg' "$EF" map -m "$VIT" list.txt
has "the others" '"label":"bird","index":6,"score":0.48'
printf '{"id":7,"path":"%s"}\n{"id":8,"image":"%s"}\n' "$P" "$(base64 <"$P" | tr -d '\n')" >list.jsonl
prints "JSON lines" '{"id":7,"labels":\[{"label":"bird"' "$EF" map -m "$VIT" list.jsonl
has "base64" '{"id":8,"labels":\[{"label":"bird"'
printf 'id,photo\n1,%s\n' "$P" >list.csv
prints "a column" '{"id":"1","labels":\[{"label":"bird"' "$EF" map -m "$VIT" --field photo list.csv
mkdir -p 'f i' && cp "$P" 'f i/a%20b.jpg'
printf '%s\n' "file://$P" "file:$P" "file://$PWD/f i/a%20b.jpg" "file://localhost$PWD/f%20i/a%2520b.jpg" >urls.txt
works "URLs of files, as Daft and Spark write them" "$EF" map -m "$VIT" urls.txt
printf '{"image":{"bytes":null,"path":null}}\n' >none.jsonl
fails "a file without bytes and path" 'line 1: image: found neither bytes nor a path' "$EF" map -m "$VIT" none.jsonl
printf '{"text":"x","path":null}\n' | "$EF" map -m "$BUS" --keep path -o none.arrow 2>err
prints "no path in a row" 'found null, wanted a path' "$EF" map -m "$VIT" none.arrow --output-format csv
refuses "no column" 'found no column "path"; --field names another one' "$EF" map -m "$VIT" list.csv

# ---- packages ----
prints "build" 'vit 0.1.0: image_classification, fp32, pictures, resized to 24 x 24 (ViTImageProcessor)' "$EF" build "$VIT" -o vit.encoderfile
prints "a package answers alike" '0.48641' ./vit.encoderfile infer "$P"
prints "inspect" '"image": {' "$EF" inspect vit.encoderfile
has "its processor" '"processor": "ViTImageProcessor"'
has "its member" '"name": "image_preprocessor"'
lacks "no tokenizer" '"tokenizer"'
refuses "without a command" 'reads    pictures, resized to 24 x 24' ./vit.encoderfile
printf 'encoderfile:\n  name: v\n  model_type: image_classification\n  path:\n    model_weights_path: %s/model.onnx\n    model_config_path: %s/config.json\n    preprocessor_config_path: %s/preprocessor_config.json\n' "$VIT" "$VIT" "$VIT" >v.yml
works "a YAML's paths" "$EF" build -f v.yml -o v.encoderfile
works "in fewer bits" "$EF" build "$VIT" --precision bf16 -o b.encoderfile
prints "bf16" '"label": "bird"' ./b.encoderfile infer "$P"

# ---- folders that lack something ----
cp -r "$VIT" bare && rm bare/preprocessor_config.json
refuses "no processor" 'preprocessor_config.json' "$EF" infer -m bare "$P"
cp -r "$VIT" broken && echo '{"size": "x"}' >broken/preprocessor_config.json
refuses "a broken processor" 'preprocessor_config.json: ' "$EF" infer -m broken "$P"
refuses "tokenize" 'reads no texts' "$EF" tokenize -m "$VIT" "a text"
refuses "embedding" 'Invalid model type' "$EF" infer -m "$VIT" --task embedding "$P"
# ---- vectors ----
VECTORS=$ROOT/tests/golden/pictures/vit_vectors
prints "vectors" '{"embedding":\[' "$EF" infer -m "$VECTORS" -f jsonl "$P"
for way in '' 'patches,values,'; do
    "$EF" map -m "$ROOT/tests/golden/pictures/vit_hidden" list.jsonl --output-format csv ${way:+--patches} >txt 2>err
    head -n 1 txt | grep -qx "embedding,${way}error"
    check $? "columns of vectors: $(head -n 1 txt)"
done
refuses "vectors of a classifier" 'Invalid model type' "$EF" infer -m "$VIT" --task image_embedding "$P"

# ---- bench, verify, quantize, onnx explain and check ----
G=$ROOT/tests/golden/pictures
prints "bench" '^2 x pixel_values float\[3,24,24\], 1 threads, .*, fp32: best .* a second$' "$EF" bench -m "$VIT" --rows 2 -n 2 --threads 1
prints "bench of a lone graph" '"input_shape": "float\[3,32,48\]"' "$EF" bench -m "$G/yolos/model.onnx" --precision int8 -n 1 --json
has "in another precision" '"precision": "int8"'
prints "bench of a package" '^1 x pixel_values' ./vit.encoderfile bench -n 1
refuses "bench has no lengths" '\-\-lengths: found a model whose rows are no texts, wanted --rows N' "$EF" bench -m "$VIT" --lengths 3,3
refuses "texts have no rows" '\-\-rows: found a model that reads texts, wanted --lengths' "$EF" bench -m "$BUS" --rows 2
prints "verify with a drawn picture" 'VERIFICATION COMPLETE' "$EF" verify "$VIT"
has "it says so" 'Query: "a picture drawn here"'
prints "verify with a picture" 'bird: 0.4864' "$EF" verify "$VIT" "$P"
refuses "verify with none" 'gone.jpg: No such file' "$EF" verify "$VIT" gone.jpg
prints "verify of boxes" '3 objects' "$EF" verify "$G/yolos"
prints "verify of maps" '2 segments' "$EF" verify "$G/segformer"
prints "verify of vectors" 'a vector of 16 numbers' "$EF" verify "$VECTORS"
cp -r "$VIT" golden && touch golden/output.npy
refuses "no golden ids" 'golden: found a model that reads pictures' "$EF" verify golden --golden golden
cp -r "$VIT" q && prints "quantize" 'against fp32 on 10 pictures: cosine 0.999.*% of 10 labels agree' "$EF" quantize q
prints "verify of both" 'against fp32 on 1 pictures: .* of 1 labels agree' "$EF" verify q "$P"
cp -r "$G/segformer" s && prints "quantize, maps" '% of 640 pixels agree' "$EF" quantize s
prints "quantize, boxes" '"same_labels": ' "$EF" quantize "$G/yolos" -o y.onnx --json
has "of pictures" '"pictures": 10'
refuses "quantize, convolutions alone" 'convolutions stay in fp32 here: `build --precision int8` takes them' "$EF" quantize "$G/resnet" -o r.onnx
printf '%s\n%s\n' "$P" "$Q" >paths
prints "accuracy on pictures of the caller" 'on 2 pictures: cosine 0.999' "$EF" build "$VIT" --precision int8 --calibrate paths -o c.encoderfile
prints "onnx explain" '^model.onnx: 2 rows, fp32' "$EF" onnx explain "$G/resnet/model.onnx" --rows 2
has "convolutions count" 'ConvLast .* 1.204 MFLOP'
refuses "onnx explain has no tokens" '\-\-tokens: found a model whose rows have no tokens' "$EF" onnx explain "$VIT" --tokens 5
prints "maps are multiplied before they grow" 'Linear .*/decode_head/Resize_1' "$EF" onnx explain "$G/segformer/model.onnx"
prints "onnx check" '  encoder: yes, padded: its rows bring tensors' "$EF" onnx check "$VIT/model.onnx"

# ---- the bundled model: every picture is named by its label ----
SIGNS=$ROOT/examples/road-signs
for picture in "$SIGNS"/pictures/*.png; do
    label=$(basename "$picture" .png | tr - ' ')
    prints "$label" "{\"labels\":\[{\"label\":\"$label\"," "$EF" infer "$SIGNS" "$picture" --top-k 1 -f jsonl
done
ls "$SIGNS"/pictures/*.png >signs.txt
prints "pictures as a table" '^"\[{""label"":""give way"",""index"":1,' "$EF" map "$SIGNS" signs.txt --input-format text --output-format csv
finish
