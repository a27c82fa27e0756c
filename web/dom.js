// SPDX-License-Identifier: Apache-2.0
// dom.js - elements without markup in strings: whatever a model or a user says arrives as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
    for (const [name, value] of Object.entries(props || {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
        else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
        else if (name === "value") node.value = value;
        else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
    return node;
}

export const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);
export const $ = (id) => document.getElementById(id);

export const percent = (x) => (x * 100).toFixed(x > 0.9995 || x < 0.0005 ? 0 : 1) + "%";
export const number = (x) => (Math.abs(x) >= 1000 || Number.isInteger(x) ? Math.round(x).toLocaleString("en") : x.toFixed(3));
export const count = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
export const kind = (i) => `k${((i % 8) + 8) % 8}`;

// A colour for each label, the same while the page is open: in the order in which the labels come.
const seen = new Map();
export function kindOf(label) {
    if (!seen.has(label)) seen.set(label, seen.size);
    return kind(seen.get(label));
}

// The server counts characters (code points); strings here count UTF-16 units. Returns a function from one to the other.
export function units(text) {
    const at = [];
    let i = 0;
    for (const c of text) {
        at.push(i);
        i += c.length;
    }
    at.push(i);
    return (n) => at[Math.max(0, Math.min(n, at.length - 1))];
}

// A row of tabs: arrows move, Home and End go to the ends; choose(name) is called for the one that is chosen.
export function tabs(list, choose) {
    const all = () => [...list.querySelectorAll('[role="tab"]')].filter((t) => !t.hidden);
    const select = (tab, focus) => {
        for (const t of all()) {
            t.setAttribute("aria-selected", t === tab);
            t.tabIndex = t === tab ? 0 : -1;
        }
        if (focus) tab.focus();
        choose(tab.id.replace(/^tab-/, ""));
    };
    list.addEventListener("click", (e) => {
        const tab = e.target.closest('[role="tab"]');
        if (tab) select(tab);
    });
    list.addEventListener("keydown", (e) => {
        const tabs = all(), at = tabs.indexOf(document.activeElement);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
        if (at < 0 || to === undefined) return;
        e.preventDefault();
        select(tabs[(to + tabs.length) % tabs.length], true);
    });
    return (name) => {
        const tab = all().find((t) => t.id === "tab-" + name);
        if (tab) select(tab);
    };
}

export async function copy(text, button) {
    const said = button.textContent;
    try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
    } catch {
        button.textContent = "Could not copy";
    }
    setTimeout(() => (button.textContent = said), 1500);
}
