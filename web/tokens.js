// SPDX-License-Identifier: Apache-2.0
// tokens.js - what the tokenizer makes of the texts: ids, offsets, and what the model does not get to see.
import { el, count, units, kind } from "./dom.js";
import { call } from "./api.js";

const MOST = 1500;

// A text keeps its special tokens; of the others, those that still fit.
function cutFrom(tokens, most) {
    if (!most || tokens.length <= most) return tokens.length;
    let room = most - tokens.filter((t) => t.start === null).length;
    return tokens.findIndex((t) => t.start !== null && room-- === 0);
}

function one(text, tokens, most) {
    const at = units(text), cut = cutFrom(tokens, most);
    const chip = (t, i) => el("span", { class: ["token", t.special ? "special" : kind(i), i >= cut && t.start !== null ? "cut" : ""].join(" "),
        title: t.start === null ? `id ${t.id}, special` : `id ${t.id}, characters ${t.start} to ${t.stop}` },
    el("bdi", { class: "token-text" }, t.start === null ? t.text : text.slice(at(t.start), at(t.stop)) || t.text),
    el("span", { class: "token-id" }, String(t.id)));
    const left = tokens.filter((t, i) => i >= cut && t.start !== null).length;
    return [el("p", { class: "small muted" }, `${count(tokens.length, "token")} of ${count([...text].length, "character")}`,
        most ? `; the model reads ${most}` : "", left ? el("strong", { class: "bad" }, `; ${count(left, "token")} cut off`) : null),
    el("div", { class: "tokens", dir: "auto" }, tokens.slice(0, MOST).map(chip)),
    tokens.length > MOST ? el("p", { class: "muted small" }, `and ${count(tokens.length - MOST, "more", "more")}`) : null,
    el("details", null, el("summary", null, "As a table"), el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table of tokens" }, el("table", null,
        el("thead", null, el("tr", null, ["Token"].map((x) => el("th", { scope: "col" }, x)), ["Id", "From", "To"].map((x) => el("th", { scope: "col", class: "number" }, x)))),
        el("tbody", null, tokens.slice(0, 300).map((t, i) => el("tr", { class: i >= cut && t.start !== null ? "cut" : "" }, el("td", { class: "mono", dir: "auto" }, t.text),
            [t.id, t.start, t.stop].map((x) => el("td", { class: "number" }, x === null ? "–" : String(x)))))))))];
}

export async function tokensView(texts, most) {
    const wanted = texts.filter((t) => t !== "").slice(0, 16);
    if (!wanted.length) return [el("p", { class: "muted" }, "There is no text.")];
    const reply = await call("/tokenize", { inputs: wanted, offsets: "chars" });
    return wanted.map((text, i) => one(text, reply.json[i], most));
}
