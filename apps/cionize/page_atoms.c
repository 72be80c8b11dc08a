/* What a page has of the molecule's atoms, its backbone, and ions: places, and labels of a line each. */
#include "page_atoms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "molecule/atom_element.h"
#include "molecule/backbone.h"

static const double RADIUS_OF_NONE = 1.5; /* angstrom, of atoms whose file has none */

/* A text that grows: a line for each atom. */
typedef struct lines {
    char *text;
    size_t bytes;
    FILE *to;
} lines;

/* Places, radii, labels and elements of atoms or ions: arrays NAME, NAME_radii, NAME_labels, NAME_elements. */
typedef struct balls {
    int64_t count;
    float (*place)[3], *radius;
    lines labels, elements;
} balls;

static bool lines_make(lines *l)
{
    l->to = open_memstream(&l->text, &l->bytes);
    return l->to != NULL;
}

/* Closes them, and adds them as the array NAME_WHAT, without the last line's end. */
static vf_status lines_write(vf_context *ctx, vf_page *page, const char *name, const char *what, lines *l,
                             vf_status status)
{
    char array[32];
    if (l->to && fclose(l->to) != 0 && status == VF_OK)
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the page's atoms");
    (void)snprintf(array, sizeof array, "%s_%s", name, what);
    VF_TRY(status, vf_page_array(page, array, VF_PAGE_BYTES, (int64_t)l->bytes - 1, 1, l->text));
    free(l->text);
    return status;
}

static vf_status balls_make(vf_context *ctx, int64_t count, balls *out)
{
    *out = (balls){.count = count,
                   .place = malloc((size_t)count * sizeof *out->place),
                   .radius = malloc((size_t)count * sizeof *out->radius)};
    const bool texts = lines_make(&out->labels) && lines_make(&out->elements);
    return out->place && out->radius && texts ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the page's atoms");
}

/* A word of a label: no blanks, no ends of lines; "-" for none. */
static void put_word(FILE *to, const char *word, int end)
{
    for (const char *c = word[0] ? word : "-"; *c; c++)
        fputc((unsigned char)*c > ' ' ? *c : '_', to);
    fputc(end, to);
}

/* "name residue chain number" */
static void put_label(FILE *to, const atom_label *label)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d%.1s", label->residue_number, label->insertion ? &label->insertion : "");
    put_word(to, label->name, ' ');
    put_word(to, label->residue, ' ');
    put_word(to, label->chain, ' ');
    put_word(to, label->number_text[0] ? label->number_text : number, '\n');
}

static vf_status balls_write(vf_context *ctx, vf_page *page, const char *name, balls *of, vf_status status)
{
    char text[32];
    VF_TRY(status, vf_page_array(page, name, VF_PAGE_U16, of->count, 3, of->place));
    (void)snprintf(text, sizeof text, "%s_radii", name);
    VF_TRY(status, vf_page_array(page, text, VF_PAGE_U8, of->count, 1, of->radius));
    status = lines_write(ctx, page, name, "labels", &of->labels, status);
    status = lines_write(ctx, page, name, "elements", &of->elements, status);
    free(of->place);
    free(of->radius);
    return status;
}

vf_status page_write_atoms(const cionize_state *r, vf_page *page)
{
    const molecule *m = &r->molecule;
    balls all;
    if (m->atoms > PAGE_MOST_ATOMS)
        return VF_OK;
    vf_status status = balls_make(r->ctx, m->atoms, &all);
    for (int64_t n = 0; n < m->atoms && status == VF_OK; n++) {
        const float place[3] = {(float)m->x[n], (float)m->y[n], (float)m->z[n]};
        memcpy(all.place[n], place, sizeof place);
        all.radius[n] = (float)(m->radius[n] > 0 ? m->radius[n] : RADIUS_OF_NONE);
        put_label(all.labels.to, &m->labels[n]);
        char element[3];
        (void)atom_element(m->labels[n].name, m->labels[n].residue, m->labels[n].element, element);
        put_word(all.elements.to, element, '\n');
    }
    return balls_write(r->ctx, page, "atoms", &all, status);
}

