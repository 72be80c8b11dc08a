/* A page of image volumes: three views, a montage, a window, and frames that play. */
class ImagesPage {
    constructor(about) {
        this.about = about;
        this.counts = about.counts;
        this.spacing = about.spacing;
        this.voxel = about.counts.map((n) => Math.floor(n / 2));
        this.frame = 0;
        this.cross = true;
        this.dragsWindow = false;
        this.volumes = {};
        this.affines = about.affines ? about.affines.length / 12 : 0;
        this.readout = makeReadout();
        this.build();
    }

    /* ---- places ---- */

    placeOf(frame) {
        return Math.floor(frame / (this.layer?.frames_of_a_place ?? 1)) % (this.affines || 1);
    }

    affine(place) {
        return this.about.affines.slice(12 * place, 12 * place + 12);
    }

    directions() {
        if (!this.affines) return null;
        const a = this.affine(0);
        return [0, 1, 2].map((axis) => {
            const d = [a[axis], a[4 + axis], a[8 + axis]], size = Math.hypot(...d) || 1;
            return d.map((x) => x / size);
        });
    }

    /* The patient's coordinates of a voxel's centre, or the distance from the first voxel. */
    millimetres(voxel) {
        if (!this.affines) return voxel.map((n, axis) => n * this.spacing[axis]);
        const a = this.affine(this.placeOf(this.frame));
        return [0, 4, 8].map((row) => a[row] * voxel[0] + a[row + 1] * voxel[1] + a[row + 2] * voxel[2] + a[row + 3]);
    }

    /* ---- elements ---- */

    build() {
        const names = Object.keys(this.about.layers), directions = this.directions();
        this.select = make("select", { id: "layer", change: () => this.show(this.select.value) },
            ...names.map((name) => make("option", { value: name }, this.about.layers[name].title)));
        this.frameSlider = make("input", { id: "frame", type: "range", min: "0", step: "1",
            input: () => this.setFrame(Number(this.frameSlider.value)) });
        this.frameName = make("span");
        this.play = make("button", { id: "play", type: "button", "aria-pressed": "false", click: () => this.togglePlay() }, "play");
        this.frameTools = make("label", {}, this.frameName, this.frameSlider, this.play);
        const windowChanged = () => this.setWindow(Number(this.low.value), Number(this.high.value));
        this.low = make("input", { id: "low", type: "number", step: "any", change: windowChanged });
        this.high = make("input", { id: "high", type: "number", step: "any", change: windowChanged });
        this.dragButton = this.toggle("drag changes window", (on) => { this.dragsWindow = on; });
        const reset = make("button", { id: "reset", type: "button", click: () => this.resetWindow() }, "reset window");
        this.montageButton = this.toggle("montage", (on) => {
            this.montage.element.hidden = !on;
            this.drawMontage();
        });
        const tools = make("div", { class: "tools", role: "toolbar", "aria-label": "what is shown" },
            make("label", {}, "show", this.select), this.frameTools, make("label", {}, "black", this.low),
            make("label", {}, "white", this.high), reset, this.dragButton, this.montageButton);
        this.views = [2, 1, 0].filter((a) => a === 2 || this.counts[2] > 1)
            .map((a) => new SliceView(this, viewOfPatient(a, directions), "slices across " + "xyz"[a]));
        this.bar = make("canvas", { class: "bar", width: "256", height: "1", style: "width: 100%" });
        this.barEnds = make("div", { class: "scale" });
        this.note = make("p", { class: "note", id: "note" });
        this.montage = { element: make("figure", { hidden: true }), canvas: make("canvas", { role: "img" }) };
        this.montage.element.append(make("div", { class: "frame" }, this.montage.canvas), make("figcaption", {}));
        this.montage.canvas.addEventListener("click", (event) => this.pickTile(event));
        const known = this.affines ? "Letters: left, right, posterior, anterior, head and feet of the patient."
            : "The scan does not say how the patient lies: left and right are not known.";
        const views = make("section", { "aria-label": "views" }, tools, make("div", { class: "views" },
            ...this.views.map((view) => view.element)), this.bar, this.barEnds, make("p", { class: "note" }, known), this.note,
            this.montage.element);
        document.getElementById("main").append(views, makeAside(this.readout.element,
            "Wheel, arrow up and down: slices. Click: the other views follow. Right button or Shift and drag: window (across: width, "
            + "down: level). Left and right arrows or comma and point: frames. Space: play. M: montage. X: cross lines. R: reset "
            + "the window.", ...Object.values(page.json.plots ?? {}).map(plotOf).filter(Boolean)));
        document.addEventListener("keydown", (event) => this.key(event));
    }

