// SPDX-License-Identifier: Apache-2.0
// tasks.js - what can be done with a model: a row for each way of asking a task. A row has
//   fields, options   what is filled in (inputs.js has the kinds)
//   request(s)        of the filled-in values: { path, body }
//   show(reply, s)    elements; s.put changes a field
//   told(reply)       a few words for the status line
//   texts(s)          those whose tokens can be looked at
//   examples(model)   [{ name, values }]; values may be a promise
// To add a way: a row. The first of a task's rows that the model can do is shown first.
import { el, count, percent } from "./dom.js";
import { bars, entities, answers, masks, ranks } from "./text.js";
import { compare } from "./vectors.js";
import { objects, segments, gallery, paper, pageAnswers, drawn, drawnPage } from "./picture.js";
import { wave, synthetic } from "./sound.js";

const short = (t) => ([...t].length > 44 ? [...t].slice(0, 43).join("") + "…" : t);
const lines = (t) => t.split("\n").map((x) => x.trim()).filter(Boolean);
const given = (model) => (Array.isArray(model.example) ? model.example.filter((t) => typeof t === "string") : []);
const each = (model, f) => given(model).map((t) => ({ name: short(t), values: f(t) }));
const pictureExamples = (many) => () => (many ? [{ name: "Three drawn signs", values: Promise.all(drawn.map(([, f]) => f())).then((p) => ({ pictures: p })) }]
    : drawn.map(([name, f]) => ({ name, values: () => f().then((p) => ({ pictures: [p] })) })));
const soundExamples = (many) => () => (many ? [{ name: "A tone and a sweep", values: () => Promise.all(synthetic.map(([, f]) => f())).then((s) => ({ sounds: s })) }]
    : synthetic.map(([name, f]) => ({ name, values: () => f().then((s) => ({ sounds: [s] })) })));
const cut = (r) => r.truncated && el("p", { class: "note small" }, "The text was longer than the model reads: its end was cut. The tokens show where.");
const first = (reply) => reply.json.results[0];
const data = (list) => list.map((x) => x.data);

const text = { name: "text", kind: "text", label: "Text" };
const picture = { name: "pictures", kind: "pictures", label: "Picture" };
const sound = { name: "sounds", kind: "sounds", label: "Sound" };
const topK = (value, label = "How many") => ({ name: "top_k", kind: "number", label, value, min: 1, max: 1000 });

const labels = {
    show: (reply, s) => [s.pictures ? gallery(s.pictures) : wave(s.sounds[0], []), bars(first(reply).labels)],
    told: (reply) => (first(reply).labels[0] ? `${first(reply).labels[0].label}, ${percent(first(reply).labels[0].score)}` : "no label"),
};

// ---- texts ----
const tag = {
    name: "Entities", about: "Finds and names parts of a text.", fields: [text],
    options: [{ name: "aggregation", kind: "select", label: "Group tokens", values: ["simple", "first", "average", "max", "none"], value: "simple" },
        { name: "windows", kind: "check", label: "Read long texts in windows", value: true }],
    request: (s) => ({ path: "/predict", body: { inputs: [s.text], aggregation: s.aggregation, offsets: "chars", ...(s.windows ? { stride: 16 } : {}) } }),
    show: (reply, s) => [entities(s.text, first(reply).entities || []), cut(first(reply))],
    told: (reply) => count((first(reply).entities || []).length, "entity", "entities"),
    texts: (s) => [s.text], examples: (m) => each(m, (t) => ({ text: t })),
};

const classify = {
    name: "Classify", about: "Says which label fits a text.", fields: [text, { name: "second", kind: "line", label: "Second text, for models of pairs" }],
    request: (s) => ({ path: "/predict", body: { inputs: [s.second ? [s.text, s.second] : s.text], top_k: 50 } }),
    show: (reply) => {
        const r = first(reply), top = r.top || [];
        const whole = top.every((t) => t.score >= 0 && t.score <= 1);
        return [bars(top.map((t) => ({ label: t.label || `LABEL_${t.index}`, score: t.score })), whole ? {} : { form: (x) => x.toFixed(3) }), cut(r)];
    },
    told: (reply) => {
        const r = first(reply), best = Math.max(...r.scores);
        return r.predicted_label ? `${r.predicted_label}, ${percent(best)}` : best.toFixed(3);
    },
    texts: (s) => [s.text, ...(s.second ? [s.second] : [])], examples: (m) => each(m, (t) => ({ text: t, second: "" })),
};

