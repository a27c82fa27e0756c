// SPDX-License-Identifier: Apache-2.0
// main.mjs [NAME...] - every view of every task, and what is around them. The last line is the sum.
import { mkdir } from "node:fs/promises";
import { run, root } from "./harness.mjs";
import { tasks } from "./tasks.mjs";
import { around } from "./around.mjs";
import { explore } from "./explore.mjs";

await mkdir(root + "/build/page/shots", { recursive: true });
await run([...tasks, ...around, ...explore], process.argv.slice(2));
