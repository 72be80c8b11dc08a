/* A page of a scene: atoms, the surface coloured by the map, isosurfaces, and slices of the map. */

/* The map's slices: three views that follow each other. */
class SceneSlices {
    constructor(scene, about, array) {
        const size = array.shape.slice(1).reverse();
        Object.assign(this, { scene, frame: 0, cross: true, dragsWindow: false });
        this.counts = size.map((n, a) => n * array.reduced[a]); /* of the page's grid; the last may be cut off */
        this.spacing = about.map.spacing;
        this.volume = new Volume(array, this.counts, 1);
        this.volume.sinh = about.map.sinh;
        this.voxel = this.counts.map((n) => Math.floor(n / 2));
        this.views = [2, 1, 0].map((a) => new SliceView(this, viewAcross(a, true), "slices across " + "xyz"[a]));
        this.element = make("section", { class: "views", "aria-label": "slices of the map" }, ...this.views.map((v) => v.element));
    }

    placeOf(voxel) {
        const { origin, spacing } = this.scene.about.map;
        return voxel.map((n, a) => origin[a] + spacing[a] * n);
    }

    setRange(range) {
        this.table = makeTable(this.volume, -range, range, redWhiteBlue);
        this.draw();
    }

    draw() {
        for (const view of this.views) view.draw();
    }

    move(voxel) {
        this.voxel = voxel;
        this.draw();
        this.point(voxel);
    }

    drag(dx) {
        this.scene.setRange(this.scene.range * Math.exp(dx / 150));
    }

    point(voxel) {
        if (!voxel) return;
        const { map, unit } = this.scene.about;
        this.scene.readout.set({ "point (angstrom)": this.placeOf(voxel).map((x) => x.toFixed(2)).join(", "),
            [map.title + " (" + unit + ")"]: say(this.volume.value(voxel, 0)) });
    }
}

class ScenePage {
    constructor(about) {
        this.about = about;
        this.range = about.range;
        this.readout = makeReadout();
        this.levels = { plus: about.isovalue, minus: -about.isovalue };
        this.iso = {};
    }

    async start() {
        this.mesh = await this.readMesh();
        this.atoms = await this.readAtoms("atoms");
        this.ions = await this.readAtoms("ions");
        this.backbone = await this.readBackbone();
        const map = await readArray("map");
        this.slices = map ? new SceneSlices(this, this.about, map) : null;
        if (map) this.map = new GridMap(this.slices.volume, this.about.map.origin, this.about.map.spacing);
        this.canvas = make("canvas", { id: "stage", tabindex: "0", role: "img", style: "height: min(70vh, 46rem)" });
        this.stage = new Stage(this.canvas, this.about.centre, this.about.radius, this.about.axes);
        if (location.hash === "#without-webgl") this.stage.gl = null; /* for a look at the page without it */
        this.build();
        if (this.stage.gl) this.fillStage();
        this.setRange(this.range);
    }

    async readMesh() {
        const vertices = await readArray("surface_vertices");
        if (!vertices) return null;
        const normals = floatsOf(await readArray("surface_normals")), values = floatsOf(await readArray("surface_values"));
        return { vertices: floatsOf(vertices), normals, values, triangles: (await readArray("surface_triangles")).data };
    }

    async readLines(name) {
        return new TextDecoder().decode((await readArray(name))?.data).split("\n");
    }

    /* Places, radii, elements and labels "name residue chain number"; null: none. */
    async readAtoms(name) {
        const places = await readArray(name);
        if (!places) return null;
        const labels = await this.readLines(name + "_labels"), known = await this.readLines(name + "_elements");
        const kinds = labels.map((_, n) => elements[known[n]] ? known[n] : "C");
        return { places: floatsOf(places), radii: floatsOf(await readArray(name + "_radii")), labels, kinds,
            colors: Float32Array.from(kinds.flatMap((kind) => elements[kind][1])) };
    }

    async readBackbone() {
        const places = await readArray("backbone"), rungs = await readArray("backbone_rungs");
        return places && { places: floatsOf(places), sides: floatsOf(await readArray("backbone_sides")), rungs: rungs && floatsOf(rungs),
            kinds: (await readArray("backbone_kinds")).data, labels: await this.readLines("backbone_labels") };
    }

    /* ---- the stage ---- */

