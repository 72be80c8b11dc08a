/* Ribbons along backbones: curves through the residues (Catmull and Rom, 1974), with ellipses as sections. */
const ribbonKinds = [ /* half width and half height, angstrom */
    { name: "coil", size: [0.3, 0.3], color: [0.72, 0.72, 0.72] }, { name: "helix", size: [1.4, 0.25], color: [0.95, 0.65, 0.15] },
    { name: "strand", size: [1.4, 0.25], color: [0.15, 0.65, 0.5] }, { name: "nucleic acid", size: [1.2, 0.35], color: [0.6, 0.45, 0.8] }];
const arrow = [2.2, 0.25];

const mix = (a, b, t) => a.map((x, k) => x + t * (b[k] - x));
const across = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => a.map((x) => x / (Math.hypot(...a) || 1));

/* One mesh for each kind; they share their vertices. Of many residues, curves are coarser. */
function ribbonsOf({ places, sides, kinds }) {
    const count = kinds.length, steps = count > 4000 ? 3 : 6, corners = count > 4000 ? 6 : 10;
    const vertices = [], normals = [], triangles = ribbonKinds.map(() => []);
    const kindOf = (n) => n < count ? kinds[n] & 3 : -1, begins = (n) => n >= count || kinds[n] > 3, row = (array, n) => [...array.slice(3 * n, 3 * n + 3)];
    const addRing = (middle, side, up, [wide, high], joined) => {
        const first = vertices.length / 3;
        for (let k = 0; k < corners; k++) {
            const c = Math.cos(2 * Math.PI * k / corners), s = Math.sin(2 * Math.PI * k / corners), next = (k + 1) % corners;
            vertices.push(...middle.map((x, a) => x + wide * c * side[a] + high * s * up[a]));
            normals.push(...unit(side.map((x, a) => high * c * x + wide * s * up[a])));
            joined?.push(first + k, first + k - corners, first + next, first + next, first + k - corners, first + next - corners);
        }
    };
    for (let n = 0; n + 1 < count; n++) {
        if (begins(n + 1)) continue;
        const b = row(places, n), c = row(places, n + 1);
        const a = begins(n) ? mix(b, c, -1) : row(places, n - 1), d = begins(n + 2) ? mix(c, b, -1) : row(places, n + 2);
        const second = b.map((x, k) => 2 * a[k] - 5 * x + 4 * c[k] - d[k]), third = b.map((x, k) => 3 * x - a[k] - 3 * c[k] + d[k]);
        /* a strand ends as an arrow, with its last residue at the point */
        const last = kindOf(n + 1), leaves = kindOf(n) === 2 && last !== 2, isArrow = kindOf(n) === 2 && last === 2 && (begins(n + 2) || kindOf(n + 2) !== 2);
        const kind = leaves ? last : kindOf(n), from = isArrow ? arrow : ribbonKinds[leaves ? 0 : kind].size, to = ribbonKinds[isArrow ? 0 : last].size;
        for (let step = 0; step <= steps; step++) {
            const u = step / steps, middle = b.map((x, k) => x + (u * (c[k] - a[k]) + u * u * second[k] + u ** 3 * third[k]) / 2);
            const along = unit(b.map((_, k) => c[k] - a[k] + 2 * u * second[k] + 3 * u * u * third[k]));
            const up = unit(across(along, mix(row(sides, n), row(sides, n + 1), u))), side = across(up, along), size = mix(from, to, u);
            if (step === 0 && begins(n)) addRing(middle, side, up, [1e-3, 1e-3]);
            addRing(middle, side, up, size, triangles[u <= 0.5 ? kind : last]);
            if (step === steps && begins(n + 2)) addRing(middle, side, up, [1e-3, 1e-3], triangles[last]);
        }
    }
    const mesh = { vertices: new Float32Array(vertices), normals: new Float32Array(normals), values: new Float32Array(vertices.length / 3) };
    return triangles.map((list) => ({ ...mesh, triangles: new Uint32Array(list) }));
}
