// SPDX-License-Identifier: Apache-2.0
// tasks.mjs - each task's views against what the server answered: spans at their characters, boxes at their pixels, segments at
// their seconds; then every way to see the answer, in two widths, light and dark.
import { readFile } from "node:fs/promises";
import { check, serve, open, close, asked, answered, accessible, fits, root } from "./harness.mjs";

const G = "tests/golden/";
const text = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));
const near = (a, b, within) => Math.abs(a - b) <= within;
const boxes = (page, selector) => page.$$eval(selector, (all) => all.map((e) => {
    const r = e.getBoundingClientRect();
    return { x: r.x, y: r.y, width: r.width, height: r.height };
}));
const fill = (page, field, value) => asked(page, "/predict", async () => {
    await page.fill("#field-" + field, value);
    await page.click("#ask .primary");
});
const choose = (page, file, field = "pictures") => asked(page, "/predict", () => page.setInputFiles("#field-" + field, root + "/" + file));

// The bars say what the reply says: labels and percentages, in order.
async function sameBars(page, want, form = (x) => (x * 100).toFixed(x > 0.9995 || x < 0.0005 ? 0 : 1) + "%") {
    const labels = await text(page, "#face .bar-label"), scores = await text(page, "#face .bar-score");
    check("bars: labels", JSON.stringify(labels) === JSON.stringify(want.map((w) => w.label)), labels);
    check("bars: scores", JSON.stringify(scores) === JSON.stringify(want.map((w) => form(w.score))), scores);
    const wide = await boxes(page, "#face .bar-fill"), all = await boxes(page, "#face .bar-track");
    want.forEach((w, i) => w.score >= 0 && w.score <= 1 && form(0.5) === "50.0%" &&
        check("bars: width", near(wide[i].width, Math.max(1, all[i].width * w.score), 1.5), [wide[i].width, all[i].width, w.score]));
}

// ---- texts ----
const COMBINED = "Volvo 👩‍👩‍👧 from Pu\u0301ne 🇮🇳 to Goa, de\u0301ja\u0300 vu 𝔾oa"; // pairs of units, joiners, accents behind their letters
const RTL = "\u202eVolvo from Pune to Goa\u202c مرحبا שלום from Chennai to Goa";
const HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u0000 &amp; \"'`${alert(3)}` Pune to Goa ";

async function entities(page) {
    for (const given of [COMBINED, RTL, HOSTILE.replace("\0", ""), "Goa\n\n\tPune  to   Goa"]) {
        const { request, reply } = await fill(page, "text", given);
        const sent = request.inputs[0], list = reply.results[0].entities, points = [...sent];
        check("the text was sent as it is", sent === given.replaceAll("\r", ""), sent);
        check("something was found", list.length > 0, given);
        const shown = await text(page, "#face mark .span-text");
        const want = list.map((e) => points.slice(e.start, e.end).join(""));
        check("spans at their characters", JSON.stringify(shown) === JSON.stringify(want), [shown, want]);
        const whole = await page.$eval("#face .spans", (box) => {
            const copy = box.cloneNode(true);
            copy.querySelectorAll(".span-label").forEach((l) => l.remove());
            return copy.textContent;
        });
        check("the text is whole around them", whole === sent, whole);
        const titles = await page.$$eval("#face mark", (all) => all.map((m) => m.dataset.score));
        check("scores on hover", titles.every((t) => /^\d+(\.\d)?%$/.test(t)) && titles.length === list.length, titles);
        check("a row of the table for each", (await page.$$("#face tbody tr")).length === list.length);
        check("nothing became markup", (await page.$$("#face script, #face img, #face .spans *:not(mark, bdi, span)")).length === 0);
    }
    const long = (HOSTILE.replace("\0", "") + RTL).repeat(700).slice(0, 100000);
    await fill(page, "text", long);
    const whole = await page.$eval("#face .spans", (box) => box.textContent.length);
    check("100 KB as text", whole >= 100000, whole);
    for (const face of ["tokens", "json", "code", "result"]) {
        await page.click("#tab-" + face);
        await page.waitForFunction(() => document.querySelector("#face").childElementCount > 0);
    }
    await fill(page, "text", "AC sleeper bus from Bangalore to Mumbai tomorrow");
    for (const how of ["none", "max", "average", "first"]) {
        const { request } = await asked(page, "/predict", () => page.selectOption("#field-aggregation", how));
        check("aggregation", request.aggregation === how, request);
    }
}

