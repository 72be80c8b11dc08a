/* What all pages share: reading the data, the elements, the figures of the run. docs/pages.md describes the data. */
const page = { json: JSON.parse(document.getElementById("voxfield-json").textContent), lines: null };

function showMessage(text) {
    document.getElementById("message").textContent = text;
}

window.addEventListener("error", (event) => showMessage("This page met an error: " + event.message));
window.addEventListener("unhandledrejection", (event) => showMessage("This page met an error: " + event.reason));

/* ---- elements ---- */

/* make("button", {type: "button"}, "text", child, ...): texts are texts, never HTML. */
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name, value);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
}

/* A number in few letters. */
function say(value, digits = 4) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "not a number";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e");
    return String(Number(value.toPrecision(digits)));
}

/* ---- arrays ---- */

function bytesOfBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
}

async function inflate(bytes) {
    if (typeof DecompressionStream === "undefined")
        throw new Error("the browser is too old: it needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4)");
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Numbers from their differences, frame by frame; of 16 bits, the lower bytes of a frame come before its upper ones. */
function sumDifferences(bytes, wide, frames) {
    const count = bytes.length / frames / (wide ? 2 : 1);
    const out = wide ? new Uint16Array(count * frames) : new Uint8Array(count * frames);
    for (let f = 0; f < frames; f++) {
        let before = 0;
        for (let i = 0, at = f * count; i < count; i++, at++) {
            before += wide ? bytes[2 * f * count + i] + 256 * bytes[(2 * f + 1) * count + i] : bytes[at];
            before &= wide ? 65535 : 255;
            out[at] = before;
        }
    }
    return out;
}

/* The page's array: {data, shape, offset, step, ...}; a value is offset[column] + step[column] * data[i]. NULL: none of this name. */
async function readArray(name) {
    const about = page.json.arrays[name];
    if (!about) return null;
    if (!page.lines) page.lines = document.getElementById("voxfield-data").textContent.split("\n").slice(1);
    const bytes = await inflate(bytesOfBase64(page.lines[about.line]));
    const types = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };
    const data = about.differences ? sumDifferences(bytes, about.type === "u16", about.shape[0])
        : new types[about.type](bytes.buffer, 0, bytes.byteLength / types[about.type].BYTES_PER_ELEMENT);
    return { ...about, name, data };
}

/* An array of rows as floats. */
function floatsOf(array) {
    if (!array.offset) return array.data;
    const columns = array.offset.length;
    return Float32Array.from(array.data, (level, i) => array.offset[i % columns] + array.step[i % columns] * level);
}

/* ---- figures ---- */

function sayFigure(value) {
    if (typeof value === "number") return Number.isInteger(value) ? String(value) : say(value, 6);
    if (Array.isArray(value)) {
        const most = typeof value[0] === "number" ? 12 : 100, shown = value.slice(0, most).map(sayFigure).join(", ");
        return value.length > most ? shown + ", ... (" + value.length + ")" : shown;
    }
    return value === null ? "not a number" : String(value);
}

/* An object as a table; objects in it can be opened. */
function figuresOf(object) {
    const rows = Object.entries(object).filter(([, value]) => value === null || typeof value !== "object" || Array.isArray(value));
    const parts = Object.entries(object).filter(([, value]) => value && typeof value === "object" && !Array.isArray(value));
    const box = make("div");
    if (rows.length) {
        box.append(make("table", {}, make("tbody", {}, ...rows.map(([key, value]) =>
            make("tr", {}, make("td", {}, key.replaceAll("_", " ")), make("td", {}, key === "command" ? [value].flat().join(" ") : sayFigure(value)))))));
    }
    for (const [key, value] of parts)
        box.append(make("details", {}, make("summary", {}, key.replaceAll("_", " ")), figuresOf(value)));
    return box;
}

/* The column beside the views: what is under the pointer, plots, keys, the figures of the run. */
function makeAside(readout, help, ...plots) {
    return make("aside", { "aria-label": "figures" }, make("h2", {}, "Under the pointer"), readout, ...plots,
        make("h2", {}, "Keys and mouse"), make("p", { class: "note" }, help),
        make("h2", {}, "Figures of the run"), make("div", { id: "figures" }, figuresOf(page.json.run ?? {})));
}

/* A list of names and values that change: set({name: text}). */
function makeReadout() {
    const list = make("dl", { id: "readout", "aria-live": "polite" });
    return { element: list, set(values) {
        list.replaceChildren(...Object.entries(values).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    } };
}
