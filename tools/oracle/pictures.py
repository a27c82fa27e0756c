#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py - what Pillow and transformers make of pictures, for tests/golden/images.

    python tools/oracle/pictures.py [FOLDER]   # Pillow 13.0, transformers 5.22; torch 2.13 and torchvision 0.29 for the last column

Draws small pictures in every format and layout that src/image decodes, and writes beside them
  decode.tsv      file, width, height, sha256 (16 digits) of the RGB bytes after exif_transpose and convert("RGB"); "-" for a file
                  that Pillow refuses. "name@N": its first N bytes.
  resize.tsv      input width and height, output width and height, filter, sha256 by Pillow, sha256 by torchvision ("-": it has
                  no such filter). The input is noise(width, height).
  processors.json [{"config", "cases": [{"picture": [w, h], "size": [w, h], "live": [w, h], "pillow", "torchvision"}]}]: sha256 of the
                  float32 pixel_values of noise(w, h); "error" in place of all of them: the processor refuses.
A picture of noise is a linear congruential generator's upper bytes, so that the C tests can make it."""
import hashlib
import importlib
import io
import json
import os
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageDraw, ImageOps
from PIL.PngImagePlugin import PngInfo

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/images"


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def noise(width, height):
    state, out = (width * 65536 + height) & 0xFFFFFFFF, bytearray()
    for _ in range(width * height * 3):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(state >> 24)
    return Image.frombytes("RGB", (width, height), bytes(out))


