// SPDX-License-Identifier: Apache-2.0
// api.js - calls of this server, with the key if it wants one, and what became of their time.
import { $ } from "./dom.js";

let key = ""; // in memory only

// Where the server's routes are: behind a proxy perhaps not at the root of their host.
export const base = new URL(".", location.href).href;

export const headers = (more) => (key ? { ...more, Authorization: "Bearer " + key } : { ...more });
export const hasKey = () => key !== "";

export class Refused extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

function askForKey() {
    const dialog = $("key"), field = $("key-text");
    if (!dialog) return Promise.resolve(false);
    return new Promise((done) => {
        dialog.returnValue = "";
        dialog.addEventListener("close", () => {
            const given = dialog.returnValue === "ok" ? field.value.trim() : "";
            field.value = "";
            if (given) key = given;
            done(given !== "");
        }, { once: true });
        if (!dialog.open) dialog.showModal();
        field.focus();
    });
}

let asking = null; // several calls may be refused at once: one question

async function withKey(path, options) {
    for (;;) {
        const tried = key, begun = performance.now();
        const reply = await fetch(base + path.slice(1), { ...options, headers: headers(options.headers) });
        if (reply.status !== 401) return { reply, begun };
        if (key !== tried) continue; // another call has asked for it meanwhile
        asking = asking || askForKey().finally(() => (asking = null));
        if (!(await asking)) return { reply, begun };
    }
}

// "queue;dur=0.1, compute;dur=2" -> { queue: 0.1, compute: 2 }
function parts(header) {
    const out = {};
    for (const m of (header || "").matchAll(/([\w-]+);dur=([\d.]+)/g)) out[m[1]] = Number(m[2]);
    return out;
}

// { status, text, json, times, bytes, headers }; refusals by the server throw Refused, with its own words.
export async function send(path, options = {}) {
    const { reply, begun } = await withKey(path, options);
    const text = await reply.text();
    const wall = performance.now() - begun;
    let json;
    try {
        json = JSON.parse(text);
    } catch {
        json = undefined;
    }
    return { status: reply.status, ok: reply.ok, text, json, headers: reply.headers,
        times: { wall, ...parts(reply.headers.get("Server-Timing")) } };
}

export async function call(path, body, signal) {
    const options = body === undefined ? { signal } : { method: "POST", signal, body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" } };
    const reply = await send(path, { ...options, headers: { Accept: "application/json", ...options.headers } });
    if (reply.ok) return reply;
    const said = reply.json && (reply.json.message || (reply.json.error && (reply.json.error.message || reply.json.error)));
    throw new Refused(reply.status, typeof said === "string" ? said : reply.text.slice(0, 500) || `status ${reply.status}`);
}
