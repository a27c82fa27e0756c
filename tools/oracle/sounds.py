#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sounds.py - files of sound, and what others make of them, for tests/golden/sounds.

    python tools/oracle/sounds.py   # transformers 5.22, torch, torchaudio 2.11, soundfile; espeak-ng and flac on PATH

Writes the files (speech by espeak-ng, short noise in every coding), and
  decode.json     what libsndfile reads from each: rate, channels, frames, the mean of the channels
  resample.json   torchaudio.functional.resample of noise, by rates; every STEP-th number
  features.json   the feature extractors of transformers on tones, noise and speech, by numpy; every STEP-th number"""
import json
import os
import struct
import subprocess
import sys

import numpy as np
import soundfile
import torch
import torchaudio.functional as F
import transformers as T
import transformers.models.audio_spectrogram_transformer.feature_extraction_audio_spectrogram_transformer as ast

OUT = "tests/golden/sounds/"
STEP = 397


def noise(n, seed):
    """As tests/sound_case.h makes it."""
    out = np.empty(n, np.float32)
    state = seed
    for i in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = ((state >> 16) - 32768) / 65536
    return out


def tone(n, hertz, rate=16000):
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(n) / rate)).astype(np.float32)


def mix(kind, n):
    if kind == "noise":
        return noise(n, n)
    if kind == "tone":
        return tone(n, 440)
    if kind == "quiet":
        return noise(n, n) * np.float32(1e-4)
    return soundfile.read(OUT + "speech.flac", dtype="float32")[0]


def resampled(x, given, wanted):
    """Of float64: of float32 torchaudio computes its taps in float32, too, and is off by up to 2e-5."""
    return F.resample(torch.from_numpy(x.astype(np.float64)), given, wanted).float().numpy()


def riff(chunks, head=b"RIFF"):
    body = b"".join(name + struct.pack("<I", size) + data for name, size, data in chunks)
    return head + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def files():
    subprocess.run(["espeak-ng", "-v", "en", "-s", "190", "-w", OUT + "speech.wav", "The train to Pune leaves at nine"], check=True)
    subprocess.run(["flac", "--best", "-f", "-s", OUT + "speech.wav", "-o", OUT + "speech.flac"], check=True)
    os.remove(OUT + "speech.wav")
    two = np.stack([noise(90, 1), noise(90, 2)], 1)
    for name, subtype in [("u8", "PCM_U8"), ("s16", "PCM_16"), ("s24", "PCM_24"), ("s32", "PCM_32"), ("f32", "FLOAT"), ("f64", "DOUBLE"),
                          ("alaw", "ALAW"), ("mulaw", "ULAW")]:
        soundfile.write(f"{OUT}{name}.wav", two, 44100, subtype=subtype)
    soundfile.write(OUT + "mono.wav", two[:, 0], 16000, subtype="PCM_16")
    soundfile.write(OUT + "extensible.wav", np.stack([noise(50, k) for k in range(6)], 1), 48000, subtype="PCM_24", format="WAVEX")
    soundfile.write(OUT + "rf64.wav", two, 8000, subtype="PCM_16", format="RF64")
    soundfile.write(OUT + "stereo.flac", np.stack([noise(5000, 3), tone(5000, 300)], 1), 32000, subtype="PCM_24", format="FLAC")
    soundfile.write(OUT + "eight.flac", noise(700, 5), 8000, subtype="PCM_S8", format="FLAC")
    samples = (noise(64, 9) * 32768).astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, 1, 16000, 32000, 2, 16)
    with open(OUT + "chunks.wav", "wb") as f:  # odd chunks around, one with a byte to fill up
        f.write(riff([(b"LIST", 5, b"INFOx\0"), (b"fmt ", 16, form), (b"fact", 4, struct.pack("<I", 64)), (b"data", 128, samples),
                      (b"id3 ", 3, b"abc\0")]))
    with open(OUT + "piped.wav", "wb") as f:  # as ffmpeg writes into a pipe
        f.write(riff([(b"fmt ", 16, form), (b"data", 0xFFFFFFFF, samples)]))


def decode():
    rows = []
    for name in sorted(os.listdir(OUT)):
        if name.endswith(".json"):
            continue
        whole, rate = soundfile.read(OUT + name, dtype="float32", always_2d=True)
        mean = whole.sum(1, dtype=np.float32) / np.float32(whole.shape[1])
        step = STEP if len(mean) > 1000 else 1
        rows.append(dict(file=name, rate=rate, channels=whole.shape[1], frames=len(mean), step=step, samples=[float(x) for x in mean[::step]]))
    return rows


def resample():
    rows = []
    for given, wanted, n in [(8000, 16000, 900), (44100, 16000, 4000), (48000, 16000, 3000), (22050, 16000, 2000), (11025, 16000, 700),
                             (4001, 16000, 300), (384000, 16000, 9000), (16001, 1600, 9000), (16000, 8000, 1000), (1000, 16000, 40),
                             (44100, 16000, 1), (48000, 16000, 16000)]:
        out = resampled(noise(n, n), given, wanted)
        step = 13 if len(out) > 100 else 1
        rows.append(dict(given=given, wanted=wanted, n=n, length=len(out), step=step, samples=[round(float(x), 8) for x in out[::step]]))
    return rows


def features():
    ast.is_speech_available = lambda: False  # its numpy path
    T.models.whisper.feature_extraction_whisper.is_torch_available = lambda: False
    cases = [(T.Wav2Vec2FeatureExtractor(), [("noise", 16000), ("tone", 5000), ("quiet", 3000), ("speech", 0)]),
             (T.Wav2Vec2FeatureExtractor(do_normalize=False), [("noise", 16000)]),
             (T.ASTFeatureExtractor(), [("noise", 16000), ("tone", 40000), ("quiet", 400), ("speech", 0), ("noise", 170000)]),
             (T.ASTFeatureExtractor(num_mel_bins=64, max_length=100, mean=1.5, std=.5), [("noise", 17123), ("tone", 559)]),
             (T.ASTFeatureExtractor(do_normalize=False, max_length=30), [("tone", 9000)]),
             (T.WhisperFeatureExtractor(), [("noise", 16000), ("tone", 1), ("quiet", 31000), ("speech", 0), ("noise", 480000), ("noise", 479900)]),
             (T.WhisperFeatureExtractor(feature_size=128, chunk_length=2), [("tone", 31999), ("noise", 40000)]),
             (T.WhisperFeatureExtractor(n_fft=512, hop_length=200, chunk_length=3), [("noise", 20000)]),
             (T.WhisperFeatureExtractor(n_fft=366, hop_length=100, chunk_length=1), [("noise", 9000)])]
    rows = []
    for extractor, sounds in cases:
        for kind, n in sounds:
            x = mix(kind, n)
            if kind == "speech":
                x = resampled(x, 22050, 16000)
            out = extractor(x, sampling_rate=16000, return_tensors="np")
            name = next(k for k in ("input_values", "input_features") if k in out)
            value = np.asarray(out[name][0], np.float32)
            rows.append(dict(config=extractor.to_dict(), sound=kind, n=n, input=name, shape=list(value.shape),
                             values=[round(float(v), 7) for v in value.reshape(-1)[::STEP]]))
    for row in rows:
        for key in ("mel_filters", "window"):
            row["config"].pop(key, None)
    return rows


os.makedirs(OUT, exist_ok=True)
if len(sys.argv) < 2:
    files()
for name, rows in [("decode", decode), ("resample", resample), ("features", features)]:
    with open(f"{OUT}{name}.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(row) for row in rows()) + "\n]\n")
