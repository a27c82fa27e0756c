// SPDX-License-Identifier: Apache-2.0
// vectors.js - how near vectors are: a table of cosines, and a map in two dimensions.
import { el, svg, kind } from "./dom.js";

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

export function cosines(vectors) {
    const length = vectors.map((v) => Math.sqrt(dot(v, v)) || 1);
    return vectors.map((a, i) => vectors.map((b, j) => dot(a, b) / (length[i] * length[j])));
}

// The two directions in which the points differ most (principal components), by the matrix of their products.
export function project(vectors) {
    const n = vectors.length, d = vectors[0].length;
    const mean = new Float64Array(d);
    for (const v of vectors) v.forEach((x, k) => (mean[k] += x / n));
    const centred = vectors.map((v) => v.map((x, k) => x - mean[k]));
    const gram = centred.map((a) => centred.map((b) => dot(a, b)));
    const axis = (found) => {
        let v = Array.from({ length: n }, (_, i) => Math.sin(i * 12.9898 + found.length * 78.233 + 1));
        let size = 0;
        for (let step = 0; step < 300; step++) {
            for (const f of found) {
                const along = dot(v, f.v);
                v = v.map((x, i) => x - along * f.v[i]);
            }
            const next = gram.map((row) => dot(row, v));
            size = Math.sqrt(dot(next, next));
            if (size < 1e-12) return { v: new Array(n).fill(0), size: 0 };
            v = next.map((x) => x / size);
        }
        return { v, size };
    };
    const first = axis([]), second = axis([first]);
    return vectors.map((_, i) => [first.v[i] * Math.sqrt(first.size), second.v[i] * Math.sqrt(second.size)]);
}

function heat(names, table) {
    const least = Math.min(...table.flat()), cell = (x) => {
        const share = Math.round(100 * Math.max(0, Math.min(1, (x - least) / (1 - least || 1))));
        return el("td", { class: "heat", style: { "--share": share + "%" } }, x.toFixed(2));
    };
    return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of cosines" }, el("table", { class: "heatmap" },
        el("caption", { class: "unseen" }, "How near each is to each other: cosines"),
        el("thead", null, el("tr", null, el("td"), names.map((_, j) => el("th", { scope: "col", class: "number" }, String(j + 1))))),
        el("tbody", null, table.map((row, i) => el("tr", null,
            el("th", { scope: "row", dir: "auto", title: names[i] }, `${i + 1}  ${names[i]}`), row.map(cell))))));
}

function map(names, points) {
    const narrow = innerWidth < 600, W = narrow ? 340 : 560, H = narrow ? 300 : 320, M = 36, room = narrow ? 18 : 28;
    const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
    const span = Math.max(Math.max(...xs) - Math.min(...xs), (Math.max(...ys) - Math.min(...ys)) * (W / H), 1e-9);
    const scale = (W - 2 * M) / span;
    const mx = (Math.max(...xs) + Math.min(...xs)) / 2, my = (Math.max(...ys) + Math.min(...ys)) / 2;
    const short = (t) => (t.length > room ? [...t].slice(0, room - 1).join("") + "…" : t);
    return svg("svg", { class: "map", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Map of the vectors in two dimensions: near means alike" },
        svg("rect", { class: "map-paper", x: 0, y: 0, width: W, height: H, rx: 8 }),
        points.map(([x, y], i) => {
            const px = W / 2 + (x - mx) * scale, py = H / 2 - (y - my) * scale;
            const right = px > W * 0.62;
            return svg("g", { class: "map-point " + kind(i) },
                svg("circle", { cx: px, cy: py, r: 6 }),
                svg("text", { x: px + (right ? -11 : 11), y: py + 4, "text-anchor": right ? "end" : "start" }, `${i + 1} ${short(names[i])}`));
        }));
}

const MOST = 60; // rows of the table

export function compare(allNames, all) {
    const names = allNames.slice(0, MOST), vectors = all.slice(0, MOST), table = cosines(vectors);
    if (vectors.length < 2) return [el("p", null, `One vector of ${vectors[0].length} numbers. Give several to compare them.`),
        el("pre", { tabindex: "0" }, vectors[0].slice(0, 24).map((x) => x.toFixed(4)).join("  ") + (vectors[0].length > 24 ? "  …" : ""))];
    return [all.length > MOST ? el("p", { class: "note small" }, `The first ${MOST} of ${all.length}.`) : null, el("h3", null, "How near they are"), el("p", { class: "muted small" }, `Cosines of vectors of ${vectors[0].length} numbers: 1 is the same direction.`),
        heat(names, table), el("h3", null, "Map"), el("p", { class: "muted small" }, "The two directions in which they differ most."),
        map(names, project(vectors))];
}