def drawn(w, h, seed=0):
    y, x = np.mgrid[0:h, 0:w]
    grain = np.random.default_rng(seed).normal(0, 9, (h, w, 3))
    a = np.stack([128 + 100 * np.sin(x / 7 + y / 11), 128 + 90 * np.cos(x / 5 - y / 13), (x * 7 + y * 5) % 256], -1) + grain
    im = Image.fromarray(np.clip(a, 0, 255).astype(np.uint8))
    ImageDraw.Draw(im).ellipse((w // 5, h // 5, w // 2 + 1, h // 2 + 1), fill=(220, 30, 40))
    return im


def alpha(im, seed=1):
    im = im.convert("RGBA") if im.mode != "LA" else im
    im.putalpha(Image.fromarray(np.random.default_rng(seed).integers(0, 256, (im.height, im.width), dtype=np.uint8)))
    return im


def saved(im, kind, **options):
    b = io.BytesIO()
    im.save(b, kind, **options)
    return b.getvalue()


def jpegs():
    for w, h in [(37, 29), (1, 1), (8, 17)]:
        p = drawn(w, h)
        for s, name in enumerate(["444", "422", "420"]):
            yield f"base{name}_{w}x{h}.jpg", saved(p, "JPEG", quality=80, subsampling=s)
        yield f"progressive_{w}x{h}.jpg", saved(p, "JPEG", quality=70, subsampling=2, progressive=True)
        yield f"grey_{w}x{h}.jpg", saved(p.convert("L"), "JPEG", progressive=w == 8)
    p = drawn(37, 29)
    yield "restarts.jpg", saved(p, "JPEG", quality=60, restart_marker_blocks=2)
    yield "rgb.jpg", saved(p, "JPEG", keep_rgb=True)
    cmyk = saved(p.convert("CMYK"), "JPEG", quality=85)
    at = cmyk.index(b"Adobe")
    yield "cmyk.jpg", cmyk
    yield "cmyk_progressive.jpg", saved(p.convert("CMYK"), "JPEG", progressive=True)
    yield "ycck.jpg", cmyk[:at + 11] + b"\2" + cmyk[at + 12:]
    base = saved(p, "JPEG", quality=70)
    yield "damaged.jpg", base[:len(base) * 3 // 4] + b"\x55\xaa\x13" + base[len(base) * 3 // 4 + 3:]
    yield "no_end.jpg", base[:-2]
    yield "wide.jpg", saved(Image.new("RGB", (60000, 1), (9, 200, 100)), "JPEG", quality=30)


def turned():
    for o in range(0, 10):
        exif = Image.Exif()
        exif.endian = "<>"[o % 2]
        exif[0x0112] = o
        p = drawn(11, 7, o)
        yield f"exif{o}.jpg", saved(p, "JPEG", quality=90, exif=exif)
        xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a tiff:Orientation="%d"/></x:xmpmeta>' % o
        if o in (0, 3, 6, 8):
            yield f"exif{o}.png", saved(p, "PNG", exif=exif)
            yield f"exif{o}.webp", saved(p, "WEBP", lossless=True, exif=exif)
            yield f"xmp{o}.jpg", saved(p, "JPEG", xmp=xmp)
            info = PngInfo()
            info.add_itxt("XML:com.adobe.xmp", "<a><tiff:Orientation>%d</tiff:Orientation></a>" % o)
            yield f"xmp{o}.png", saved(p, "PNG", pnginfo=info)
            yield f"xmp{o}.webp", saved(p, "WEBP", xmp=xmp)
    both = Image.Exif()
    both[0x0112] = 6
    yield "exif_and_xmp.jpg", saved(drawn(11, 7), "JPEG", exif=both, xmp=b'<a tiff:Orientation="3"/>')


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def packed(rows, depth):
    """Rows of samples as PNG stores them, with filters 0 to 4 in turn where a sample is a byte."""
    out, before = b"", None
    for i, row in enumerate(rows):
        v = row.reshape(-1)
        if depth < 8:
            bits = "".join(format(int(s), f"0{depth}b") for s in v)
            bits += "0" * (-len(bits) % 8)
            data = bytes(int(bits[k:k + 8], 2) for k in range(0, len(bits), 8))
        else:
            data = v.astype(">u2" if depth == 16 else np.uint8).tobytes()
        kind = i % 3 if depth >= 8 else 0  # none, left, up
        step = row.shape[-1] * depth // 8
        if kind == 1:
            data2 = bytes((b - (data[k - step] if k >= step else 0)) & 255 for k, b in enumerate(data))
        elif kind == 2 and before:
            data2 = bytes((b - c) & 255 for b, c in zip(data, before))
        else:
            kind, data2 = 0, data
        out += bytes([kind]) + data2
        before = data
    return out


def png(w, h, depth, kind, rows, interlaced=0, extra=b""):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, kind, 0, 0, interlaced)) + extra +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def pngs():
    pick = np.random.default_rng(3)
    for kind, (channels, depths) in {0: (1, (1, 2, 4, 8, 16)), 2: (3, (8, 16)), 3: (1, (1, 2, 4, 8)), 4: (2, (8, 16)),
                                     6: (4, (8, 16))}.items():
        for depth in depths:
            for w, h in [(13, 11)] + [(1, 1)] * (depth == 8):
                v = pick.integers(0, 1 << depth, (h, w, channels))
                if depth == 16 and kind == 0:
                    v //= pick.integers(1, 200, v.shape)  # grey of 16 bits is white from 255 on
                extra = b""
                if kind == 3:  # one colour fewer than indices
                    extra = chunk(b"PLTE", pick.integers(0, 256, (max(1, (1 << depth) - 1), 3), dtype=np.uint8).tobytes())
                transparent = {0: b"\0\1", 2: b"\0\1\0\2\0\3", 3: b"\x80"}.get(kind)
                if transparent:
                    extra += chunk(b"tRNS", transparent)
                extra = chunk(b"gAMA", struct.pack(">I", 45455)) + extra
                yield f"png{kind}_{depth}_{w}x{h}.png", png(w, h, depth, kind, packed(v, depth), extra=extra)
                if w > 1:
                    parts = b"".join(packed(v[y::dy, x::dx], depth) for x, y, dx, dy in ADAM7 if v[y::dy, x::dx].size)
                    yield f"png{kind}_{depth}_interlaced.png", png(w, h, depth, kind, parts, 1, extra)
    yield "tall.png", saved(Image.new("L", (1, 60000), 77), "PNG")
    frames = [drawn(12, 9, i) for i in range(2)]
    yield "animated.png", saved(frames[0], "PNG", save_all=True, append_images=frames[1:])
    yield "animated_apart.png", saved(frames[0], "PNG", save_all=True, append_images=frames[1:], default_image=True)


def webps():
    for w, h in [(37, 29), (1, 1)]:
        p = drawn(w, h)
        yield f"lossy_{w}x{h}.webp", saved(p, "WEBP", quality=60)
        yield f"lossless_{w}x{h}.webp", saved(p.quantize(20).convert("RGB"), "WEBP", lossless=True)
        yield f"lossy_alpha_{w}x{h}.webp", saved(alpha(p), "WEBP", quality=60)
        yield f"lossless_alpha_{w}x{h}.webp", saved(alpha(p.quantize(9).convert("RGB")), "WEBP", lossless=True, exact=True)
    frames = [alpha(drawn(12, 9, i), i) for i in range(2)]
    yield "animated.webp", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:])
    small = saved(drawn(6, 4), "WEBP", lossless=True)[12:]  # a frame that covers a part of its canvas
    header = struct.pack("<I", 0x12)[:4] + struct.pack("<I", 11)[:3] + struct.pack("<I", 8)[:3]
    frame = b"\1\0\0" + b"\2\0\0" + struct.pack("<I", 5)[:3] + struct.pack("<I", 3)[:3] + b"\x64\0\0" + b"\2"
    body = (b"WEBP" + b"VP8X" + struct.pack("<I", 10) + header + b"ANIM" + struct.pack("<I", 6) + b"\xff\x10\x20\x30\0\0" +
            b"ANMF" + struct.pack("<I", len(frame + small)) + frame + small)
    yield "animated_part.webp", b"RIFF" + struct.pack("<I", len(body)) + body


