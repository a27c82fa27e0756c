// SPDX-License-Identifier: Apache-2.0
// explore.mjs - the explorer: the file of `explore --html` opened from disk, the tab of a server's page, two models, names
// that would like to be markup.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { tmpdir } from "node:os";
import { check, serve, open, close, accessible, fits, root, program } from "./harness.mjs";

const NER = "examples/bus-ner", DYNAMO = "tests/golden/explore/model.onnx";
const dir = mkdtempSync(tmpdir() + "/explore-");
const ef = (...args) => execFileSync(program, args, { cwd: root, stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });
let exported = false;
function models() {
    if (!exported) ef("export", NER, dir + "/bus", "--quantize");
    exported = true;
    return [dir + "/bus/model.onnx", dir + "/bus/model_quantized.onnx"];
}

async function fromDisk(args, options) {
    const file = `${dir}/${Math.random().toString(36).slice(2)}.html`;
    ef("explore", ...args, "--html", file);
    const page = await open("file://" + file, options);
    page.wrong = page.wrong.filter((w) => w !== "asked file://" + file); // the page itself
    await page.waitForSelector(".x-body .x-row");
    return page;
}

const rows = (page) => page.$$eval(".x-body .x-row:not([hidden])", (all) => all.map((r) => ({ r, at: Number(r.getAttribute("aria-rowindex")) }))
    .sort((a, b) => a.at - b.at).map(({ r }) => ({ name: r.querySelector(".x-label").textContent, level: Number(r.getAttribute("aria-level")),
        open: r.getAttribute("aria-expanded"), cells: [...r.querySelectorAll(".x-c")].map((c) => c.textContent), hit: r.classList.contains("x-hit") })));
const count = (page) => page.$eval(".x-grid", (g) => Number(g.getAttribute("aria-rowcount")) - 1);
const active = (page) => page.$eval(".x-grid", (g) => {
    const row = document.getElementById(g.getAttribute("aria-activedescendant"));
    return row ? row.querySelector(".x-label").textContent : null;
});
const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const press = async (page, ...keys) => {
    for (const k of keys) await page.keyboard.press(k);
    await frame(page);
};
const totalNodes = 115, totalModules = 25;

async function folds(page) {
    await page.click("text=Unfold all");
    await frame(page);
    check("unfolded: every module and node", (await count(page)) === totalNodes + totalModules, await count(page));
    await page.click("button:text-is('Fold all')");
    await frame(page);
    check("folded: the root and its children", (await count(page)) === 4, await count(page));
    const first = (await rows(page))[1];
    check("a module is folded", first.open === "false" && first.level === 2, first);
    await page.click(".x-body .x-row[aria-rowindex='3'] .x-twist");
    await frame(page);
    check("a click on its mark unfolds it", (await rows(page))[1].open === "true" && (await count(page)) > 4, await rows(page));
}

async function searches(page) {
    await page.fill(".x-search", "layer.1.attention.output");
    await frame(page);
    const found = await rows(page);
    check("search finds a module by its attribute path", found.some((r) => r.name === "BertSelfOutput" && r.hit), found);
    check("search shows what it lies in", found[0].name === "BertForTokenClassification", found[0]);
    await page.fill(".x-search", "matmul");
    await frame(page);
    check("search finds nodes inside folded modules", (await rows(page)).some((r) => r.name.startsWith("MatMul") && r.hit));
    await page.keyboard.press("Enter");
    await frame(page);
    check("Enter goes to the first", (await active(page)).startsWith("MatMul"), await active(page));
    await page.fill(".x-search", "nothing like it");
    await frame(page);
    check("nothing found", (await count(page)) === 0 && (await page.textContent(".x-count")).startsWith("0 of"), await page.textContent(".x-count"));
    await page.focus(".x-search");
    await press(page, "Escape");
    check("Escape ends a search", (await page.inputValue(".x-search")) === "" && (await count(page)) > 0);
    check("what was found stays in sight", (await active(page)).startsWith("MatMul"), await active(page));
    await page.selectOption("select[aria-label=Operator]", "LayerNormalization");
    await frame(page);
    check("filter by operator", (await rows(page)).filter((r) => r.hit).every((r) => r.cells[1] === "LayerNormalization") &&
        (await page.textContent(".x-count")).startsWith("7 of"), await page.textContent(".x-count"));
    await page.selectOption("select[aria-label=Operator]", "");
}

