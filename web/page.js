// SPDX-License-Identifier: Apache-2.0
// page.js - the page: asks the server what it is, shows the fields of its task, and the answers in several ways.
import { el, $, tabs, copy, count } from "./dom.js";
import { call, headers, Refused } from "./api.js";
import { waysOf } from "./tasks.js";
import { makeField } from "./inputs.js";
import { tokensView } from "./tokens.js";
import { codeView } from "./code.js";
import { partsView, liveView } from "./live.js";
import { toLink, fromLink, leavesOut } from "./link.js";

const TYPING_MS = 350, SLOW_MS = 400; // slower models are not asked while somebody types

const model = { id: "", task: "", paths: [], example: null, boxed: false, maxLength: null, labels: null };
let ways = [], way = null, fields = new Map(), running = null, timer = 0, last = null, face = "result", asking = 0, slow = false;

// ---- what the server is ----
async function learn() {
    const [index, openapi] = await Promise.all([call("/"), call("/openapi.json")]);
    const any = openapi.json.components.schemas.PredictRequest || {};
    const request = (any.anyOf || []).find((s) => s.examples) || any; // classifiers take the bodies of two servers
    const inputs = JSON.stringify(any);
    Object.assign(model, { id: index.json.model_id, task: index.json.model_type, paths: Object.keys(openapi.json.paths),
        version: openapi.json.info.version, example: request.examples ? request.examples[0].inputs : null,
        boxed: inputs.includes('"boxes"'), hears: inputs.includes('"sampling_rate"') });
    document.title = `${model.id} · encoderfile`;
    $("model").textContent = model.id;
    $("task").textContent = model.task.replaceAll("_", " ");
    $("tab-explore").hidden = !index.json.routes.some((r) => r.path === "/ui/model.json");
    const told = await call("/model").catch(() => null);
    if (!told) return;
    Object.assign(model, { maxLength: told.json.max_length, labels: told.json.id2label });
    const n = model.labels ? Object.keys(model.labels).length : 0;
    $("task").textContent = [model.task.replaceAll("_", " "), n ? count(n, "label") : "", told.json.dimensions ? `${told.json.dimensions} numbers` : "",
        model.maxLength ? `up to ${model.maxLength} tokens` : ""].filter(Boolean).join(" · ");
    if (model.paths.includes("/tokenize") && model.task === "fill_mask") model.mask = await findMask();
}

// The special token that stands inside a text.
async function findMask() {
    const text = Array.isArray(model.example) ? model.example[0] : "";
    const reply = text ? await call("/tokenize", { inputs: [text], offsets: "chars" }).catch(() => null) : null;
    const found = reply && reply.json[0].find((t) => t.special && t.start !== null);
    return found ? [...text].slice(found.start, found.stop).join("") : null;
}

// ---- the fields ----
const values = () => Object.fromEntries([...fields].map(([name, f]) => [name, f.get()]));

function setValues(given) {
    for (const [name, f] of fields) if (name in given) f.set(given[name]);
}

// whole: all of it was given at once, as a file is; else somebody types.
function changed(whole) {
    clearTimeout(timer);
    if (whole) return run();
    if (slow) return;
    timer = setTimeout(run, TYPING_MS);
}

const missing = (s) => way.fields.find((f) => {
    const v = s[f.name];
    if (f.kind === "page") return !v.picture && !v.words.length;
    return f.name !== "second" && (v === undefined || v.length === 0 || (typeof v === "string" && !v.trim()));
});

function chooseWay(next) {
    way = next;
    for (const f of fields.values()) if (f.end) f.end();
    fields = new Map([...way.fields, ...(way.options || [])].map((row) => [row.name, makeField(row, changed)]));
    for (const row of way.options || []) fields.get(row.name).set(row.value);
    const examples = way.examples(model);
    const link = el("button", { type: "button", class: "quiet", on: { click: () => share(link) } }, "Copy link");
    const hint = model.mask && way.name === "Fill masks" ? el("p", { class: "hint muted small" }, "The mask is ", el("code", null, model.mask), ".") : null;
    $("ask").replaceChildren(
        el("p", { class: "about" }, way.about),
        ...(examples.length ? [el("div", { class: "examples" }, el("span", { class: "muted small", id: "examples-label" }, "Examples"),
            el("div", { role: "group", "aria-labelledby": "examples-label", class: "row" }, examples.map((e) => el("button", { type: "button", class: "example", dir: "auto", on: { click: () => use(e) } }, e.name))))] : []),
        ...way.fields.map((row) => fields.get(row.name).node), ...(hint ? [hint] : []),
        ...(way.options ? [el("div", { class: "options" }, way.options.map((row) => fields.get(row.name).node))] : []),
        el("div", { class: "row spread ask-end" }, el("div", { class: "row" }, el("button", { class: "primary" }, "Run"),
            el("span", { class: "muted small wide-only" }, "or ", el("kbd", null, "Ctrl"), " ", el("kbd", null, "Enter"))), link));
    for (const radio of $("modes").querySelectorAll("input")) radio.checked = radio.value === way.name;
}

async function use(example) {
    const given = await (typeof example.values === "function" ? example.values() : example.values);
    setValues(given);
    await run();
}

