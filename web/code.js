// SPDX-License-Identifier: Apache-2.0
// code.js - the request on the screen as a program: curl, Python, JavaScript, Go, gRPC. Pictures and sounds stand there as the
// names of their files, and a key as the variable that holds it.
import { el, copy } from "./dom.js";
import { hasKey, base } from "./api.js";

const KEY = "ENCODERFILE_API_KEY";
const shell = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

// ---- values as source text; a File is { file: name } ----
class File { constructor(name) { this.name = name; } }

function withFiles(value, files) {
    if (typeof value === "string") {
        const found = files.find((f) => f.data === value);
        return found ? new File(found.name) : value;
    }
    if (Array.isArray(value)) return value.map((v) => withFiles(v, files));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withFiles(v, files)]));
    return value;
}

const has = (value) => value instanceof File || (value && typeof value === "object" && Object.values(value).some(has));
const names = (value) => (value instanceof File ? [value.name] : value && typeof value === "object" ? Object.values(value).flatMap(names) : []);

// words: how a language spells lists, maps and constants.
function literal(value, words, indent = "") {
    const inner = indent + "    ";
    if (value instanceof File) return words.file(value.name);
    if (value === true) return words.yes || "true";
    if (value === false) return words.no || "false";
    if (value === null) return words.nothing || "null";
    if (typeof value === "string") return words.text(value);
    if (typeof value === "number") return String(value);
    const list = Array.isArray(value);
    const parts = list ? value.map((v) => literal(v, words, inner)) : Object.entries(value).map(([k, v]) => `${words.text(k)}: ${literal(v, words, inner)}`);
    const [open, close] = list ? words.list : words.map;
    const flat = open + parts.join(", ") + close;
    if (flat.length + indent.length < 88 && !flat.includes("\n")) return flat;
    return `${open}\n${parts.map((p) => inner + p + ",").join("\n")}\n${indent}${close}`;
}

const quoted = JSON.stringify;
const go = { text: quoted, list: ["[]any{", "}"], map: ["map[string]any{", "}"], nothing: "nil", file: (n) => `file(${quoted(n)})` };
const python = { text: quoted, list: ["[", "]"], map: ["{", "}"], yes: "True", no: "False", nothing: "None", file: (n) => `file(${quoted(n)})` };
const script = { text: quoted, list: ["[", "]"], map: ["{", "}"], file: (n) => `await file(${quoted(n)})` };

// ---- languages: (call) -> source; call: { url, path, body, task } ----
const keyed = (text) => (hasKey() ? text : "");

function curlForm({ url, body }) {
    const { inputs, ...options } = body;
    const field = (name, text) => `--form-string ${shell(`${name}=${text}`)}`;
    const part = (name, v) => (v instanceof File ? `-F ${name}=@${shell(v.name)}` : Array.isArray(v) && v.every((x) => typeof x === "string")
        ? v.map((x) => field(name, x)).join(" \\\n    ") : field(name, typeof v === "string" ? v : JSON.stringify(v)));
    const words = (name, v) => (name === "words" ? field(name, JSON.stringify(v)) : part(name, v));
    const list = Array.isArray(inputs) ? inputs.map((f) => part("files", f)) : Object.entries(inputs).map(([k, v]) => words(k, v));
    const path = Array.isArray(inputs) ? "/predict/multipart" : "/predict";
    return [`curl ${url}${path}`, ...(hasKey() ? [`-H "Authorization: Bearer $${KEY}"`] : []), ...list,
        ...Object.entries(options).map(([k, v]) => part(k, v))].join(" \\\n    ");
}

function curl(c) {
    if (has(c.body)) return curlForm(c);
    return [`curl ${c.url}${c.path}`, ...(hasKey() ? [`-H "Authorization: Bearer $${KEY}"`] : []), "-H 'Content-Type: application/json'",
        `-d ${shell(JSON.stringify(c.body))}`].join(" \\\n    ");
}

const inPython = (c) => `import ${[...(has(c.body) ? ["base64"] : []), "json", ...(hasKey() ? ["os"] : []), "urllib.request"].join(", ")}
${has(c.body) ? `
def file(name):
    with open(name, "rb") as f:
        return base64.b64encode(f.read()).decode()
` : ""}
body = ${literal(c.body, python)}
headers = {"Content-Type": "application/json"${keyed(`, "Authorization": "Bearer " + os.environ["${KEY}"]`)}}
request = urllib.request.Request("${c.url}${c.path}", json.dumps(body).encode(), headers)
with urllib.request.urlopen(request) as reply:
    print(json.load(reply))
`;