const rerank = {
    name: "Rerank", about: "Sorts texts by how well they fit a query.", needs: "/rerank",
    fields: [{ name: "query", kind: "line", label: "Query" }, { name: "documents", kind: "lines", label: "Texts, one a line", rows: 7 }],
    request: (s) => ({ path: "/rerank", body: { query: s.query, texts: lines(s.documents) } }),
    show: (reply, s) => ranks(s.query, lines(s.documents), reply.json),
    told: (reply) => count(reply.json.length, "text") + " in order",
    texts: (s) => [s.query, ...lines(s.documents)],
    examples: () => [{ name: "Where does the bus go?", values: { query: "Where does the bus go?",
        documents: "The bus to Mumbai leaves at six.\nInterest rates were raised again.\nTake line 4, it goes to the harbour.\nBake it for forty minutes." } }],
};

const fill = {
    name: "Fill masks", about: "Suggests words for the masks of a text.", fields: [text], options: [topK(10)],
    request: (s) => ({ path: "/predict", body: { inputs: [s.text], top_k: s.top_k } }),
    show: (reply, s) => [first(reply).masks.length ? null : el("p", { class: "muted" }, `There is no mask in the text. Write ${s.mask || "one"} where a word is to be found.`),
        masks(first(reply).masks, (i, word) => {
        let at = -1;
        s.put("text", s.text.replaceAll(s.mask || "[MASK]", (m) => (++at === i ? word.trim() : m)));
    }), cut(first(reply))],
    told: (reply) => count(first(reply).masks.length, "mask"),
    texts: (s) => [s.text], examples: (m) => each(m, (t) => ({ text: t })),
};

const sparse = (path) => ({
    name: "Word weights", about: "Which words of the vocabulary stand for a text, and how much.", needs: path, fields: [text],
    request: (s) => ({ path, body: { inputs: [s.text] } }),
    after: async (reply, s, call) => {
        const r = path === "/predict" ? first(reply) : { indices: reply.json[0].map((x) => x.index), values: reply.json[0].map((x) => x.value) };
        const best = r.indices.map((id, i) => ({ id, score: r.values[i] })).sort((a, b) => b.score - a.score).slice(0, 60);
        const words = best.length ? (await call("/decode", { ids: best.map((w) => [w.id]), skip_special_tokens: false })).json : [];
        reply.words = best.map((w, i) => ({ label: words[i], score: w.score, note: undefined }));
        reply.found = r.indices.length;
    },
    show: (reply) => [el("p", { class: "muted small" }, `${count(reply.found, "word")} with a weight; the heaviest:`), bars(reply.words, { form: (x) => x.toFixed(2) })],
    told: (reply) => count(reply.found, "word"),
    texts: (s) => [s.text], examples: (m) => each(m, (t) => ({ text: t })),
});

const near = {
    name: "Compare", about: "Turns texts into vectors, and says how near they are.", needs: "/embed",
    fields: [{ name: "texts", kind: "lines", label: "Texts, one a line", rows: 8 }],
    request: (s) => ({ path: "/embed", body: { inputs: lines(s.texts) } }),
    show: (reply, s) => compare(lines(s.texts), reply.json),
    told: (reply) => `${count(reply.json.length, "vector")} of ${reply.json[0].length} numbers`,
    texts: (s) => lines(s.texts),
    examples: (m) => [{ name: "Meals and rates", values: { texts: given(m).concat(["The cat sat on the mat.", "Rates go up at the central bank.", "A kitten rests on a rug."]).join("\n") } }],
};

const answer = {
    name: "Answer", about: "Finds the answer to a question in a text.",
    fields: [{ name: "question", kind: "line", label: "Question" }, { name: "context", kind: "text", label: "Text", rows: 8 }],
    options: [topK(5, "How many answers"), { name: "impossible", kind: "check", label: "There may be none", value: false }],
    request: (s) => ({ path: "/predict", body: { inputs: { question: s.question, context: s.context }, top_k: s.top_k, offsets: "chars",
        ...(s.impossible ? { handle_impossible_answer: true } : {}) } }),
    show: (reply, s) => answers(s.context, first(reply).answers || [first(reply)]),
    told: (reply) => first(reply).answer || "no answer",
    texts: (s) => [s.question, s.context], examples: (m) => (m.example && m.example.question ? [{ name: short(m.example.question), values: m.example }] : []),
};

