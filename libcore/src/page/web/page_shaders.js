/* The shaders of a scene. A view turns by `turn` about `centre`, and shows `half` lengths from its middle to its upper edge; it has
 * no perspective, so a sphere is a disc whose depth is known. */
const shaderView = `#version 300 es
precision highp float;
uniform mat3 turn;
uniform vec3 centre;
uniform vec2 shift;   // of the view, in lengths
uniform float half_height, aspect, reach;
vec3 seen(vec3 p) { return turn * (p - centre) + vec3(shift, 0.0); }
vec4 placed(vec3 p) { return vec4(p.x / (half_height * aspect), p.y / half_height, -p.z / reach, 1.0); }
`;

const shaderLight = `#version 300 es
precision highp float;
out vec4 result;
vec4 lit(vec3 color, vec3 normal, float depth, float alpha) {
    vec3 light = normalize(vec3(0.35, 0.55, 0.8));
    float facing = max(dot(normal, light), 0.0), shine = pow(max(reflect(-light, normal).z, 0.0), 30.0);
    vec3 shown = color * (0.38 + 0.62 * facing) + 0.16 * shine;
    return vec4(mix(shown, vec3(0.5), 0.35 * smoothstep(0.45, 1.0, depth)), alpha); // far things are paler
}
`;

const shaders = {
    spheres: [shaderView + `
in vec2 corner;       // of a square
in vec3 place, color; // of each sphere
in float radius;
out vec2 across;
out vec3 paint, middle;
out float size;
uniform float scale;
void main() {
    size = radius * scale;
    across = corner;
    paint = color;
    middle = seen(place);
    gl_Position = placed(middle + vec3(corner * size, 0.0));
}`, shaderLight + `
in vec2 across;
in vec3 paint, middle;
in float size;
uniform float reach;
void main() {
    float left = 1.0 - dot(across, across);
    if (left < 0.0) discard;
    float up = sqrt(left);
    gl_FragDepth = 0.5 - 0.5 * (middle.z + up * size) / reach;
    result = lit(paint, vec3(across, up), gl_FragDepth, 1.0);
}`],

    sticks: [shaderView + `
in vec3 corner;            // of a tube of length 1 along z, radius 1
in vec3 from, to, color;   // of each stick
out vec3 paint, normal;
out float depth;
uniform float scale;
void main() {
    vec3 axis = normalize(to - from), side = normalize(abs(axis.z) < 0.9 ? cross(axis, vec3(0, 0, 1)) : cross(axis, vec3(1, 0, 0)));
    vec3 out_of = side * corner.x + cross(axis, side) * corner.y;
    gl_Position = placed(seen(mix(from, to, corner.z) + out_of * scale));
    normal = turn * out_of;
    paint = color;
    depth = 0.5 + 0.5 * gl_Position.z;
}`, shaderLight + `
in vec3 paint, normal;
in float depth;
void main() { result = lit(paint, normalize(normal), depth, 1.0); }`],

    mesh: [shaderView + `
in vec3 place, direction;
in float value;
out vec3 normal;
out float amount, depth;
void main() {
    gl_Position = placed(seen(place));
    normal = turn * direction;
    amount = value;
    depth = 0.5 + 0.5 * gl_Position.z;
}`, shaderLight + `
in vec3 normal;
in float amount, depth;
uniform float range, alpha;
const vec3[9] stops = vec3[9](${stops.map((c) => `vec3(${c.map((x) => (x / 255).toFixed(4)).join(", ")})`).join(", ")});
uniform vec4 one_color; // w: whether it is used in place of the value's
void main() {
    vec3 n = normalize(normal);
    float t = 4.0 + 4.0 * clamp(amount / range, -1.0, 1.0);
    int place = clamp(int(t), 0, 7);
    vec3 of_value = mix(stops[place], stops[place + 1], t - float(place));
    vec3 color = amount != amount ? vec3(0.55) : of_value;
    result = lit(mix(color, one_color.rgb, one_color.w), n.z < 0.0 ? -n : n, depth, alpha);
}`],
};
