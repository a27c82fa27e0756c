// SPDX-License-Identifier: Apache-2.0
// explore.js - a model to look at: its modules as a tree that folds, nodes, shapes, parameters, FLOPs, bytes and times, a
// flame graph, two models side by side. Draws what `encoderfile explore --json` prints (docs/explore.md), in the page of a
// server and in the file that `explore --html` writes. Needs no other file: there it stands inside the page.
//
// Names come from model files, which anybody may have written: they reach the page as text, never as markup.
// The list holds only the rows that can be seen: its work does not grow with the model.

const ROW = 30;                          // pixels; explore.css has the same
const OPENED = 40;                       // rows that are unfolded at first, about
const FLAME_ROW = 22, FLAME_DEPTH = 24, FLAME_LEAST = 0.002, FLAME_BOXES = 700;
const FORMAT = "encoderfile-explore-1";

// ---- elements ----
function el(tag, props, ...children) {
    const e = document.createElement(tag);
    for (const [key, value] of Object.entries(props || {})) {
        if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
        else if (key === "class") e.className = value;
        else if (value !== false && value !== null && value !== undefined) e.setAttribute(key, value === true ? "" : value);
    }
    e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
    return e;
}

// Writes only what has changed: the browser lays out less.
function setText(e, text) {
    if (e.textContent !== text) e.textContent = text;
}
function setAttr(e, name, value) {
    if (value === null) {
        if (e.hasAttribute(name)) e.removeAttribute(name);
    } else if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value);
}

// ---- numbers ----
const digits = (n, most) => n.toLocaleString("en-US", { maximumFractionDigits: most });
function scaled(n, step, units) {
    let i = 0;
    while (Math.abs(n) >= step && i < units.length - 1) n /= step, i++;
    return digits(n, Math.abs(n) >= 100 || i === 0 ? 0 : Math.abs(n) >= 10 ? 1 : 2) + units[i];
}
const showCount = (n) => scaled(n, 1000, ["", " K", " M", " G", " T", " P"]);
const showBytes = (n) => scaled(n, 1000, [" B", " KB", " MB", " GB", " TB"]);
const showTime = (us) => (us < 1000 ? digits(us, us < 10 ? 2 : us < 100 ? 1 : 0) + " µs" : scaled(us / 1000, 1000, [" ms", " s"]));

// What a row can be measured by.
const MEASURES = [
    { key: "parameters", name: "Parameters", show: showCount, unit: "parameters" },
    { key: "bytes", name: "Bytes", show: showBytes, unit: "bytes of weights" },
    { key: "flops", name: "FLOPs", show: showCount, unit: "multiplications and additions" },
    { key: "us", name: "Time", show: showTime, unit: "µs" },
];

// ---- a report, indexed ----
// { report, makers, readers } with the step whose main node a node is.
function indexModel(report) {
    const made = new Int32Array(report.values.length).fill(-1), readers = report.values.map(() => []);
    const stepOf = new Int32Array(report.nodes.length).fill(-1);
    report.nodes.forEach((n, i) => {
        for (const v of n.outputs) if (v >= 0) made[v] = i;
        for (const v of n.inputs) if (v >= 0 && readers[v][readers[v].length - 1] !== i) readers[v].push(i);
    });
    report.steps.forEach((s, i) => {
        if (s.node !== undefined && stepOf[s.node] < 0) stepOf[s.node] = i;
    });
    return { report, made, readers, stepOf };
}

function nodeMeasure(model, i, key) {
    const n = model.report.nodes[i];
    if (key !== "us") return n[key] === undefined ? null : n[key];
    return model.stepOf[i] < 0 ? null : model.report.steps[model.stepOf[i]].us;
}

function shapeText(value) {
    if (!value) return "";
    return (value.type || "") + (value.shape ? `[${value.shape.join(", ")}]` : "");
}

// ---- the tree ----
// An item: { kind: "module" or "node", name, of: [index in each model, or -1], children, parent, depth }. With two models,
// what has the same name at the same place is one item.
function childrenOf(model, at) {
    const { modules, nodes } = model.report;
    if (!model.inside) {
        model.inside = new Map();
        const put = (where, entry) => (model.inside.get(where) || model.inside.set(where, []).get(where)).push(entry);
        const first = new Float64Array(modules.length).fill(Infinity);
        nodes.forEach((n, i) => {
            put(n.module, { kind: "node", name: n.name || n.op, at: i, order: i });
            for (let m = n.module; m !== null && first[m] > i; m = modules[m].parent) first[m] = i;
        });
        modules.forEach((m, i) => put(m.parent, { kind: "module", name: m.name, at: i, order: first[i] }));
        for (const list of model.inside.values()) list.sort((a, b) => a.order - b.order);
    }
    return model.inside.get(at) || [];
}

