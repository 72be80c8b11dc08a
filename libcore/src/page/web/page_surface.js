/* What a scene computes: isosurfaces of the map, bonds, what is under the pointer. */

/* A volume of one frame as a map on a grid: `origin` and `step` of its (reduced) points. */
class GridMap {
    constructor(volume, origin, spacing) {
        const { reduced } = volume.array;
        this.size = volume.size;
        this.step = spacing.map((h, a) => h * reduced[a]);
        this.origin = origin.map((x, a) => x + spacing[a] * (reduced[a] - 1) / 2); /* the middle of the points it is the mean of */
        this.values = Float32Array.from(volume.levels, (level) => volume.valueOf(level));
    }
}

/* The surface where the map has the value `level`, by surface nets (Gibson, MICCAI 1998): a vertex in each cell that it crosses, at the
 * mean of the crossings of the cell's edges; a square for each edge of the grid that it crosses, between the four cells around it. */
function isosurface(map, level) {
    const { values, size: [nx, ny, nz], origin, step } = map, plane = nx * ny;
    const corner = [0, 1, nx, nx + 1, plane, plane + 1, plane + nx, plane + nx + 1];
    const edges = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];
    const vertices = [], triangles = [], vertexOf = new Int32Array(values.length).fill(-1);
    for (let k = 0; k + 1 < nz; k++) for (let j = 0; j + 1 < ny; j++) for (let i = 0; i + 1 < nx; i++) {
        const at = k * plane + j * nx + i;
        let inside = 0;
        for (let c = 0; c < 8; c++) if (values[at + corner[c]] >= level) inside |= 1 << c;
        if (inside === 0 || inside === 255) continue;
        let x = 0, y = 0, z = 0, count = 0;
        for (const [a, b] of edges) {
            if ((inside >> a & 1) === (inside >> b & 1)) continue;
            const va = values[at + corner[a]], part = (level - va) / (values[at + corner[b]] - va);
            x += (a & 1) + part * ((b & 1) - (a & 1));
            y += (a >> 1 & 1) + part * ((b >> 1 & 1) - (a >> 1 & 1));
            z += (a >> 2) + part * ((b >> 2) - (a >> 2));
            count++;
        }
        vertexOf[at] = vertices.length / 3;
        vertices.push(origin[0] + step[0] * (i + x / count), origin[1] + step[1] * (j + y / count), origin[2] + step[2] * (k + z / count));
        /* the three edges at the cell's first corner; their other cells have been visited */
        const around = [[2, nx, plane, j > 0 && k > 0], [4, plane, 1, k > 0 && i > 0], [16, 1, nx, i > 0 && j > 0]];
        for (const [other, u, v, whole] of around) {
            if (!whole || (inside & 1) === (inside & other ? 1 : 0)) continue;
            const square = [vertexOf[at], vertexOf[at - u], vertexOf[at - u - v], vertexOf[at - v]];
            if (inside & 1) triangles.push(square[0], square[1], square[2], square[0], square[2], square[3]);
            else triangles.push(square[0], square[2], square[1], square[0], square[3], square[2]);
        }
    }
    const mesh = { vertices: new Float32Array(vertices), triangles: new Uint32Array(triangles), values: new Float32Array(vertices.length / 3) };
    mesh.normals = normalsOf(mesh);
    return mesh;
}

/* The mean of the triangles' normals, weighted by their areas. */
function normalsOf({ vertices: p, triangles }) {
    const normals = new Float32Array(p.length);
    for (let n = 0; n < triangles.length; n += 3) {
        const a = 3 * triangles[n], b = 3 * triangles[n + 1], c = 3 * triangles[n + 2];
        const ux = p[b] - p[a], uy = p[b + 1] - p[a + 1], uz = p[b + 2] - p[a + 2];
        const vx = p[c] - p[a], vy = p[c + 1] - p[a + 1], vz = p[c + 2] - p[a + 2];
        const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
        for (const at of [a, b, c]) { normals[at] += x; normals[at + 1] += y; normals[at + 2] += z; }
    }
    for (let n = 0; n < normals.length; n += 3) {
        const size = Math.hypot(normals[n], normals[n + 1], normals[n + 2]) || 1;
        for (let a = 0; a < 3; a++) normals[n + a] /= size;
    }
    return normals;
}

/* ---- atoms ---- */

