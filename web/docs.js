// SPDX-License-Identifier: Apache-2.0
// docs.js - the API reference: every operation of /openapi.json with its schemas, and a form to try it.
import { el, $, copy } from "./dom.js";
import { send } from "./api.js";
import { base64 } from "./picture.js";
import { wav } from "./sound.js";

let root = null; // the OpenAPI document

const resolve = (schema) => (schema && schema.$ref ? schema.$ref.slice(2).split("/").reduce((at, k) => at[k], root) : schema || {});

// ---- schemas in words ----
function typeOf(given, deep = 0) {
    const s = resolve(given);
    if (s.const !== undefined) return JSON.stringify(s.const);
    if (s.enum) return s.enum.map((x) => JSON.stringify(x)).join(" or ");
    const any = s.anyOf || s.oneOf;
    if (any) return [...new Set(any.map((x) => typeOf(x, deep)))].join(" or ");
    if (Array.isArray(s.type)) return s.type.map((t) => typeOf({ ...s, type: t }, deep)).join(" or ");
    if (s.type === "array") return deep > 3 ? "list" : `list of ${typeOf(s.items || {}, deep + 1)}`;
    if (s.type === "object" && s.properties) return `{${Object.keys(s.properties).join(", ")}}`;
    return s.type || "anything";
}

function limits(given) {
    const s = resolve(given), words = [];
    if (s.minimum !== undefined) words.push(`from ${s.minimum}`);
    if (s.maximum !== undefined && s.maximum < 2 ** 31 - 1) words.push(`to ${s.maximum}`);
    if (s.minItems) words.push(`at least ${s.minItems}`);
    if (s.maxItems) words.push(`at most ${s.maxItems}`);
    if (s.default !== undefined) words.push(`default ${JSON.stringify(s.default)}`);
    return words.join(", ");
}

function objectsIn(given, found = [], deep = 0) {
    const s = resolve(given);
    if (deep > 6) return found;
    if (s.properties) found.push(s);
    for (const part of [...(s.anyOf || s.oneOf || []), ...(s.items ? [s.items] : [])]) objectsIn(part, found, deep + 1);
    return found;
}

function properties(schema, deep = 0) {
    const rows = Object.entries(schema.properties).map(([name, p]) => {
        const inner = deep < 3 ? objectsIn(p) : [];
        return el("tr", null, el("th", { scope: "row", class: "mono" }, name, (schema.required || []).includes(name) ? el("span", { class: "needed", title: "required" }, " *") : null),
            el("td", null, el("span", { class: "mono small" }, typeOf(p)), " ", el("span", { class: "muted small" }, limits(p)),
                resolve(p).description ? el("div", { class: "small" }, resolve(p).description) : null,
                inner.length ? el("details", null, el("summary", null, "Inside"), inner.map((s) => properties(s, deep + 1))) : null));
    });
    return el("div", { class: "scroll" }, el("table", { class: "schema" }, el("tbody", null, rows)));
}

const schemaView = (schema) => {
    const found = objectsIn(schema);
    return [found.length ? null : el("p", { class: "mono small" }, typeOf(schema)), found.map((s) => properties(s))];
};

// ---- a body to begin with ----
const PNG = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAK0lEQVR42u3NQQEAQAQAMK6IUFJrdSX4bQWW1ROXXhwTCAQCgUAgEAgEWz55UAF7lqszDAAAAABJRU5ErkJggg==";
const FILES = ["inputs", "input", "image", "audio", "source_sentence"];
const model = { example: null, file: null }; // inputs of /predict; a file, of models that see or hear

function learn() {
    const any = root.components.schemas.PredictRequest || {}, request = (any.anyOf || []).find((s) => s.examples) || any, told = JSON.stringify(any);
    model.example = request.examples ? request.examples[0].inputs : null;
    if (!model.example && told.includes('"sampling_rate"')) model.file = base64(wav(Float32Array.from({ length: 1600 }, (_, i) => Math.sin(i / 9) / 3), 16000));
    else if (!model.example && told.includes('"image"')) model.file = PNG;
}

const sample = (name) => (model.file && FILES.includes(name) ? model.file : Array.isArray(model.example) ? model.example[0] : "A man is eating food.");

const MCP = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

function example(given, name = "", deep = 0) {
    const s = resolve(given);
    if (s.examples) return s.examples[0];
    if (name === "inputs" && model.example && !Array.isArray(model.example) && objectsIn(s).length) return model.example;
    if (s.default !== undefined) return s.default;
    if (s.const !== undefined) return s.const;
    if (s.enum) return s.enum[0];
    const any = s.anyOf || s.oneOf;
    if (any) return example(any[0], name, deep + 1);
    const type = Array.isArray(s.type) ? s.type[0] : s.type;
    if (type === "string") return sample(name);
    if (type === "integer" || type === "number") return Math.max(s.minimum || 1, 1);
    if (type === "boolean") return false;
    if (type === "array") return deep > 5 ? [] : Array.from({ length: Math.max(1, s.minItems || 1) }, () => example(s.items || {}, name, deep + 1));
    if (type === "object" || s.properties) {
        const all = s.properties || {};
        const needed = (s.required && s.required.length ? s.required : Object.keys(all).slice(0, 1)).filter((k) => all[k]);
        return Object.fromEntries(needed.map((k) => [k, example(all[k], k, deep + 1)]));
    }
    return {};
}

