// SPDX-License-Identifier: Apache-2.0
// picture.js - pictures: opened, taken by a camera, shown with boxes and masks in their pixels.
import { el, svg, percent, kindOf, count } from "./dom.js";
import { bars } from "./text.js";

const TAKEN = ["image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp"]; // by the server

export const base64 = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return btoa(text);
};

const load = (url) => new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => done(image);
    image.onerror = () => failed(new Error("The browser cannot show this picture."));
    image.src = url;
});

const asBlob = (canvas) => new Promise((done) => canvas.toBlob(done, "image/png"));

// What the server does not read (AVIF, HEIC, SVG) is turned into PNG here.
async function readable(file) {
    if (TAKEN.includes(file.type)) return file;
    const image = await load(URL.createObjectURL(file));
    const canvas = el("canvas", { width: image.naturalWidth || 512, height: image.naturalHeight || 512 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return asBlob(canvas);
}

export async function pictureOf(name, blob) {
    const data = base64(new Uint8Array(await blob.arrayBuffer()));
    const url = `data:${blob.type};base64,${data}`;
    const image = await load(url);
    return { name, type: blob.type, data, url, width: image.naturalWidth, height: image.naturalHeight };
}

export const openPicture = async (file) => pictureOf(file.name || "picture", await readable(file));
export const restorePicture = async (saved) => {
    const url = `data:${saved.type};base64,${saved.data}`, image = await load(url);
    return { ...saved, url, width: image.naturalWidth, height: image.naturalHeight };
};

// Shows the camera in `zone` until the button is pressed again; gives the picture.
export async function camera(zone, button) {
    const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } }).catch((e) => {
        throw new Error("No camera: " + e.message);
    });
    const video = el("video", { class: "camera", autoplay: true, playsinline: true, muted: true });
    const said = button.textContent;
    video.srcObject = stream;
    zone.prepend(video);
    button.textContent = "Take it";
    await new Promise((done) => button.addEventListener("click", (e) => {
        e.stopImmediatePropagation();
        done();
    }, { once: true, capture: true }));
    const canvas = el("canvas", { width: video.videoWidth || 640, height: video.videoHeight || 480 });
    canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
    stream.getTracks().forEach((t) => t.stop());
    video.remove();
    button.textContent = said;
    return new File([await asBlob(canvas)], "camera.png", { type: "image/png" });
}

// ---- drawn, to begin with ----
const drawing = async (name, width, height, draw) => {
    const canvas = el("canvas", { width, height });
    const c = canvas.getContext("2d");
    draw(c, width, height);
    return pictureOf(name, await asBlob(canvas));
};

function ground(c, w, h) {
    const sky = c.createLinearGradient(0, 0, 0, h);
    sky.addColorStop(0, "#9cc3e6");
    sky.addColorStop(1, "#dfe9ee");
    c.fillStyle = sky;
    c.fillRect(0, 0, w, h);
    c.fillStyle = "#7b8a6a";
    c.fillRect(0, h * 0.78, w, h * 0.22);
    c.fillStyle = "#77797c";
    c.fillRect(w * 0.48, h * 0.5, w * 0.04, h * 0.4);
}

function shape(c, x, y, r, sides, turn) {
    c.beginPath();
    for (let i = 0; i < sides; i++) {
        const a = turn + (i * 2 * Math.PI) / sides;
        c.lineTo(x + r * Math.cos(a), y + r * Math.sin(a));
    }
    c.closePath();
}

