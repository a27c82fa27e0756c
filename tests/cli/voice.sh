#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# voice.sh [PROGRAM] - where somebody speaks: a small graph of Silero VAD's form (tests/golden/speech_activity, by
# tools/oracle/voice_activity.py), with the segments that silero-vad's own loop gives.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
G=$ROOT/tests/golden/speech_activity
M=$G/model.onnx P=$G/sound.wav

segments() # PARAMETERS: "start-end start-end"
{
    "$EF" infer -m "$M" --task voice-activity-detection -f jsonl --params "$1" "$P" 2>err.txt |
        grep -o '"start_sample":[0-9]*,"end_sample":[0-9]*' | sed 's/[^0-9,]//g; s/,/-/' | tr '\n' ' ' | sed 's/ $//'
}
count=0
while IFS="$(printf '\t')" read -r params want; do
    count=$((count + 1))
    prints "segments $params" "^$want\$" segments "$params"
done <"$G/segments.tsv"
works "all of them" test $count = 3

prints "seconds" '"start":0.098,"end":0.766,' "$EF" infer -m "$M" --task vad -f jsonl "$P"
prints "the other rate" '"start_sample":[0-9]*,"end_sample":10400}' "$EF" infer -m "$M" --task vad -f jsonl --params '{"sampling_rate": 8000}' "$P"
refuses "another rate" 'sampling_rate: found 11025, wanted 16000 or 8000' "$EF" infer -m "$M" --task vad --params '{"sampling_rate": 11025}' "$P"
refuses "no probability" 'threshold' "$EF" infer -m "$M" --task vad --params '{"threshold": 2}' "$P"
prints "a folder tells the task" '"start_sample":1568,' "$EF" infer -m "$G" -f jsonl "$P"
prints "silence" '{"segments":\[\]}' "$EF" infer -m "$M" --task vad -f jsonl --params '{"threshold": 1}' "$P"
works "a package" "$EF" build "$M" --task vad -o vad.encoderfile
prints "it answers alike" '"start_sample":1568,"end_sample":12256' ./vad.encoderfile infer -f jsonl "$P"
prints "run" '"start_sample": 1568,' "$EF" run vad -m "$M" "$P"
prints "run of the package" '"start_sample": 1568,' ./vad.encoderfile run "$P"
finish