async function keyboard(page) {
    await page.click("button:text-is('Fold all')");
    await page.focus(".x-grid");
    await press(page, "Home");
    check("Home", (await active(page)) === "BertForTokenClassification", await active(page));
    await press(page, "ArrowDown", "ArrowRight", "ArrowRight");
    check("Right unfolds, then goes in", (await active(page)) === "BertEmbeddings", await active(page));
    await press(page, "ArrowLeft");
    check("Left goes to the parent", (await active(page)) === "BertModel", await active(page));
    await press(page, "ArrowLeft");
    check("Left folds", (await count(page)) === 4, await count(page));
    await press(page, "End");
    check("End", (await active(page)) === (await rows(page)).pop().name, await active(page));
    await press(page, "/");
    check("/ goes to the search", await page.evaluate(() => document.activeElement.matches(".x-search")));
    await page.click("text=Unfold all");
    await page.focus(".x-grid");
    await press(page, "PageDown", "PageDown", "PageDown");
    check("pages scroll", (await page.$eval(".x-grid", (g) => g.scrollTop)) > 500 && (await active(page)) !== null);
    check("only what is seen is in the page", (await page.$$(".x-body .x-row")).length < 80, (await page.$$(".x-body .x-row")).length);
}

async function details(page) {
    await page.fill(".x-search", "layer.0/attention/self/matmul_1");
    await page.focus(".x-search");
    await press(page, "Enter");
    const text = await page.textContent(".x-detail");
    check("details of a node", /Attention/.test(text) && /Kernel/.test(text) && /float\[batch, /.test(text) && /Softmax|from/.test(text), text);
    const link = page.locator(".x-detail .x-link").first(), name = await link.textContent();
    await link.click();
    await frame(page);
    check("a link goes to the node that it names", (await page.textContent(".x-detail h3")) === name, name);
    await page.fill(".x-search", "");
}

async function flames(page) {
    await page.selectOption("select[aria-label=Measure]", "parameters");
    await frame(page);
    const boxes = await page.$$eval(".x-flame .x-box", (all) => all.map((b) => ({ text: b.title, width: parseFloat(b.style.width) })));
    check("flame graph by parameters", boxes[0].width === 100 && boxes[0].text.includes("430 K"), boxes[0]);
    const embeddings = boxes.find((b) => b.text.startsWith("BertEmbeddings"));
    check("a box is as wide as its part", Math.abs(embeddings.width - (100 * 166272) / 429523) < 0.1, embeddings);
    await page.click(".x-flame .x-box[title^='BertEncoder:']");
    await frame(page);
    check("a click zooms and selects", (await page.textContent(".x-detail h3")) === "BertEncoder" &&
        (await page.$eval(".x-flame .x-box", (b) => b.title)).startsWith("BertEncoder"));
    await page.click("text=whole model");
    await page.selectOption("select[aria-label=Measure]", "us");
    check("times are measured", (await page.$$(".x-flame .x-box")).length > 10);
}

const wide = ["explorer: one model, from disk", async () => {
    const page = await fromDisk([models()[0]]);
    await page.screenshot({ path: root + "/build/page/shots/explore-1440.png" });
    check("the title names the model", (await page.title()).startsWith("model.onnx"), await page.title());
    await accessible(page, "explorer");
    await folds(page);
    await searches(page);
    await keyboard(page);
    await details(page);
    await flames(page);
    await accessible(page, "explorer, used");
    await close(page);
}];

const narrow = ["explorer: narrow and dark", async () => {
    const page = await fromDisk([models()[0]], { width: 390, height: 844, dark: true });
    await fits(page, "explorer at 390 px");
    await accessible(page, "explorer at 390 px, dark");
    await page.screenshot({ path: root + "/build/page/shots/explore-390.png" });
    await folds(page);
    await close(page);
}];

const dynamo = ["explorer: a file of torch's exporter", async () => {
    const page = await fromDisk([DYNAMO, "--length", "32"]);
    await page.click("text=Unfold all");
    await frame(page);
    const all = await rows(page);
    check("its modules", ["BertForTokenClassification", "BertModel", "BertEmbeddings"].every((n) => all.some((r) => r.name === n)), all.map((r) => r.name));
    check("its parameters", all[0].cells[3] === "5.96 K", all[0].cells);
    await close(page);
}];

const two = ["explorer: side by side", async () => {
    const page = await fromDisk(models());
    await page.selectOption("select[aria-label=Measure]", "bytes");
    await frame(page);
    const first = (await rows(page))[0];
    check("both values and the change", first.cells[2] === "1.72 MB" && first.cells[3] === "457 KB" && first.cells[4] === "−73 %", first.cells);
    check("two flame graphs", (await page.$$(".x-flame")).length === 2);
    await page.screenshot({ path: root + "/build/page/shots/explore-two.png" });
    await accessible(page, "side by side");
    await page.check("text=Only what differs");
    await frame(page);
    const differing = await rows(page);
    check("only what differs", differing.length > 0 && differing.filter((r) => r.hit).every((r) => r.cells[4] !== "±0 %"), differing.map((r) => r.cells));
    await page.click("text=End comparison");
    await frame(page);
    check("one again", (await page.$$(".x-flame")).length === 1 && (await rows(page))[0].cells.length === 8);
    writeFileSync(dir + "/other.json", ef("explore", models()[1], "--json"));
    await page.setInputFiles("input[type=file]", dir + "/other.json");
    await page.waitForSelector(".x-two");
    check("a report from a file", (await page.$$(".x-flame")).length === 2);
    writeFileSync(dir + "/wrong.json", '{"models": 3}');
    await page.click("text=End comparison");
    await page.setInputFiles("input[type=file]", dir + "/wrong.json");
    await page.waitForSelector(".error:not([hidden])");
    check("a wrong file is told", (await page.textContent(".error")).includes("found no report"), await page.textContent(".error"));
    await close(page);
}];

const harm = ["explorer: names that would like to be markup", async () => {
    const same = (text, n) => text.padEnd(n, "x").slice(0, Math.max(n, text.length));
    const name = "transformers.models.bert.modeling_bert.BertSelfAttention", evil = "<b onclick=a()>xx";
    let file = readFileSync(`${root}/${DYNAMO}`, "latin1").replaceAll(name, name.replace("BertSelfAttention", evil));
    file = file.replaceAll("token_type_ids", same("<img src=x o>", 14)).replaceAll("node_linear_1", same("</script><b>", 13));
    writeFileSync(dir + "/harm.onnx", file, "latin1");
    const page = await fromDisk([dir + "/harm.onnx"]);
    await page.click("text=Unfold all");
    await page.fill(".x-search", "<b onclick");
    await frame(page);
    check("a module's name is text", (await rows(page)).some((r) => r.name.startsWith("<b onclick=a()>xx")), (await rows(page)).map((r) => r.name));
    await page.fill(".x-search", "</script>");
    await page.focus(".x-search");
    await press(page, "Enter");
    check("a node's name is text", (await page.textContent(".x-detail h3")).startsWith("</script><b>"), await page.textContent(".x-detail h3"));
    check("none became an element", (await page.$$("main b, main img, main script")).length === 0 && (await page.$$("script")).length === 2);
    await close(page);
}];

const tab = ["explorer: the tab of a server's page", async () => {
    const server = await serve(NER, "--api-key", "secret");
    try {
        const refused = await fetch(server.url + "/ui/model.json"), given = await fetch(server.url + "/ui/model.json", { headers: { Authorization: "Bearer secret" } });
        check("the report needs the key", refused.status === 401 && given.status === 200, [refused.status, given.status]);
        const report = await given.json();
        check("the report", report.format === "encoderfile-explore-1" && report.models[0].totals.parameters === 429523, report.format);
        const again = await fetch(server.url + "/ui/model.json", { headers: { Authorization: "Bearer secret" } });
        check("made once", JSON.stringify(await again.json()) === JSON.stringify(report));
    } finally {
        await server.stop();
    }
    const open_ = await serve(NER);
    try {
        const page = await open(open_.url + "/");
        const asked = [];
        page.on("request", (r) => asked.push(new URL(r.url()).pathname));
        await page.waitForSelector("#tab-explore:not([hidden])");
        check("not loaded before it is wanted", !asked.some((p) => p.includes("explore")), asked);
        await page.click("#tab-explore");
        await page.waitForSelector(".x-body .x-row");
        await frame(page);
        check("loaded on demand", ["/ui/explore.js", "/ui/explore.css", "/ui/model.json"].every((p) => asked.includes(p)), asked);
        const bytes = ["explore.js", "explore.css"].reduce((n, f) => n + gzipSync(readFileSync(`${root}/web/${f}`), { level: 9 }).length, 0);
        check("at most 80 KB compressed", bytes <= 80000, bytes);
        check("the tree", (await rows(page))[0].name === "BertForTokenClassification");
        await accessible(page, "the explorer's tab");
        await page.setViewportSize({ width: 390, height: 844 });
        await frame(page);
        await fits(page, "the explorer's tab at 390 px");
        await close(page);
    } finally {
        await open_.stop();
    }
}];

export const explore = [wide, narrow, dynamo, two, harm, tab];