def gifs():
    for w, h in [(37, 29), (1, 1)]:
        p = drawn(w, h)
        yield f"plain_{w}x{h}.gif", saved(p.quantize(50), "GIF", interlace=0)
        yield f"interlaced_{w}x{h}.gif", saved(p.quantize(120), "GIF", interlace=1)
        yield f"grey_{w}x{h}.gif", saved(p.convert("L"), "GIF")
    yield "transparent.gif", saved(drawn(17, 13).quantize(9), "GIF", transparency=2)
    frames = [drawn(12, 9, i) for i in range(3)]
    yield "animated.gif", saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    base = bytearray(saved(drawn(9, 8).quantize(7), "GIF", interlace=0))
    at = base.index(b",", 13 + 3 * (2 << (base[10] & 7)))
    for name, control in [("part", b""), ("part_transparent", b"!\xf9\x04\x01\0\0\x03\0")]:
        big = bytearray(base)
        big[6:10] = struct.pack("<HH", 20, 15)
        big[at + 1:at + 5] = struct.pack("<HH", 4, 3)
        yield name + ".gif", bytes(big[:at] + control + big[at:])
    yield "empty_block.gif", bytes(base[:at + 11] + b"\0" + base[at + 11:])
    outside = bytearray(base)
    outside[6:10] = struct.pack("<HH", 5, 4)
    yield "outside.gif", bytes(outside)
    without = bytearray(base)
    del without[13:13 + 3 * (2 << (without[10] & 7))]
    without[10] &= 0x7f
    yield "no_palette.gif", bytes(without)
    long = drawn(200, 40).convert("L").point(lambda v: v // 2 * 2).convert("P")
    yield "full_table.gif", saved(long, "GIF", interlace=0)  # more codes than the table holds


def bmp(w, h, bits, data, compression=0, palette=b"", size=40, masks=b"", colours=0, down=False):
    if size == 12:
        header = struct.pack("<IHHHH", 12, w, h, 1, bits)
    else:
        header = struct.pack("<IiiHHIIiiII", size, w, -h if down else h, 1, bits, compression, len(data), 2835, 2835, colours, 0)
        if size > 40:
            header = (header + masks).ljust(size, b"\0")
            masks = b""
    at = 14 + len(header) + len(masks) + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(data), 0, 0, at) + header + masks + palette + data


def bmp_rows(values, bits):
    out = b""
    for row in values:
        if bits < 8:
            text = "".join(format(int(v), f"0{bits}b") for v in row)
            text += "0" * (-len(text) % 8)
            line = bytes(int(text[k:k + 8], 2) for k in range(0, len(text), 8))
        else:
            line = row.astype({8: "u1", 16: "<u2", 32: "<u4"}[bits]).tobytes()
        out += line + b"\0" * (-len(line) % 4)
    return out