function merged(lists) {
    const all = [], known = new Map();
    lists.forEach((list, side) => {
        const seen = new Map();
        let last = -1;
        for (const entry of list) {
            const name = entry.kind + "\0" + entry.name, turn = (seen.get(name) || 0) + 1;
            seen.set(name, turn);
            const key = name + "\0" + turn;
            let item = known.get(key);
            if (!item) {
                item = { kind: entry.kind, name: entry.name, of: lists.map(() => -1) };
                known.set(key, item);
                if (side === 0) all.push(item);
                else all.splice(last + 1, 0, item);
            }
            item.of[side] = entry.at;
            if (side) last = all.indexOf(item);
        }
    });
    return all;
}

function buildTree(models) {
    const root = { kind: "module", name: "", of: [], children: [], parent: null, depth: 0 }, items = [];
    const fill = (item, places) => {
        item.children = merged(places.map((at, side) => (at === undefined ? [] : childrenOf(models[side], at))));
        for (const child of item.children) {
            child.parent = item;
            child.depth = item.depth + 1;
            child.open = false;
            child.children = [];
            items.push(child);
            if (child.kind === "module") fill(child, child.of.map((at) => (at < 0 ? undefined : at)));
        }
    };
    fill(root, models.map(() => null));
    return { root, items };
}

function measure(models, item, side, key) {
    const at = item.of[side];
    if (at === undefined || at < 0) return null;
    if (item.kind === "node") return nodeMeasure(models[side], at, key);
    const n = models[side].report.modules[at][key];
    return n === undefined ? null : n;
}

function opOf(models, item) {
    if (item.op !== undefined) return item.op;
    const ops = item.of.map((at, side) => (at < 0 ? null : item.kind === "node" ? models[side].report.nodes[at].op
        : models[side].report.modules[at].class || ""));
    return (item.op = [...new Set(ops.filter((op) => op !== null))].join(" | "));
}

function searchText(models, item) {
    if (item.text === undefined) {
        const parts = [item.name, opOf(models, item)];
        item.of.forEach((at, side) => {
            if (at < 0) return;
            const { modules, nodes, values } = models[side].report;
            if (item.kind === "module") parts.push(modules[at].scope || "");
            else for (const v of [...nodes[at].inputs, ...nodes[at].outputs]) if (v >= 0) parts.push(values[v].name);
        });
        item.text = parts.join("\n").toLowerCase();
    }
    return item.text;
}

function differs(models, item) {
    if (item.of.length < 2) return true;
    if (item.of.some((at) => at < 0)) return true;
    if (item.kind === "node" && models[0].report.nodes[item.of[0]].op !== models[1].report.nodes[item.of[1]].op) return true;
    return ["parameters", "bytes", "flops"].some((key) => (measure(models, item, 0, key) || 0) !== (measure(models, item, 1, key) || 0));
}

// ---- the explorer ----
class Explorer {
    constructor(element, options) {
        this.element = element;
        this.options = options;
        this.models = [];
        this.measure = MEASURES[3];
        this.query = "";
        this.op = "";
        this.onlyDifferent = false;
        this.rows = [];
        this.active = null;
        this.zoom = null;
        this.boxes = [];                 // of the flame graphs
        this.drawn = [];                 // row elements; row i of the list is drawn by i modulo their number
        this.turn = 0;                   // what a row element shows is of this turn, or old
        this.make();
    }

