#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shapes.sh [PROGRAM] - where the limit of a text's tokens comes from: the sidecar of an export, the graph, the options of
# a build, the tokenizer's files, the default, in this order; `inspect` says which.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1

works "export, fixed" "$EF" export "$BUS" fixed --static-shapes 1,64
works "export, open" "$EF" export "$BUS" open
long=$(printf 'bus %.0s' $(seq 600))
# limit NAME MODEL TOKENS FROM: what `inspect` says, and what a long text is cut to
limit() {
    prints "$1" "\"max_length\": $3," "$EF" inspect "$2"
    has "$1" "\"max_length_from\": \"$4\""
    "$EF" infer -m "$2" "$long" >txt 2>err </dev/null || flunk "$1: infer"
    words=$(grep -c '"token": "bus"' txt)
    [ "$words" = $(($3 - 2)) ] && pass || flunk "$1: $words words, wanted $(($3 - 2))"
}
# beside NAME SIDECAR: the open model with this sidecar
beside() { rm -rf "$1" && cp -r open "$1" && cp "$2" "$1/model_htp_metadata.json"; }

limit "the sidecar of an export" fixed 64 model_htp_metadata.json
limit "of the file alone" fixed/model.onnx 64 model_htp_metadata.json
limit "a sidecar whose axes are open" open 128 tokenizer_config.json
beside both fixed/model_htp_metadata.json
limit "a sidecar that declares 1 x 64, an open graph" both 64 model_htp_metadata.json
sed 's/"exporter": "encoderfile"/"exporter": "HTPExporter"/' fixed/model_htp_metadata.json >traced.json
beside traced traced.json
limit "a sidecar that says what was traced, an open graph" traced 128 tokenizer_config.json
works "export, shorter" "$EF" export "$BUS" short --static-shapes 1,32
cp fixed/model_htp_metadata.json short/
limit "a graph that takes less than its sidecar says" short 32 graph
rm fixed/model_htp_metadata.json
limit "no sidecar: the graph" fixed 64 graph
rm open/model_htp_metadata.json && limit "no sidecar, an open graph" open 128 tokenizer_config.json
cp -r open plain && rm plain/tokenizer_config.json
limit "no limit but the positions" plain 128 config.json

works "build" "$EF" build both -o both.encoderfile
limit "a package remembers" both.encoderfile 64 model_htp_metadata.json
works "build --max-length" "$EF" build both -o less.encoderfile --max-length 24
limit "an option that asks for less" less.encoderfile 24 options
works "build --max-length 100" "$EF" build both -o more.encoderfile --max-length 100
limit "an option that asks for more" more.encoderfile 64 model_htp_metadata.json

for broken in '{"tracing": {"inputs": {"input_ids": {"shape": ' '[1, 64]' '{"tracing": {"inputs": {"input_ids": {"shape": [1, 2, 64]}}}}' \
    '{"tracing": {"inputs": {"input_ids": {"shape": [1, -64]}}}}' '{"tracing": {"inputs": {"input_ids": {"shape": ["B", "S"]}}}}' \
    '{"tracing": {"inputs": [64]}}' '{"error": "x"}'; do
    printf '%s' "$broken" >broken.json && beside broken broken.json
    limit "a sidecar without shapes: $broken" broken 128 tokenizer_config.json
done
printf '{"tracing": {' >broken/model_htp_metadata.json && "$EF" inspect broken >txt 2>err
grep -q 'model_htp_metadata.json is not read: ' err && pass || flunk "a broken sidecar is named"
finish