def bmps():
    pick = np.random.default_rng(4)
    p = drawn(13, 11)
    yield "rgb24.bmp", saved(p, "BMP")
    yield "grey.bmp", saved(p.convert("L"), "BMP")
    yield "two.bmp", saved(p.convert("1"), "BMP")
    for bits in (1, 4, 8):
        colours = pick.integers(0, 256, (1 << bits, 4), dtype=np.uint8).tobytes()
        rows = bmp_rows(pick.integers(0, 1 << bits, (11, 13)), bits)
        yield f"palette{bits}.bmp", bmp(13, 11, bits, rows, palette=colours)
        yield f"palette{bits}_down.bmp", bmp(13, 11, bits, rows, palette=colours, down=True)
        three = b"".join(colours[4 * i:4 * i + 3] for i in range(1 << bits))
        yield f"os2_{bits}.bmp", bmp(13, 11, bits, rows, palette=three, size=12)
    few = bmp_rows(pick.integers(0, 9, (11, 13)), 8)
    yield "few_colours.bmp", bmp(13, 11, 8, few, palette=bytes(range(0, 28)), colours=7)
    words = bmp_rows(pick.integers(0, 65536, (11, 13)), 16)
    longs = bmp_rows(pick.integers(0, 1 << 32, (11, 13)), 32)
    yield "rgb15.bmp", bmp(13, 11, 16, words)
    for name, bits, rows, masks in [("555", 16, words, (0x7c00, 0x3e0, 0x1f)), ("565", 16, words, (0xf800, 0x7e0, 0x1f)),
                                    ("bgrx", 32, longs, (0xff0000, 0xff00, 0xff)), ("xbgr", 32, longs, (0xff000000, 0xff0000, 0xff00))]:
        yield f"fields_{name}.bmp", bmp(13, 11, bits, rows, 3, masks=struct.pack("<III", *masks))
    for name, masks in [("rgba", (0xff, 0xff00, 0xff0000, 0xff000000)), ("bgra", (0xff0000, 0xff00, 0xff, 0xff000000)),
                        ("abgr", (0xff000000, 0xff0000, 0xff00, 0xff)), ("bgar", (0xff000000, 0xff00, 0xff, 0xff0000)),
                        ("none", (0, 0, 0, 0))]:
        yield f"fields_{name}.bmp", bmp(13, 11, 32, longs, 3, size=108, masks=struct.pack("<IIII", *masks))
    yield "rgb32.bmp", bmp(13, 11, 32, longs)
    yield "fields_odd.bmp", bmp(13, 11, 32, longs, 3, size=108, masks=struct.pack("<IIII", 0xff, 0xff0000, 0xff00, 0))
    colours = pick.integers(0, 256, (256, 4), dtype=np.uint8).tobytes()
    rle8 = b"\5\7\3\x09\0\0" + b"\0\5\1\2\3\4\5\0" + b"\x20\x0b" + b"\0\2\1\1" + b"\0\3abc\0" + b"\0\0" + b"\x0d\1\0\0" * 9 + b"\0\1"
    yield "rle8.bmp", bmp(13, 11, 8, rle8, 1, palette=colours)
    rle4 = b"\5\x7a\3\x9b\0\0" + b"\0\5\x12\x34\x50\0" + b"\x20\x0b" + b"\0\2\1\1" + b"\0\3\xab\xc0" + b"\0\0" + b"\x0d\x1c\0\0" * 9 + b"\0\1"
    yield "rle4.bmp", bmp(13, 11, 4, rle4, 2, palette=colours[:64])
    yield "rle8_short.bmp", bmp(13, 11, 8, b"\5\7\0\1", 1, palette=colours)


def files():
    for group in (jpegs, turned, pngs, webps, gifs, bmps):
        yield from group()


def pillow(data):
    try:
        im = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        return f"{im.width}\t{im.height}\t{digest(im.tobytes())}"
    except Exception:
        return "-\t-\t-"


def write_decode():
    lines = []
    for name, data in files():
        with open(f"{OUT}/{name}", "wb") as f:
            f.write(data)
        lines.append(f"{name}\t{pillow(data)}")
        for share in (0.4, 0.8) if len(data) > 130 else ():
            cut = int(len(data) * share)
            lines.append(f"{name}@{cut}\t{pillow(data[:cut])}")
    with open(f"{OUT}/decode.tsv", "w") as f:
        f.write("\n".join(lines) + "\n")


RESIZES = [((123, 97), (64, 64)), ((123, 97), (224, 224)), ((300, 151), (112, 56)), ((50, 50), (50, 70)), ((50, 50), (70, 50)),
           ((1, 1), (24, 24)), ((1, 600), (22, 22)), ((7, 5), (1, 1)), ((500, 30), (37, 64)), ((33, 17), (34, 16)), ((16, 16), (48, 48)),
           ((90, 100), (80, 79)), ((90, 100), (80, 80)), ((90, 101), (91, 100)), ((40, 40), (40, 40)), ((64, 48), (65, 47))]


def write_resize():
    try:
        import torch
        from torchvision.transforms.v2 import functional as tv
    except ImportError:
        sys.exit("pictures.py: torch and torchvision are needed")
    modes = {0: "NEAREST_EXACT", 1: "LANCZOS", 2: "BILINEAR", 3: "BICUBIC"}
    with open(f"{OUT}/resize.tsv", "w") as f:
        for (iw, ih), (ow, oh) in RESIZES:
            im = noise(iw, ih)
            t = torch.from_numpy(np.array(im)).permute(2, 0, 1)
            for kind in range(6):
                want = digest(im.resize((ow, oh), kind).tobytes())
                other = "-"
                if kind in modes:
                    mode = getattr(tv.InterpolationMode, modes[kind])
                    out = tv.resize(t, [oh, ow], interpolation=mode, antialias=True)
                    other = digest(out.permute(1, 2, 0).contiguous().numpy().tobytes())
                f.write(f"{iw}\t{ih}\t{ow}\t{oh}\t{kind}\t{want}\t{other}\n")


