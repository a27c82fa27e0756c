// SPDX-License-Identifier: Apache-2.0
// around.mjs - what is around the tasks: links, keys, the keyboard, code that runs, /docs, charts, files that are dropped, pasted or taken by
// the machine, tokens, and refusals.
import { execFile } from "node:child_process";
import { mkdtemp, mkdir, writeFile, copyFile, readdir, readFile, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { check, skip, serve, open, close, asked, answered, accessible, fits, root } from "./harness.mjs";

const G = "tests/golden/", NER = "examples/bus-ner";
const exec = promisify(execFile);
const text = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));
const predict = (page, act) => asked(page, "/predict", act);
const type = (page, field, value) => predict(page, async () => {
    await page.fill("#field-" + field, value);
    await page.click("#ask .primary");
});

const on = (name, model, flags, test) => [name, async () => {
    const server = await serve(model, ...flags);
    try {
        await test(server);
    } finally {
        await server.stop();
    }
}];

// ---- the code, run as it stands ----
async function run(language, source, dir) {
    const has = async (name) => exec("sh", ["-c", `command -v ${name}`]).then(() => true, () => false);
    const ways = {
        curl: ["curl", () => exec("sh", ["-c", source.replace(/^curl /, "curl -s ")], { cwd: dir })],
        Python: ["python3", async () => {
            await writeFile(dir + "/call.py", source);
            return exec("python3", ["call.py"], { cwd: dir });
        }],
        JavaScript: ["node", async () => {
            await writeFile(dir + "/call.mjs", source);
            return exec("node", ["call.mjs"], { cwd: dir });
        }],
        Go: ["go", async () => {
            await writeFile(dir + "/call.go", source);
            return exec("go", ["run", "call.go"], { cwd: dir, env: { ...process.env, GOFLAGS: "-mod=mod", GO111MODULE: "off" } });
        }],
        gRPC: ["grpcurl", () => exec("sh", ["-c", source], { cwd: dir })],
    };
    const [tool, go] = ways[language];
    if (!(await has(tool))) return skip(`no ${tool}`);
    return (await go()).stdout;
}

async function everyLanguage(page, reply, files = []) {
    const dir = await mkdtemp(tmpdir() + "/page-");
    for (const f of files) await copyFile(`${root}/${f}`, `${dir}/${f.split("/").pop()}`);
    await page.click("#tab-code");
    for (const language of ["curl", "Python", "JavaScript", "Go", "gRPC"]) {
        await page.click(`.segmented label:has-text("${language}")`);
        const source = await page.$eval("#face pre", (p) => p.textContent);
        const out = await run(language, source, dir).catch((e) => e.message + "\n" + source);
        if (out === undefined) continue;
        const same = JSON.stringify(reply.results).replace(/[^a-zA-Z0-9]/g, "").toLowerCase();
        const flat = out.replaceAll("'", '"').replace(/\\u([0-9a-f]{4})/g, (_, h) => String.fromCharCode(parseInt(h, 16))).replace(/[^a-zA-Z0-9]/g, "").toLowerCase();
        if (language === "gRPC") check("gRPC: an answer", out.includes('"results"'), out);
        else if (language === "Python") check("Python: an answer", flat.startsWith("results"), out);
        else check(`${language}: the same answer`, flat.includes(same.slice(0, 200)), out);
    }
    await rm(dir, { recursive: true });
}

const HARD = "Volvo from 'Pune' to \"Goa\" `x` $HOME \\n 😀 <b>\n</script> é %s {}";

// ---- files that come by hand ----
const drop = (page, name, bytes, kind) => page.$eval(".drop", (zone, [n, b64, t]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(b64), (c) => c.charCodeAt(0))], n, { type: t }));
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}, [name, bytes.toString("base64"), kind]);
const paste = (page, name, bytes, kind) => page.evaluate(([n, b64, t]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(b64), (c) => c.charCodeAt(0))], n, { type: t }));
    document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
}, [name, bytes.toString("base64"), kind]);
const read = (path) => readFile(`${root}/${path}`);