    // ---- the frame, made once ----
    make() {
        const id = (this.id = "x" + Math.random().toString(36).slice(2, 8));
        this.head = el("div", { class: "x-head" });
        this.search = el("input", { type: "search", class: "x-search", placeholder: "Search modules, nodes, operators, values", "aria-label":
            "Search", oninput: () => this.setFilter(), onkeydown: (e) => this.searchKey(e) });
        this.ops = el("select", { "aria-label": "Operator", onchange: () => this.setFilter() });
        this.measures = el("select", { "aria-label": "Measure", onchange: () => this.setMeasure(this.measures.value) },
            ...MEASURES.map((m) => el("option", { value: m.key }, m.name)));
        this.different = el("input", { type: "checkbox", id: id + "d", onchange: () => this.setFilter() });
        this.differentLabel = el("label", { class: "x-check", for: id + "d" }, this.different, " Only what differs");
        this.file = el("input", { type: "file", accept: ".json,application/json", class: "unseen", tabindex: "-1", "aria-hidden": "true",
            onchange: () => this.loadOther() });
        this.compare = el("button", { type: "button", onclick: () => (this.models.length > 1 ? this.setModels([this.models[0].report])
            : this.file.click()), title: "A file of `encoderfile explore --json`" }, "Compare with…");
        this.count = el("span", { class: "muted small x-count", role: "status" });
        const bar = el("div", { class: "x-bar" }, this.search, this.ops, this.measures,
            el("button", { type: "button", onclick: () => this.foldAll(true) }, "Unfold all"),
            el("button", { type: "button", onclick: () => this.foldAll(false) }, "Fold all"), this.differentLabel, this.compare, this.file, this.count);
        this.flame = el("div", { class: "x-flames", role: "region", "aria-label": "Flame graphs", tabindex: "0" });
        this.header = el("div", { role: "row", class: "x-row x-header", "aria-rowindex": "1" });
        this.body = el("div", { role: "rowgroup", class: "x-body" });
        this.grid = el("div", { role: "treegrid", class: "x-grid", tabindex: "0", "aria-label": "Modules and nodes",
            onkeydown: (e) => this.key(e), onclick: (e) => this.click(e) }, el("div", { role: "rowgroup", class: "x-top" }, this.header), this.body);
        this.grid.addEventListener("scroll", () => this.later("scroll"), { passive: true });
        this.detail = el("section", { class: "x-detail", "aria-label": "Details", tabindex: "0" });
        this.trouble = el("p", { class: "error", role: "alert", hidden: true });
        this.element.classList.add("x");
        this.element.classList.toggle("x-whole", !!this.options.whole);
        this.element.replaceChildren(this.head, this.trouble, bar, this.flame, el("div", { class: "x-main" }, this.grid, this.detail));
        this.element.addEventListener("keydown", (e) => {
            if (e.key !== "/" || e.ctrlKey || e.metaKey || e.target.matches("input, select, textarea")) return;
            e.preventDefault();
            this.search.focus();
        });
        new ResizeObserver(() => this.later("size")).observe(this.grid);
    }

    say(text) {
        this.trouble.hidden = !text;
        setText(this.trouble, text || "");
    }

    // ---- models ----
    setModels(reports) {
        this.models = reports.map(indexModel);
        const tree = buildTree(this.models);
        Object.assign(this, { root: tree.root, items: tree.items, zoom: null, active: null });
        const two = this.models.length > 1;
        this.element.classList.toggle("x-two", two);
        this.differentLabel.hidden = !two;
        if (!two) this.different.checked = false;
        setText(this.compare, two ? "End comparison" : "Compare with…");
        if (!MEASURES.some((m) => m === this.measure && this.total(0, m.key) > 0))
            this.measure = MEASURES.find((m) => this.total(0, m.key) > 0) || MEASURES[0];
        this.setMeasure(this.measure.key);
        this.drawHead();
        this.drawOps();
        this.openSome();
        this.setFilter();
        this.select(this.root.children[0] || null);
        this.warm(this.items, 0);
    }

    // What the first search would have to make, a little at a time.
    warm(items, from) {
        if (items !== this.items || from >= items.length || !window.requestIdleCallback) return;
        requestIdleCallback(() => {
            for (const item of items.slice(from, from + 500)) searchText(this.models, item);
            this.warm(items, from + 500);
        });
    }

    total(side, key) {
        const totals = this.models[side].report.totals;
        return totals[key] || 0;
    }

    // Unfolds level by level while the list stays short.
    openSome() {
        let level = this.root.children.filter((i) => i.kind === "module"), shown = this.root.children.length;
        while (level.length) {
            const more = level.reduce((n, i) => n + i.children.length, 0);
            if (shown + more > OPENED && shown > 1) return;
            for (const item of level) item.open = true;
            shown += more;
            level = level.flatMap((i) => i.children).filter((i) => i.kind === "module");
        }
    }

    async loadOther() {
        const file = this.file.files[0];
        this.file.value = "";
        if (!file) return;
        try {
            const other = readReports(JSON.parse(await file.text()));
            this.say("");
            this.setModels([this.models[0].report, other[0]]);
        } catch (e) {
            this.say(`${file.name}: ${e.message}`);
        }
    }

