// SPDX-License-Identifier: Apache-2.0
// text.js - answers about texts: spans in their place, bars by score, answers, words for masks, ranks.
import { el, percent, number, count, kindOf, units } from "./dom.js";

const MOST_SHOWN = 200; // rows of a list
const MOST_MARKED = 1000; // spans of a text: browsers take seconds for tens of thousands

// Bars: [{ label, score, note? }], best first. pick: what a press does.
export function bars(rows, { pick, form = percent, tint } = {}) {
    const shown = rows.slice(0, MOST_SHOWN);
    const most = Math.max(...shown.map((r) => Math.abs(r.score)), 1e-9);
    const share = (r) => Math.max(0, form === percent ? r.score : r.score / most);
    const row = (r, i) => {
        const inside = [
            el("span", { class: "bar-label", dir: "auto" }, r.label || " "),
            el("span", { class: "bar-track", "aria-hidden": "true" },
                el("span", { class: "bar-fill", style: { width: Math.min(100, share(r) * 100) + "%",
                    ...(tint ? { background: `var(--${kindOf(r.label)}-ink)` } : {}) } })),
            el("span", { class: "bar-score" }, form(r.score)),
        ];
        const note = r.note ? el("span", { class: "bar-note muted small", dir: "auto" }, r.note) : null;
        return el("li", null, pick ? el("button", { type: "button", class: "bar-row", on: { click: () => pick(r, i) } }, inside)
            : el("div", { class: "bar-row" }, inside), note);
    };
    return [el("ol", { class: "bars" }, shown.map(row)),
        rows.length > MOST_SHOWN ? el("p", { class: "muted small" }, `and ${count(rows.length - MOST_SHOWN, "more")}`) : null];
}

// Spans ({ start, end, label, score? }, in characters) in their text. Those that overlap an earlier one are left to the table.
export function spans(text, list, { choose } = {}) {
    const at = units(text);
    const box = el("div", { class: "spans", dir: "auto" });
    let done = 0;
    const marks = new Map();
    for (const s of [...list].sort((a, b) => a.start - b.start || b.end - a.end)) {
        const from = at(s.start), to = at(s.end);
        if (from < done || to <= from) continue;
        if (marks.size === MOST_MARKED) break;
        box.append(text.slice(done, from));
        const mark = el("mark", { class: "span " + kindOf(s.label || ""), "data-score": s.score === undefined ? "" : percent(s.score),
            title: [s.label, s.score === undefined ? "" : percent(s.score)].filter(Boolean).join(" ") },
        el("bdi", { class: "span-text" }, text.slice(from, to)),
        s.label ? el("span", { class: "span-label" }, s.label) : null);
        if (choose) mark.addEventListener("mouseenter", () => choose(s));
        marks.set(s, mark);
        box.append(mark);
        done = to;
    }
    box.append(text.slice(done));
    return { box, marks };
}

export function entities(text, list) {
    const named = list.map((e) => ({ start: e.start, end: e.end, label: e.entity_group || e.entity || e.label, score: e.score, word: e.word }));
    const { box, marks } = spans(text, named);
    const at = units(text);
    const lit = (s, on) => marks.get(s) && marks.get(s).classList.toggle("lit", on);
    const table = el("table", null,
        el("caption", { class: "unseen" }, "Entities"),
        el("thead", null, el("tr", null, ["Text", "Label"].map((t) => el("th", { scope: "col" }, t)),
            ["Score", "From", "To"].map((t) => el("th", { scope: "col", class: "number" }, t)))),
        el("tbody", null, named.slice(0, MOST_SHOWN).map((s) => el("tr", { on: {
            mouseenter: () => lit(s, true), mouseleave: () => lit(s, false) } },
        el("td", { dir: "auto" }, text.slice(at(s.start), at(s.end))),
        el("td", null, el("span", { class: "pill " + kindOf(s.label) }, s.label)),
        el("td", { class: "number" }, s.score === undefined ? "" : percent(s.score)),
        el("td", { class: "number" }, String(s.start)), el("td", { class: "number" }, String(s.end))))));
    return [box, named.length > MOST_MARKED ? el("p", { class: "note small" }, `The first ${count(MOST_MARKED, "entity", "entities")} of ${named.length.toLocaleString("en")} are marked; the JSON has all.`) : null,
        named.length ? el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of entities" }, table)
        : el("p", { class: "muted" }, "Nothing was found."),
    named.length > MOST_SHOWN ? el("p", { class: "muted small" }, `The table has the first ${MOST_SHOWN} of ${count(named.length, "entity", "entities")}.`) : null];
}

export function answers(context, list) {
    const place = el("div", { class: "panel-in" });
    const show = (a) => {
        const { box } = spans(context, a && a.end > a.start ? [{ start: a.start, end: a.end, score: a.score }] : []);
        place.replaceChildren(box);
    };
    show(list[0]);
    const best = list[0] && list[0].answer;
    return [el("p", { class: "big", dir: "auto" }, best || "No answer"), place, el("h3", null, "Answers"),
        bars(list.map((a) => ({ label: a.answer || "(no answer)", score: a.score, a })), { pick: (r) => show(r.a) })];
}

// The words of each mask; a press puts one into the text.
export function masks(list, put) {
    return list.map((m, i) => [
        el("h3", null, list.length > 1 ? `Mask ${i + 1}` : "Words for the mask"),
        m.words[0] && m.words[0].sequence ? el("p", { class: "big", dir: "auto" }, m.words[0].sequence) : null,
        bars(m.words.map((w) => ({ label: w.token_str, score: w.score })), { pick: (r) => put(i, r.label) })]);
}

export function ranks(query, texts, list) {
    return [el("p", { class: "muted small" }, "The best first, by how well a text fits the query."),
        el("ol", { class: "ranks" }, list.map((r) => el("li", null,
            el("span", { class: "rank-text", dir: "auto" }, texts[r.index]),
            el("span", { class: "bar-track", "aria-hidden": "true" },
                el("span", { class: "bar-fill", style: { width: Math.max(0, Math.min(1, r.score)) * 100 + "%" } })),
            el("span", { class: "bar-score" }, number(r.score)),
            el("span", { class: "muted small" }, `line ${r.index + 1}`))))];
}