async function pages(page, { reply }) {
    const list = reply.results[0].entities.filter((e) => e.box);
    const found = await page.$$eval("#face .frame-box", (all) => all.map((r) => ["x", "y", "width", "height"].map((a) => Number(r.getAttribute(a)))));
    const view = await page.$eval("#face svg.overlay", (s) => s.viewBox.baseVal.width + "x" + s.viewBox.baseVal.height);
    check("the page's size", view === "850x640", view);
    const want = list.map((e) => [e.box[0] * 0.85, e.box[1] * 0.64, (e.box[2] - e.box[0]) * 0.85, (e.box[3] - e.box[1]) * 0.64]);
    check("boxes of entities", want.length > 0 && want.every((w, i) => w.every((x, k) => near(x, found[i][k], 0.01))), [found, want]);
    check("a frame for each word", (await page.$$("#face .word")).length === 13);
}

async function pageAnswer(page, { request, reply }) {
    const best = reply.results[0].answers[0], words = request.inputs.boxes.slice(best.start, best.end + 1);
    const want = [Math.min(...words.map((b) => b[0])) * 0.85, Math.min(...words.map((b) => b[1])) * 0.64];
    const found = await page.$eval("#face .frame-box", (r) => [Number(r.getAttribute("x")), Number(r.getAttribute("y"))]);
    check("the answer's box", want.every((w, i) => near(w, found[i], 0.01)), [found, want]);
    check("the answer", (await text(page, "#face .big"))[0] === best.answer);
    await sameBars(page, reply.results[0].answers.map((a) => ({ label: a.answer, score: a.score })));
}

async function answer(page, { request, reply }) {
    const { context } = request.inputs, list = reply.results[0].answers;
    await sameBars(page, list.map((a) => ({ label: a.answer, score: a.score })));
    check("the best is marked", (await text(page, "#face mark .span-text"))[0] === [...context].slice(list[0].start, list[0].end).join(""));
    await page.click("#face .bars li:nth-child(3) button");
    check("another is marked", (await text(page, "#face mark .span-text"))[0] === [...context].slice(list[2].start, list[2].end).join(""));
    const { reply: again, request: sent } = await fill(page, "context", "👩‍👧 Ada Lovelace wás born in 🇬🇧 Londo\u0301n <b>.");
    const a = again.results[0].answers ? again.results[0].answers[0] : again.results[0];
    check("marked at its characters", (await text(page, "#face mark .span-text"))[0] === [...sent.inputs.context].slice(a.start, a.end).join(""), a);
}

async function masks(page, { request, reply }) {
    const words = reply.results[0].masks[0].words;
    await sameBars(page, words.map((w) => ({ label: w.token_str, score: w.score })));
    const next = await asked(page, "/predict", () => page.click("#face .bars li:nth-child(2) button"));
    check("a word takes the mask's place", next.status !== 200 || !next.request.inputs[0].includes("[MASK]"), next.request.inputs);
    check("it is that word", next.request.inputs[0] === request.inputs[0].replace("[MASK]", words[1].token_str.trim()), next.request.inputs);
    await fill(page, "text", request.inputs[0]);
}