    // ---- what is above the list ----
    modelFacts(report) {
        const run = report.run, title = report.path || report.name;
        const facts = [["Nodes", digits(report.totals.nodes, 0)], ["Modules", digits(report.totals.modules, 0)],
            ...MEASURES.filter((m) => report.totals[m.key] !== undefined).map((m) => [m.name, m.show(report.totals[m.key])])];
        const words = [report.form === "package" ? "package" : "ONNX", report.producer, report.opset ? `opset ${report.opset}` : "",
            `modules: ${report.tag_source}`, report.length ? `${report.length} tokens` : "",
            run ? `${run.precision}, ${run.isa}, ${run.threads} ${run.threads === 1 ? "thread" : "threads"}, run ${showTime(run.us)}` : ""];
        return el("div", { class: "x-model" }, el("h2", {}, title), el("p", { class: "muted small" }, words.filter(Boolean).join(" · ")),
            el("dl", { class: "x-facts" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
            ...report.notes.map((note) => el("p", { class: "x-note small" }, note)));
    }

    drawHead() {
        this.head.replaceChildren(...this.models.map((m) => this.modelFacts(m.report)));
        if (this.options.whole) document.title = this.models.map((m) => m.report.name).join(" | ") + " - explorer";
    }

    drawOps() {
        const counts = new Map();
        for (const item of this.items) {
            if (item.kind !== "node") continue;
            const op = opOf(this.models, item);
            counts.set(op, (counts.get(op) || 0) + 1);
        }
        const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
        this.ops.replaceChildren(el("option", { value: "" }, "All operators"),
            ...sorted.map(([op, n]) => el("option", { value: op }, `${op} (${n})`)));
    }

    // ---- folding, searching ----
    setFilter() {
        const before = this.filtered;
        this.query = this.search.value.trim().toLowerCase();
        this.op = this.ops.value;
        this.onlyDifferent = this.different.checked;
        this.filtered = this.query !== "" || this.op !== "" || this.onlyDifferent;
        if (before && !this.filtered) this.openTo(this.active); // what was found stays in sight
        this.list();
        if (before && !this.filtered) this.reveal(this.active);
        else this.grid.scrollTop = 0;
    }

    openTo(item) {
        for (let up = item && item.parent; up && up !== this.root; up = up.parent) up.open = true;
    }

    searchKey(e) {
        if (e.key === "Enter" || e.key === "ArrowDown") {
            e.preventDefault();
            this.grid.focus();
            const hit = this.rows.find((i) => this.matches(i));
            if (hit) this.select(hit);
        } else if (e.key === "Escape" && this.search.value) {
            e.preventDefault();
            this.search.value = "";
            this.setFilter();
        }
    }

    matches(item) {
        if (this.op && (item.kind !== "node" || opOf(this.models, item) !== this.op)) return false;
        if (this.onlyDifferent && !differs(this.models, item)) return false;
        return !this.query || searchText(this.models, item).includes(this.query);
    }

    // The rows that there are: what is unfolded; with a filter what matches, and the modules it lies in.
    list() {
        this.rows = [];
        let hits = 0;
        const visit = (item) => {
            for (const child of item.children) {
                const at = this.rows.length, hit = !this.filtered || this.matches(child);
                this.rows.push(child);
                if (this.filtered ? child.folded !== this.filterName() : child.open) visit(child);
                if (this.filtered && !hit && this.rows.length === at + 1 && !this.hidesHit(child)) this.rows.length = at;
                else if (hit) hits++;
            }
        };
        visit(this.root);
        this.hits = hits;
        setText(this.count, this.filtered ? `${digits(hits, 0)} of ${digits(this.items.length, 0)} match` : `${digits(this.rows.length, 0)} rows`);
        setAttr(this.grid, "aria-rowcount", this.rows.length + 1);
        this.body.style.height = this.rows.length * ROW + "px";
        this.later("list");
    }

    // A module that was folded while this very filter was on stays so.
    filterName() {
        return `${this.query}\n${this.op}\n${this.onlyDifferent}`;
    }
    hidesHit(item) {
        return item.folded === this.filterName() && item.children.some((c) => this.matches(c) || this.hidesHit(c) ||
            (c.kind === "module" && c.children.length > 0 && this.anyHit(c)));
    }
    anyHit(item) {
        return item.children.some((c) => this.matches(c) || this.anyHit(c));
    }

    isOpen(item) {
        return this.filtered ? item.folded !== this.filterName() : item.open;
    }
    fold(item, open) {
        if (item.kind !== "module" || !item.children.length) return;
        if (this.filtered) item.folded = open ? undefined : this.filterName();
        else item.open = open;
        this.list();
    }
    foldAll(open) {
        for (const item of this.items) {
            if (item.kind !== "module") continue;
            item.open = open || item.parent === this.root;
            item.folded = undefined;
        }
        if (!open && this.active) {
            while (this.active.parent && this.active.parent.parent && this.active.parent.parent !== this.root) this.active = this.active.parent;
        }
        this.list();
        this.reveal(this.active);
    }

    setMeasure(key) {
        this.measure = MEASURES.find((m) => m.key === key);
        this.measures.value = key;
        for (const m of MEASURES) this.element.classList.toggle("x-by-" + m.key, m === this.measure);
        this.later("measure");
        this.drawFlames();
    }

    // ---- drawing, at most once a frame ----
    later(why) { // "scroll": rows that stay where they are stay what they are
        if (why !== "scroll") this.turn++;
        if (this.asked) return;
        this.asked = requestAnimationFrame(() => {
            this.asked = 0;
            this.draw();
        });
    }

    columns() {
        const two = this.models.length > 1, m = this.measure;
        if (two) return ["Name", "Operator", `${m.name} 1`, `${m.name} 2`, "Change", "Share"];
        return ["Name", "Operator", "Output", ...MEASURES.map((x) => x.name), "Share"];
    }

    drawHeader() {
        const names = this.columns(), key = names.join();
        if (this.header.dataset.key === key) return;
        this.header.dataset.key = key;
        this.header.replaceChildren(...names.map((name, i) => el("div", { role: "columnheader", class: "x-c" + this.columnClass(i) }, name)));
    }

    columnClass(i) {
        const kinds = this.models.length > 1 ? ["name", "op", "number x-one", "number x-one", "number x-change", "share"]
            : ["name", "op", "shape", ...MEASURES.map((m) => "number x-" + m.key), "share"];
        return " x-" + kinds[i];
    }

    makeRow() {
        const cells = this.columns().map((_, i) => el("div", { role: "gridcell", class: "x-c" + this.columnClass(i) }));
        const twist = el("span", { class: "x-twist", "aria-hidden": "true" }), label = el("span", { class: "x-label" });
        const bars = this.models.map((_, side) => el("span", { class: "x-fill x-fill" + side }));
        cells[0].append(twist, label);
        cells[cells.length - 1].append(el("span", { class: "x-track" }, ...bars));
        const row = el("div", { role: "row", class: "x-row" }, ...cells);
        return { row, cells, twist, label, bars, at: -1, turn: -1 };
    }

    // As many row elements as can be seen, and some.
    fitRows() {
        const wanted = Math.ceil(this.grid.clientHeight / ROW) + 6, key = this.columns().length + "," + this.models.length;
        if (this.drawn.length >= wanted && this.drawn.length < wanted * 3 && this.rowKey === key) return;
        this.rowKey = key;
        this.drawn = Array.from({ length: wanted }, () => this.makeRow());
        this.body.replaceChildren(...this.drawn.map((d) => d.row));
    }

    draw() {
        if (!this.models.length) return;
        this.drawHeader();
        this.fitRows();
        const top = this.grid.scrollTop, n = this.drawn.length, two = Math.max(0, Math.floor(top / ROW) - 3);
        const first = Math.max(0, Math.min(two, this.rows.length - n));
        for (let i = first; i < first + n; i++) this.drawRow(this.drawn[i % n], i);
        this.markActive();
    }

    drawRow(d, i) {
        const item = this.rows[i], row = d.row, active = item === this.active;
        if (d.at !== i || d.turn !== this.turn) this.fillRow(d, i, item);
        if (d.active === active) return;
        d.active = active;
        row.classList.toggle("x-active", active);
        row.setAttribute("aria-selected", String(active));
    }

    fillRow(d, i, item) {
        const row = d.row;
        d.at = i;
        d.turn = this.turn;
        d.active = null;
        if (!item) return void (row.hidden = true);
        row.hidden = false;
        row.style.transform = `translateY(${i * ROW}px)`;
        const folds = item.kind === "module" && item.children.length > 0;
        setAttr(row, "id", `${this.id}-${i}`);
        setAttr(row, "aria-rowindex", i + 2);
        setAttr(row, "aria-level", item.depth);
        setAttr(row, "aria-expanded", folds ? String(this.isOpen(item)) : null);
        row.className = `x-row x-${item.kind}${folds && this.isOpen(item) ? " x-open" : ""}${folds ? " x-folds" : ""}` +
            (this.filtered && this.matches(item) ? " x-hit" : "");
        d.cells[0].style.paddingLeft = Math.min(item.depth - 1, 16) * 14 + 4 + "px";
        setText(d.label, item.kind === "node" ? shortName(item.name) : item.name);
        setAttr(d.label, "title", item.name);
        setText(d.cells[1], item.kind === "node" ? opOf(this.models, item) : this.nodesText(item));
        if (this.models.length > 1) this.drawTwo(d, item);
        else this.drawOne(d, item);
    }

    nodesText(item) {
        const counts = item.of.map((at, side) => (at < 0 ? 0 : this.models[side].report.modules[at].nodes));
        return [...new Set(counts)].map((n) => digits(n, 0)).join(" | ") + (counts[0] === 1 ? " node" : " nodes");
    }

    drawOne(d, item) {
        const node = item.kind === "node" ? this.models[0].report.nodes[item.of[0]] : null;
        const value = node ? this.models[0].report.values[node.outputs.find((v) => v >= 0)] : null;
        setText(d.cells[2], value ? shapeText(value) : "");
        MEASURES.forEach((m, k) => {
            const n = measure(this.models, item, 0, m.key);
            setText(d.cells[3 + k], n === null || (item.kind === "node" && n === 0) ? "" : m.show(n));
        });
        this.drawBar(d, item, 0);
    }

    drawTwo(d, item) {
        const [a, b] = [0, 1].map((side) => measure(this.models, item, side, this.measure.key));
        [a, b].forEach((n, side) => setText(d.cells[2 + side], item.of[side] < 0 ? "-" : n === null ? "" : this.measure.show(n)));
        const change = a && b !== null && item.of[1] >= 0 ? (100 * (b - a)) / a : null;
        const only = item.of[0] < 0 ? "only 2" : item.of[1] < 0 ? "only 1" : null;
        setText(d.cells[4], only || (change === null ? "" : `${change > 0 ? "+" : change < 0 ? "−" : "±"}${digits(Math.abs(change), Math.abs(change) < 10 ? 1 : 0)} %`));
        d.cells[4].classList.toggle("x-more", change > 0);
        d.cells[4].classList.toggle("x-less", change < 0);
        this.drawBar(d, item, 0);
        this.drawBar(d, item, 1);
    }

    drawBar(d, item, side) {
        const all = Math.max(...this.models.map((_, s) => this.total(s, this.measure.key))), n = measure(this.models, item, side, this.measure.key) || 0;
        d.bars[side].style.width = all > 0 ? Math.min(100, (100 * n) / all) + "%" : "0";
    }

    // ---- the active row ----
    markActive() {
        const at = this.active ? this.rows.indexOf(this.active) : -1, n = this.drawn.length;
        const shown = at >= 0 && n && this.drawn[at % n].at === at;
        setAttr(this.grid, "aria-activedescendant", shown ? `${this.id}-${at}` : null);
    }

    select(item) {
        this.active = item;
        this.later("scroll");
        this.drawDetail();
        this.reveal(item);
    }

    reveal(item) {
        const at = item ? this.rows.indexOf(item) : -1;
        if (at < 0) return;
        const top = at * ROW, room = this.grid.clientHeight - ROW;
        if (top < this.grid.scrollTop) this.grid.scrollTop = top;
        else if (top + ROW > this.grid.scrollTop + room) this.grid.scrollTop = top + ROW - room;
    }

    // Unfolds what it lies in, and lets go of a filter that hides it.
    goTo(item) {
        if (!item) return;
        if (this.filtered && !this.rows.includes(item)) {
            this.search.value = "";
            this.ops.value = "";
            this.different.checked = false;
            this.setFilter();
        }
        this.openTo(item);
        this.list();
        this.select(item);
    }

    itemOf(side, kind, at) {
        return this.items.find((i) => i.kind === kind && i.of[side] === at) || null;
    }

    click(e) {
        const row = e.target.closest(".x-body .x-row");
        const d = row && this.drawn.find((x) => x.row === row), item = d && this.rows[d.at];
        if (!item) return;
        if (e.target.closest(".x-twist") || item === this.active) this.fold(item, !this.isOpen(item));
        this.select(item);
    }

    key(e) {
        if (e.altKey || e.ctrlKey || e.metaKey || e.target !== this.grid) return;
        const at = this.active ? this.rows.indexOf(this.active) : -1, page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2);
        const item = this.rows[at], last = this.rows.length - 1;
        const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last };
        if (e.key in moves) {
            e.preventDefault();
            if (last >= 0) this.select(this.rows[Math.max(0, Math.min(last, moves[e.key]))]);
        } else if (item && (e.key === "ArrowRight" || e.key === "ArrowLeft" || e.key === "Enter" || e.key === " ")) {
            e.preventDefault();
            this.keyFold(item, e.key);
        }
    }