const write = (c, text, x, y, size, colour) => {
    c.fillStyle = colour;
    c.font = `bold ${size}px sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(text, x, y);
};

export const drawn = [
    ["A stop sign", () => drawing("stop-sign.png", 320, 320, (c, w, h) => {
        ground(c, w, h);
        shape(c, w / 2, h * 0.42, w * 0.3, 8, Math.PI / 8);
        c.fillStyle = "#c1121f";
        c.fill();
        c.lineWidth = 8;
        c.strokeStyle = "#fff";
        c.stroke();
        write(c, "STOP", w / 2, h * 0.43, 62, "#fff");
    })],
    ["A warning sign", () => drawing("warning-sign.png", 320, 320, (c, w, h) => {
        ground(c, w, h);
        shape(c, w / 2, h * 0.47, w * 0.34, 3, -Math.PI / 2);
        c.fillStyle = "#fff";
        c.fill();
        c.lineWidth = 24;
        c.lineJoin = "round";
        c.strokeStyle = "#c1121f";
        c.stroke();
        write(c, "!", w / 2, h * 0.47, 110, "#111");
    })],
    ["A parking sign", () => drawing("parking-sign.png", 320, 320, (c, w, h) => {
        ground(c, w, h);
        c.fillStyle = "#1d4fa3";
        c.fillRect(w * 0.24, h * 0.14, w * 0.52, h * 0.52);
        write(c, "P", w / 2, h * 0.41, 140, "#fff");
    })],
];

// A page with an invoice: its words and where they stand, in thousandths.
export async function drawnPage() {
    const rows = [["Invoice", 90, 80, 44], ["No.", 290, 80, 44], ["1815", 380, 80, 44], ["Ada", 90, 170, 30], ["Lovelace", 160, 170, 30], ["London", 90, 220, 30],
        ["Difference", 90, 360, 30], ["engine", 260, 360, 30], ["700.00", 700, 360, 30], ["Tax", 90, 420, 30], ["68.80", 712, 420, 30],
        ["Total:", 90, 520, 36], ["768.80", 690, 520, 36]];
    const words = [];
    const picture = await drawing("invoice.png", 850, 640, (c, w, h) => {
        c.fillStyle = "#fff";
        c.fillRect(0, 0, w, h);
        c.fillStyle = "#e5e5e5";
        c.fillRect(80, 340, 690, 2);
        c.fillRect(80, 490, 690, 2);
        c.fillStyle = "#111";
        c.textBaseline = "top";
        for (const [word, x, y, size] of rows) {
            c.font = `${size}px serif`;
            c.fillText(word, x, y);
            const width = c.measureText(word).width;
            words.push({ word, box: [x / w, y / h, (x + width) / w, (y + size) / h].map((v) => Math.min(1000, Math.round(v * 1000))) });
        }
    });
    return { picture, words };
}

// ---- with boxes ----
// marks: [{ x, y, width, height (pixels of the picture), label, score? }]
export function framed(picture, marks, layer) {
    const shown = Math.min(Math.max(picture.width, 320), innerWidth < 860 ? innerWidth - 66 : 760), font = (12 * picture.width) / shown;
    const drawnMarks = marks.map((m) => {
        const tag = [m.label, m.score === undefined ? "" : percent(m.score)].filter(Boolean).join(" ");
        const wide = tag.length * font * 0.58 + font * 0.6, top = Math.max(0, m.y > font * 1.5 ? m.y - font * 1.4 : m.y);
        const left = Math.max(0, Math.min(m.x, picture.width - wide));
        return svg("g", { class: "frame " + kindOf(m.label || "") },
            svg("rect", { class: "frame-box", x: m.x, y: m.y, width: m.width, height: m.height }, svg("title", null, tag)),
            tag ? [svg("rect", { class: "frame-tag", x: left, y: top, width: wide, height: font * 1.4 }),
                svg("text", { x: left + font * 0.3, y: top + font, "font-size": font }, tag)] : null);
    });
    const over = svg("svg", { class: "overlay", viewBox: `0 0 ${picture.width} ${picture.height}`, preserveAspectRatio: "none", role: "img",
        "aria-label": count(marks.length, "box", "boxes") + " in the picture" }, drawnMarks);
    return { node: el("div", { class: "picture" }, el("img", { src: picture.url, alt: picture.name, class: picture.width < 320 ? "tiny" : undefined }), layer || null, over), frames: drawnMarks };
}

const lighten = (frames, i) => frames.forEach((f, k) => f.classList.toggle("lit", k === i));

export function objects(picture, list) {
    const { node, frames } = framed(picture, list.map((o) => ({ x: o.box.xmin, y: o.box.ymin, width: o.box.xmax - o.box.xmin, height: o.box.ymax - o.box.ymin,
        label: o.label, score: o.score })));
    return [node, list.length ? bars(list.map((o) => ({ label: o.label, score: o.score,
        note: `${o.box.xmin}, ${o.box.ymin} to ${o.box.xmax}, ${o.box.ymax}` })), { pick: (_, i) => lighten(frames, i), tint: true })
        : el("p", { class: "muted" }, "Nothing above the threshold.")];
}

// Masks, each in the colour of its label; a press shows one alone.
export function segments(picture, list) {
    const canvas = el("canvas", { class: "overlay", width: picture.width, height: picture.height, role: "img", "aria-label": count(list.length, "mask") });
    const probe = el("span", { hidden: true });
    let layers = [];
    const colour = (label) => {
        const c = el("canvas", { width: 1, height: 1 }).getContext("2d");
        document.body.append(probe);
        probe.style.color = `var(--${kindOf(label)}-ink)`;
        c.fillStyle = getComputedStyle(probe).color;
        probe.remove();
        c.fillRect(0, 0, 1, 1);
        return c.getImageData(0, 0, 1, 1).data;
    };
    const tint = async (one) => {
        const mask = await load("data:image/png;base64," + one.mask);
        const layer = el("canvas", { width: picture.width, height: picture.height }), c = layer.getContext("2d");
        c.drawImage(mask, 0, 0, layer.width, layer.height);
        const pixels = c.getImageData(0, 0, layer.width, layer.height), [r, g, b] = colour(one.label);
        let covered = 0;
        for (let i = 0; i < pixels.data.length; i += 4) {
            const on = pixels.data[i] > 127;
            covered += on;
            pixels.data.set([r, g, b, on ? 150 : 0], i);
        }
        c.putImageData(pixels, 0, 0);
        return { layer, share: covered / (pixels.data.length / 4) };
    };
    const draw = (only) => {
        const c = canvas.getContext("2d");
        c.clearRect(0, 0, canvas.width, canvas.height);
        layers.forEach((l, i) => (only === undefined || only === i) && c.drawImage(l.layer, 0, 0));
        canvas.dataset.drawn = layers.length;
    };
    let alone;
    const legend = el("div");
    Promise.all(list.map(tint)).then((made) => {
        layers = made;
        draw();
        legend.append(...bars(list.map((s, i) => ({ label: s.label, score: layers[i].share,
            note: typeof s.score === "number" ? `score ${percent(s.score)}` : undefined })), { tint: true, pick: (_, i) => draw((alone = alone === i ? undefined : i)) }).filter(Boolean));
    });
    return [framed(picture, [], canvas).node, el("p", { class: "muted small" }, "How much of the picture shows what. A press shows one alone."), legend];
}

export const gallery = (list) => el("div", { class: "gallery" }, list.map((p, i) => el("figure", null, el("img", { src: p.url, alt: p.name }),
    el("figcaption", { class: "small muted" }, `${i + 1} ${p.name}`))));

// ---- documents ----
const pixels = (picture, box) => ({ x: (box[0] * picture.width) / 1000, y: (box[1] * picture.height) / 1000,
    width: ((box[2] - box[0]) * picture.width) / 1000, height: ((box[3] - box[1]) * picture.height) / 1000 });

// A page without a picture is drawn by its words.
const BLANK = { width: 850, height: 640, url: "", name: "page" };

export function paper(page, marks) {
    const sheet = page.picture || BLANK;
    const boxed = page.words.filter((w) => w.box);
    const { node, frames } = framed(sheet, marks.filter((m) => m.box).map((m) => ({ ...pixels(sheet, m.box), label: m.label, score: m.score })));
    const words = svg("g", { class: "words" }, boxed.map((w) => {
        const p = pixels(sheet, w.box);
        return [svg("rect", { class: "word", ...p }), page.picture ? null
            : svg("text", { x: p.x, y: p.y + p.height * 0.8, "font-size": Math.max(8, p.height * 0.9), textLength: p.width || 1, lengthAdjust: "spacingAndGlyphs" }, w.word)];
    }).flat());
    node.querySelector("svg").prepend(words);
    if (!page.picture) {
        node.querySelector("img").remove();
        node.classList.add("blank");
    }
    return { node, frames };
}

export function pageAnswers(page, list) {
    const boxOf = (a) => {
        const boxes = page.words.slice(a.start, a.end + 1).map((w) => w.box).filter(Boolean);
        return boxes.length ? [Math.min(...boxes.map((b) => b[0])), Math.min(...boxes.map((b) => b[1])), Math.max(...boxes.map((b) => b[2])), Math.max(...boxes.map((b) => b[3]))] : null;
    };
    const place = el("div");
    const show = (a) => place.replaceChildren(paper(page, a ? [{ box: boxOf(a), label: a.answer, score: a.score }] : []).node);
    show(list[0]);
    return [el("p", { class: "big", dir: "auto" }, (list[0] && list[0].answer) || "No answer"), place,
        bars(list.map((a) => ({ label: a.answer || "(no answer)", score: a.score, a })), { pick: (r) => show(r.a) })];
}