// ---- vectors ----
const dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0);
async function compare(page, vectors) {
    const cells = await text(page, "#face td.heat"), n = vectors.length;
    const want = vectors.flatMap((a) => vectors.map((b) => (dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))).toFixed(2)));
    check("cosines", cells.length === n * n && want.every((w, i) => near(w, cells[i], 0.0101)), [cells.slice(0, 9), want.slice(0, 9)]);
    const points = await boxes(page, "#face .map-point circle"), paper = (await boxes(page, "#face .map-paper"))[0];
    check("a point for each", points.length === n);
    check("inside the map", points.every((p) => p.x >= paper.x && p.x + p.width <= paper.x + paper.width && p.y >= paper.y && p.y + p.height <= paper.y + paper.height), points);
    const apart = (i, j) => Math.hypot(points[i].x - points[j].x, points[i].y - points[j].y);
    const far = (i, j) => Math.hypot(...vectors[i].map((x, k) => x - vectors[j][k]));
    let best = 0, shown = [0, 1];
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) if (far(i, j) > best) (best = far(i, j)), (shown = [i, j]);
    check("those that differ most are apart", n < 3 || apart(...shown) > 0.25 * paper.width, apart(...shown));
}

// ---- pictures ----
async function objects(page) {
    await page.fill("#field-threshold", "0");
    const { request, reply } = await choose(page, G + "images/base420_37x29.jpg");
    const list = reply.results[0].objects;
    check("least score 0: objects", list.length > 1, request.threshold);
    const found = await boxes(page, "#face .frame-box"), image = (await boxes(page, "#face .picture img"))[0];
    const scale = image.width / 37;
    check("the picture's shape", near(image.height, 29 * scale, 1), image);
    list.forEach((o, i) => {
        const want = [image.x + o.box.xmin * scale, image.y + o.box.ymin * scale, (o.box.xmax - o.box.xmin) * scale, (o.box.ymax - o.box.ymin) * scale];
        const is = [found[i].x, found[i].y, found[i].width, found[i].height];
        check("a box at its pixels", want.every((w, k) => near(w, is[k], 3.5)), [is, want]);
    });
    await sameBars(page, list.map((o) => ({ label: o.label, score: o.score })));
    await page.click("#face .bars li:first-child button");
    check("a press lights its box", (await page.$$("#face .frame.lit")).length === 1);
}

