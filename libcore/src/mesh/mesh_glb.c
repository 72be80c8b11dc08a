/* Binary glTF 2.0: a header, a chunk of JSON, and a chunk of numbers: positions, normals, colours, values, indices. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh_elements.h"
#include "voxfield/append.h"

enum { GLB_MAGIC = 0x46546C67, CHUNK_JSON = 0x4E4F534A, CHUNK_BIN = 0x004E4942 };
enum { FLOATS = 5126, BYTES = 5121, INDICES = 5125, OF_VERTICES = 34962, OF_INDICES = 34963 };
enum { JSON_SIZE = 32768 };

typedef struct glb_source {
    const vf_mesh *mesh;
    uint8_t light[256]; /* of a channel of sRGB: colours of vertices are light */
    const vf_mesh_paint *paint;
} glb_source;

static void put_position(const void *user, int64_t n, uint8_t *to)
{
    memcpy(to, ((const glb_source *)user)->mesh->vertex[n], 12);
}

static void put_normal(const void *user, int64_t n, uint8_t *to)
{
    memcpy(to, ((const glb_source *)user)->mesh->normal[n], 12);
}

static void put_color(const void *user, int64_t n, uint8_t *to)
{
    const glb_source *s = user;
    const vf_color color = mesh_color(s->mesh, s->paint, n);
    to[0] = s->light[color.r];
    to[1] = s->light[color.g];
    to[2] = s->light[color.b];
    to[3] = 255;
}

static void put_value(const void *user, int64_t n, uint8_t *to)
{
    memcpy(to, &((const glb_source *)user)->mesh->value[n], 4);
}

static void put_triangle(const void *user, int64_t n, uint8_t *to)
{
    memcpy(to, ((const glb_source *)user)->mesh->triangle[n], 12);
}

/* A string of JSON in ASCII: what is not ASCII becomes _, so that no text can be invalid UTF-8. */
static void append_text(char *json, const char *text)
{
    enum { MOST = 4096 };
    for (size_t n = 0; text[n] && n < MOST; n++)
        vf_append(json, JSON_SIZE, "%s%c", text[n] == '"' || text[n] == '\\' ? "\\" : "",
                  text[n] >= ' ' && text[n] <= '~' ? text[n] : '_');
}

static void append_pair(char *json, const char *key, const char *text)
{
    vf_append(json, JSON_SIZE, "\"%s\":\"", key);
    append_text(json, text);
    vf_append(json, JSON_SIZE, "\"");
}

static bool has_values(const vf_mesh *mesh)
{
    bool all = mesh->value != NULL;
    for (int64_t n = 0; all && n < mesh->vertices; n++)
        all = isfinite(mesh->value[n]);
    return all;
}

static void append_bounds(char *json, const vf_mesh *mesh)
{
    float bound[2][3];
    memcpy(bound[0], mesh->vertex[0], sizeof bound[0]);
    memcpy(bound[1], mesh->vertex[0], sizeof bound[1]);
    for (int64_t n = 1; n < mesh->vertices; n++)
        for (int a = 0; a < 3; a++) {
            bound[0][a] = fminf(bound[0][a], mesh->vertex[n][a]);
            bound[1][a] = fmaxf(bound[1][a], mesh->vertex[n][a]);
        }
    for (int b = 0; b < 2; b++)
        vf_append(json, JSON_SIZE, ",\"%s\":[%.9g,%.9g,%.9g]", b ? "max" : "min", (double)bound[b][0],
                  (double)bound[b][1], (double)bound[b][2]);
}

/* An accessor and its view of the buffer, whose offset grows. */
typedef struct glb_array {
    const char *type;
    int64_t count;
    int component, target, size; /* of an element, bytes */
    bool normalized, bounds;
} glb_array;

static void append_arrays(char *json, const vf_mesh *mesh, const glb_array *array, int arrays)
{
    int64_t offset = 0;
    vf_append(json, JSON_SIZE, "\"accessors\":[");
    for (int n = 0; n < arrays; n++) {
        vf_append(json, JSON_SIZE, "%s{\"bufferView\":%d,\"componentType\":%d,\"count\":%lld,\"type\":\"%s\"",
                  n ? "," : "", n, array[n].component, (long long)array[n].count, array[n].type);
        vf_append(json, JSON_SIZE, "%s", array[n].normalized ? ",\"normalized\":true" : "");
        if (array[n].bounds)
            append_bounds(json, mesh);
        vf_append(json, JSON_SIZE, "}");
    }
    vf_append(json, JSON_SIZE, "],\"bufferViews\":[");
    for (int n = 0; n < arrays; n++) {
        const int64_t bytes = array[n].size * (array[n].target == OF_INDICES ? array[n].count / 3 : array[n].count);
        vf_append(json, JSON_SIZE, "%s{\"buffer\":0,\"byteOffset\":%lld,\"byteLength\":%lld,\"target\":%d}",
                  n ? "," : "", (long long)offset, (long long)bytes, array[n].target);
        offset += bytes;
    }
    vf_append(json, JSON_SIZE, "],\"buffers\":[{\"byteLength\":%lld}]", (long long)offset);
}