    keyFold(item, key) {
        const folds = item.kind === "module" && item.children.length > 0, open = this.isOpen(item);
        if (key === "Enter" || key === " ") this.fold(item, !open);
        else if (key === "ArrowRight" && folds) open ? this.select(this.rows[this.rows.indexOf(item) + 1] || item) : this.fold(item, true);
        else if (key === "ArrowLeft" && folds && open) this.fold(item, false);
        else if (key === "ArrowLeft" && item.parent !== this.root) this.select(item.parent);
    }

    // ---- details ----
    drawDetail() {
        const item = this.active;
        this.markFlames();
        if (!item) return this.detail.replaceChildren(el("p", { class: "muted" }, "Nothing is selected."));
        const parts = [el("h3", {}, item.name), el("p", { class: "muted small x-path" }, pathOf(item, this.root))];
        item.of.forEach((at, side) => {
            if (this.models.length > 1) parts.push(el("h4", {}, `${side + 1}: ${this.models[side].report.path || this.models[side].report.name}`));
            if (at < 0) parts.push(el("p", { class: "muted" }, "Not in this model."));
            else parts.push(...(item.kind === "node" ? this.nodeDetail(side, at) : this.moduleDetail(side, at)));
        });
        this.detail.replaceChildren(...parts);
    }

