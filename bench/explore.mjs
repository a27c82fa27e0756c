// SPDX-License-Identifier: Apache-2.0
// explore.mjs - the explorer in Chromium with a model of 5,000 nodes: script time per frame while its list is scrolled,
// folded, searched and selected in, as the browser's own trace tells it; and what the browser must load.
//
//     bench/explore.sh [PROGRAM] [NODES]       which brings playwright-core, as tests/page does
//
// The model is one of ours whose layers are repeated until there are so many nodes: the page sees a report only.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const program = process.env.EF_PROGRAM, root = process.env.EF_ROOT, wanted = Number(process.argv[2] || 5000);
const folder = mkdtempSync(join(tmpdir(), "explore-"));

// ---- a large report ----
function enlarge(report, nodes) {
    const layer = report.modules.findIndex((m) => /Layer\.0$/.test(m.name)), parent = report.modules[layer].parent;
    const inside = (m) => m === layer || (m !== null && m !== undefined && m !== parent && inside(report.modules[m].parent));
    const modules = report.modules.map((m, i) => ({ ...m, i })).filter((m) => inside(m.i));
    const members = report.nodes.map((n, i) => ({ ...n, i })).filter((n) => inside(n.module));
    for (let copy = 100; report.nodes.length < nodes; copy++) {
        const place = new Map();
        for (const m of modules) {
            place.set(m.i, report.modules.length);
            report.modules.push({ ...m, name: m.i === layer ? m.name.replace(/0$/, copy) : m.name,
                parent: place.has(m.parent) ? place.get(m.parent) : m.parent });
        }
        for (const n of members) report.nodes.push({ ...n, name: n.name.replace("layer.0", "layer." + copy), module: place.get(n.module) });
    }
    report.totals.nodes = report.nodes.length;
    report.totals.modules = report.modules.length;
}

function page() {
    execFileSync(program, ["export", join(root, "examples/bus-ner"), join(folder, "onnx")], { stdio: "ignore" });
    execFileSync(program, ["explore", join(folder, "onnx/model.onnx"), "--html", join(folder, "one.html")], { stdio: "ignore" });
    const html = readFileSync(join(folder, "one.html"), "utf8"), open = '<script type="application/json" id="explore-data">';
    const from = html.indexOf(open) + open.length, to = html.indexOf("</script>", from), data = JSON.parse(html.slice(from, to));
    enlarge(data.models[0], wanted);
    writeFileSync(join(folder, "large.html"), html.slice(0, from) + JSON.stringify(data).replaceAll("<", "\\u003c") + html.slice(to));
    return { path: join(folder, "large.html"), nodes: data.models[0].nodes.length, modules: data.models[0].modules.length };
}

// ---- script time per frame, of a trace ----
const SCRIPT = new Set(["FunctionCall", "EvaluateScript", "FireAnimationFrame", "EventDispatch", "TimerFire", "v8.run", "RunMicrotasks"]);
function frames(trace) {
    const events = JSON.parse(trace).traceEvents, drawn = events.find((e) => e.name === "FireAnimationFrame");
    const own = events.filter((e) => drawn && e.pid === drawn.pid && e.tid === drawn.tid).sort((a, b) => a.ts - b.ts);
    const ends = own.filter((e) => e.name === "Commit").map((e) => e.ts), spent = new Float64Array(ends.length + 1);
    let end = 0, at = 0;
    for (const e of own) {
        if (e.ph !== "X" || !SCRIPT.has(e.name) || e.ts + e.dur <= end) continue; // the rest lies in another one
        while (at < ends.length && ends[at] <= e.ts) at++;
        // of the processor's time where the trace has it: others may want the processor, too
        spent[at] += e.tdur !== undefined && e.ts >= end ? e.tdur / 1000 : (e.ts + e.dur - Math.max(e.ts, end)) / 1000;
        end = e.ts + e.dur;
    }
    return [...spent].filter((ms) => ms > 0).sort((a, b) => a - b);
}
const rank = (list, part) => (list.length ? list[Math.min(list.length - 1, Math.ceil(list.length * part) - 1)] : 0);

const large = page();
const browser = await chromium.launch({ executablePath: process.env.EF_CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const started = Date.now();
await tab.goto("file://" + large.path);
await tab.waitForSelector(".x-body .x-row");
console.log(`${large.nodes} nodes, ${large.modules} modules; shown after ${Date.now() - started} ms`);

async function phase(name, act) {
    await browser.startTracing(tab, { categories: ["devtools.timeline", "disabled-by-default-devtools.timeline", "v8"] });
    await act();
    await tab.waitForTimeout(100);
    const spent = frames((await browser.stopTracing()).toString());
    console.log(`${name.padEnd(10)} ${String(spent.length).padStart(4)} frames with script: median ${rank(spent, 0.5).toFixed(2)} ms, ` +
        `p95 ${rank(spent, 0.95).toFixed(2)} ms, most ${rank(spent, 1).toFixed(2)} ms`);
    return spent;
}

const all = [];
await tab.getByRole("button", { name: "Unfold all" }).click();
await tab.mouse.move(500, 700);
all.push(...await phase("scroll", async () => {
    for (let i = 0; i < 150; i++) {
        await tab.mouse.wheel(0, i % 30 === 29 ? 20000 : 333);
        await tab.waitForTimeout(12);
    }
}));
all.push(...await phase("fold", async () => {
    for (let i = 0; i < 40; i++) {
        await tab.evaluate((n) => [...document.querySelectorAll(".x-bar button")].find((b) => b.textContent === n).click(), i % 2 ? "Unfold all" : "Fold all");
        await tab.waitForTimeout(25);
    }
}));
all.push(...await phase("keys", async () => {
    await tab.locator(".x-grid").focus();
    for (let i = 0; i < 120; i++) {
        await tab.keyboard.press(["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "PageDown"][i % 5]);
        await tab.waitForTimeout(8);
    }
}));
all.push(...await phase("search", async () => {
    await tab.locator(".x-search").focus();
    for (const letter of "layer.1 matmul") {
        await tab.keyboard.press(letter === " " ? "Space" : letter);
        await tab.waitForTimeout(25);
    }
}));
all.sort((a, b) => a - b);
console.log(`all        ${String(all.length).padStart(4)} frames with script: p95 ${rank(all, 0.95).toFixed(2)} ms (wanted: at most 8)`);
const bytes = (name) => gzipSync(readFileSync(join(root, "web", name)), { level: 9 }).length;
console.log(`loaded on demand, compressed: explore.js ${bytes("explore.js")} + explore.css ${bytes("explore.css")} bytes (wanted: at most 80,000)`);
await browser.close();
process.exitCode = rank(all, 0.95) <= 8 ? 0 : 1;
