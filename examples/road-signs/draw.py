"""Draws roadside pictures with one European road sign, or none. Needs Pillow and numpy.

    python draw.py FOLDER     # the sample pictures of this example, by their labels

`scene(random, label)` gives one picture: a street of plain colours, the sign somewhere in it, turned and shaded a little,
then blur, noise and light as a camera has them. The same seed gives the same pictures."""
import math
import os
import random as randoms
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

LABELS = ["stop", "give way", "no entry", "speed limit", "warning", "priority road", "parking", "keep right", "no sign"]
RED, WHITE, BLUE, YELLOW, BLACK, GREY = (190, 25, 35), (240, 240, 238), (20, 80, 170), (245, 190, 20), (25, 25, 28), (110, 112, 115)


def ngon(n, turn=0.0, r=1.0):
    return [(r * math.sin(2 * math.pi * (i + turn) / n), -r * math.cos(2 * math.pi * (i + turn) / n)) for i in range(n)]


def disc(r):
    return ngon(40, 0, r)


def box(x0, y0, x1, y1):
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def digit(value, x, y, w, h):
    """Seven segments, thick: they are only seen as "some number"."""
    on = {"0": "abcdef", "1": "bc", "2": "abged", "3": "abgcd", "4": "fgbc", "5": "afgcd", "6": "afgedc", "7": "abc", "8": "abcdefg",
          "9": "abfgcd"}[value]
    t = w * .3
    where = {"a": (0, 0, w, t), "g": (0, h / 2 - t / 2, w, h / 2 + t / 2), "d": (0, h - t, w, h), "f": (0, 0, t, h / 2), "b": (w - t, 0, w, h / 2),
             "e": (0, h / 2, t, h), "c": (w - t, h / 2, w, h)}
    return [box(x + where[s][0], y + where[s][1], x + where[s][2], y + where[s][3]) for s in on]


def speed(random):
    number = random.choice(["20", "30", "40", "50", "60", "70", "80"])
    parts = [(RED, disc(1)), (WHITE, disc(.76))]
    for i, d in enumerate(number):
        parts += [(BLACK, p) for p in digit(d, -.44 + .5 * i, -.38, .38, .76)]
    return parts


def sign(label, random):
    """Polygons from back to front, inside a circle of radius 1."""
    if label == "stop":
        bars = [box(-.62 + .34 * i, -.22, -.44 + .34 * i, .22) for i in range(4)]
        return [(WHITE, ngon(8, .5)), (RED, ngon(8, .5, .93))] + [(WHITE, b) for b in bars]
    if label == "give way":
        return [(RED, ngon(3, .5, 1.1)), (WHITE, ngon(3, .5, .68))]
    if label == "no entry":
        return [(WHITE, disc(1)), (RED, disc(.95)), (WHITE, box(-.66, -.17, .66, .17))]
    if label == "speed limit":
        return speed(random)
    if label == "warning":
        mark = [box(-.09, -.32, .09, .16), box(-.1, .24, .1, .42)]
        return [(RED, ngon(3, 0, 1.1)), (WHITE, ngon(3, 0, .72))] + [(BLACK, b) for b in mark]
    if label == "priority road":
        return [(WHITE, ngon(4, 0, 1.1)), (YELLOW, ngon(4, 0, .74))]
    if label == "parking":
        p = [box(-.3, -.6, -.08, .62), box(-.1, -.6, .3, -.4), box(-.1, -.02, .3, .18), box(.2, -.5, .42, .1)]
        return [(BLUE, box(-.9, -.9, .9, .9))] + [(WHITE, b) for b in p]
    arrow = [(-.5, -.42), (-.3, -.6), (.22, .0), (.45, -.22), (.5, .58), (-.3, .5), (-.05, .28)]
    return [(BLUE, disc(1)), (WHITE, arrow)]


def shaded(colour, by):
    return tuple(max(0, min(255, int(c * by))) for c in colour)


def street(random, w, h):
    picture = Image.new("RGB", (w, h), shaded((150, 180, 215), random.uniform(.5, 1.15)))
    draw = ImageDraw.Draw(picture)
    line = h * random.uniform(.35, .75)
    for _ in range(random.randint(3, 9)):  # houses and trees
        x, top = random.uniform(-.2, 1) * w, line - random.uniform(.05, .6) * h
        colour = random.choice([(150, 90, 70), (200, 190, 170), (60, 100, 55), (90, 120, 70), (120, 120, 130), (185, 60, 50), (60, 90, 150)])
        shape = (x, top, x + random.uniform(.08, .4) * w, line + 2)
        (draw.rectangle if random.random() < .6 else draw.ellipse)(shape, fill=shaded(colour, random.uniform(.5, 1.3)))
    draw.rectangle((0, line, w, h), fill=shaded((95, 95, 98), random.uniform(.6, 1.3)))
    for _ in range(random.randint(0, 4)):  # what stands and moves on the road
        x, y = random.uniform(0, w), random.uniform(line, h)
        size = random.uniform(.03, .2) * w
        colour = shaded(random.choice([WHITE, RED, BLUE, YELLOW, BLACK, GREY]), random.uniform(.5, 1.2))
        draw.rectangle((x, y, x + size * random.uniform(.5, 3), y + size), fill=colour)
    return picture


def put_sign(picture, label, random):
    w, h = picture.size
    r = min(w, h) * random.uniform(.2, .4)
    x, y = random.uniform(r, w - r), random.uniform(r, h - r)
    turn, squeeze, lean = math.radians(random.gauss(0, 6)), random.uniform(.75, 1), random.gauss(0, .06)
    light = random.uniform(.6, 1.15)

    def place(p):
        a, b = p[0] * math.cos(turn) - p[1] * math.sin(turn), p[0] * math.sin(turn) + p[1] * math.cos(turn)
        return x + r * (a * squeeze + b * lean), y + r * b
    draw = ImageDraw.Draw(picture)
    post = [place(p) for p in box(-.06, .8, .06, 6)]
    draw.polygon(post, fill=shaded(GREY, light))
    for colour, points in sign(label, random):
        draw.polygon([place(p) for p in points], fill=shaded(colour, light * random.uniform(.95, 1.05)))


def camera(picture, random):
    picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0, picture.width / 90)))
    picture = ImageEnhance.Color(picture).enhance(random.uniform(.6, 1.2))
    picture = ImageEnhance.Contrast(picture).enhance(random.uniform(.7, 1.2))
    noise = np.random.default_rng(random.getrandbits(32)).normal(0, random.uniform(0, 9), (picture.height, picture.width, 1))
    return Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))


def scene(random, label, w=None, h=None):
    w, h = w or random.randint(64, 160), h or random.randint(64, 160)
    picture = street(random, 2 * w, 2 * h)
    if label != "no sign":
        put_sign(picture, label, random)
    return camera(picture.resize((w, h), Image.Resampling.BOX), random)


def main():
    random = randoms.Random(20261116)
    os.makedirs(sys.argv[1], exist_ok=True)
    for label in LABELS:
        w, h = random.choice([(96, 72), (72, 96), (88, 88), (101, 67)])
        scene(random, label, w, h).save(os.path.join(sys.argv[1], label.replace(" ", "-") + ".png"), optimize=True)


if __name__ == "__main__":
    main()
