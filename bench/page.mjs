// SPDX-License-Identifier: Apache-2.0
// page.mjs [PROGRAM] [MODEL] [TIMES] - from asking for the page to its first paint, and to its first answer, in Chromium on localhost: the
// least and the median of several tries, each with a new profile and an empty cache. Run it where tests/page/run.sh has been (build/page).
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const [program = "build/encoderfile", model = "examples/bus-ner", times = "11"] = process.argv.slice(2);
const { chromium } = createRequire(process.cwd() + "/build/page/")("playwright-core");
const server = spawn(program, ["serve", "--model", model, "--http-hostname", "127.0.0.1", "--http-port", "0", "--disable-grpc"], { stdio: ["ignore", "ignore", "pipe"] });
const url = await new Promise((done) => {
    let log = "";
    server.stderr.on("data", (d) => {
        const m = /http:\/\/127\.0\.0\.1:\d+/.exec((log += d));
        if (m) done(m[0]);
    });
});
const browser = await chromium.launch({ executablePath: process.env.EF_CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const paints = [], answers = [];
for (let i = 0; i < Number(times); i++) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } }), page = await context.newPage();
    await page.goto(url + "/");
    await page.waitForFunction(() => document.querySelector("#status").textContent && performance.getEntriesByName("first-contentful-paint").length);
    const [paint, answer] = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0].startTime,
        performance.getEntriesByType("resource").find((r) => r.name.endsWith("/predict") || r.name.endsWith("/embed")).responseEnd]);
    paints.push(paint), answers.push(answer);
    await context.close();
}
await browser.close();
server.kill();
const told = (name, list) => {
    list.sort((a, b) => a - b);
    console.log(`${name}: least ${list[0].toFixed(0)} ms, median ${list[list.length >> 1].toFixed(0)} ms of ${list.length}`);
};
told("first paint", paints);
told("first answer", answers);
