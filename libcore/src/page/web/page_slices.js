/* Volumes as slices: three views of which each follows the others. */

/* An array of the page, [frame][z][y][x], with the voxels of the result, of which it may have means. */
class Volume {
    constructor(array, counts, frames) {
        Object.assign(this, { array, counts, frames, levels: array.data });
        this.size = [array.shape[3], array.shape[2], array.shape[1]];
        this.voxels = this.size[0] * this.size[1] * this.size[2];
    }

    at(voxel, frame) { /* the place of the voxel's number */
        const [i, j, k] = voxel.map((n, a) => Math.floor(n / this.array.reduced[a]));
        return Math.floor(frame / this.array.frame_step) * this.voxels + (k * this.size[1] + j) * this.size[0] + i;
    }

    valueOf(level) {
        const value = this.array.offset[0] + this.array.step[0] * level;
        if (this.sinh) return this.sinh * Math.sinh(value);
        return this.array.angles && value > Math.PI ? value - 2 * Math.PI : value;
    }

    value(voxel, frame) {
        return this.valueOf(this.levels[this.at(voxel, frame)]);
    }
}

/* Colours of all levels of a volume: bytes of RGBA. `color` takes t in [0, 1] and fills [r, g, b]. */
function makeTable(volume, low, high, color) {
    const levels = volume.array.type === "u16" ? 4096 : 256;
    const bytes = new Uint8ClampedArray(4 * levels);
    for (let n = 0; n < levels; n++) {
        const value = volume.valueOf(n), turn = volume.array.angles && value < 0 ? 2 * Math.PI : 0;
        const [r, g, b] = color(Math.min(1, Math.max(0, (value + turn - low) / (high - low || 1))));
        bytes.set([r, g, b, 255], 4 * n);
    }
    return new Uint32Array(bytes.buffer);
}

/* As in the programs' pictures (VF_COLORMAP_DIVERGING), at nine places. */
const stops = [[172, 23, 36], [204, 91, 76], [230, 145, 126], [248, 199, 186], [255, 255, 255], [185, 214, 241], [124, 171, 223], [73, 127, 199],
    [30, 84, 172]];
const redWhiteBlue = (t) => {
    const n = Math.min(7, Math.floor(8 * t)), part = 8 * t - n;
    return stops[n].map((c, i) => c + part * (stops[n + 1][i] - c));
};

/* Fills `pixels` [rows][columns] with the plane of voxel[normal], as the view turns it. */
function fillPlane(volume, view, voxel, frame, table, pixels) {
    const { u, v, flipU, flipV } = view, stride = [1, volume.size[0], volume.size[0] * volume.size[1]];
    const place = [0, 0, 0];
    place[view.normal] = voxel[view.normal];
    const start = volume.at(place, frame), columns = volume.size[u], rows = volume.size[v];
    for (let row = 0, at = 0; row < rows; row++) {
        const line = start + (flipV ? rows - 1 - row : row) * stride[v];
        for (let column = 0; column < columns; column++, at++)
            pixels[at] = table[volume.levels[line + (flipU ? columns - 1 - column : column) * stride[u]]];
    }
}

/* How slices across axis `normal` are shown, if no more is known than the axes' names. `up`: the second one points upwards. */
function viewAcross(normal, up) {
    const u = normal === 0 ? 1 : 0, v = normal === 2 ? 1 : 2;
    return { normal, u, v, flipU: false, flipV: up, edges: { right: "xyz"[u], [up ? "top" : "bottom"]: "xyz"[v] } };
}

/* ---- a view ---- */

/* A canvas with a slice, a slider, and letters at its edges. `owner` has volume, voxel, frame, table, spacing, and the methods
 * move(voxel), point(voxel or null), and drag(dx, dy) for the window. */
class SliceView {
    constructor(owner, view, title) {
        Object.assign(this, { owner, view, title });
        this.canvas = make("canvas", { tabindex: "0", role: "img" });
        this.hidden = document.createElement("canvas");
        this.slider = make("input", { type: "range", min: "0", max: String(owner.counts[view.normal] - 1), step: "1",
            "aria-label": "slice of the view " + title, hidden: owner.counts[view.normal] === 1, input: () => this.moveTo(Number(this.slider.value)) });
        this.caption = make("span");
        const edges = Object.entries(view.edges).map(([side, text]) => make("span", { class: "edge " + side }, text));
        /* as wide as there is room, but no higher than the window */
        const high = owner.counts[view.v] * owner.spacing[view.v], wide = owner.counts[view.u] * owner.spacing[view.u];
        const frame = make("div", { class: "frame", style: `max-width: max(12rem, ${(75 * wide / high).toFixed(1)}vh)` });
        frame.append(this.canvas, ...edges);
        this.element = make("figure", {}, frame, this.slider,
            make("figcaption", {}, make("span", {}, title), this.caption));
        this.listen();
    }