const choose = {
    name: "Choose", about: "Says which of some choices goes best with a prompt.",
    fields: [{ name: "prompt", kind: "line", label: "Prompt" }, { name: "choices", kind: "lines", label: "Choices, one a line" }],
    request: (s) => ({ path: "/predict", body: { inputs: { prompt: s.prompt, choices: lines(s.choices) } } }),
    show: (reply, s) => {
        const r = first(reply), all = lines(s.choices);
        return [bars(r.scores.map((score, i) => ({ label: all[i], score })).sort((a, b) => b.score - a.score)), cut(r)];
    },
    told: (reply) => first(reply).predicted_choice,
    texts: (s) => [s.prompt, ...lines(s.choices)],
    examples: (m) => (m.example && m.example.prompt ? [{ name: short(m.example.prompt), values: { prompt: m.example.prompt, choices: m.example.choices.join("\n") } }] : []),
};

// ---- pictures ----
const seeLabels = { ...labels, name: "Classify", about: "Says what a picture shows.", fields: [picture], options: [topK(5, "How many labels")],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.pictures), top_k: s.top_k } }), examples: pictureExamples(false) };

const match = { ...labels, name: "Classify", about: "Says which of your own labels fits a picture.",
    fields: [picture, { name: "labels", kind: "lines", label: "Labels, one a line", rows: 4 }],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.pictures), candidate_labels: lines(s.labels) } }),
    examples: () => drawn.map(([name, f]) => ({ name, values: () => f().then((p) => ({ pictures: [p], labels: "a stop sign\na warning sign\na parking sign\na cat" })) })) };

const detect = { name: "Objects", about: "Finds objects in a picture.", fields: [picture],
    options: [{ name: "threshold", kind: "number", label: "Least score", value: 0.5, min: 0, max: 1, step: 0.05 }],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.pictures), threshold: s.threshold } }),
    show: (reply, s) => objects(s.pictures[0], first(reply).objects), told: (reply) => count(first(reply).objects.length, "object"), examples: pictureExamples(false) };

const segment = { name: "Segments", about: "Says which pixels of a picture show what.", fields: [picture],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.pictures) } }),
    show: (reply, s) => segments(s.pictures[0], first(reply).segments), told: (reply) => count(first(reply).segments.length, "segment"), examples: pictureExamples(false) };

const nearPictures = { name: "Compare", about: "Turns pictures into vectors, and says how near they are.", fields: [{ ...picture, label: "Pictures", many: true }],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.pictures) } }),
    show: (reply, s) => [gallery(s.pictures), compare(s.pictures.map((p) => p.name), reply.json.results.map((r) => r.embedding))],
    told: (reply) => count(reply.json.results.length, "vector"), examples: pictureExamples(true) };

// ---- sounds ----
const hearLabels = { ...labels, name: "Classify", about: "Says what a sound is.", fields: [sound], options: [topK(5, "How many labels")],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.sounds), top_k: s.top_k } }), examples: soundExamples(false) };

const transcribe = { name: "Transcribe", about: "Writes down what is said.", fields: [sound],
    options: [{ name: "times", kind: "select", label: "Times of", values: ["word", "char", "none"], value: "word" }],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.sounds), ...(s.times === "none" ? {} : { return_timestamps: s.times }) } }),
    show: (reply, s) => [el("p", { class: "big", dir: "auto" }, first(reply).text || "(nothing)"),
        wave(s.sounds[0], (first(reply).chunks || []).map((c) => ({ start: c.timestamp[0], end: c.timestamp[1], label: c.text })))],
    told: (reply) => short(first(reply).text || "nothing was said"), examples: soundExamples(false) };

const speech = { name: "Speech", about: "Says where in a sound somebody speaks.", fields: [sound],
    options: [{ name: "threshold", kind: "number", label: "Least probability", value: 0.5, min: 0, max: 1, step: 0.05 }],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.sounds), threshold: s.threshold } }),
    show: (reply, s) => [wave(s.sounds[0], first(reply).segments), first(reply).segments.length ? null : el("p", { class: "muted" }, "Nobody speaks.")],
    told: (reply) => count(first(reply).segments.length, "segment"), examples: soundExamples(false) };