    toggle(text, act) {
        const button = make("button", { type: "button", "aria-pressed": "false", click: () => {
            const on = button.getAttribute("aria-pressed") !== "true";
            button.setAttribute("aria-pressed", String(on));
            act(on);
        } }, text);
        return button;
    }

    key(event) {
        if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
        const acts = {
            ",": () => this.setFrame(this.frame - 1), ".": () => this.setFrame(this.frame + 1),
            ArrowLeft: () => this.setFrame(this.frame - 1), ArrowRight: () => this.setFrame(this.frame + 1),
            " ": () => event.target.tagName !== "BUTTON" && this.togglePlay(), m: () => this.montageButton.click(),
            r: () => this.resetWindow(), x: () => { this.cross = !this.cross; this.draw(); },
        };
        const act = acts[event.key];
        if (!act) return;
        if (event.target.tagName !== "BUTTON") event.preventDefault();
        act();
    }

    /* ---- what is shown ---- */

    async show(name) {
        const layer = this.about.layers[name];
        if (!this.volumes[name]) this.volumes[name] = new Volume(await readArray(name), this.counts, layer.frames);
        this.layer = layer;
        this.volume = this.volumes[name];
        this.select.value = name;
        this.frame = Math.min(this.frame, layer.frames - 1);
        this.frameSlider.max = String(layer.frames - 1);
        this.frameTools.hidden = layer.frames < 2;
        const { bits, reduced, frame_step: every, error } = this.volume.array;
        const means = reduced.some((n) => n > 1) ? `, each the mean of ${reduced.join(" x ")} voxels` : "";
        const left = every > 1 ? `, of every ${every}th ${layer.frame_name}` : "";
        this.note.textContent = `In this page: ${layer.title} with ${bits} bits, at most ${say(error, 2)} off${means}${left}.`;
        this.resetWindow();
    }

    resetWindow() {
        this.setWindow(...this.layer.window);
    }

    setWindow(low, high) {
        if (!Number.isFinite(low) || !Number.isFinite(high)) return;
        this.window = [low, high > low ? high : low + Math.abs(low) * 1e-6 + 1e-30];
        const colors = { gray, signed: redWhiteBlue, angle: wheel }, color = colors[this.layer.colors];
        let [from, to] = this.window;
        if (this.layer.colors === "angle") [from, to] = [0, 2 * Math.PI]; /* as numbers are stored; -pi is the colour of pi */
        this.table = makeTable(this.volume, from, to, color);
        this.low.value = say(this.window[0]);
        this.high.value = say(this.window[1]);
        this.barEnds.replaceChildren(make("span", {}, say(this.window[0])), make("span", {}, this.layer.title), make("span", {}, say(this.window[1])));
        const bar = this.bar.getContext("2d"), image = bar.createImageData(256, 1);
        const turn = this.layer.colors === "angle" ? 0.5 : 0;
        for (let n = 0; n < 256; n++) image.data.set([...color(turn ? (n / 256 + turn) % 1 : n / 255), 255], 4 * n);
        bar.putImageData(image, 0, 0);
        this.draw();
    }