// ---- asking ----
async function run() {
    clearTimeout(timer);
    const s = values(), lacks = missing(s), mine = ++asking;
    if (running) running.abort();
    if (lacks) {
        last = null;
        return draw(el("p", { class: "muted" }, `${lacks.label.split(",")[0]}: nothing there yet.`));
    }
    running = new AbortController();
    $("view-try").setAttribute("aria-busy", "true");
    try {
        const request = way.request(s);
        const reply = await call(request.path, request.body, running.signal);
        if (way.after) await way.after(reply, s, call);
        if (mine !== asking) return;
        last = { request, reply, s: { ...s, mask: model.mask, put: (name, v) => {
            fields.get(name).set(v);
            run();
        } }, times: reply.times, way };
        slow = reply.times.wall > SLOW_MS;
        $("status").textContent = way.told(reply);
        await show();
    } catch (e) {
        if (e.name === "AbortError" || mine !== asking) return;
        last = null;
        $("status").textContent = e instanceof Refused ? `Refused with ${e.status}` : "No answer";
        draw(el("p", { class: "error" }, e.message));
    } finally {
        if (mine === asking) $("view-try").removeAttribute("aria-busy");
    }
}

// ---- the answer, in several ways ----
function draw(...nodes) {
    $("face").replaceChildren(...nodes.flat(4).filter(Boolean));
    $("parts").replaceChildren(...(last ? partsView(last.times) : []).flat());
}

const MOST_JSON = 60000;
const faces = {
    result: ["Result", () => last.way.show(last.reply, last.s)],
    tokens: ["Tokens", () => tokensView(last.way.texts(last.s), model.maxLength)],
    json: ["JSON", () => {
        const text = JSON.stringify(last.reply.json, null, 2), button = el("button", { type: "button", on: { click: () => copy(text, button) } }, "Copy");
        return [el("div", { class: "row spread" }, el("span", { class: "muted small" }, `POST ${last.request.path}`), button),
            el("pre", { tabindex: "0", class: "code", "aria-label": "The reply" }, text.slice(0, MOST_JSON) + (text.length > MOST_JSON ? "\n…" : ""))];
    }],
    code: ["Code", () => codeView(last.request, filesOf(last.s), model)],
};
const filesOf = (s) => [...(s.pictures || []), ...(s.sounds || []), ...(s.page && s.page.picture ? [s.page.picture] : [])];

async function show() {
    if (!last) return;
    const of = last, now = face;
    try {
        const nodes = await faces[face][1]();
        if (of === last && now === face) draw(nodes);
    } catch (e) {
        draw(el("p", { class: "error" }, e.message));
    }
}

function makeFaces() {
    const names = Object.keys(faces).filter((f) => f !== "tokens" || (way.texts && model.paths.includes("/tokenize")));
    if (!names.includes(face)) face = "result";
    $("face").setAttribute("aria-labelledby", "tab-" + face);
    $("faces").replaceChildren(...names.map((name) => el("button", { role: "tab", type: "button", id: "tab-" + name, "aria-controls": "face",
        "aria-selected": String(name === face), tabindex: name === face ? "0" : "-1" }, faces[name][0])));
}

// ---- a link to all this ----
async function share(button) {
    const v = values(), hash = await toLink({ way: way.name, face, values: v });
    history.replaceState(null, "", hash);
    await copy(location.href, button);
    if (leavesOut(v)) $("status").textContent = "The link has no files: they are too large for it.";
}

// ---- views ----
let endLive = null, explored = false;
const views = {
    try: () => {},
    live: () => (endLive = endLive || liveView($("view-live"))),
    explore: async () => {
        if (explored) return;
        explored = true;
        try {
            const { mount } = await import("./explore.js");
            await mount($("view-explore"), { source: "ui/model.json", headers });
        } catch (e) {
            explored = false;
            $("view-explore").replaceChildren(el("p", { class: "error" }, `The explorer could not be opened: ${e.message}`));
        }
    },
};

function openView(name) {
    for (const v of Object.keys(views)) $("view-" + v).hidden = v !== name;
    if (name !== "live" && endLive) {
        endLive();
        endLive = null;
    }
    views[name]();
}

function theme() {
    const root = document.documentElement, stored = localStorage.getItem("theme");
    if (stored) root.dataset.theme = stored;
    $("theme").addEventListener("click", () => {
        const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
        root.dataset.theme = dark ? "light" : "dark";
        localStorage.setItem("theme", root.dataset.theme);
        show();
    });
}

function makeModes() {
    $("modes").hidden = ways.length < 2;
    $("modes").replaceChildren(...ways.map((w) => el("label", null, el("input", { type: "radio", name: "way", value: w.name, on: { change: () => {
        chooseWay(w);
        makeFaces();
        begin();
    } } }), el("span", null, w.name))));
}

async function begin() {
    last = null;
    $("status").textContent = "";
    draw();
    const first = way.examples(model)[0];
    if (first) await use(first);
    else draw(el("p", { class: "muted" }, "The answer will stand here."));
}

async function start() {
    theme();
    tabs($("views"), openView);
    tabs($("faces"), (name) => {
        face = name;
        $("face").setAttribute("aria-labelledby", "tab-" + name);
        show();
    });
    $("ask").addEventListener("submit", (e) => {
        e.preventDefault();
        run().then(() => innerWidth < 860 && document.querySelector(".answer").scrollIntoView({ block: "start" }));
    });
    document.addEventListener("keydown", (e) => {
        if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !$("view-try").hidden) {
            e.preventDefault();
            run();
        }
    });
    await learn();
    const state = await fromLink(location.hash);
    ways = waysOf(model);
    makeModes();
    chooseWay(ways.find((w) => state && w.name === state.way) || ways[0]);
    if (state && faces[state.face]) face = state.face;
    makeFaces();
    if (!state) return begin();
    setValues(state.values);
    await run();
}

start().catch((e) => draw(el("p", { class: "error" }, e.message)));