MODULES = {"ViT": "vit", "DeiT": "deit", "Beit": "beit", "ConvNext": "convnext", "Bit": "bit", "MobileNetV2": "mobilenet_v2",
           "CLIP": "clip", "Siglip": "siglip", "Segformer": "segformer", "Detr": "detr", "Yolos": "yolos", "LayoutLMv3": "layoutlmv3"}
IMAGENET = dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
CONFIGS = [
    ("ViT", {}), ("ViT", dict(size=[30, 40], rescale_factor=0.003921568859368563, resample=0)),
    ("ViT", dict(size={"height": 96, "width": 64}, resample=3, **IMAGENET)), ("ViT", dict(do_normalize=False, size=32)),
    ("ViT", dict(do_rescale=False, size=32)), ("ViT", dict(do_resize=False, do_center_crop=True, crop_size=64)),
    ("ViT", dict(do_rescale=False, do_normalize=False, size=32)), ("ViT", dict(do_pad=True, size=32, pad_size={"height": 40, "width": 35})),
    ("DeiT", {}), ("DeiT", dict(size=40, crop_size=53)), ("Beit", dict(do_center_crop=True, size=80, crop_size=65)),
    ("Beit", dict(size=33)), ("ConvNext", {}), ("ConvNext", dict(size=224, crop_pct=0.875, **IMAGENET)),
    ("ConvNext", dict(size={"shortest_edge": 100}, crop_pct=0.95, resample=2)), ("ConvNext", dict(do_resize=False)),
    ("Bit", dict(size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}, **IMAGENET)), ("Bit", {}),
    ("MobileNetV2", {}), ("MobileNetV2", dict(size=120, crop_size=100)), ("CLIP", {}), ("CLIP", dict(size=336, crop_size=336)),
    ("CLIP", dict(size={"shortest_edge": 50}, crop_size=61)), ("CLIP", dict(do_center_crop=False, size=64)), ("Siglip", {}),
    ("Siglip", dict(resample=1, size={"height": 64, "width": 300})), ("Segformer", dict(size=128, do_reduce_labels=True)),
    ("LayoutLMv3", dict(apply_ocr=False)), ("LayoutLMv3", dict(apply_ocr=False, size=100, resample=3, image_mean=0.1, image_std=0.7)),
    ("Detr", dict(size=200, max_size=300)), ("Detr", dict(size={"height": 100, "width": 150})),
    ("Detr", dict(size={"shortest_edge": 64, "longest_edge": 90}, pad_size={"height": 100, "width": 120})),
    ("Detr", dict(size={"max_height": 100, "max_width": 77})), ("Detr", dict(do_pad=False, size={"shortest_edge": 97, "longest_edge": 120})),
    ("Detr", {}), ("Yolos", dict(size={"shortest_edge": 97, "longest_edge": 150})), ("Yolos", dict(size=123, max_size=180)),
    ("Yolos", dict(size={"shortest_edge": 512, "longest_edge": 864})),
]
PICTURES = [(123, 97), (97, 123), (64, 64), (97, 300), (5, 7), (1, 1), (97, 145)]


def processor(name, kind, options):
    module = importlib.import_module(f"transformers.models.{MODULES[name]}.image_processing_{kind}{MODULES[name]}")
    return getattr(module, name + "ImageProcessor" + ("Pil" if kind else ""))(**options)


def prepared(p, picture, tensors):
    out = {k: np.asarray(v) for k, v in p(picture, return_tensors=tensors).items()}
    values = np.ascontiguousarray(out["pixel_values"][0].astype(np.float32))
    mask = out["pixel_mask"][0] if "pixel_mask" in out else np.ones(values.shape[1:])
    return values, [int(mask[0].sum()), int(mask[:, 0].sum())]


def write_processors():
    rows = []
    for name, options in CONFIGS:
        pil, torchvision = processor(name, "pil_", options), processor(name, "", options)
        cases = []
        for w, h in PICTURES:
            try:
                values, live = prepared(pil, noise(w, h), "np")
                other, _ = prepared(torchvision, noise(w, h), "pt")
                cases.append(dict(picture=[w, h], size=[values.shape[2], values.shape[1]], live=live, pillow=digest(values.tobytes()),
                                  torchvision=digest(other.tobytes())))
            except Exception as e:
                cases.append(dict(picture=[w, h], error=type(e).__name__))
        rows.append(dict(config={"image_processor_type": name + "ImageProcessor", **options}, cases=cases))
    with open(f"{OUT}/processors.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    write_decode()
    write_resize()
    write_processors()