const inScript = (c) => `${has(c.body) ? `import { readFile } from "node:fs/promises";

const file = async (name) => (await readFile(name)).toString("base64");
` : ""}const reply = await fetch("${c.url}${c.path}", {
    method: "POST",
    headers: { "Content-Type": "application/json"${keyed(`, Authorization: "Bearer " + process.env.${KEY}`)} },
    body: JSON.stringify(${literal(c.body, script, "    ")}),
});
console.log(JSON.stringify(await reply.json()));
`;

const inGo = (c) => `package main

import (
	"bytes"
${has(c.body) ? '	"encoding/base64"\n' : ""}	"encoding/json"
	"fmt"
	"io"
	"net/http"
${has(c.body) || hasKey() ? '	"os"\n' : ""})
${has(c.body) ? `
func file(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}
` : ""}
func main() {
	body, _ := json.Marshal(${literal(c.body, go, "\t")})
	request, _ := http.NewRequest("POST", "${c.url}${c.path}", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
${keyed(`	request.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY}"))\n`)}	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	fmt.Println(string(text))
}
`;

// Messages of docs/proto: items as objects, boxes with named sides; of the options those that the messages have.
const SIDES = ["left", "top", "right", "bottom"];
const KEPT = { question_answering: ["top_k", "handle_impossible_answer"], document_question_answering: ["top_k"], zero_shot_image_classification: ["candidate_labels"] };

function message({ body, task, hears }) {
    const { inputs, ...options } = body;
    const kept = Object.fromEntries((KEPT[task] || []).filter((k) => k in options).map((k) => [k, options[k]]));
    const one = (v) => {
        if (v instanceof File) return { [hears ? "audio" : "image"]: v };
        if (!v || typeof v !== "object" || !v.boxes) return v;
        return { ...v, boxes: v.boxes.map((b) => Object.fromEntries(SIDES.map((s, i) => [s, b[i]]))) };
    };
    const list = (Array.isArray(inputs) ? inputs : [inputs]).map(one);
    const pages = list.some((v) => v.words || v.image) && !list[0].question && !(Array.isArray(inputs));
    return { [pages ? "pages" : "inputs"]: list, ...kept };
}

function grpc(c) {
    if (c.path !== "/predict" || (Array.isArray(c.body.inputs) && c.body.inputs.some(Array.isArray)))
        return `# POST ${c.path} as it is here has no call of gRPC.\n# Those of this model: grpcurl -plaintext ${c.host} list`;
    const camel = c.task.split("_").map((w) => w[0].toUpperCase() + w.slice(1)).join("");
    const marks = [];
    const json = JSON.stringify(message(c), (_, v) => (v instanceof File ? `@@${marks.push(v.name) - 1}@@` : v));
    const data = shell(json).replace(/@@(\d+)@@/g, (_, i) => `'"$(base64 -w0 ${shell(marks[i])})"'`);
    const flags = [...(c.tls ? [] : ["-plaintext"]), ...(hasKey() ? [`-H "Authorization: Bearer $${KEY}"`] : [])].join(" ");
    if (!marks.length) return `grpcurl ${flags} -d ${data} \\\n    ${c.host} encoderfile.${c.task}.${camel}Inference/Predict`;
    return `printf %s ${data} |\n    grpcurl ${flags} -d @ ${c.host} encoderfile.${c.task}.${camel}Inference/Predict`;
}

export const languages = [["curl", curl], ["Python", inPython], ["JavaScript", inScript], ["Go", inGo], ["gRPC", grpc]];

export function source(language, request, files, model) {
    const call = { url: base.replace(/\/$/, ""), host: location.host, tls: location.protocol === "https:", path: request.path, body: withFiles(request.body, files), task: model.task, hears: model.hears };
    return languages.find(([name]) => name === language)[1](call);
}

let chosen = "curl";
export function codeView(request, files, model) {
    const area = el("pre", { tabindex: "0", class: "code", "aria-label": "Source text" });
    const button = el("button", { type: "button", on: { click: () => copy(area.textContent, button) } }, "Copy");
    const show = () => (area.textContent = source(chosen, request, files, model));
    const group = el("div", { class: "segmented", role: "radiogroup", "aria-label": "Language" }, languages.map(([name]) => el("label", null,
        el("input", { type: "radio", name: "language", value: name, checked: name === chosen, on: { change: () => {
            chosen = name;
            show();
        } } }), el("span", null, name))));
    show();
    const given = names(withFiles(request.body, files));
    return [el("div", { class: "row spread" }, group, button), area,
        given.length ? el("p", { class: "muted small" }, `It reads ${given.join(", ")} from the folder that it is run in.`) : null];
}