    measuresTable(side, item) {
        const rows = MEASURES.map((m) => [m, measure(this.models, item, side, m.key)]).filter(([, n]) => n !== null);
        return pairs(rows.map(([m, n]) => {
            const all = this.total(side, m.key);
            return [m.name, `${m.show(n)}${n >= 1000 && m.key !== "us" ? ` (${digits(n, 0)})` : ""}${all ? `, ${digits((100 * n) / all, 1)} %` : ""}`];
        }));
    }

    moduleDetail(side, at) {
        const m = this.models[side].report.modules[at];
        return [pairs([["Class", m.class], ["Attribute", m.scope], ["Nodes", digits(m.nodes, 0)]]), this.measuresTable(side, this.active)];
    }

    nodeDetail(side, at) {
        const model = this.models[side], n = model.report.nodes[at], step = n.step === undefined ? null : model.report.steps[n.step];
        const main = step && step.node !== undefined ? this.itemOf(side, "node", step.node) : null;
        const attributes = Object.entries(n.attributes || {});
        return [
            pairs([["Operator", n.domain ? `${n.op} (${n.domain})` : n.op]]), this.measuresTable(side, this.active),
            n.planned ? el("p", { class: "small muted" }, "No token has a part in it: computed when a plan is made.") : null,
            step ? el("h4", {}, "Runs in") : null,
            step ? pairs([["Step", `${n.step + 1} of ${model.report.steps.length}: ${step.op}`], ["Kernel", step.kernel], ["Layout", step.layout],
                ["Time", showTime(step.us)], ["Work", step.flops ? `${showCount(step.flops)} FLOP` + (step.us ? `, ${showCount(step.flops / step.us * 1e6)} FLOP/s` : "") : ""],
                ["Generic, since", step.generic_because]]) : null,
            main && main !== this.active ? el("p", { class: "small" }, "Together with ", this.link(main)) : null,
            el("h4", {}, "Inputs"), this.valueList(side, n.inputs, true), el("h4", {}, "Outputs"), this.valueList(side, n.outputs, false),
            attributes.length ? el("h4", {}, "Attributes") : null, attributes.length ? pairs(attributes) : null,
        ].filter(Boolean);
    }