    moveTo(index) {
        const voxel = [...this.owner.voxel], n = this.view.normal;
        voxel[n] = Math.min(this.owner.counts[n] - 1, Math.max(0, index));
        this.owner.move(voxel);
    }

    /* The voxel under a pointer. */
    voxelAt(event) {
        const box = this.canvas.getBoundingClientRect(), { u, v, flipU, flipV } = this.view, counts = this.owner.counts;
        const along = (part, count, flip) => {
            const n = Math.min(count - 1, Math.max(0, Math.floor(part * count)));
            return flip ? count - 1 - n : n;
        };
        const voxel = [...this.owner.voxel];
        voxel[u] = along((event.clientX - box.left) / box.width, counts[u], flipU);
        voxel[v] = along((event.clientY - box.top) / box.height, counts[v], flipV);
        return voxel;
    }

    listen() {
        let last = null;
        const ofWindow = (event) => this.owner.dragsWindow || event.shiftKey || (event.buttons & 2) !== 0;
        this.canvas.addEventListener("pointerdown", (event) => {
            last = [event.clientX, event.clientY];
            this.canvas.setPointerCapture(event.pointerId);
            if (!ofWindow(event)) this.owner.move(this.voxelAt(event));
        });
        this.canvas.addEventListener("pointermove", (event) => {
            this.owner.point(this.voxelAt(event));
            if (!last || event.buttons === 0) return;
            if (ofWindow(event)) this.owner.drag(event.clientX - last[0], event.clientY - last[1]);
            else this.owner.move(this.voxelAt(event));
            last = [event.clientX, event.clientY];
        });
        this.canvas.addEventListener("pointerup", () => { last = null; });
        this.canvas.addEventListener("pointerleave", () => this.owner.point(null));
        this.canvas.addEventListener("contextmenu", (event) => event.preventDefault());
        this.canvas.addEventListener("wheel", (event) => {
            event.preventDefault();
            this.moveTo(this.owner.voxel[this.view.normal] + (event.deltaY > 0 ? 1 : -1));
        }, { passive: false });
        this.canvas.addEventListener("keydown", (event) => {
            const step = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
            if (!step) return;
            event.preventDefault();
            this.moveTo(this.owner.voxel[this.view.normal] + step);
        });
    }

    draw() {
        const { volume, voxel, frame, table, spacing, counts } = this.owner, { u, v, normal, flipU, flipV } = this.view;
        this.slider.value = String(voxel[normal]);
        this.caption.textContent = counts[normal] === 1 ? "" : `${"xyz"[normal]} = ${voxel[normal]} of 0 ... ${counts[normal] - 1}`;
        this.canvas.setAttribute("aria-label", `${this.title}, slice ${voxel[normal]} of ${counts[normal]}`);
        if (!volume) return;
        const columns = volume.size[u], rows = volume.size[v];
        this.hidden.width = columns;
        this.hidden.height = rows;
        const context = this.hidden.getContext("2d"), image = context.createImageData(columns, rows);
        fillPlane(volume, this.view, voxel, frame, table, new Uint32Array(image.data.buffer));
        context.putImageData(image, 0, 0);
        const ratio = counts[v] * spacing[v] / (counts[u] * spacing[u]), width = 640;
        this.canvas.width = ratio > 2 ? Math.round(2 * width / ratio) : width;
        this.canvas.height = Math.max(16, Math.round(this.canvas.width * ratio));
        const shown = this.canvas.getContext("2d"), { width: w, height: h } = this.canvas;
        shown.imageSmoothingEnabled = false;
        /* means of reduced axes may reach beyond the last voxel */
        const wide = columns * volume.array.reduced[u] / counts[u], high = rows * volume.array.reduced[v] / counts[v];
        shown.drawImage(this.hidden, flipU ? w * (1 - wide) : 0, flipV ? h * (1 - high) : 0, w * wide, h * high);
        if (!this.owner.cross) return;
        const part = (a, flip) => (flip ? counts[a] - 0.5 - voxel[a] : voxel[a] + 0.5) / counts[a];
        shown.fillStyle = "rgba(255, 210, 90, 0.65)";
        const line = Math.max(1, Math.round(w / (this.canvas.clientWidth || w))); /* a pixel of the screen */
        shown.fillRect(Math.round(part(u, flipU) * w - line / 2), 0, line, h);
        shown.fillRect(0, Math.round(part(v, flipV) * h - line / 2), w, line);
    }
}