export const around = [
    on("link", NER, [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        await type(page, "text", HARD);
        await page.click("#tab-tokens");
        await page.click("#ask .ask-end .quiet");
        await page.waitForFunction(() => location.hash.startsWith("#s="));
        const link = page.url(), there = await page.evaluate(() => navigator.clipboard.readText());
        check("it is copied", there === link, there);
        const other = await open(link);
        await answered(other);
        check("the text is restored", (await other.inputValue("#field-text")) === HARD);
        check("the face is restored", (await other.getAttribute("#tab-tokens", "aria-selected")) === "true");
        await close(other);
        for (const broken of ["#s=", "#s=%%%", "#s=AAAA", link.slice(0, -9).replace(/.*#/, "#"), "#main"]) {
            const odd = await open(url + "/" + broken);
            await answered(odd);
            check("a broken link opens the page", (await text(odd, "#status"))[0].length > 0, broken);
            await close(odd);
        }
        await close(page);
    }),

    on("link with a picture", "examples/road-signs", [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const first = (await text(page, "#status"))[0];
        await page.click("#ask .ask-end .quiet");
        await page.waitForFunction(() => location.hash.startsWith("#s="));
        const other = await open(page.url());
        await answered(other);
        check("the picture is restored", (await text(other, "#status"))[0] === first && (await other.$$(".held img")).length === 1);
        await close(other);
        await close(page);
    }),

    on("key", NER, ["--api-key", "sesame"], async ({ url }) => {
        const page = await open(url, { quiet: ["401"] });
        await page.waitForSelector("dialog[open]");
        await accessible(page, "the dialog");
        check("the model's name is known", (await text(page, "#model"))[0] === "bus-ner");
        await page.fill("#key-text", "wrong");
        await page.keyboard.press("Enter");
        await page.waitForTimeout(300);
        await page.waitForSelector("dialog[open]");
        await page.fill("#key-text", "sesame");
        await page.keyboard.press("Enter");
        await answered(page);
        check("an answer", (await text(page, "#face mark")).length > 0);
        await page.click("#tab-code");
        const source = await page.$eval("#face pre", (p) => p.textContent);
        check("the key is not in the code", source.includes("$ENCODERFILE_API_KEY") && !source.includes("sesame"), source);
        await page.click("#ask .ask-end .quiet");
        await page.waitForFunction(() => location.hash.startsWith("#s="));
        const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
        check("it is kept nowhere", !kept.includes("sesame"), kept);
        const other = await open(page.url(), { quiet: ["401"] });
        await other.waitForSelector("dialog[open]");
        check("a link has no key", true);
        await close(other);
        await close(page);
    }),

    on("behind a proxy, under a path", NER, [], async ({ port }) => {
        const proxy = http.createServer((q, a) => {
            if (!q.url.startsWith("/m/")) return a.writeHead(404).end();
            q.pipe(http.request({ host: "127.0.0.1", port, method: q.method, path: q.url.slice(2), headers: q.headers }, (r) => {
                a.writeHead(r.statusCode, r.headers);
                r.pipe(a);
            }));
        });
        await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
        const url = `http://127.0.0.1:${proxy.address().port}/m/`, page = await open(url);
        await answered(page);
        check("an answer", (await text(page, "#face mark")).length > 0);
        await page.click("#tab-code");
        check("the code has the path", (await page.$eval("#face pre", (p) => p.textContent)).includes(url + "predict"));
        await page.click("#tab-explore");
        await page.waitForFunction(() => document.querySelector("#view-explore").textContent.includes("BertModel"));
        await page.click(".quietlink");
        await page.waitForSelector("#predict[open]");
        check("/docs too", page.url() === url + "docs", page.url());
        await close(page);
        proxy.closeAllConnections();
        proxy.close();
    }),

    on("explorer", NER, ["--api-key", "sesame"], async ({ url }) => {
        const page = await open(url, { quiet: ["401"] });
        await page.waitForSelector("dialog[open]");
        await page.fill("#key-text", "sesame");
        await page.keyboard.press("Enter");
        await answered(page);
        await page.click("#tab-explore");
        await page.waitForFunction(() => document.querySelector("#view-explore").textContent.includes("BertModel"));
        check("it opens in its tab", (await page.$$("#view-explore .error:not([hidden])")).length === 0);
        await close(page);
    }),

    on("keyboard", NER, [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        await page.keyboard.press("Tab");
        check("first the way past the head", await page.evaluate(() => document.activeElement.classList.contains("skip")));
        await page.focus("#tab-try");
        await page.keyboard.press("ArrowRight");
        check("arrows move between views", await page.evaluate(() => document.activeElement.id === "tab-live" && !document.getElementById("view-live").hidden));
        await page.keyboard.press("Home");
        check("and back", await page.evaluate(() => !document.getElementById("view-try").hidden));
        await page.focus("#field-text");
        await page.keyboard.press("Control+A");
        await page.keyboard.type("Goa to Pune");
        const { request } = await predict(page, () => page.keyboard.press("Control+Enter"));
        check("Ctrl Enter asks", request.inputs[0] === "Goa to Pune", request);
        const seen = new Set();
        await page.focus("#tab-try");
        for (let i = 0; i < 40; i++) {
            await page.keyboard.press("Tab");
            seen.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent.slice(0, 20)));
        }
        for (const wanted of ["field-text", "field-aggregation", "field-windows", "Run", "Copy link", "tab-result"])
            check(`Tab reaches ${wanted}`, seen.has(wanted), [...seen]);
        await page.focus("#tab-result");
        for (const face of ["tokens", "json", "code"]) {
            await page.keyboard.press("ArrowRight");
            check(`arrows: ${face}`, await page.evaluate((f) => document.activeElement.id === "tab-" + f, face));
        }
        await close(page);
    }),

    on("typing", NER, [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const { request } = await predict(page, () => page.fill("#field-text", "Volvo to Goa"));
        check("the page asks when typing stops", request.inputs[0] === "Volvo to Goa", request);
        await page.fill("#field-text", "   ");
        await page.waitForFunction(() => document.querySelector("#face").textContent.includes("nothing there yet"));
        await close(page);
    }),

    on("refusal", G + "question_answering/bert", [], async ({ url }) => {
        const page = await open(url, { quiet: ["422"] });
        await answered(page);
        await page.route("**/predict", (r) => r.continue({ postData: '{"inputs": {"question": "<b>x</b>"}}' }));
        await page.fill("#field-question", "<img src=x onerror=alert(1)>");
        await page.click("#ask .primary");
        await page.waitForSelector("#face .error");
        check("the server's words, as text", (await text(page, "#face .error"))[0].includes("context") && (await page.$$("#face img, #face b")).length === 0, await text(page, "#face .error"));
        check("the status says it", (await text(page, "#status"))[0] === "Refused with 422");
        await page.unroute("**/predict");
        await close(page);
    }),

    ["hostile names", async () => {
        const dir = await mkdtemp(tmpdir() + "/page-"), model = dir + "/<img src=x onerror=alert(1)>&'\"";
        const evil = (label) => (label === "O" ? label : label.slice(0, 2) + `<script>alert("${label}")</script>`);
        await mkdir(model);
        for (const f of await readdir(`${root}/${NER}`)) if (/\.(json|safetensors|txt)$/.test(f)) await copyFile(`${root}/${NER}/${f}`, `${model}/${f}`);
        const config = JSON.parse(await readFile(model + "/config.json", "utf8"));
        config.id2label = Object.fromEntries(Object.entries(config.id2label).map(([i, l]) => [i, evil(l)]));
        config.label2id = Object.fromEntries(Object.entries(config.id2label).map(([i, l]) => [l, Number(i)]));
        await writeFile(model + "/config.json", JSON.stringify(config));
        await writeFile(model + "/README.md", '---\nwidget:\n- text: "<img src=x onerror=alert(5)> from Pune to Goa"\n---\n');
        const server = await serve(model);
        try {
            const page = await open(server.url);
            await answered(page);
            check("the name", (await text(page, "#model"))[0].startsWith("<img src=x"), await text(page, "#model"));
            check("labels", (await text(page, ".span-label")).some((l) => l.startsWith("<script>")), await text(page, ".span-label"));
            check("the model card's example", (await page.inputValue("#field-text")) === "<img src=x onerror=alert(5)> from Pune to Goa");
            check("nothing became markup", (await page.$$("main script, main img:not(.held img), h1 img")).length === 0);
            await page.click("#tab-code");
            await page.goto(server.url + "/docs");
            await page.waitForSelector("#predict[open]");
            check("nor in /docs", (await page.$$("main script, main img, .who div img")).length === 0);
            await close(page);
        } finally {
            await server.stop();
            await rm(dir, { recursive: true });
        }
    }],

    on("tokens", NER, [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const words = "Volvo 😀 from Pu\u0301ne to Goa <b> ".repeat(40);
        await type(page, "text", words);
        await page.click("#tab-tokens");
        await page.waitForSelector("#face .token");
        const got = await page.evaluate(async (t) => (await (await fetch("/tokenize", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ inputs: [t], offsets: "chars" }) })).json())[0], words);
        const shown = await text(page, "#face .token-text"), points = [...words];
        check("a chip for each", shown.length === Math.min(got.length, 1500), [shown.length, got.length]);
        check("their characters", got.slice(0, 1500).every((t, i) => shown[i] === (t.start === null ? t.text : points.slice(t.start, t.stop).join("") || t.text)));
        check("their ids", JSON.stringify(await text(page, "#face .token-id")) === JSON.stringify(got.slice(0, 1500).map((t) => String(t.id))));
        const cut = (await page.$$("#face .token.cut")).length;
        check("what was cut", cut === got.length - 128, [cut, got.length]);
        const known = await page.evaluate(async (t) => (await (await fetch("/predict", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ inputs: [t] }) })).json()).results[0], words);
        check("the model saw the others", known.tokens.length === got.length - cut - 2 && known.truncated, known.tokens.length);
        await close(page);
    }),

    on("code of a text", NER, [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const { reply } = await type(page, "text", HARD);
        await everyLanguage(page, reply);
        await close(page);
    }),
    on("code of a picture", "examples/road-signs", [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const { reply } = await predict(page, () => page.setInputFiles("#field-pictures", root + "/examples/road-signs/pictures/stop.png"));
        await everyLanguage(page, reply, ["examples/road-signs/pictures/stop.png"]);
        await close(page);
    }),
    on("code of a page", G + "documents/layoutlmv3_qa", [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        await page.click("#tab-code");
        const dir = await mkdtemp(tmpdir() + "/page-");
        const picture = await page.$eval(".held img", (i) => i.src.split(",")[1]);
        await writeFile(dir + "/invoice.png", Buffer.from(picture, "base64"));
        for (const language of ["curl", "Python", "gRPC"]) {
            await page.click(`.segmented label:has-text("${language}")`);
            const out = await run(language, await page.$eval("#face pre", (p) => p.textContent), dir).catch((e) => e.message);
            if (out !== undefined) check(`${language}: answers`, /answers/.test(out), out);
        }
        await rm(dir, { recursive: true });
        await close(page);
    }),

    on("pictures by hand", "examples/road-signs", [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const file = await read("examples/road-signs/pictures/parking.png");
        let { reply } = await predict(page, () => drop(page, "dropped.png", file, "image/png"));
        check("dropped", reply.results[0].labels[0].label === "parking" && (await text(page, ".held-name"))[0] === "dropped.png", reply);
        ({ reply } = await predict(page, async () => paste(page, "pasted.png", await read("examples/road-signs/pictures/stop.png"), "image/png")));
        check("pasted", reply.results[0].labels[0].label === "stop" && (await text(page, ".held-name"))[0] === "pasted.png", reply);
        const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><circle cx="32" cy="32" r="30" fill="red"/></svg>');
        const got = await predict(page, () => drop(page, "drawing.svg", drawing, "image/svg+xml"));
        check("another kind of picture becomes PNG", got.status === 200 && got.request.inputs[0].startsWith("iVBOR"), got.status);
        await drop(page, "broken.png", Buffer.from("no picture"), "image/png");
        await page.waitForSelector(".field .error:not([hidden])");
        check("a broken one is told", (await text(page, ".field .error"))[0].includes("cannot show"));
        await page.click('.drop button:has-text("Camera")');
        await page.waitForSelector("video.camera");
        await page.waitForFunction(() => document.querySelector("video.camera").videoWidth > 0);
        await accessible(page, "the camera");
        const taken = await predict(page, () => page.click('.drop button:has-text("Take it")'));
        check("by the camera", taken.status === 200 && (await text(page, ".held-name"))[0] === "camera.png", taken.status);
        check("the camera is off again", (await page.$$("video")).length === 0);
        await close(page);
    }),

    on("sounds by hand", G + "speech/wav2vec2", [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        const got = await predict(page, async () => drop(page, "dropped.flac", await read(G + "sounds/speech.flac"), "audio/flac"));
        check("dropped", got.status === 200 && (await text(page, ".held-name"))[0] === "dropped.flac", got.reply);
        await page.click('.drop button:has-text("Microphone")');
        await page.waitForSelector(".recording");
        await page.waitForTimeout(1200);
        const taken = await predict(page, () => page.click('.drop button:has-text("Stop")'));
        check("by the microphone, as WAV", taken.status === 200 && taken.request.inputs[0].startsWith("UklGR"), taken.reply);
        const seconds = await page.$eval("#face .wave", (w) => Number(w.dataset.seconds));
        check("its length", seconds > 0.5 && seconds < 6, seconds);
        await drop(page, "broken.mp3", Buffer.from("no sound"), "audio/mpeg");
        await page.waitForSelector(".field .error:not([hidden])");
        await close(page);
    }),

    on("live", NER, [], async ({ url }) => {
        const page = await open(url);
        await answered(page);
        await page.click("#tab-live");
        await page.waitForTimeout(500);
        for (let i = 0; i < 20; i++) await page.evaluate(() => fetch("/predict", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"inputs":["Goa"]}' }));
        await page.waitForFunction(() => Number(document.querySelector(".chart-value").textContent) > 0, null, { timeout: 15000 });
        const values = await text(page, ".chart-value");
        check("figures", values.length === 8 && values.every((v) => v === "–" || Number(v.replaceAll(",", "")) >= 0), values);
        await accessible(page, "live");
        await page.setViewportSize({ width: 390, height: 844 });
        await fits(page, "live");
        await page.screenshot({ path: `${root}/build/page/shots/live-390.png`, fullPage: true });
        let asks = 0;
        page.on("request", (r) => r.url().endsWith("/metrics") && asks++);
        await page.click("#tab-try");
        await page.waitForTimeout(2600);
        check("it asks no more when it is not looked at", asks === 0, asks);
        await close(page);
    }),

    on("dark and light", NER, [], async ({ url }) => {
        const page = await open(url, { dark: true });
        await answered(page);
        const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        const dark = await paper();
        await page.click("#theme");
        const light = await paper();
        check("the button changes it", dark !== light, [dark, light]);
        await page.reload();
        await answered(page);
        check("and it is remembered", (await paper()) === light);
        await page.goto(url + "/docs");
        await page.waitForSelector(".operation");
        check("also for /docs", (await paper()) === light);
        await close(page);
    }),

    ...[["docs", NER], ["docs of vectors", G + "sentence/mean"], ["docs of a ranker", G + "pipelines/one"], ["docs of pictures", "examples/road-signs"], ["docs of questions", G + "question_answering/bert"],
        ["docs of pages", G + "documents/layoutlm_qa"], ["docs of sounds", G + "speech/wav2vec2"], ["docs of choices", G + "multiple_choice/bert"]].map(([name, model]) => on(name, model, [], async ({ url }) => {
        const page = await open(url + "/docs", { quiet: ["422", "400", "404", "424", "415"] });
        await page.waitForSelector("#predict[open]");
        const document_ = await page.evaluate(async () => (await fetch("/openapi.json")).json());
        const wanted = Object.values(document_.paths).flatMap((m) => Object.values(m).map((o) => o.operationId));
        const shown = await page.$$eval(".operation", (all) => all.map((d) => d.id));
        check("every operation", JSON.stringify([...wanted].sort()) === JSON.stringify([...shown].sort()), shown);
        await accessible(page, "/docs");
        const sees = name === "docs of pictures";
        for (const id of shown) {
            const at = (s) => `[id="${id}"] ${s}`;
            if (!(await page.$eval(`[id="${id}"]`, (d) => d.open))) await page.click(at("> summary"));
            await page.waitForSelector(at(".try .primary"));
            const file = sees && id === "predict_multipart" ? await page.$(at("input[type=file]")) : null;
            if (file) await file.setInputFiles(root + "/examples/road-signs/pictures/stop.png");
            await page.click(at(".try .primary"));
            await page.waitForSelector(at(".reply [role=status]"));
            const said = (await text(page, at(".reply [role=status]")))[0];
            check(`${id}: tried`, /^200 in/.test(said), said + " " + (await text(page, at(".reply pre")))[0] + " " + ((await page.$(at("textarea"))) ? await page.inputValue(at("textarea")) : ""));
            await page.click(at("> summary"));
        }
        await page.setViewportSize({ width: 390, height: 844 });
        await page.click('[id="predict"] > summary');
        await fits(page, "/docs");
        await accessible(page, "/docs at 390");
        await page.screenshot({ path: `${root}/build/page/shots/${name.replaceAll(" ", "-")}-390.png` });
        await close(page);
    })),
];