    fillStage() {
        const { stage, atoms, ions } = this, items = {};
        stage.background = window.matchMedia("(prefers-color-scheme: dark)").matches ? [0.09, 0.1, 0.11] : [1, 1, 1];
        this.groups = []; /* atoms of the ribbon's residues, other atoms, ions */
        if (atoms) this.addAtoms();
        if (ions) {
            items.ions = stage.addSpheres(ions.places, ions.radii, ions.colors);
            this.groups.push({ ...ions, kind: "ion", balls: items.ions });
        }
        if (this.backbone) this.addRibbon();
        if (this.mesh) items.surface = stage.addMesh(this.mesh, { alpha: 1 });
        this.items = items;
        this.showAtoms();
        this.setIso("plus");
        this.setIso("minus");
        new ResizeObserver(() => this.draw()).observe(this.canvas);
    }

    addAtoms() {
        const { stage, atoms, backbone } = this, residueOf = (label) => label.slice(label.indexOf(" "));
        const inRibbon = new Set(backbone?.labels.map(residueOf)), bonds = bondsOf(atoms.places, atoms.kinds);
        const rows = (array, list) => Float32Array.from(list.flatMap((n) => [...array.slice(3 * n, 3 * n + 3)]));
        for (const ribbon of [true, false]) {
            const own = atoms.labels.map((label) => inRibbon.has(residueOf(label)) === ribbon), list = [...own.keys()].filter((n) => own[n]);
            if (!list.length) continue;
            /* each half of a bond in its atom's colour */
            const ends = bonds.flatMap(([a, b]) => [[a, b], [b, a]]).filter(([a]) => own[a]), near = ends.map(([a]) => a);
            const from = rows(atoms.places, near), to = rows(atoms.places, ends.map(([, b]) => b)).map((x, k) => (x + from[k]) / 2);
            const group = { ribbon, kind: "atom", places: rows(atoms.places, list), radii: Float32Array.from(list, (n) => atoms.radii[n]),
                labels: list.map((n) => atoms.labels[n]) };
            group.balls = stage.addSpheres(group.places, group.radii, rows(atoms.colors, list));
            group.sticks = stage.addSticks(from, to, rows(atoms.colors, near));
            this.groups.push(group);
        }
    }

    addRibbon() {
        const { stage, backbone: { rungs } } = this;
        this.ribbons = ribbonsOf(this.backbone);
        this.ribbonItems = this.ribbons.map((mesh, kind) => stage.addMesh(mesh, { one_color: [...ribbonKinds[kind].color, 1] }));
        if (!rungs) return;
        const ends = [0, 1].map((end) => rungs.filter((_, n) => Math.floor(n / 3) % 2 === end));
        this.ribbonItems.push(stage.addSticks(...ends, ends[0].map((_, n) => ribbonKinds[3].color[n % 3])));
    }

    /* A ribbon with the atoms beside it as sticks; sticks with small spheres; spheres; or nothing. */
    showAtoms() {
        const how = this.atomSelect.value;
        for (const { balls, sticks, ribbon } of this.groups ?? []) {
            if (!sticks) continue;
            balls.shown = how !== "none" && !(how === "ribbon" && ribbon);
            balls.uniforms.scale = how === "spheres" ? 1 : 0.22;
            sticks.shown = balls.shown && how !== "spheres";
        }
        for (const item of this.ribbonItems ?? []) item.shown = how === "ribbon";
        this.draw();
    }

    setIso(which) {
        const { stage, map } = this, on = this[which + "Box"]?.checked;
        if (!stage.gl || !map) return;
        stage.remove(this.iso[which]);
        this.iso[which] = null;
        if (on) {
            const color = which === "plus" ? [0.1, 0.25, 0.9, 1] : [0.85, 0.1, 0.1, 1];
            this.iso[which] = stage.addMesh(isosurface(map, this.levels[which]), { alpha: 0.55, one_color: color });
        }
        this.draw();
    }

    setRange(range) {
        if (!(range > 0 && Number.isFinite(range))) return;
        this.range = range;
        this.rangeInput.value = say(range);
        if (this.items?.surface) this.items.surface.uniforms.range = range;
        this.barEnds.replaceChildren(make("span", {}, say(-range)), make("span", {}, `${this.about.map.title} (${this.about.unit})`),
            make("span", {}, say(range)));
        this.slices?.setRange(range);
        this.draw();
    }

    draw() {
        if (!this.stage?.gl || this.waiting) return;
        this.waiting = true;
        requestAnimationFrame(() => {
            this.waiting = false;
            this.stage.draw();
        });
    }

    /* ---- elements ---- */

