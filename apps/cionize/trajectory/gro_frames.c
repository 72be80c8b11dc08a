/* The frames of a GROMACS .gro file: one after another, each with a title, the number of atoms, atoms and a box. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "molecule/gro_text.h"
#include "molecule/molecule_readers.h"
#include "trajectory_file.h"

/* ---- opening ---- */

static vf_status add_frame(trajectory *t, struct gro_place place)
{
    gro_layout *g = &t->gro;
    if (t->frames == g->capacity) {
        const int64_t capacity = g->capacity ? 2 * g->capacity : 16;
        struct gro_place *larger = realloc(g->frame, (size_t)capacity * sizeof *larger);
        if (!larger)
            return vf_fail(t->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " frames", t->path, capacity);
        g->frame = larger;
        g->capacity = capacity;
    }
    g->frame[t->frames++] = place;
    return VF_OK;
}

/* The next frame. *more is false at the end of the text, and if the text ends within the frame. */
static vf_status find_frame(trajectory *t, text_lines *lines, bool *more)
{
    enum { LINES_BETWEEN_LOOKS = 1 << 16 };
    struct gro_place place = {.text.at = lines->next, .line = lines->line + 1};
    text_piece line;
    int64_t atoms = 0;
    *more = false;
    if (text_rest_blank(*lines))
        return VF_OK;
    bool whole = text_next_line(lines, &line) && text_next_line(lines, &line);
    const bool cut = t->frames > 0 && lines->next == lines->end;
    if (whole && !gro_count(line, &atoms) && !cut)
        return text_fail(t->ctx, t->path, lines->line,
                         "the second line of frame %" PRId64
                         " must be its number of atoms, at least 1; the lines before may be too many or too few",
                         t->frames + 1);
    whole &= !cut;
    if (whole && t->frames > 0 && atoms != t->atoms)
        return text_fail(t->ctx, t->path, lines->line,
                         "frame %" PRId64 " has %" PRId64 " atom%s, but the first has %" PRId64
                         "; all frames must have the same atoms",
                         t->frames + 1, atoms, vf_plural(atoms), t->atoms);
    for (int64_t i = 0; whole && i <= atoms; i++) { /* the box follows the atoms */
        whole = text_next_line(lines, &line);
        if (i % LINES_BETWEEN_LOOKS == 0 && vf_cancelled(t->ctx))
            return vf_fail(t->ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", t->path);
    }
    if (!whole && t->frames == 0)
        return trajectory_fail(t, "the file ends within its first frame; copy it again");
    if (!whole) {
        vf_warn(t->ctx, "%s: the file ends within frame %" PRId64 "; ignoring that frame, %" PRId64 " %s left", t->path,
                t->frames + 1, t->frames, t->frames == 1 ? "is" : "are");
        return VF_OK;
    }
    t->atoms = atoms;
    place.text.size = (size_t)(lines->next - place.text.at);
    *more = true;
    return add_frame(t, place);
}

static vf_status open_gro(trajectory *t)
{
    text_piece text;
    bool more = true;
    t->gro.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!t->gro.c_locale)
        return vf_fail(t->ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", t->path);
    vf_status status = input_text_read(t->ctx, t->path, &t->gro.text);
    text = (text_piece){t->gro.text.data, t->gro.text.size};
    VF_TRY(status, text_check(t->ctx, t->path, &text));
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    while (status == VF_OK && more)
        status = find_frame(t, &lines, &more);
    if (status == VF_OK && t->frames == 0)
        status = trajectory_fail(t, "is blank");
    return status;
}

static void close_gro(trajectory *t)
{
    input_text_free(&t->gro.text);
    free(t->gro.frame);
    if (t->gro.c_locale)
        freelocale(t->gro.c_locale);
}

/* ---- frames ---- */

/* Reads a frame as a molecule. Free it also after a failure. */
static vf_status read_place(const trajectory *t, int64_t frame, molecule *out)
{
    const struct gro_place *place = &t->gro.frame[frame];
    *out = (molecule){0};
    molecule_reader r = {
        .ctx = t->ctx,
        .name = t->path,
        .lines = {.next = place->text.at, .end = place->text.at + place->text.size, .line = place->line - 1},
        .c_locale = t->gro.c_locale,
        .out = out};
    return read_gro(&r);
}

static vf_status read_frame(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    molecule m;
    const vf_status status = read_place(t, frame, &m);
    if (status == VF_OK) {
        memcpy(x, m.x, (size_t)t->atoms * sizeof *x);
        memcpy(y, m.y, (size_t)t->atoms * sizeof *y);
        memcpy(z, m.z, (size_t)t->atoms * sizeof *z);
    }
    molecule_free(&m);
    return status;
}

/* The box is on the frame's last line. */
static vf_status read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    const text_piece text = t->gro.frame[frame].text;
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece line = {text.at, 0};
    for (int64_t i = 0; i < t->atoms + 3; i++)
        text_next_line(&lines, &line);
    if (!gro_box(line, t->gro.c_locale, cell))
        cell->state = UNIT_CELL_BAD;
    return VF_OK;
}

const trajectory_format gro_format = {open_gro, read_frame, read_cell, close_gro};