async function segments(page, { reply }) {
    const list = reply.results[0].segments;
    await page.waitForSelector("#face canvas[data-drawn]");
    const drawn = await page.$eval("#face canvas", (c, png) => new Promise((done) => {
        const mask = new Image();
        mask.onload = () => {
            const other = document.createElement("canvas");
            other.width = c.width, other.height = c.height;
            const t = other.getContext("2d");
            t.drawImage(mask, 0, 0);
            const a = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, b = t.getImageData(0, 0, c.width, c.height).data;
            let same = 0;
            for (let i = 0; i < a.length; i += 4) same += a[i + 3] > 0 === b[i] > 127;
            done(same / (a.length / 4));
        };
        mask.src = "data:image/png;base64," + png;
    }), list[0].mask).catch((e) => e.message);
    const shares = await text(page, "#face .bar-score");
    check("a share of the picture for each", shares.length === list.length && shares.every((x) => /%$/.test(x)), shares);
    if (list.length === 1) check("the mask's pixels", drawn > 0.999, drawn);
    await page.click("#face .bars li:first-child button");
    const alone = await page.$eval("#face canvas", (c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((x) => x > 0));
    check("one mask alone", alone);
}

// ---- sounds ----
async function speech(page) {
    const { reply } = await choose(page, G + "speech_activity/sound.wav", "sounds");
    const list = reply.results[0].segments;
    const wav = await readFile(root + "/" + G + "speech_activity/sound.wav");
    const seconds = (wav.length - 44) / (wav.readUInt32LE(24) * (wav.readUInt16LE(34) / 8));
    check("there is speech", list.length > 0);
    await atSeconds(page, list.map((s) => [s.start, s.end]), seconds);
}

async function atSeconds(page, list, seconds) {
    const paper = (await boxes(page, "#face .wave-paper"))[0], found = await boxes(page, "#face .wave-segment");
    check("a segment for each", found.length === list.length, [found.length, list.length]);
    list.forEach(([from, to], i) => {
        const is = [((found[i].x - paper.x) / paper.width) * seconds, ((found[i].x + found[i].width - paper.x) / paper.width) * seconds];
        check("at its seconds", near(is[0], from, 0.02) && near(is[1], to, 0.02 + seconds / 1000), [is, [from, to]]);
    });
    check("the wave is drawn", (await page.$eval("#face .wave-line", (p) => p.getAttribute("d").length)) > 1000);
}

async function transcript(page) {
    const { reply } = await choose(page, G + "sounds/speech.flac", "sounds");
    const r = reply.results[0], chunks = r.chunks || [];
    check("the text", (await text(page, "#face .big"))[0] === (r.text || "(nothing)"));
    const seconds = await page.$eval("#face .wave", (s) => Number(s.dataset.seconds));
    if (chunks.length) await atSeconds(page, chunks.map((c) => c.timestamp), seconds);
}

const labelsOf = async (page, { reply }) => sameBars(page, reply.results[0].labels);
const scored = async (page, { reply }) => sameBars(page, reply.results[0].top.map((t) => ({ label: t.label || `LABEL_${t.index}`, score: t.score })));

// ---- the rows: [name, model, flags, judge(page, what the first example asked and got)] ----
const rows = [
    ["token_classification", "examples/bus-ner", [], entities],
    ["sequence_classification", G + "pipelines/labels", [], scored],
    ["sequence_classification: several labels", G + "pipelines/several", [], scored],
    ["fill_mask", G + "pipelines/masks", [], masks],
    ["sparse_embedding", G + "pipelines/masks", ["--task", "sparse-embedding"], async (page, { reply }) => {
        await page.waitForSelector("#face .bar-row");
        const best = [...reply.results[0].values].sort((a, b) => b - a).slice(0, 60);
        check("weights", JSON.stringify(await text(page, "#face .bar-score")) === JSON.stringify(best.map((w) => w.toFixed(2))));
    }],
    ["question_answering", G + "question_answering/bert", [], answer],
    ["multiple_choice", G + "multiple_choice/bert", [], async (page, { request, reply }) => {
        const r = reply.results[0], all = r.scores.map((score, i) => ({ label: request.inputs.choices[i], score })).sort((a, b) => b.score - a.score);
        await sameBars(page, all);
    }],
    ["image_classification", "examples/road-signs", [], async (page, first) => {
        await labelsOf(page, first);
        await labelsOf(page, await choose(page, "examples/road-signs/pictures/parking.png"));
        check("the file's name", (await text(page, "#face figcaption"))[0].includes("parking.png"));
    }],
    ["zero_shot_image_classification", G + "pairs/clip", [], labelsOf],
    ["object_detection", G + "pictures/yolos", [], objects],
    ["image_segmentation", G + "pictures/segformer", [], segments],
    ["image_embedding", G + "pictures/vit_vectors", [], async (page, { reply }) => compare(page, reply.results.map((r) => r.embedding))],
    ["audio_classification", G + "speech/wav2vec2", [], labelsOf],
    ["automatic_speech_recognition", G + "speech/ctc", [], transcript],
    ["audio_embedding", G + "speech/vectors", [], async (page, { reply }) => compare(page, reply.results.map((r) => r.embedding))],
    ["voice_activity_detection", G + "speech_activity", ["--task", "voice-activity-detection"], speech],
    ["document_question_answering", G + "documents/layoutlm_qa", [], pageAnswer],
    ["document_question_answering: sees the page", G + "documents/layoutlmv3_qa", [], pageAnswer],
    ["token_classification of pages", G + "documents/layoutlmv3_tags", [], pages],
    ["sequence_classification of pages", G + "documents/layoutlmv3_class", [], async (page, first) => {
        await scored(page, first);
        check("the page is there", (await page.$$("#face .word")).length === 13);
    }],
    ["token_classification of words with boxes", G + "boxes/lilt", [], pages],
];
// Those whose first request is not /predict: [name, model, flags, path, judge]
const others = [
    ["embedding", G + "pipelines/vectors", [], "/embed", async (page, { reply }) => compare(page, reply)],
    ["rerank", G + "pipelines/one", [], "/rerank", async (page, { request, reply }) => {
        const shown = await text(page, "#face .rank-text");
        check("in the reply's order", JSON.stringify(shown) === JSON.stringify(reply.map((r) => request.texts[r.index])), shown);
        check("scores", JSON.stringify(await text(page, "#face .bar-score")) === JSON.stringify(reply.map((r) => r.score.toFixed(3))));
    }],
    ["sentence_embedding", G + "sentence/mean", [], "/embed", async (page, { reply }) => {
        await compare(page, reply);
        const many = await asked(page, "/embed", async () => {
            await page.fill("#field-texts", Array.from({ length: 300 }, (_, i) => `Text ${i} <b>`).join("\n"));
            await page.click("#ask .primary");
        });
        check("many texts: the first of them", many.reply.length === 300 && (await page.$$("#face td.heat")).length === 3600);
    }],
];

async function everyFace(page, name, how) {
    for (const face of await page.$$eval("#faces [role=tab]", (all) => all.map((t) => t.id))) {
        await page.click("#" + face);
        await page.waitForFunction(() => document.querySelector("#face").childElementCount > 0);
        await page.waitForTimeout(120);
        check(`${face}: no error`, (await page.$$("#face .error")).length === 0, await text(page, "#face .error"));
        await fits(page, `${face} ${how}`);
        await accessible(page, `${face} ${how}`);
    }
    await page.click("#tab-result");
    await page.screenshot({ path: `${root}/build/page/shots/${name.replace(/[^a-z_]+/g, "-")}-${how}.png`, fullPage: true });
}

const task = (name, model, flags, path, judge) => [name, async () => {
    const server = await serve(model, ...flags);
    try {
        const page = await open(server.url + "/nothing-here", { quiet: ["404", "willReadFrequently"] }); // the page itself is opened when somebody listens
        const first = await asked(page, path, () => page.goto(server.url + "/"));
        check("the first example", first.status === 200, first.reply);
        check("the status line", (await text(page, "#status"))[0].length > 0);
        check("the time in parts", (await text(page, "#parts dt")).join(" ") === "receive prepare queue compute reply network in all", await text(page, "#parts dt"));
        await judge(page, first);
        await everyFace(page, name, "1440");
        await close(page);
        const phone = await open(server.url + "/", { width: 390, height: 844, dark: true });
        await answered(phone);
        await everyFace(phone, name, "390");
        await close(phone);
    } finally {
        await server.stop();
    }
}];

// The second way of a task, chosen by its word.
const second = (name, model, flags, word, path, judge) => [name, async () => {
    const server = await serve(model, ...flags);
    try {
        const page = await open(server.url + "/");
        await answered(page);
        const got = await asked(page, path, () => page.click(`#modes label:has-text("${word}")`));
        check("answered", got.status === 200, got.reply);
        await judge(page, got);
        await everyFace(page, name, "1440");
        await close(page);
    } finally {
        await server.stop();
    }
}];

export const tasks = [
    ...rows.map(([name, model, flags, judge]) => task(name, model, flags, "/predict", judge)),
    ...others.map((row) => task(...row)),
    second("sequence_classification: one label", G + "pipelines/one", [], "Classify", "/predict", scored),
    second("word weights", G + "pipelines/masks", [], "Word weights", "/embed_sparse", async (page, { reply }) => {
        await page.waitForSelector("#face .bar-row");
        const best = [...reply[0]].sort((a, b) => b.value - a.value).slice(0, 60);
        check("weights", JSON.stringify(await text(page, "#face .bar-score")) === JSON.stringify(best.map((w) => w.value.toFixed(2))));
        check("words", (await text(page, "#face .bar-label")).every((w) => w.trim()));
    }),
];