    link(item) {
        return el("button", { type: "button", class: "x-link", onclick: () => this.goTo(item) }, item.name);
    }

    valueList(side, list, inputs) {
        const model = this.models[side], most = 40;
        return el("ul", { class: "x-values" }, ...list.filter((v) => v >= 0).slice(0, most).map((v) => {
            const value = model.report.values[v], ends = inputs ? (model.made[v] >= 0 ? [model.made[v]] : []) : model.readers[v].slice(0, 8);
            const links = ends.map((at) => this.itemOf(side, "node", at)).filter(Boolean).map((i) => this.link(i));
            const kind = value.constant ? `constant, ${showBytes(value.bytes)}` : "";
            return el("li", {}, el("span", { class: "mono" }, value.name), " ", el("span", { class: "muted mono" }, shapeText(value)),
                kind ? el("span", { class: "muted" }, ` ${kind}`) : null,
                links.length ? el("span", { class: "x-ends" }, inputs ? " from " : " to ", ...links.flatMap((l, i) => (i ? [", ", l] : [l]))) : null);
        }));
    }

    // ---- flame graphs ----
    // A box for each module and node, as wide as its part of the measure; below it what lies in it.
    drawFlames() {
        const focus = this.zoom && this.items.includes(this.zoom) ? this.zoom : this.root;
        this.boxes = [];
        this.flame.replaceChildren(...this.models.map((_, side) => this.flameOf(side, focus)));
    }

    valueOf(item, side) {
        return item === this.root ? this.root.children.reduce((n, c) => n + (measure(this.models, c, side, this.measure.key) || 0), 0)
            : measure(this.models, item, side, this.measure.key) || 0;
    }