    build() {
        const { about } = this, select = (id, words, act) => make("select", { id, change: act }, ...words.map((w) => make("option", { value: w }, w)));
        this.atomSelect = select("atoms", [...this.backbone ? ["ribbon"] : [], ...this.mesh ? ["sticks", "spheres"] : ["spheres", "sticks"], "none"],
            () => this.showAtoms());
        this.rangeInput = make("input", { id: "range", type: "number", step: "any", change: () => this.setRange(Number(this.rangeInput.value)) });
        this.alpha = make("input", { id: "alpha", type: "range", min: "0", max: "1", step: "0.05", value: "1", input: () => {
            if (this.items?.surface) this.items.surface.uniforms.alpha = Number(this.alpha.value);
            this.draw();
        } });
        const tools = make("div", { class: "tools", role: "toolbar", "aria-label": "what is shown" });
        if (this.stage.gl) {
            if (this.atoms || this.backbone) tools.append(make("label", {}, "atoms", this.atomSelect));
            if (this.mesh) tools.append(make("label", {}, "surface", this.alpha));
            if (this.ions) {
                const box = make("input", { id: "ions", type: "checkbox", checked: true, change: () => {
                    this.items.ions.shown = box.checked;
                    this.draw();
                } });
                tools.append(make("label", {}, box, "ions"));
            }
            if (this.slices) tools.append(...["plus", "minus"].map((which) => this.isoTool(which)));
        }
        tools.append(make("label", {}, "scale ±", this.rangeInput, about.unit));
        if (this.stage.gl) {
            tools.append(make("button", { id: "reset", type: "button", click: () => { this.stage.reset(); this.draw(); } }, "reset view"),
                make("button", { id: "png", type: "button", click: () => this.savePicture() }, "save as PNG"));
            this.canvas.setAttribute("aria-label", `${page.json.page.title} in three dimensions: ${about.description}`);
            this.listen();
        } else {
            showMessage("The browser has no WebGL 2: the view in three dimensions is a picture. Slices and figures follow.");
        }
        this.bar = make("canvas", { class: "bar", width: "256", height: "1", style: "width: 100%" });
        this.barEnds = make("div", { class: "scale" });
        const bar = this.bar.getContext("2d"), image = bar.createImageData(256, 1);
        for (let n = 0; n < 256; n++) image.data.set([...redWhiteBlue(n / 255), 255], 4 * n);
        bar.putImageData(image, 0, 0);
        const views = make("section", { "aria-label": "views" }, tools, this.stage.gl ? make("div", {}, this.canvas) : "", this.bar,
            this.barEnds, make("p", { class: "note", id: "note" }, about.note), this.slices?.element ?? "");
        this.canvas.style.width = "100%";
        this.canvas.style.touchAction = "none";
        document.getElementById("main").append(views, makeAside(this.readout.element,
            "Drag: turn. Right button or Shift and drag: move. Wheel, plus and minus: zoom. Arrows: turn; A: atoms; S: surface; I: "
            + "isosurfaces; R: reset; P: save as PNG. Slices: wheel, arrow up and down; click: the others follow; right button and drag: scale."));
        document.addEventListener("keydown", (event) => this.key(event));
    }

    isoTool(which) {
        const sign = which === "plus" ? 1 : -1, { range, isovalue } = this.about;
        /* a hundredth of the range to ten times of it, in steps of 2 % */
        const valueOf = (n) => sign * range * 0.01 * 10 ** (3 * n / 340), placeOf = (v) => Math.round(340 / 3 * Math.log10(v / range / 0.01));
        const said = make("output", {}, say(sign * isovalue, 3));
        const slider = make("input", { id: which, type: "range", min: "0", max: "340", value: String(placeOf(isovalue)), "aria-label": "value of the isosurface",
            input: () => {
                this.levels[which] = valueOf(Number(slider.value));
                said.textContent = say(this.levels[which], 3);
                this[which + "Box"].checked = true;
                this.setIso(which);
            } });
        this[which + "Box"] = make("input", { id: which + "-on", type: "checkbox", checked: !this.mesh, change: () => this.setIso(which) });
        return make("label", {}, this[which + "Box"], "isosurface", slider, said);
    }

    /* ---- hands ---- */

