// SPDX-License-Identifier: Apache-2.0
// sound.js - sounds: opened, recorded, shown as a wave with segments at their seconds.
import { el, svg, kind, count } from "./dom.js";
import { base64 } from "./picture.js";

const RATE = 16000; // of what is made here

// Sixteen bits, one channel.
export function wav(samples, rate) {
    const bytes = new DataView(new ArrayBuffer(44 + samples.length * 2));
    const put = (at, text) => [...text].forEach((c, i) => bytes.setUint8(at + i, c.charCodeAt(0)));
    put(0, "RIFF");
    bytes.setUint32(4, 36 + samples.length * 2, true);
    put(8, "WAVEfmt ");
    bytes.setUint32(16, 16, true);
    bytes.setUint16(20, 1, true);
    bytes.setUint16(22, 1, true);
    bytes.setUint32(24, rate, true);
    bytes.setUint32(28, rate * 2, true);
    bytes.setUint16(32, 2, true);
    bytes.setUint16(34, 16, true);
    put(36, "data");
    bytes.setUint32(40, samples.length * 2, true);
    samples.forEach((x, i) => bytes.setInt16(44 + i * 2, Math.max(-1, Math.min(1, x)) * 32767, true));
    return new Uint8Array(bytes.buffer);
}

async function decode(buffer) {
    const decoded = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(buffer);
    const mixed = new Float32Array(decoded.length);
    for (let c = 0; c < decoded.numberOfChannels; c++)
        decoded.getChannelData(c).forEach((x, i) => (mixed[i] += x / decoded.numberOfChannels));
    return mixed;
}

const begins = (bytes, at, text) => [...text].every((c, i) => bytes[at + i] === c.charCodeAt(0));

// The server reads WAV and FLAC; what else the browser can decode becomes WAV.
export async function soundOf(name, bytes) {
    const plain = (begins(bytes, 0, "RIFF") && begins(bytes, 8, "WAVE")) || begins(bytes, 0, "fLaC");
    const samples = await decode(bytes.slice().buffer).catch(() => null);
    if (!plain && !samples) throw new Error(`${name}: the browser cannot decode this sound.`);
    const sent = plain ? bytes : wav(samples, RATE), type = begins(sent, 0, "fLaC") ? "audio/flac" : "audio/wav";
    return { name, type, data: base64(sent), samples, seconds: samples ? samples.length / RATE : 0,
        url: URL.createObjectURL(new Blob([sent], { type })) };
}

export const openSound = async (file) => soundOf(file.name || "sound", new Uint8Array(await file.arrayBuffer()));
export const restoreSound = async (saved) => soundOf(saved.name, Uint8Array.from(atob(saved.data), (c) => c.charCodeAt(0)));

// Records until the button is pressed again.
export async function recorder(_, button) {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((e) => {
        throw new Error("No microphone: " + e.message);
    });
    const pieces = [], tape = new MediaRecorder(stream), said = button.textContent;
    tape.addEventListener("dataavailable", (e) => pieces.push(e.data));
    tape.start();
    button.textContent = "Stop";
    button.classList.add("recording");
    await new Promise((done) => button.addEventListener("click", (e) => {
        e.stopImmediatePropagation();
        done();
    }, { once: true, capture: true }));
    await new Promise((done) => {
        tape.addEventListener("stop", done, { once: true });
        tape.stop();
    });
    stream.getTracks().forEach((t) => t.stop());
    button.textContent = said;
    button.classList.remove("recording");
    return new File([new Blob(pieces, { type: tape.mimeType })], "recording", { type: tape.mimeType });
}

// ---- made here, to begin with ----
const made = (name, seconds, f) => soundOf(name, wav(Float32Array.from({ length: seconds * RATE }, (_, i) => f(i / RATE)), RATE));
export const synthetic = [
    ["Two tones", () => made("two-tones.wav", 3, (t) => ((t > 0.5 && t < 1.2) || (t > 1.8 && t < 2.6) ? 0.4 * Math.sin(2 * Math.PI * (t < 1.5 ? 220 : 330) * t) : 0))],
    ["A sweep", () => made("sweep.wav", 2, (t) => 0.4 * Math.sin(2 * Math.PI * (200 * t + 400 * t * t)))],
];

// ---- shown ----
const W = 1000, H = 120;

function shapeOf(samples) {
    const step = Math.max(1, Math.floor(samples.length / W)), path = [];
    let most = 0.05;
    for (const x of samples) most = Math.max(most, Math.abs(x));
    for (let x = 0; x * step < samples.length; x++) {
        let low = 0, high = 0;
        for (let i = x * step; i < Math.min(samples.length, (x + 1) * step); i++) {
            low = Math.min(low, samples[i]);
            high = Math.max(high, samples[i]);
        }
        const at = ((x * step) / samples.length) * W;
        path.push(`M${at.toFixed(1)} ${(H / 2 - (high / most) * (H / 2 - 6)).toFixed(1)}V${(H / 2 - (low / most) * (H / 2 - 6) + 0.6).toFixed(1)}`);
    }
    return path.join("");
}

// segments: [{ start, end (seconds), label? }]; a press on one plays it.
export function wave(sound, segments) {
    const all = sound.seconds || Math.max(0.1, ...segments.map((s) => s.end));
    const place = (s) => (s / all) * W;
    const player = el("audio", { controls: true, src: sound.url, "aria-label": sound.name });
    const head = svg("line", { class: "wave-head", x1: 0, x2: 0, y1: 0, y2: H });
    player.addEventListener("timeupdate", () => ["x1", "x2"].forEach((a) => head.setAttribute(a, place(player.currentTime))));
    const play = (s) => {
        player.currentTime = s.start;
        player.play().catch(() => {});
    };
    const picture = svg("svg", { class: "wave", viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img",
        "data-seconds": all, "aria-label": `Wave of ${sound.name}, ${all.toFixed(1)} seconds, ${count(segments.length, "segment")}` },
    svg("rect", { class: "wave-paper", x: 0, y: 0, width: W, height: H }),
    segments.map((s, i) => svg("rect", { class: "wave-segment " + kind(i), x: place(s.start), y: 0, width: Math.max(1, place(s.end) - place(s.start)), height: H,
        "data-start": s.start, "data-end": s.end, on: { click: () => play(s) } }, svg("title", null, `${s.start.toFixed(2)} to ${s.end.toFixed(2)} s`))),
    sound.samples ? svg("path", { class: "wave-line", d: shapeOf(sound.samples) }) : null, head);
    const ticks = el("div", { class: "ticks muted small", "aria-hidden": "true" }, [0, 0.25, 0.5, 0.75, 1].map((f) => el("span", null, (all * f).toFixed(1) + " s")));
    const list = segments.length ? el("ol", { class: "segments" }, segments.map((s, i) => el("li", null,
        el("button", { type: "button", class: "pill " + kind(i), on: { click: () => play(s) } },
            s.label ? el("span", { dir: "auto" }, s.label) : null, el("span", { class: "small" }, `${s.start.toFixed(2)} – ${s.end.toFixed(2)} s`))))) : null;
    return [el("div", { class: "wave-box" }, picture, ticks), player, list];
}