    drag(dx, dy) {
        if (this.layer.colors === "angle") return;
        const [low, high] = this.window, width = (high - low) * Math.exp(dx / 150);
        const level = (low + high) / 2 + dy * (high - low) / 300;
        this.setWindow(level - width / 2, level + width / 2);
    }

    setFrame(frame) {
        const count = this.layer.frames;
        this.frame = (frame % count + count) % count;
        this.draw();
    }

    togglePlay() {
        const on = !this.timer && this.layer.frames > 1;
        if (this.timer) window.clearInterval(this.timer);
        this.timer = on ? window.setInterval(() => this.setFrame(this.frame + 1), 100) : null;
        this.play.setAttribute("aria-pressed", String(on));
    }

    move(voxel) {
        this.voxel = voxel;
        this.point(null);
        this.draw();
    }

    draw() {
        this.frameSlider.value = String(this.frame);
        this.frameName.textContent = `${this.layer.frame_name} ${this.frame}`;
        for (const view of this.views) view.draw();
        this.drawMontage();
        this.point(this.pointed ?? null);
    }

    /* The voxel under the pointer, or that of the cross. */
    point(voxel) {
        this.pointed = voxel;
        const at = voxel ?? this.voxel, value = this.volume.value(at, this.frame);
        const mm = this.millimetres(at).map((x) => x.toFixed(1)).join(", ");
        this.readout.set({
            voxel: at.join(", "), [this.affines ? "mm (left, back, head)" : "mm from the first voxel"]: mm,
            [this.layer.frame_name]: String(this.frame), [this.layer.title]: say(value, 5),
        });
    }

    /* ---- the montage: all slices, or all frames of one slice ---- */

    drawMontage() {
        const { montage, volume, layer } = this;
        if (montage.element.hidden || !volume) return;
        const view = this.views[0].view, ofFrames = this.counts[2] === 1 && layer.frames > 1;
        const total = ofFrames ? layer.frames : this.counts[view.normal], shown = Math.min(total, 64);
        const columns = Math.ceil(Math.sqrt(shown)), rows = Math.ceil(shown / columns), tile = Math.floor(1280 / columns);
        const ratio = this.counts[view.v] * this.spacing[view.v] / (this.counts[view.u] * this.spacing[view.u]);
        const high = Math.max(8, Math.round(tile * ratio)), hidden = document.createElement("canvas");
        montage.canvas.width = columns * tile;
        montage.canvas.height = rows * high;
        [hidden.width, hidden.height] = [volume.size[view.u], volume.size[view.v]];
        const context = montage.canvas.getContext("2d"), from = hidden.getContext("2d");
        const image = from.createImageData(hidden.width, hidden.height);
        montage.tiles = Array.from({ length: shown }, (_, n) => Math.floor((n + 0.5) * total / shown));
        Object.assign(montage, { columns, rows, ofFrames });
        montage.tiles.forEach((item, n) => {
            const voxel = [...this.voxel];
            if (!ofFrames) voxel[view.normal] = item;
            fillPlane(volume, view, voxel, ofFrames ? item : this.frame, this.table, new Uint32Array(image.data.buffer));
            from.putImageData(image, 0, 0);
            const x = n % columns * tile, y = Math.floor(n / columns) * high;
            context.drawImage(hidden, x, y, tile, high);
            context.fillStyle = "#ffe08a";
            context.font = "16px system-ui";
            context.fillText(String(item), x + 4, y + 18);
        });
        const what = ofFrames ? layer.frame_name + "s" : "slices";
        montage.element.lastChild.textContent = `${shown} of ${total} ${what}; click one to show it above`;
        montage.canvas.setAttribute("aria-label", `montage of ${shown} ${what}`);
    }

    pickTile(event) {
        const { canvas, columns, rows, tiles, ofFrames } = this.montage, box = canvas.getBoundingClientRect();
        const n = Math.floor((event.clientX - box.left) / box.width * columns)
            + columns * Math.floor((event.clientY - box.top) / box.height * rows);
        if (!(n in tiles)) return;
        if (ofFrames) this.setFrame(tiles[n]);
        else this.views[0].moveTo(tiles[n]);
    }
}

