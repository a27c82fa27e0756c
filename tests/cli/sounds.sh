#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sounds.sh [PROGRAM] - models that hear, on the command line: infer, run, map, build, inspect. Models: tests/golden/speech, by
# tools/oracle/sound_tasks.py; all numbers are compared in tests/test_task_sounds.c.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
G=$ROOT/tests/golden/speech S=$ROOT/tests/golden/sounds
CTC=$G/ctc LABELS=$G/wav2vec2 P=$ROOT/tests/golden/sounds/speech.flac Q=$ROOT/tests/golden/sounds/stereo.flac

# ---- infer ----
prints "speech" '"text": "ET ETETE ETETEE E E EETETE ETET"' "$EF" infer -m "$CTC" "$P"
prints "two files" '{"text":"E EE"}' "$EF" infer -m "$CTC" -f jsonl "$P" "$Q"
prints "chunks and times" '{"text":"ET ETETE ETEE E EETETEE<s>EETE","chunks":\[{"text":"ET","timestamp":\[0.0,0.04\]},' \
    "$EF" infer -m "$CTC" -f jsonl --chunk-length-s 0.5 --return-timestamps word "$P"
prints "another vocabulary" '"üς üσüς chüσüσch   chüσüς üσüς"' "$EF" infer -m "$CTC" --tokenizer "$G/ctc_lower" "$P"
prints "labels" '{"labels":\[{"label":"no","index":1,"score":0.299[0-9]*}\]}' "$EF" infer -m "$LABELS" --top-k 1 -f jsonl "$P"
prints "AST" '"label": "right"' "$EF" infer -m "$G/ast" "$P"
prints "Whisper" '"label": "stop"' "$EF" infer -m "$G/whisper" "$P"
prints "vectors" '{"embedding":\[-0.355' "$EF" infer -m "$G/vectors" -f jsonl "$P"
prints "vectors of frames" '{"frames":\[{"start":0.0,"embedding":\[[^]]*\]},{"start":0.02,' "$EF" infer -m "$G/vectors" --frames true -f jsonl "$P"
for way in '' 'frames,values,'; do
    "$EF" map -m "$G/vectors" --input-format text --output-format csv ${way:+--frames} >txt 2>err <<EOF
$P
EOF
    head -n 1 txt | grep -qx "embedding,${way}error"
    check $? "columns of vectors: $(head -n 1 txt)"
done
prints "for people" 'sound of 47' "$EF" infer -m "$CTC" -f text "$P"
refuses "no such file" 'gone.wav' "$EF" infer -m "$CTC" gone.wav
refuses "a URL" 'URLs are not fetched' "$EF" infer -m "$CTC" https://example.com/a.wav
refuses "no sound" 'inputs\[0\]: sound: found' "$EF" infer -m "$CTC" "$CTC/config.json"
refuses "nothing" 'wanted at least one sound' "$EF" infer -m "$CTC" -i /dev/null
printf 'ID3\4\0\0\0\0\0\0' >a.mp3
refuses "MP3" 'to convert: ffmpeg -i FILE.mp3 -ac 1 -ar 16000 FILE.wav' "$EF" infer -m "$CTC" a.mp3

# ---- run: as the pipeline ----
prints "run" '"text": "ET ETETE ETETEE E E EETETE ETET"' "$EF" run -m "$CTC" "$P"
prints "run: labels, all of them" '"label": "right"' "$EF" run audio-classification -m "$LABELS" "$P"

# ---- map: paths, base64, samples ----
printf '%s\n%s\n' "$P" gone.wav >list.txt
fails "a list of paths" '{"error":.*line 2: .*gone.wav' "$EF" map -m "$CTC" list.txt
has "the others" '{"text":"ET ETETE'
printf '{"id":7,"path":"%s"}\n{"id":8,"audio":"%s"}\n' "$P" "$(base64 <"$Q" | tr -d '\n')" >list.jsonl
awk 'BEGIN { printf "{\"id\":9,\"array\":["; for (i = 0; i < 1600; i++) printf "%s%.3f", i ? "," : "", (i % 40 - 20) / 40; print "],\"sampling_rate\":8000}" }' >>list.jsonl
prints "JSON lines" '{"id":7,"text":"ET ETETE' "$EF" map -m "$CTC" list.jsonl
has "base64" '{"id":8,"text":"E EE"}'
has "samples" '{"id":9,"text":"'
printf 'id,clip\n1,%s\n' "$P" >list.csv
prints "a column" '{"id":"1","text":"ET ETETE' "$EF" map -m "$CTC" --field clip list.csv
printf '{"array":[0.1,0.2]}\n' >norate.jsonl
tail -n 1 list.jsonl | sed 's/"id":9,//' >array.jsonl && sed 's/.*/{"audio":&}/' array.jsonl >inside.jsonl && sed 's/.*/{"audio":{"path":null,"bytes":null},"sound":&}/' array.jsonl >named.jsonl
works "samples" "$EF" map -m "$CTC" array.jsonl
cp txt array.wanted
works "samples in an object" "$EF" map -m "$CTC" inside.jsonl
cmp -s txt array.wanted
check $? "samples in an object, as datasets have them"
works "samples in a key of another name" "$EF" map -m "$CTC" --field sound named.jsonl
cmp -s txt array.wanted
check $? "samples in a key of another name"
fails "no rate" 'sampling_rate: found nothing, wanted one beside array' "$EF" map -m "$CTC" norate.jsonl

# ---- packages ----
prints "build" 'ctc 0.1.0: automatic_speech_recognition, fp32, sounds, resampled to 16000 Hz (Wav2Vec2FeatureExtractor)' "$EF" build "$CTC" -o ctc.encoderfile
prints "a package answers alike" '"text": "ET ETETE ETETEE E E EETETE ETET"' ./ctc.encoderfile infer "$P"
prints "inspect" '"processor": "Wav2Vec2FeatureExtractor"' "$EF" inspect ctc.encoderfile
has "its member" '"name": "audio_preprocessor"'
lacks "no tokenizer" '"tokenizer"'
refuses "without a command" 'reads    sounds, resampled to 16000 Hz' ./ctc.encoderfile
works "a package of labels" "$EF" build "$G/whisper" -o whisper.encoderfile
prints "it answers" '"label": "stop"' ./whisper.encoderfile infer "$P"

# ---- folders that lack something ----
cp -r "$CTC" bare && rm bare/preprocessor_config.json
refuses "no feature extractor" 'preprocessor_config.json' "$EF" infer -m bare "$P"
cp -r "$CTC" wordless && rm wordless/vocab.json
refuses "no vocabulary" 'vocab.json not found' "$EF" infer -m wordless "$P"
cp -r "$CTC" broken && echo '{"feature_extractor_type": "ClapFeatureExtractor"}' >broken/preprocessor_config.json
refuses "another feature extractor" 'found "ClapFeatureExtractor", wanted' "$EF" infer -m broken "$P"
cp -r "$G/ast" short && sed -i 's/"max_length": 100/"max_length": 90/' short/preprocessor_config.json
refuses "a graph of another size" 'found a graph for 100 x 32, wanted 90 x 32 as ASTFeatureExtractor makes' "$EF" infer -m short "$P"
refuses "tokenize" 'reads no texts' "$EF" tokenize -m "$CTC" "a text"
refuses "a task of texts" 'Invalid model type' "$EF" infer -m "$LABELS" --task image_classification "$P"
finish
