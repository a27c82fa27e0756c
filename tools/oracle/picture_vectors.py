#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture_vectors.py - vectors of pictures and of their patches by transformers, for tests/golden/pairs/pictures.json.

    python tools/oracle/picture_vectors.py   # transformers 5.22 (no torchvision: the Pillow backend), torch 2.13

Of the checkpoints of tests/golden/export_vision: [{"case", "picture", "vector", "patches"}]. The vector is image_embeds, else the
pooler's output where the checkpoint has its weights or it needs none, else the class token; of a map the mean. Patches are the last
hidden states, null where the model gives none; of a map, a vector for each place."""
import json

import torch
import transformers as T
from safetensors import safe_open
from transformers.image_utils import load_image

ROOT = "tests/golden/export_vision/"
PICTURES = "tests/golden/images/"
SEEN = ["base420_37x29.jpg", "png6_8_13x11.png", "wide.jpg"]
CASES = ["vit", "dinov2", "dinov2_with_registers", "resnet", "swin", "convnext", "clip", "siglip"]
ids = dict(input_ids=torch.tensor([[1, 2]]))
found = []
for case in CASES:
    folder = ROOT + case
    with open(folder + "/preprocessor_config.json") as f:
        said = json.load(f)
    processor = getattr(T, said.pop("image_processor_type"))(**said)
    towers = case in ("clip", "siglip")
    model = T.AutoModel.from_pretrained(folder).eval()
    with safe_open(folder + "/model.safetensors", "pt") as f:
        pooled = any("pooler" in k for k in f.keys()) or case not in ("vit",)
    for picture in SEEN:
        pixels = processor(images=[load_image(PICTURES + picture)], return_tensors="pt")
        with torch.no_grad():
            out = model(**pixels, **(ids if towers else {}))
        if towers:
            vector, patches = out.image_embeds[0], None
        else:
            patches = out.last_hidden_state[0]
            if patches.dim() == 3:
                patches = patches.flatten(1).T
            vector = out.pooler_output[0].flatten() if pooled else patches[0]
        found.append({"case": case, "picture": picture, "vector": vector.tolist(), "patches": None if patches is None else patches.tolist()})
with open("tests/golden/pairs/pictures.json", "w") as f:
    json.dump(found, f, indent=0)