/* Covalent radii, angstrom, and colours; what is not here is like carbon. */
const elements = { H: [0.31, [0.93, 0.93, 0.93]], C: [0.76, [0.55, 0.55, 0.55]], N: [0.71, [0.25, 0.35, 0.95]],
    O: [0.66, [0.92, 0.2, 0.15]], S: [1.05, [0.9, 0.78, 0.2]], P: [1.07, [0.95, 0.55, 0.1]], F: [0.57, [0.5, 0.85, 0.4]],
    Na: [1.0, [0.6, 0.35, 0.9]], Cl: [1.0, [0.2, 0.8, 0.25]], K: [1.0, [0.5, 0.25, 0.8]], Mg: [1.0, [0.35, 0.65, 0.2]],
    Ca: [1.0, [0.3, 0.6, 0.3]], Zn: [1.0, [0.45, 0.45, 0.65]], Fe: [1.0, [0.85, 0.45, 0.2]], Br: [1.1, [0.6, 0.2, 0.1]] };

/* Pairs of atoms nearer than 1.25 times the sum of their covalent radii; two hydrogens are never bonded. */
function bondsOf(places, kinds) {
    const cell = 2.7, cells = new Map(), bonds = [];
    const key = (i, j, k) => (i + 5000) * 1e8 + (j + 5000) * 1e4 + k + 5000;
    const cellOf = (n) => [0, 1, 2].map((a) => Math.floor(places[3 * n + a] / cell));
    for (let n = 0; n < kinds.length; n++) {
        const [i, j, k] = cellOf(n);
        for (let di = -1; di <= 1; di++) for (let dj = -1; dj <= 1; dj++) for (let dk = -1; dk <= 1; dk++)
            for (const m of cells.get(key(i + di, j + dj, k + dk)) ?? []) {
                const d = Math.hypot(places[3 * n] - places[3 * m], places[3 * n + 1] - places[3 * m + 1], places[3 * n + 2] - places[3 * m + 2]);
                const reach = 1.25 * (elements[kinds[n]][0] + elements[kinds[m]][0]);
                if (d < reach && d > 0.4 && !(kinds[n] === "H" && kinds[m] === "H")) bonds.push([m, n]);
            }
        const at = key(i, j, k);
        if (cells.has(at)) cells.get(at).push(n);
        else cells.set(at, [n]);
    }
    return bonds;
}

/* ---- under the pointer ---- */

/* The nearest sphere at (x, y) of the stage's view: {index, depth}, or null. */
function pickSphere(stage, places, radii, scale, x, y) {
    let best = null;
    for (let n = 0; n < radii.length; n++) {
        const p = stage.seen(places[3 * n], places[3 * n + 1], places[3 * n + 2]), radius = radii[n] * scale;
        const left = radius * radius - (p[0] - x) ** 2 - (p[1] - y) ** 2;
        if (left < 0) continue;
        const depth = p[2] + Math.sqrt(left);
        if (!best || depth > best.depth) best = { index: n, depth };
    }
    return best;
}

/* The nearest point of a mesh at (x, y): {value, depth}, or null. */
function pickMesh(stage, mesh, x, y) {
    const { vertices, triangles, values } = mesh, p = new Float32Array(vertices.length);
    for (let n = 0; n < vertices.length; n += 3) p.set(stage.seen(vertices[n], vertices[n + 1], vertices[n + 2]), n);
    let best = null;
    for (let n = 0; n < triangles.length; n += 3) {
        const a = 3 * triangles[n], b = 3 * triangles[n + 1], c = 3 * triangles[n + 2];
        const whole = (p[b] - p[a]) * (p[c + 1] - p[a + 1]) - (p[b + 1] - p[a + 1]) * (p[c] - p[a]);
        if (whole === 0) continue;
        const u = ((p[b] - x) * (p[c + 1] - y) - (p[b + 1] - y) * (p[c] - x)) / whole;
        const v = ((p[c] - x) * (p[a + 1] - y) - (p[c + 1] - y) * (p[a] - x)) / whole, w = 1 - u - v;
        if (u < 0 || v < 0 || w < 0) continue;
        const depth = u * p[a + 2] + v * p[b + 2] + w * p[c + 2];
        if (!best || depth > best.depth)
            best = { depth, value: u * values[triangles[n]] + v * values[triangles[n + 1]] + w * values[triangles[n + 2]] };
    }
    return best;
}
