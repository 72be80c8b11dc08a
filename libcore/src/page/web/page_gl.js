/* A scene drawn by WebGL 2: spheres, sticks and meshes, seen by a camera without perspective. */
class Stage {
    /* `axes`: the directions to the right, up and to the viewer, at first. */
    constructor(canvas, centre, radius, axes = [1, 0, 0, 0, 1, 0, 0, 0, 1]) {
        this.canvas = canvas;
        this.gl = canvas.getContext("webgl2", { antialias: true });
        if (!this.gl) return;
        Object.assign(this, { centre: [...centre], radius, axes, items: [], programs: {}, background: [1, 1, 1] });
        for (const [name, [vertex, fragment]] of Object.entries(shaders)) this.programs[name] = this.link(vertex, fragment);
        const { gl } = this;
        gl.enable(gl.DEPTH_TEST);
        gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
        this.reset();
    }

    reset() {
        this.turn = [0, 1, 2].flatMap((column) => [0, 1, 2].map((row) => this.axes[3 * row + column])); /* columns */
        this.shift = [0, 0];
        this.half = 1.08 * this.radius;
    }

    link(vertex, fragment) {
        const { gl } = this, program = gl.createProgram();
        for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
            const shader = gl.createShader(kind);
            gl.shaderSource(shader, text);
            gl.compileShader(shader);
            if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
            gl.attachShader(program, shader);
        }
        gl.linkProgram(program);
        if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
        return program;
    }

    /* Arrays by the names of the program's attributes: {name: [data, numbers of each, of each instance?]}. */
    add(kind, arrays, triangles, counts, uniforms) {
        const { gl } = this, program = this.programs[kind], item = { kind, uniforms, shown: true, ...counts, buffers: [] };
        item.array = gl.createVertexArray();
        gl.bindVertexArray(item.array);
        for (const [name, [data, size, instanced]] of Object.entries(arrays)) {
            const at = gl.getAttribLocation(program, name), buffer = gl.createBuffer();
            gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
            gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
            item.buffers.push(buffer);
            gl.enableVertexAttribArray(at);
            gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
            if (instanced) gl.vertexAttribDivisor(at, 1);
        }
        const buffer = gl.createBuffer();
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
        item.buffers.push(buffer);
        item.indices = triangles.length;
        gl.bindVertexArray(null);
        this.items.push(item);
        return item;
    }

    remove(item) {
        if (!item) return;
        this.gl.deleteVertexArray(item.array);
        for (const buffer of item.buffers) this.gl.deleteBuffer(buffer);
        this.items.splice(this.items.indexOf(item), 1);
    }

    addSpheres(places, radii, colors) {
        return this.add("spheres", { corner: [new Float32Array([-1, -1, 1, -1, 1, 1, -1, 1]), 2], place: [places, 3, true],
            color: [colors, 3, true], radius: [radii, 1, true] }, new Uint32Array([0, 1, 2, 0, 2, 3]), { instances: radii.length },
        { scale: 1 });
    }

    addSticks(from, to, colors) {
        const sides = 10, tube = [], triangles = [];
        for (let n = 0; n < sides; n++) {
            const angle = 2 * Math.PI * n / sides, next = (n + 1) % sides;
            tube.push(Math.cos(angle), Math.sin(angle), 0, Math.cos(angle), Math.sin(angle), 1);
            triangles.push(2 * n, 2 * n + 1, 2 * next, 2 * next, 2 * n + 1, 2 * next + 1);
        }
        return this.add("sticks", { corner: [new Float32Array(tube), 3], from: [from, 3, true], to: [to, 3, true],
            color: [colors, 3, true] }, new Uint32Array(triangles), { instances: from.length / 3 }, { scale: 0.2 });
    }

    addMesh(mesh, uniforms) {
        return this.add("mesh", { place: [mesh.vertices, 3], direction: [mesh.normals, 3], value: [mesh.values, 1] },
            mesh.triangles, {}, { range: 1, alpha: 1, one_color: [0, 0, 0, 0], ...uniforms });
    }

    /* ---- the camera ---- */

    /* Turns by angles about the view's axes. */
    rotate(right, down) {
        const t = this.turn;
        for (const [angle, a, b] of [[down, 1, 2], [right, 2, 0]]) {
            const c = Math.cos(angle), s = Math.sin(angle);
            for (let column = 0; column < 3; column++) {
                const x = t[3 * column + a], y = t[3 * column + b];
                t[3 * column + a] = c * x - s * y;
                t[3 * column + b] = s * x + c * y;
            }
        }
    }

    zoom(factor) {
        this.half = Math.min(20 * this.radius, Math.max(0.5, this.half / factor));
    }

    /* A place in the view's axes; its z is towards the viewer. */
    seen(x, y, z) {
        const t = this.turn, c = this.centre;
        x -= c[0]; y -= c[1]; z -= c[2];
        return [t[0] * x + t[3] * y + t[6] * z + this.shift[0], t[1] * x + t[4] * y + t[7] * z + this.shift[1],
            t[2] * x + t[5] * y + t[8] * z];
    }

    /* The place of a point of the view. */
    placeOf(p) {
        const t = this.turn, q = [p[0] - this.shift[0], p[1] - this.shift[1], p[2]];
        return [0, 1, 2].map((a) => t[3 * a] * q[0] + t[3 * a + 1] * q[1] + t[3 * a + 2] * q[2] + this.centre[a]);
    }

    /* x and y of a pointer, in the view's axes. */
    pointer(event) {
        const box = this.canvas.getBoundingClientRect(), half = this.halfHeight();
        return [(2 * (event.clientX - box.left) / box.width - 1) * half * box.width / box.height,
            (1 - 2 * (event.clientY - box.top) / box.height) * half];
    }

    /* From the middle of the view to its upper edge: `half` is the shorter of that and the way to its right edge. */
    halfHeight() {
        return this.half * Math.max(1, this.canvas.clientHeight / this.canvas.clientWidth);
    }

    /* ---- drawing ---- */

    draw() {
        const { gl, canvas } = this, sharp = Math.min(2, window.devicePixelRatio || 1);
        const width = Math.max(1, Math.round(canvas.clientWidth * sharp)), height = Math.max(1, Math.round(canvas.clientHeight * sharp));
        if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
        gl.viewport(0, 0, width, height);
        gl.clearColor(...this.background, 1);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        const view = { turn: this.turn, centre: this.centre, shift: this.shift, half_height: this.halfHeight(), aspect: width / height,
            reach: 2.2 * this.radius };
        const shown = this.items.filter((item) => item.shown && item.uniforms.alpha !== 0);
        for (const item of shown.filter((i) => !(i.uniforms.alpha < 1))) this.drawItem(item, view);
        for (const item of shown.filter((i) => i.uniforms.alpha < 1)) this.drawClear(item, view);
    }

    /* What one can see through: its nearest layer only, so the order of triangles does not matter. */
    drawClear(item, view) {
        const { gl } = this;
        gl.colorMask(false, false, false, false);
        this.drawItem(item, view);
        gl.colorMask(true, true, true, true);
        gl.enable(gl.BLEND);
        gl.depthFunc(gl.LEQUAL);
        this.drawItem(item, view);
        gl.depthFunc(gl.LESS);
        gl.disable(gl.BLEND);
    }

    drawItem(item, view) {
        const { gl } = this, program = this.programs[item.kind];
        gl.useProgram(program);
        for (const [name, value] of Object.entries({ ...view, ...item.uniforms })) {
            const at = gl.getUniformLocation(program, name);
            if (!at) continue;
            if (typeof value === "number") gl.uniform1f(at, value);
            else if (value.length === 9) gl.uniformMatrix3fv(at, false, value);
            else gl[`uniform${value.length}fv`](at, value);
        }
        gl.bindVertexArray(item.array);
        if (item.instances !== undefined) gl.drawElementsInstanced(gl.TRIANGLES, item.indices, gl.UNSIGNED_INT, 0, item.instances);
        else gl.drawElements(gl.TRIANGLES, item.indices, gl.UNSIGNED_INT, 0);
        gl.bindVertexArray(null);
    }
}