static void make_json(char *json, const vf_mesh *mesh, bool values, const vf_mesh_paint *paint,
                      const vf_mesh_words *words)
{
    const glb_array vertices[] = {{"VEC3", mesh->vertices, FLOATS, OF_VERTICES, 12, false, true},
                                  {"VEC3", mesh->vertices, FLOATS, OF_VERTICES, 12, false, false},
                                  {"VEC4", mesh->vertices, BYTES, OF_VERTICES, 4, true, false},
                                  {"SCALAR", mesh->vertices, FLOATS, OF_VERTICES, 4, false, false}};
    const int count = values ? 4 : 3;
    glb_array array[5];
    memcpy(array, vertices, (size_t)count * sizeof *array);
    array[count] = (glb_array){"SCALAR", 3 * mesh->triangles, INDICES, OF_INDICES, 12, false, false};
    json[0] = '\0';
    vf_append(json, JSON_SIZE, "{\"asset\":{\"version\":\"2.0\",");
    append_pair(json, "generator", words->program);
    vf_append(json, JSON_SIZE, ",\"extras\":{");
    append_pair(json, "comment", words->comment);
    vf_append(json, JSON_SIZE, ",");
    append_pair(json, "length", words->length);
    vf_append(json, JSON_SIZE, ",");
    append_pair(json, "unit", words->unit);
    vf_append(json, JSON_SIZE, ",\"low\":%.9g,\"high\":%.9g}},", paint->low, paint->high);
    /* Viewers have y upwards: a quarter of a turn about x. */
    vf_append(json, JSON_SIZE,
              "\"scene\":0,\"scenes\":[{\"nodes\":[0]}],"
              "\"nodes\":[{\"mesh\":0,\"rotation\":[-0.70710678,0,0,0.70710678]}],"
              "\"materials\":[{\"doubleSided\":true,\"pbrMetallicRoughness\":{\"metallicFactor\":0,"
              "\"roughnessFactor\":0.7}}],"
              "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"COLOR_0\":2");
    if (values) {
        vf_append(json, JSON_SIZE, ",\"_");
        for (const char *c = words->value; *c; c++)
            vf_append(json, JSON_SIZE, "%c", toupper((unsigned char)*c));
        vf_append(json, JSON_SIZE, "\":3");
    }
    vf_append(json, JSON_SIZE, "},\"indices\":%d,\"material\":0}]}],", count);
    append_arrays(json, mesh, array, count + 1);
    vf_append(json, JSON_SIZE, "}");
    while (strlen(json) % 4 != 0)
        vf_append(json, JSON_SIZE, " ");
}

static vf_status write_arrays(vf_context *ctx, vf_output *out, const glb_source *source, bool values)
{
    const vf_mesh *mesh = source->mesh;
    vf_status status = mesh_write_elements(ctx, out, mesh->vertices, 12, put_position, source);
    VF_TRY(status, mesh_write_elements(ctx, out, mesh->vertices, 12, put_normal, source));
    VF_TRY(status, mesh_write_elements(ctx, out, mesh->vertices, 4, put_color, source));
    if (values)
        VF_TRY(status, mesh_write_elements(ctx, out, mesh->vertices, 4, put_value, source));
    VF_TRY(status, mesh_write_elements(ctx, out, mesh->triangles, 12, put_triangle, source));
    return status;
}

vf_status mesh_write_glb(vf_context *ctx, vf_output *out, const vf_mesh *mesh, const vf_mesh_paint *paint,
                         const vf_mesh_words *words)
{
    const bool values = has_values(mesh);
    const uint64_t bytes = (uint64_t)mesh->vertices * (values ? 32 : 28) + (uint64_t)mesh->triangles * 12;
    if (mesh->triangles == 0)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "%s: glTF cannot hold a mesh without triangles", vf_output_path(out));
    if (bytes > UINT32_MAX - 2 * JSON_SIZE)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "%s: a .glb file has at most 4 GiB; use .ply", vf_output_path(out));
    glb_source *source = malloc(sizeof *source);
    char *json = malloc(JSON_SIZE + 8);
    vf_status status = json && source ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to write a mesh");
    if (status == VF_OK) {
        *source = (glb_source){.mesh = mesh, .paint = paint};
        for (int n = 0; n < 256; n++)
            source->light[n] = (uint8_t)lrint(255 * vf_light_of_srgb(n / 255.0));
        make_json(json, mesh, values, paint, words);
        const uint32_t length = (uint32_t)strlen(json), numbers = (uint32_t)bytes;
        const uint32_t head[5] = {GLB_MAGIC, 2, 12 + 8 + length + 8 + numbers, length, CHUNK_JSON};
        const uint32_t chunk[2] = {numbers, CHUNK_BIN};
        status = vf_output_write(out, head, sizeof head);
        VF_TRY(status, vf_output_write(out, json, length));
        VF_TRY(status, vf_output_write(out, chunk, sizeof chunk));
        VF_TRY(status, write_arrays(ctx, out, source, values));
    }
    free(json);
    free(source);
    return status;
}
