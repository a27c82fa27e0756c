// SPDX-License-Identifier: Apache-2.0
// inputs.js - fields to fill in. Each kind is a function (row, changed) -> { node, get, set }; `changed` is called when its
// value did. Values: a string; for "lines" a string too; pictures and sounds: lists of { name, type, data (base64), ... }.
import { el } from "./dom.js";
import { openSound, recorder } from "./sound.js";
import { openPicture, camera } from "./picture.js";

const labelled = (row, id, ...nodes) => el("div", { class: "field" }, el("label", { for: id }, row.label), nodes,
    row.hint ? el("p", { class: "hint muted small", id: id + "-hint" }, row.hint) : null);

function text(row, changed) {
    const id = "field-" + row.name;
    const area = row.kind === "line"
        ? el("input", { id, type: "text", autocomplete: "off", dir: "auto", on: { input: () => changed() } })
        : el("textarea", { id, rows: row.rows || 5, spellcheck: "false", dir: "auto", on: { input: () => changed() },
            "aria-describedby": row.hint ? id + "-hint" : undefined });
    if (row.kind === "line") area.classList.add("wide");
    return { node: labelled(row, id, area), get: () => area.value, set: (v) => (area.value = v || "") };
}

// ---- files: chosen, dropped, pasted or taken by the machine's camera or microphone ----
function files(row, changed, way) {
    const id = "field-" + row.name;
    let list = [];
    const shelf = el("div", { class: "shelf" });
    const said = el("p", { class: "error small", role: "alert", hidden: true });
    const input = el("input", { id, type: "file", class: "unseen", tabindex: "-1", accept: way.accept, multiple: row.many, "aria-describedby": id + "-hint",
        on: { change: () => take(input.files).then(() => (input.value = "")) } });
    const zone = el("div", { class: "drop" }, shelf,
        el("div", { class: "row drop-row" },
            el("button", { type: "button", on: { click: () => input.click() } }, way.choose),
            way.live ? el("button", { type: "button", on: { click: (e) => live(e.currentTarget) } }, way.liveWord) : null),
        el("p", { class: "hint muted small", id: id + "-hint" }, way.hint), input);

    const remove = (one) => {
        list = list.filter((x) => x !== one);
        draw();
        changed(true);
    };
    function draw() {
        shelf.replaceChildren(...list.map((one) => el("figure", { class: "held" }, way.preview(one),
            el("figcaption", { class: "small" }, el("span", { class: "held-name" }, one.name),
                row.many ? el("button", { type: "button", class: "quiet small", "aria-label": "Remove " + one.name, on: { click: () => remove(one) } }, "Remove") : null))));
    }
    async function take(given) {
        said.hidden = true;
        try {
            const opened = [];
            for (const file of given) opened.push(await way.open(file));
            if (!opened.length) return;
            list = row.many ? [...list, ...opened].slice(-16) : opened.slice(-1);
            draw();
            changed(true);
        } catch (e) {
            said.textContent = e.message;
            said.hidden = false;
        }
    }
    async function live(button) {
        said.hidden = true;
        try {
            const file = await way.live(zone, button);
            if (file) await take([file]);
        } catch (e) {
            said.textContent = e.message;
            said.hidden = false;
        }
    }
    for (const name of ["dragenter", "dragover"])
        zone.addEventListener(name, (e) => {
            e.preventDefault();
            zone.classList.add("over");
        });
    for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
    zone.addEventListener("drop", (e) => {
        e.preventDefault();
        take([...e.dataTransfer.files]);
    });
    const paste = (e) => {
        const found = [...(e.clipboardData ? e.clipboardData.files : [])].filter((f) => f.type.startsWith(way.type));
        if (found.length && zone.isConnected) take(found);
    };
    document.addEventListener("paste", paste);
    return { node: el("div", { class: "field" }, el("label", { for: id }, row.label), zone, said), get: () => list, take,
        end: () => document.removeEventListener("paste", paste),
        set: (v) => {
            list = v || [];
            draw();
        } };
}

const secure = () => Boolean(navigator.mediaDevices && navigator.mediaDevices.getUserMedia);

const pictures = (row, changed) => files(row, changed, {
    type: "image/", accept: "image/*", choose: row.many ? "Add pictures" : "Choose a picture", open: openPicture,
    hint: "Or drop one here, or paste it.", live: secure() ? camera : null, liveWord: "Camera",
    preview: (p) => el("img", { src: p.url, alt: p.name }),
});

const sounds = (row, changed) => files(row, changed, {
    type: "audio/", accept: "audio/*,.wav,.flac", choose: row.many ? "Add sounds" : "Choose a sound", open: openSound,
    hint: "Or drop one here. WAV and FLAC go as they are, others are turned into WAV by the browser.",
    live: secure() ? recorder : null, liveWord: "Microphone",
    preview: (s) => el("audio", { controls: true, src: s.url, "aria-label": s.name }),
});

// ---- a page: its picture, its words and where they stand ----
function page(row, changed) {
    const picture = pictures({ name: row.name + "-picture", label: "Picture of the page" }, () => {
        words.value = ""; // of another page
        changed(true);
    });
    const id = "field-" + row.name + "-words";
    const words = el("textarea", { id, rows: 6, class: "mono small", spellcheck: "false", dir: "auto", on: { input: () => changed() } });
    const read = () => words.value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
        const m = /^(.*\S)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$/.exec(line);
        return m ? { word: m[1], box: m.slice(2).map(Number) } : { word: line, box: null };
    });
    return {
        node: el("div", { class: "together" }, picture.node, labelled({ label: "Words", hint: "A line for each: the word, then left, top, right and bottom in thousandths of the page. " +
            "Without words the server reads the picture, if it was started with --ocr." }, id, words)),
        end: picture.end,
        get: () => ({ picture: picture.get()[0] || null, words: read() }),
        set: (v) => {
            picture.set(v && v.picture ? [v.picture] : []);
            words.value = v && v.words ? v.words.map((w) => [w.word, ...(w.box || [])].join(" ")).join("\n") : "";
        },
    };
}

// ---- options ----
function option(row, changed) {
    const id = "field-" + row.name;
    if (row.kind === "check") {
        const box = el("input", { id, type: "checkbox", on: { change: () => changed(true) } });
        return { node: el("div", { class: "option" }, box, el("label", { for: id }, row.label)), get: () => box.checked, set: (v) => (box.checked = Boolean(v)) };
    }
    if (row.kind === "select") {
        const list = el("select", { id, on: { change: () => changed(true) } }, row.values.map((v) => el("option", { value: v }, v)));
        return { node: el("div", { class: "option" }, el("label", { for: id }, row.label), list), get: () => list.value,
            set: (v) => (list.value = row.values.includes(v) ? v : row.values[0]) };
    }
    const field = el("input", { id, type: "number", min: row.min, max: row.max, step: row.step || 1, on: { input: () => changed() } });
    return { node: el("div", { class: "option" }, el("label", { for: id }, row.label), field),
        get: () => (field.value === "" || !field.checkValidity() ? row.value : Number(field.value)), set: (v) => (field.value = v === undefined ? "" : v) };
}

const kinds = { text, line: text, lines: text, pictures, sounds, page, check: option, select: option, number: option };
export const makeField = (row, changed) => kinds[row.kind](row, changed);