    flameOf(side, focus) {
        const all = this.valueOf(focus, side), name = this.models[side].report.path || this.models[side].report.name;
        const widest = Math.max(...this.models.map((_, s) => this.valueOf(focus, s)));
        const box = el("div", { class: "x-flame", role: "img", "aria-label":
            `Flame graph of ${this.measure.name.toLowerCase()} of ${name}: the list below has the same numbers` });
        const caption = el("p", { class: "small muted x-caption" }, `${this.measure.name} by module`,
            this.models.length > 1 ? `, ${side + 1}: ${name}` : "", `: ${this.measure.show(all)}`);
        if (focus !== this.root) {
            caption.append(" in ", el("strong", {}, focus.name), " ", el("button", { type: "button", class: "x-link", onclick: () => {
                this.zoom = null;
                this.drawFlames();
            } }, "whole model"));
        }
        if (!(all > 0)) return el("div", { class: "x-flame-of" }, caption);
        const depth = this.flameBoxes(box, side, focus, all / widest, all);
        box.style.height = depth * FLAME_ROW + "px";
        box.addEventListener("click", (e) => this.flameClick(e));
        return el("div", { class: "x-flame-of" }, caption, box);
    }

    // Level by level, so that what there is no room for is the deepest.
    flameBoxes(box, side, focus, scale, all) {
        let level = [], depth = 0, left = FLAME_BOXES;
        const parts = document.createDocumentFragment();
        const spread = (items, x, to) => {
            for (const item of items) {
                const n = this.valueOf(item, side), width = (n / all) * scale;
                if (width >= FLAME_LEAST) to.push({ item, n, x, width });
                x += width;
            }
        };
        spread(focus === this.root ? focus.children : [focus], 0, level);
        for (; level.length && depth < FLAME_DEPTH && left >= level.length; depth++) {
            const next = [];
            left -= level.length;
            for (const { item, n, x, width } of level) {
                parts.append(this.flameBox(item, depth, x, width, n / all, n));
                spread(item.children, x, next);
            }
            level = next;
        }
        box.append(parts);
        return depth;
    }

    flameBox(item, level, x, width, share, n) {
        const part = el("div", { class: `x-box x-k${level % 8}${item === this.active ? " x-active" : ""}`,
            title: `${item.name}: ${this.measure.show(n)}, ${digits(100 * share, 1)} %` }, width > 0.03 ? shortName(item.name) : "");
        part.style.left = x * 100 + "%";
        part.style.width = width * 100 + "%";
        part.style.top = level * FLAME_ROW + "px";
        part.item = item;
        this.boxes.push(part);
        return part;
    }

    markFlames() {
        for (const part of this.boxes) part.classList.toggle("x-active", part.item === this.active);
    }

    flameClick(e) {
        const item = e.target.item;
        if (!item) return;
        const zoom = item.kind === "node" ? item.parent : item;
        this.zoom = zoom.parent === this.root && this.root.children.length === 1 ? null : zoom;
        this.drawFlames();
        this.goTo(item);
    }
}

// "/bert/encoder/layer.0/MatMul_1" to its last part: the tree tells the rest.
function shortName(name) {
    const at = name.lastIndexOf("/");
    return at >= 0 && at < name.length - 1 ? name.slice(at + 1) : name;
}

function pathOf(item, root) {
    const parts = [];
    for (let up = item.parent; up && up !== root; up = up.parent) parts.unshift(up.name);
    return parts.length ? "/" + parts.join("/") : "";
}

function pairs(rows) {
    const given = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
    return el("dl", { class: "x-pairs" }, ...given.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
}

function readReports(data) {
    if (!data || data.format !== FORMAT || !Array.isArray(data.models) || !data.models.length)
        throw new Error(`found no report of a model, wanted the JSON of \`encoderfile explore --json\` (format ${FORMAT})`);
    return data.models;
}

// While somebody else's request makes the report, a server says 503: it is there soon.
async function fetchReport(options) {
    const headers = options.headers ? options.headers({ Accept: "application/json" }) : {};
    for (let left = 120; ; left--) {
        const reply = await fetch(options.source, { headers }), text = await reply.text();
        if (reply.ok) return JSON.parse(text);
        if (reply.status !== 503 || left === 0) throw new Error(messageOf(text, reply.status));
        await new Promise((done) => setTimeout(done, 500));
    }
}

// Draws the explorer into the element. options: { data } a report, or { source } the address of one, with { headers }, a
// function that gives the fields to ask with; { whole } where the page is nothing but this.
export async function mount(element, options) {
    if (options.source) {
        const href = new URL("explore.css", import.meta.url).href;
        if (!document.querySelector(`link[href="${href}"]`)) document.head.append(el("link", { rel: "stylesheet", href }));
        element.replaceChildren(el("p", { class: "muted" }, "Reading the model…"));
    }
    const data = options.data || (await fetchReport(options));
    const explorer = new Explorer(element, options);
    explorer.setModels(readReports(data).slice(0, 2));
    return explorer;
}

function messageOf(text, status) {
    try {
        return JSON.parse(text).message || `status ${status}`;
    } catch {
        return `status ${status}`;
    }
}