function beginning(path, schema) {
    if (path === "/mcp") return MCP;
    return example(schema);
}

// ---- try it ----
function tryIt(method, path, operation) {
    const content = operation.requestBody ? operation.requestBody.content : null;
    const id = operation.operationId;
    const target = (operation.parameters || []).reduce((p, q) => p.replace(`{${q.name}}`, encodeURIComponent(q.schema.enum ? q.schema.enum[0] : "")), path);
    const takesFiles = content && /"image"|"audio"|sampling_rate/.test(JSON.stringify(resolve(content["application/json"] ? content["application/json"].schema : {})));
    const types = content ? Object.keys(content) : [];
    const body = content ? el("textarea", { id: id + "-body", rows: 7, class: "mono small", spellcheck: "false" }) : null;
    const file = takesFiles ? el("input", { id: id + "-file", type: "file", accept: "image/*,audio/*" }) : null;
    const type = types.length > 1 ? el("select", { id: id + "-type" }, types.map((t) => el("option", { value: t }, t))) : null;
    const out = el("div", { class: "reply" });
    const fill = () => {
        const made = beginning(path, content["application/json"].schema);
        body.value = type && type.value !== "application/json" ? JSON.stringify(made) : JSON.stringify(made, null, 2);
    };
    if (body) fill();
    if (type) type.addEventListener("change", fill);
    async function go(e) {
        e.preventDefault();
        out.replaceChildren(el("p", { class: "muted small" }, "…"));
        const options = { method: method.toUpperCase(), headers: { Accept: "application/json, text/event-stream" } };
        if (file && file.files.length) {
            options.body = file.files[0];
            options.headers["Content-Type"] = file.files[0].type || "application/octet-stream";
        } else if (body) {
            options.body = body.value;
            options.headers["Content-Type"] = type ? type.value : "application/json";
        }
        try {
            const reply = await send(target, options);
            const shown = reply.json === undefined ? reply.text : JSON.stringify(reply.json, null, 2);
            const button = el("button", { type: "button", class: "quiet", on: { click: () => copy(shown, button) } }, "Copy");
            out.replaceChildren(el("div", { class: "row spread" }, el("p", { class: reply.ok ? "good" : "bad", role: "status" }, `${reply.status} in ${reply.times.wall.toFixed(1)} ms`), button),
                el("pre", { tabindex: "0", class: "code", "aria-label": "The reply" }, shown.slice(0, 40000) + (shown.length > 40000 ? "\n…" : "")));
        } catch (x) {
            out.replaceChildren(el("p", { class: "error", role: "status" }, x.message));
        }
    }
    return el("form", { class: "try", "aria-label": `Try ${method.toUpperCase()} ${path}`, on: { submit: go } },
        type ? el("div", { class: "field" }, el("label", { for: id + "-type" }, "Content-Type"), type) : null,
        body ? el("div", { class: "field" }, el("label", { for: id + "-body" }, "Body"), body) : null,
        file ? el("div", { class: "field" }, el("label", { for: id + "-file" }, "Or a file as the body"), file) : null,
        el("div", null, el("button", { class: "primary" }, "Send")), out);
}

function operationView(method, path, operation) {
    const content = operation.requestBody ? operation.requestBody.content["application/json"] : null;
    const good = operation.responses["200"], reply = good && good.content && good.content["application/json"];
    const bad = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
    const inside = el("div", { class: "inside" });
    const fill = () => inside.append(el("div", { class: "halves" },
        el("div", null, content ? [el("h3", null, "Body"), schemaView(content.schema)] : null, reply ? [el("h3", null, "Reply"), schemaView(reply.schema)] : null,
            bad.length ? el("details", null, el("summary", null, "When it is refused"), el("table", null, el("tbody", null, bad.map(([status, r]) => el("tr", null, el("th", { scope: "row" }, status), el("td", null, r.description)))))) : null),
        el("div", null, el("h3", null, "Try it"), tryIt(method, path, operation))));
    const box = el("details", { class: "panel operation", id: operation.operationId, on: { toggle: () => box.open && !inside.firstChild && fill() } },
        el("summary", null, el("span", { class: "method " + method }, method.toUpperCase()), el("span", { class: "mono path" }, path), el("span", { class: "muted" }, operation.summary)), inside);
    return box;
}

async function start() {
    const stored = localStorage.getItem("theme");
    if (stored) document.documentElement.dataset.theme = stored;
    root = (await send("/openapi.json")).json;
    learn();
    $("task").textContent = `${root.info.description.replaceAll("_", " ")} · encoderfile ${root.info.version}`;
    document.title = `API · ${root.info.description.split(":")[0]}`;
    const all = Object.entries(root.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, o]) => operationView(method, path, o)));
    const posts = all.filter((b) => b.querySelector(".post")), gets = all.filter((b) => !b.querySelector(".post"));
    $("routes").replaceChildren(el("h2", null, "Ask the model"), ...posts, el("h2", null, "Ask about it"), ...gets);
    const at = document.getElementById(location.hash.slice(1));
    (at && at.tagName === "DETAILS" ? at : $("predict") || all[0]).open = true;
}

start().catch((e) => $("routes").replaceChildren(el("p", { class: "error" }, e.message)));