/* ---- orientation ---- */

/* The view across axis `normal`. Directions: of the axes, in the patient's axes (left, back, head), or NULL. As the
 * radiologists do: transverse slices from the feet with the front up, others with the head up. */
function viewOfPatient(normal, directions) {
    const view = viewAcross(normal, false);
    if (!directions) return view;
    const largest = (d) => [0, 1, 2].reduce((best, a) => Math.abs(d[a]) > Math.abs(d[best]) ? a : best, 0);
    const across = largest(directions[normal]), down = across === 2 ? 1 : 2, right = across === 0 ? 1 : 0;
    if (Math.abs(directions[view.u][down]) > Math.abs(directions[view.v][down])) [view.u, view.v] = [view.v, view.u];
    const du = directions[view.u], dv = directions[view.v];
    view.flipU = du[right] < 0;
    view.flipV = dv[down] * (across === 2 ? 1 : -1) < 0;
    view.edges = { left: nameDirection(du, view.flipU ? 1 : -1), right: nameDirection(du, view.flipU ? -1 : 1),
        top: nameDirection(dv, view.flipV ? 1 : -1), bottom: nameDirection(dv, view.flipV ? -1 : 1) };
    return view;
}

/* The nearest direction of the patient, and a second one if that is more than 20 degrees off. */
function nameDirection(d, sign) {
    const names = ["LR", "PA", "HF"], size = Math.hypot(...d) || 1;
    const order = [0, 1, 2].sort((a, b) => Math.abs(d[b]) - Math.abs(d[a]));
    const letter = (a) => names[a][sign * d[a] < 0 ? 1 : 0];
    return letter(order[0]) + (Math.abs(d[order[1]]) / size > 0.342 ? letter(order[1]) : "");
}

/* ---- colours ---- */

const gray = (t) => [255 * t, 255 * t, 255 * t];
/* The angle's colour: the same at both ends. */
const wheel = (t) => [0, 1, 2].map((n) => 127.5 + 127.5 * Math.cos(2 * Math.PI * (t - n / 3)));

/* ---- plots ---- */

/* A polyline of positive values, on a logarithmic scale. */
function plotOf(plot) {
    const name = "http://www.w3.org/2000/svg";
    const draw = (tag, attributes, text) => {
        const element = document.createElementNS(name, tag);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        if (text) element.textContent = text;
        return element;
    };
    const values = plot.values.filter((v) => v > 0);
    if (values.length < 2) return null;
    const low = Math.floor(Math.log10(Math.min(...values))), high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
    const x = (i) => 44 + 246 * i / (values.length - 1), y = (v) => 12 + 120 * (high - Math.log10(v)) / (high - low);
    const svg = draw("svg", { viewBox: "0 0 300 160", class: "plot", role: "img" });
    svg.setAttribute("aria-label", `${plot.title}: from ${say(values[0])} to ${say(values[values.length - 1])}`);
    for (let power = low; power <= high; power++) {
        svg.append(draw("line", { x1: 44, x2: 290, y1: y(10 ** power), y2: y(10 ** power) }));
        svg.append(draw("text", { x: 40, y: y(10 ** power) + 4, "text-anchor": "end" }, "1e" + power));
    }
    svg.append(draw("polyline", { points: values.map((v, i) => x(i) + "," + y(v)).join(" ") }));
    svg.append(draw("text", { x: 44, y: 152 }, plot.x + " 1"));
    svg.append(draw("text", { x: 290, y: 152, "text-anchor": "end" }, String(values.length)));
    return make("figure", {}, svg, make("figcaption", {}, plot.title));
}

if (page.json.page.view === "images") {
    page.view = new ImagesPage(page.json.images);
    page.view.show(Object.keys(page.json.images.layers)[0]).then(() => {
        document.body.classList.add("drawn");
        document.body.dataset.ready = "yes";
    });
}
