// SPDX-License-Identifier: Apache-2.0
// link.js - the state of the page in the part of its address that is never sent to a server: JSON, packed, as base64url.
import { base64, restorePicture } from "./picture.js";
import { restoreSound } from "./sound.js";

const MOST_FILE = 60000; // characters of base64; larger files are left out

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

const saved = (file) => (file && file.data.length <= MOST_FILE ? { name: file.name, type: file.type, data: file.data } : null);

function plain(values) {
    const out = {};
    for (const [key, v] of Object.entries(values)) {
        if (key === "pictures" || key === "sounds") out[key] = v.map(saved).filter(Boolean);
        else if (key === "page") out[key] = { words: v.words, picture: saved(v.picture) };
        else out[key] = v;
    }
    return out;
}

// Whether some file is too large to be in a link.
export const leavesOut = (values) => [...(values.pictures || []), ...(values.sounds || []), ...(values.page && values.page.picture ? [values.page.picture] : [])].some((f) => !saved(f));

export async function toLink(state) {
    const text = JSON.stringify({ ...state, values: plain(state.values) });
    const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
    return "#s=" + base64(packed).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function fromLink(hash) {
    if (!hash.startsWith("#s=")) return null;
    try {
        const packed = Uint8Array.from(atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
        const state = JSON.parse(new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw"))));
        const v = state.values;
        if (v.pictures) v.pictures = await Promise.all(v.pictures.map(restorePicture));
        if (v.sounds) v.sounds = await Promise.all(v.sounds.map(restoreSound));
        if (v.page && v.page.picture) v.page.picture = await restorePicture(v.page.picture);
        return state;
    } catch {
        return null; // a link that was cut or made by hand
    }
}