vf_status page_write_ions(const cionize_state *r, vf_page *page)
{
    const ion_list *ions = &r->placed;
    balls all;
    if (ions->count == 0)
        return VF_OK;
    vf_status status = balls_make(r->ctx, ions->count, &all);
    for (int64_t n = 0; n < ions->count && status == VF_OK; n++) {
        const ion_kind *kind = &ions->kinds[ions->sites[n].kind];
        char text[32];
        for (int a = 0; a < 3; a++)
            all.place[n][a] = (float)ions->sites[n].position[a];
        all.radius[n] = (float)RADIUS_OF_NONE;
        put_word(all.labels.to, kind->name, ' ');
        put_word(all.labels.to, kind->name, ' ');
        (void)snprintf(text, sizeof text, "%+ge", kind->charge);
        put_word(all.labels.to, text, ' ');
        (void)snprintf(text, sizeof text, "%lld", (long long)n + 1);
        put_word(all.labels.to, text, '\n');
        put_word(all.elements.to, kind->element, '\n');
    }
    return balls_write(r->ctx, page, "ions", &all, status);
}

/* ---- the backbone ---- */

/* Arrays backbone, backbone_sides, backbone_kinds (a kind; 4 more where a chain begins), backbone_labels. */
typedef struct curve {
    float (*place)[3], (*side)[3];
    float (*rung)[3]; /* of nucleotides: from the curve to the base */
    unsigned char *kind;
    lines labels;
    int64_t rungs;
} curve;

static vf_status curve_make(vf_context *ctx, int64_t count, curve *c)
{
    *c = (curve){.place = malloc((size_t)count * sizeof *c->place),
                 .side = malloc((size_t)count * sizeof *c->side),
                 .rung = malloc((size_t)count * 2 * sizeof *c->rung),
                 .kind = malloc((size_t)count)};
    return c->place && c->side && c->rung && c->kind && lines_make(&c->labels)
               ? VF_OK
               : vf_fail(ctx, VF_ERR_MEMORY, "no memory for the page's backbone");
}

static void curve_fill(const molecule *m, const backbone *b, curve *c)
{
    for (int64_t n = 0; n < b->count; n++) {
        const backbone_residue *r = &b->at[n];
        for (int a = 0; a < 3; a++) {
            c->place[n][a] = (float)r->place[a];
            c->side[n][a] = (float)r->side[a];
        }
        c->kind[n] = (unsigned char)((int)r->kind + (r->begins ? 4 : 0));
        put_label(c->labels.to, &m->labels[r->atom]);
        if (r->tip < 0)
            continue;
        const float tip[3] = {(float)m->x[r->tip], (float)m->y[r->tip], (float)m->z[r->tip]};
        memcpy(c->rung[c->rungs++], c->place[n], sizeof tip);
        memcpy(c->rung[c->rungs++], tip, sizeof tip);
    }
}

vf_status page_write_backbone(const cionize_state *r, vf_page *page)
{
    backbone b;
    curve c = {0};
    vf_status status = backbone_find(r->ctx, &r->molecule, &b);
    if (status != VF_OK || b.count == 0 || b.count > PAGE_MOST_RESIDUES) {
        backbone_free(&b);
        return status;
    }
    status = curve_make(r->ctx, b.count, &c);
    if (status == VF_OK)
        curve_fill(&r->molecule, &b, &c);
    VF_TRY(status, vf_page_array(page, "backbone", VF_PAGE_U16, b.count, 3, c.place));
    VF_TRY(status, vf_page_array(page, "backbone_sides", VF_PAGE_U8, b.count, 3, c.side));
    VF_TRY(status, vf_page_array(page, "backbone_kinds", VF_PAGE_BYTES, b.count, 1, c.kind));
    status = lines_write(r->ctx, page, "backbone", "labels", &c.labels, status);
    if (c.rungs > 0)
        VF_TRY(status, vf_page_array(page, "backbone_rungs", VF_PAGE_U16, c.rungs, 3, c.rung));
    free(c.place);
    free(c.side);
    free(c.rung);
    free(c.kind);
    backbone_free(&b);
    return status;
}