    listen() {
        const { canvas, stage } = this, fingers = new Map();
        let apart = 0;
        canvas.addEventListener("pointerdown", (event) => {
            fingers.set(event.pointerId, [event.clientX, event.clientY]);
            canvas.setPointerCapture(event.pointerId);
            apart = 0;
        });
        const end = (event) => fingers.delete(event.pointerId);
        canvas.addEventListener("pointerup", end);
        canvas.addEventListener("pointercancel", end);
        canvas.addEventListener("contextmenu", (event) => event.preventDefault());
        canvas.addEventListener("pointermove", (event) => {
            const last = fingers.get(event.pointerId);
            if (!last) {
                this.pick(event);
                return;
            }
            const dx = event.clientX - last[0], dy = event.clientY - last[1];
            fingers.set(event.pointerId, [event.clientX, event.clientY]);
            if (fingers.size === 2) {
                const [a, b] = [...fingers.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
                if (apart) stage.zoom(now / apart);
                apart = now;
            } else if (event.shiftKey || event.buttons & 2) {
                const size = 2 * stage.halfHeight() / canvas.clientHeight;
                stage.shift = [stage.shift[0] + dx * size, stage.shift[1] - dy * size];
            } else {
                stage.rotate(dx / 150, dy / 150);
            }
            this.draw();
        });
        canvas.addEventListener("click", (event) => this.pick(event));
        canvas.addEventListener("wheel", (event) => {
            event.preventDefault();
            stage.zoom(Math.exp(-event.deltaY / 600));
            this.draw();
        }, { passive: false });
    }

    key(event) {
        if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey || !this.stage.gl) return;
        const { stage } = this, flip = (box) => { box.checked = !box.checked; box.dispatchEvent(new Event("change")); };
        const acts = { "+": () => stage.zoom(1.2), "=": () => stage.zoom(1.2), "-": () => stage.zoom(1 / 1.2), r: () => stage.reset(),
            p: () => this.savePicture(), a: () => { this.atomSelect.selectedIndex = (this.atomSelect.selectedIndex + 1) % this.atomSelect.length; this.showAtoms(); },
            s: () => { this.alpha.value = Number(this.alpha.value) > 0 ? "0" : "1"; this.alpha.dispatchEvent(new Event("input")); },
            i: () => this.slices && ["plus", "minus"].forEach((which) => flip(this[which + "Box"])) };
        if (event.target.tagName !== "CANVAS" || event.target === this.canvas) {
            Object.assign(acts, { ArrowLeft: () => stage.rotate(-0.1, 0), ArrowRight: () => stage.rotate(0.1, 0),
                ArrowUp: () => stage.rotate(0, -0.1), ArrowDown: () => stage.rotate(0, 0.1) });
        }
        const act = acts[event.key];
        if (!act) return;
        event.preventDefault();
        act();
        this.draw();
    }

    /* What is under the pointer: an atom, or the surface before it with the atom nearest to that place. */
    pick(event) {
        const { stage, atoms, about } = this, [x, y] = stage.pointer(event), title = `${about.map.title} (${about.unit})`, hits = [];
        const offer = (hit, say) => hit && hits.push({ ...hit, say });
        const pointOf = (place) => ({ "point (angstrom)": place.map((v) => v.toFixed(2)).join(", ") });
        for (const { balls, kind, places, radii, labels } of this.groups) {
            if (!balls.shown) continue;
            offer(pickSphere(stage, places, radii, balls.uniforms.scale, x, y),
                ({ index }) => ({ [kind]: labels[index], ...pointOf([...places.slice(3 * index, 3 * index + 3)]) }));
        }
        this.ribbons?.forEach((mesh, kind) => this.ribbonItems[0].shown && offer(pickMesh(stage, mesh, x, y), (_, place) => {
            const { labels, places } = this.backbone, [, ...residue] = labels[nearest(places, place)].split(" ");
            return { [ribbonKinds[kind].name]: residue.join(" "), ...pointOf(place) };
        }));
        if (this.mesh && Number(this.alpha.value) > 0) {
            offer(pickMesh(stage, this.mesh, x, y), ({ value }, place) => ({ ...atoms && { "nearest atom": atoms.labels[nearest(atoms.places, place)] },
                ...pointOf(place), [about.surface_offset > 0 ? `${about.map.title} ${about.surface_offset} angstrom outside (${about.unit})` : title]: say(value) }));
        }
        const hit = hits.sort((a, b) => b.depth - a.depth)[0];
        const said = hit ? hit.say(hit, stage.placeOf([x, y, hit.depth])) : {};
        this.readout.set(said);
    }

    savePicture() {
        this.stage.draw(); /* in this task, so that the canvas still has it */
        this.canvas.toBlob((blob) => {
            const link = make("a", { href: URL.createObjectURL(blob), download: "view.png" });
            link.click();
            URL.revokeObjectURL(link.href);
        });
    }
}

function nearest(places, place) {
    let best = 0, least = Infinity;
    for (let n = 0; n < places.length; n += 3) {
        const d = (places[n] - place[0]) ** 2 + (places[n + 1] - place[1]) ** 2 + (places[n + 2] - place[2]) ** 2;
        if (d < least) [best, least] = [n / 3, d];
    }
    return best;
}

if (page.json.page.view === "scene") {
    page.view = new ScenePage(page.json.scene);
    page.view.start().then(() => {
        if (page.view.stage.gl) document.body.classList.add("drawn");
        document.body.dataset.ready = "yes";
    });
}
