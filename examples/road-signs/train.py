"""Trains the model of this folder on pictures that draw.py draws, and writes config.json, preprocessor_config.json and
model.safetensors. Needs torch, transformers, Pillow and numpy; about six minutes on half a busy core. Seeded.

    python train.py [--pictures 6500] [--epochs 9]"""
import argparse
import json
import os
import random

import numpy as np
import torch
from PIL import Image
from transformers import ResNetConfig, ResNetForImageClassification

from draw import LABELS, scene

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE = 48
PROCESSOR = dict(image_processor_type="ViTImageProcessor", do_resize=True, size=dict(height=SIDE, width=SIDE), resample=2, do_rescale=True,
                 rescale_factor=1 / 255, do_normalize=True, image_mean=[.5] * 3, image_std=[.5] * 3)


def draw(n, seed):
    """Pixels as the processor gives them, and the numbers of the labels."""
    rng = random.Random(seed)
    labels = [rng.randrange(len(LABELS)) for _ in range(n)]
    pictures = [scene(rng, LABELS[k], rng.randint(48, 110), rng.randint(48, 110)).resize((SIDE, SIDE), Image.Resampling.BILINEAR) for k in labels]
    pixels = np.stack([np.asarray(p, np.uint8) for p in pictures]).transpose(0, 3, 1, 2)
    return torch.from_numpy(pixels), torch.tensor(labels)


def ready(pixels):
    return pixels.float() / 127.5 - 1


def accuracy(model, pixels, labels):
    with torch.no_grad():
        found = torch.cat([model(ready(p)).logits.argmax(-1) for p in pixels.split(256)])
    return (found == labels).float().mean().item()


def train(model, pixels, labels, epochs, batch=64):
    steps = epochs * (len(labels) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps + 1)
    for epoch in range(epochs):
        model.train()
        for at in torch.randperm(len(labels)).split(batch):
            if len(at) < batch:
                continue
            loss = torch.nn.functional.cross_entropy(model(ready(pixels[at])).logits, labels[at], label_smoothing=.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print("epoch %d: loss %.3f" % (epoch + 1, loss.item()), flush=True)
    return model.eval()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=6500)
    parser.add_argument("--epochs", type=int, default=9)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64], depths=[1, 1, 1], layer_type="basic",
                          id2label=dict(enumerate(LABELS)), label2id={v: i for i, v in enumerate(LABELS)})
    model = train(ResNetForImageClassification(config), *draw(args.pictures, 1), args.epochs)
    print("%d parameters; held-out pictures: %.1f %% right" % (model.num_parameters(), 100 * accuracy(model, *draw(1000, 2))))
    model.save_pretrained(HERE)
    os.chmod(os.path.join(HERE, "model.safetensors"), 0o644)
    with open(os.path.join(HERE, "preprocessor_config.json"), "w") as f:
        json.dump(PROCESSOR, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
