// SPDX-License-Identifier: Apache-2.0
// harness.mjs - a server for a model, a page of a browser that tells what went wrong in it, and counted checks.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const root = process.env.EF_ROOT, program = process.env.EF_PROGRAM;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const counts = { passed: 0, failed: 0, skipped: 0 };
let current = "";

export function check(name, ok, found = "") {
    counts[ok ? "passed" : "failed"]++;
    if (!ok) console.log(`  FAILED: ${current}: ${name}${found === "" ? "" : `: found ${String(typeof found === "string" ? found : JSON.stringify(found)).slice(0, 600)}`}`);
    return ok;
}
export function skip(why) {
    counts.skipped++;
    console.log(`  skipped: ${current}: ${why}`);
}

export async function serve(model, ...flags) {
    const child = spawn(program, ["serve", "--model", model, "--http-hostname", "127.0.0.1", "--http-port", "0", "--grpc-port", "0", ...flags], { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
    let log = "";
    const port = await new Promise((done, failed) => {
        child.stderr.on("data", (d) => {
            log += d;
            const m = /http:\/\/127\.0\.0\.1:(\d+)/.exec(log);
            if (m) done(m[1]);
        });
        child.on("exit", () => failed(new Error("no server: " + log)));
    });
    return { url: `http://127.0.0.1:${port}`, port, stop: () => new Promise((done) => {
        child.on("exit", done);
        child.kill();
    }) };
}

let browser = null;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

// A page whose errors are in page.wrong: what it logged, threw, asked others for, or what asked the person.
export async function open(url, { width = 1440, height = 900, dark = false, quiet = ["willReadFrequently"] } = {}) {
    browser = browser || (await chromium.launch({ executablePath: process.env.EF_CHROMIUM, args: FLAGS }));
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", permissions: ["clipboard-read", "clipboard-write", "camera", "microphone"] });
    const page = await context.newPage(), origin = new URL(url).origin;
    page.wrong = [];
    page.on("console", (m) => ["error", "warning"].includes(m.type()) && !quiet.some((q) => m.text().includes(q)) && page.wrong.push(m.text()));
    page.on("pageerror", (e) => page.wrong.push(e.message));
    page.on("dialog", (d) => {
        page.wrong.push("dialog: " + d.message());
        d.dismiss();
    });
    page.on("request", (r) => {
        const to = r.url();
        if (!to.startsWith(origin) && !to.startsWith("data:") && !to.startsWith("blob:")) page.wrong.push("asked " + to);
    });
    await page.goto(url);
    return page;
}

export const close = async (page) => {
    check("nothing went wrong in the page", page.wrong.length === 0, page.wrong);
    await page.context().close();
};

// The page has an answer, or an error.
export const answered = (page) => page.waitForFunction(() => !document.querySelector("[aria-busy]") && (document.querySelector("#status").textContent || document.querySelector("#face .error")), null, { timeout: 30000 });

// What the page sent and got, when `act` made it ask: { request, reply }.
export async function asked(page, path, act) {
    const waiting = page.waitForResponse((r) => new URL(r.url()).pathname === path && r.request().method() === "POST", { timeout: 30000 });
    await act();
    const response = await waiting;
    const reply = await response.json().catch(() => null);
    await answered(page);
    await page.waitForTimeout(50);
    return { request: response.request().postDataJSON(), reply, status: response.status() };
}

export async function accessible(page, what) {
    if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axe); // the page's policy holds for the page alone
    const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const serious = result.violations.filter((v) => ["serious", "critical"].includes(v.impact));
    check(`axe: ${what}`, serious.length === 0, serious.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`).join("; "));
}

export const fits = async (page, what) => check(`no sideways scrolling: ${what}`, (await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);

export async function run(tests, only) {
    for (const [name, test] of tests) {
        if (only.length && !only.some((o) => name.includes(o))) continue;
        current = name;
        const before = counts.failed;
        try {
            await test();
        } catch (e) {
            check("it could be run", false, e.stack);
        }
        console.log(`${counts.failed === before ? "ok    " : "FAILED"} ${name}`);
    }
    if (browser) await browser.close();
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    process.exit(counts.failed ? 1 : 0);
}
