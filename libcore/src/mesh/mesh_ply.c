#include <string.h>

#include "mesh_elements.h"

typedef struct ply_source {
    const vf_mesh *mesh;
    const vf_mesh_paint *paint;
} ply_source;

enum { VERTEX = 6 * 4 + 3, FACE = 1 + 3 * 4 };

static void put_vertex(const void *user, int64_t n, uint8_t *to)
{
    const ply_source *s = user;
    const vf_color color = mesh_color(s->mesh, s->paint, n);
    memcpy(to, s->mesh->vertex[n], 12);
    memcpy(to + 12, s->mesh->normal[n], 12);
    to[24] = color.r;
    to[25] = color.g;
    to[26] = color.b;
    if (s->mesh->value)
        memcpy(to + VERTEX, &s->mesh->value[n], 4);
}

static void put_face(const void *user, int64_t n, uint8_t *to)
{
    const ply_source *s = user;
    to[0] = 3;
    memcpy(to + 1, s->mesh->triangle[n], 12);
}

/* A comment is one line of ASCII. */
static vf_status write_comment(vf_output *out, const char *key, const char *text)
{
    vf_status status = vf_output_printf(out, "comment %s", key);
    for (; status == VF_OK && *text; text++) {
        const char c = *text >= ' ' && *text <= '~' ? *text : '_';
        status = vf_output_write(out, &c, 1);
    }
    VF_TRY(status, vf_output_printf(out, "\n"));
    return status;
}

vf_status mesh_write_ply(vf_context *ctx, vf_output *out, const vf_mesh *mesh, const vf_mesh_paint *paint,
                         const vf_mesh_words *words)
{
    const ply_source source = {mesh, paint};
    const size_t vertex = VERTEX + (mesh->value ? 4 : 0);
    vf_status status = vf_output_printf(out, "ply\nformat binary_little_endian 1.0\n");
    VF_TRY(status, write_comment(out, "", words->comment));
    VF_TRY(status, write_comment(out, "by ", words->program));
    VF_TRY(status, write_comment(out, "lengths in ", words->length));
    if (mesh->value) {
        VF_TRY(status, vf_output_printf(out, "comment %s in ", words->value));
        VF_TRY(status, vf_output_printf(out, "%s; colours from %g to %g\n", words->unit, paint->low, paint->high));
    }
    VF_TRY(status, vf_output_printf(out,
                                    "element vertex %lld\nproperty float x\nproperty float y\nproperty float z\n"
                                    "property float nx\nproperty float ny\nproperty float nz\n"
                                    "property uchar red\nproperty uchar green\nproperty uchar blue\n",
                                    (long long)mesh->vertices));
    if (mesh->value)
        VF_TRY(status, vf_output_printf(out, "property float %s\n", words->value));
    VF_TRY(status, vf_output_printf(out, "element face %lld\nproperty list uchar uint vertex_indices\nend_header\n",
                                    (long long)mesh->triangles));
    VF_TRY(status, mesh_write_elements(ctx, out, mesh->vertices, vertex, put_vertex, &source));
    VF_TRY(status, mesh_write_elements(ctx, out, mesh->triangles, FACE, put_face, &source));
    return status;
}
