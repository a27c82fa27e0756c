// SPDX-License-Identifier: Apache-2.0
// live.js - where the time of a request went, and what the server is doing: charts from /metrics, every two seconds.
import { el, svg, number } from "./dom.js";
import { send } from "./api.js";

const SPANS = [["receive", "receive"], ["prepare", "prepare"], ["queue", "queue"], ["compute", "compute"], ["write", "reply"], ["network", "network"]];

const ms = (x) => (x < 10 ? x.toFixed(2) : x.toFixed(0)) + " ms";

// The parts of one request's time as a bar and in words.
export function partsView(times) {
    if (!times || times.total === undefined) return [];
    const known = ["receive", "prepare", "queue", "compute"].reduce((sum, k) => sum + (times[k] || 0), 0);
    const all = { ...times, write: Math.max(0, times.total - known), network: Math.max(0, times.wall - times.total) };
    const sum = SPANS.reduce((s, [k]) => s + (all[k] || 0), 0) || 1;
    return [el("div", { class: "timebar", "aria-hidden": "true" }, SPANS.map(([k], i) => el("span", { class: "time-" + i, style: { flex: `${(all[k] || 0) / sum} 1 0` } }))),
        el("dl", { class: "times" }, SPANS.map(([k, name], i) => el("div", null, el("dt", null, el("span", { class: "dot time-" + i, "aria-hidden": "true" }), name), el("dd", null, ms(all[k] || 0)))),
            el("div", null, el("dt", null, "in all"), el("dd", null, ms(times.wall))))];
}

// ---- /metrics ----
export function readMetrics(text) {
    const out = new Map();
    for (const line of text.split("\n")) {
        const m = /^([a-zA-Z_:][\w:]*)(\{[^}]*\})? ([-+.\deEInfNa]+)$/.exec(line);
        if (!m) continue;
        out.set(m[1] + (m[2] || ""), Number(m[3]));
        if (m[2] && !m[2].includes("le=")) out.set(m[1], (out.get(m[1]) || 0) + Number(m[3]));
    }
    return out;
}

const rate = (name) => (now, before, seconds) => ((now.get(name) || 0) - (before.get(name) || 0)) / seconds;
const gauge = (name, scale = 1) => (now) => (now.get(name) || 0) * scale;
const mean = (name) => (now, before) => {
    const n = (now.get(name + "_count") || 0) - (before.get(name + "_count") || 0);
    return n > 0 ? (((now.get(name + "_sum") || 0) - (before.get(name + "_sum") || 0)) / n) * 1000 : null;
};
const CHARTS = [
    ["Requests", "a second", rate("encoderfile_jobs_total")],
    ["Tokens", "a second", rate("encoderfile_tokens_total")],
    ["Time of a request", "ms, mean", mean("encoderfile_request_seconds")],
    ["In the queue", "ms, mean", mean("encoderfile_queue_seconds")],
    ["Run of the model", "ms, mean", mean("encoderfile_compute_seconds")],
    ["Waiting", "requests", gauge("encoderfile_queue_length")],
    ["Processor", "cores", rate("process_cpu_seconds_total")],
    ["Memory", "MB", gauge("process_resident_memory_bytes", 1e-6)],
];
const KEEP = 90, EVERY = 2000, W = 300, H = 64;

function chart([name, unit]) {
    const value = el("span", { class: "chart-value" }, "–"), line = svg("path", { class: "chart-line" }), area = svg("path", { class: "chart-area" });
    const list = [];
    const node = el("figure", { class: "panel chart" }, el("figcaption", null, el("span", { class: "chart-name" }, name), " ", el("span", { class: "muted small" }, unit)), value,
        svg("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", "aria-hidden": "true" }, area, line));
    const add = (x) => {
        list.push(x);
        if (list.length > KEEP) list.shift();
        value.textContent = x === null ? "–" : number(x);
        const most = Math.max(...list.map((v) => v || 0), 1e-9) * 1.1;
        const at = (v, i) => `${(W - (list.length - 1 - i) * (W / (KEEP - 1))).toFixed(1)} ${(H - 1 - ((v || 0) / most) * (H - 6)).toFixed(1)}`;
        const d = "M" + list.map(at).join("L");
        line.setAttribute("d", d);
        area.setAttribute("d", `${d}L${W} ${H}L${(W - (list.length - 1) * (W / (KEEP - 1))).toFixed(1)} ${H}Z`);
    };
    return { node, add };
}

export function liveView(place) {
    const charts = CHARTS.map(chart), said = el("p", { class: "muted small", role: "status" }, "Every two seconds, from /metrics.");
    let before = null, when = 0, timer = 0;
    place.replaceChildren(el("h2", null, "What the server does now"), said, el("div", { class: "charts" }, charts.map((c) => c.node)));
    async function look() {
        if (place.hidden || document.hidden) return;
        const reply = await send("/metrics").catch(() => null);
        if (!reply || !reply.ok) {
            said.textContent = "No answer from /metrics.";
            return;
        }
        const now = readMetrics(reply.text), at = performance.now();
        if (before) charts.forEach((c, i) => c.add(CHARTS[i][2](now, before, (at - when) / 1000)));
        else charts.forEach((c, i) => [5, 7].includes(i) && c.add(CHARTS[i][2](now)));
        before = now;
        when = at;
        said.textContent = "Every two seconds, from /metrics.";
    }
    look();
    timer = setInterval(look, EVERY);
    return () => clearInterval(timer);
}