const nearSounds = { name: "Compare", about: "Turns sounds into vectors, and says how near they are.", fields: [{ ...sound, label: "Sounds", many: true }],
    request: (s) => ({ path: "/predict", body: { inputs: data(s.sounds) } }),
    show: (reply, s) => compare(s.sounds.map((p) => p.name), reply.json.results.map((r) => r.embedding)),
    told: (reply) => count(reply.json.results.length, "vector"), examples: soundExamples(true) };

// ---- pages of documents: the same tasks, whose items are words with boxes ----
const sheet = { name: "page", kind: "page", label: "Page" };
const item = (page) => ({ ...(page.picture ? { image: page.picture.data } : {}),
    ...(page.words.length ? { words: page.words.map((w) => w.word), boxes: page.words.map((w) => w.box || [0, 0, 0, 0]) } : {}) });
const invoice = (more) => () => [{ name: "An invoice", values: () => drawnPage().then((page) => ({ page, ...more })) }];
const joined = (s) => [s.page.words.map((w) => w.word).join(" ")];

const askPage = { name: "Answer", about: "Finds the answer to a question on a page.",
    fields: [{ name: "question", kind: "line", label: "Question" }, sheet], options: [topK(3, "How many answers")],
    request: (s) => ({ path: "/predict", body: { inputs: { question: s.question, ...item(s.page) }, top_k: s.top_k } }),
    show: (reply, s) => pageAnswers(s.page, first(reply).answers), told: (reply) => (first(reply).answers[0] || { answer: "no answer" }).answer,
    texts: joined, examples: invoice({ question: "What is the total?" }) };

const tagPage = { ...tag, about: "Names the words of a page.", fields: [sheet], options: [tag.options[0]],
    request: (s) => ({ path: "/predict", body: { inputs: item(s.page), aggregation: s.aggregation, offsets: "chars" } }),
    show: (reply, s) => [paper(s.page, (first(reply).entities || []).map((e) => ({ box: e.box, label: e.entity_group || e.entity, score: e.score }))).node,
        entities(joined(s)[0], first(reply).entities || []), cut(first(reply))],
    texts: joined, examples: invoice({}) };

const classifyPage = { ...classify, about: "Says what a page is.", fields: [sheet],
    request: (s) => ({ path: "/predict", body: { inputs: item(s.page), top_k: 50 } }),
    show: (reply, s) => [paper(s.page, []).node, classify.show(reply)], texts: joined, examples: invoice({}) };

const nearPage = { name: "Vector", about: "Turns a page into vectors.", fields: [sheet], request: (s) => ({ path: "/predict", body: { inputs: item(s.page) } }),
    show: (reply, s) => [paper(s.page, []).node, el("p", null, "The vectors are in the JSON.")], told: () => "done", texts: joined, examples: invoice({}) };

const fillPage = { ...fill, fields: [sheet], request: (s) => ({ path: "/predict", body: { inputs: item(s.page), top_k: s.top_k } }), texts: joined, examples: invoice({}) };

export const tasks = {
    token_classification: [tag], sequence_classification: [rerank, classify], fill_mask: [fill, sparse("/embed_sparse")], sparse_embedding: [sparse("/predict")],
    sentence_embedding: [near], embedding: [near], question_answering: [answer], multiple_choice: [choose],
    image_classification: [seeLabels], zero_shot_image_classification: [match], object_detection: [detect], image_segmentation: [segment], image_embedding: [nearPictures],
    audio_classification: [hearLabels], automatic_speech_recognition: [transcribe], voice_activity_detection: [speech], audio_embedding: [nearSounds],
    document_question_answering: [askPage],
};
const pages = { token_classification: [tagPage], sequence_classification: [classifyPage], fill_mask: [fillPage], sentence_embedding: [nearPage], embedding: [nearPage] };

// A task that nobody drew a view for is asked by JSON.
const plain = { name: "Ask", about: "A request as JSON.", fields: [{ name: "body", kind: "text", label: "Body of POST /predict", rows: 10 }],
    request: (s) => ({ path: "/predict", body: JSON.parse(s.body) }), show: () => [], told: () => "done", examples: () => [{ name: "A body", values: { body: '{"inputs": []}' } }] };

// The ways of a model: { task, paths (of its OpenAPI), boxed (its items are pages) }
export function waysOf(model) {
    const rows = (model.boxed && pages[model.task]) || tasks[model.task] || [plain];
    const fit = rows.filter((r) => !r.needs || model.paths.includes(r.needs));
    return fit.length ? fit : [plain];
}
