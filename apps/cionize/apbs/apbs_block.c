/* One ELEC section: solves the equation, sums energies, writes maps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apbs_job.h"
#include "maps/measure_error.h"
#include "potential/potential_common.h"
#include "voxfield/version.h"

vf_surface_kind apbs_surface(const apbs_elec *elec)
{
    return elec->smooth ? VF_SURFACE_SMOOTH : elec->probe > 0 ? VF_SURFACE_EXCLUDED : VF_SURFACE_VAN_DER_WAALS;
}

const char *apbs_surface_name(const apbs_elec *elec)
{
    return elec->smooth ? "smooth" : elec->probe > 0 ? "ses" : "vdw";
}

bool apbs_is_uniform(const apbs_elec *elec)
{
    return elec->solvent_dielectric == elec->molecule_dielectric && apbs_ionic_strength(elec) == 0;
}

/* ---- maps ---- */

/* A map on its way to its files: all `write pot` of a section have the same values. */
typedef struct passage {
    const apbs_block *block;
    const vf_solvent *solvent; /* NULL: a uniform medium */
    map_output *output;        /* [block->elec->writes] */
    error_points *check;
    map_info info;
    vf_dtype type;
    void *layers; /* [bytes] */
    size_t bytes;
} passage;

static vf_status take_layers(void *user, int64_t first, int64_t count, const void *values)
{
    passage *p = user;
    const apbs_grids *g = &p->block->grids;
    vf_context *ctx = p->output[0].ctx;
    vf_box box = {{first, 0, 0}, {first + count, g->asked.counts[1], g->asked.counts[2]}};
    const size_t bytes = (size_t)vf_box_points(&box) * vf_dtype_bytes(p->type);
    vf_status status = VF_OK;
    error_points_take(p->check, first, count, values); /* of the sum */
    if (p->solvent) {
        void *larger = bytes > p->bytes ? realloc(p->layers, bytes) : p->layers;
        if (!larger)
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %lld layers of a map", (long long)count);
        p->layers = larger;
        p->bytes = bytes > p->bytes ? bytes : p->bytes;
        memcpy(p->layers, values, bytes);
        for (int a = 0; a < 3; a++) {
            box.lo[a] += g->offset[a];
            box.hi[a] += g->offset[a];
        }
        status = vf_solvent_add(p->solvent, &box, true, p->type, p->info.unit_constant, p->layers);
        values = p->layers;
    }
    for (int64_t n = 0; n < p->block->elec->writes; n++)
        VF_TRY(status, map_output_take(&p->output[n], first, count, values));
    return status;
}

static map_info describe(const apbs_job *job, const apbs_block *b, const char *method)
{
    const cionize_settings *s = &job->settings;
    return (map_info){.grid = b->grids.asked,
                      .type = s->precision,
                      .quantity = "electrostatic potential in solvent",
                      .unit = "kT/e",
                      .program = "cionize (Voxfield) " VF_VERSION,
                      .command = job->command,
                      .created = job->created,
                      .method = method,
                      .input = job->input.path[b->elec->molecule],
                      .unit_constant = potential_constant("kT/e", b->elec->temperature),
                      .temperature = b->elec->temperature,
                      .dielectric = b->elec->molecule_dielectric,
                      .r_min = s->r_min,
                      .molecule = b->molecule};
}

static vf_status pass_map(apbs_job *job, const potential_plan *plan, passage *p)
{
    const apbs_block *b = p->block;
    vf_status status = VF_OK;
    int64_t *done = calloc((size_t)vf_context_device_count(job->ctx), sizeof *done);
    if (!done)
        return vf_fail(job->ctx, VF_ERR_MEMORY, "no memory");
    for (int64_t n = 0; status == VF_OK && n < b->elec->writes; n++) {
        p->output[n] = (map_output){.ctx = job->ctx,
                                    .path = b->path[n],
                                    .format = b->elec->write[n].gzip ? &map_dx_gz : &map_dx,
                                    .info = &p->info,
                                    .order = MAP_Z_FASTEST};
        status = map_output_begin(&p->output[n]);
    }
    VF_TRY(status, error_points_make(job->ctx, plan, b->molecule, NULL, NULL, &p->check));
    VF_TRY(status, potential_compute(job->ctx, b->molecule, plan, take_layers, p, done));
    if (status == VF_OK && p->check)
        p->info.error = error_points_result(job->ctx, p->check, &p->output[0].figures);
    for (int64_t n = 0; n < b->elec->writes; n++)
        VF_TRY(status, map_output_commit(&p->output[n]));
    free(done);
    return status;
}

static vf_status write_maps(apbs_job *job, const apbs_block *b, const cionize_settings *s, const vf_solvent *solvent)
{
    const apbs_elec *e = b->elec;
    char method[256];
    potential_plan plan = {0};
    passage p = {.block = b, .solvent = solvent, .type = s->precision};
    if (e->writes == 0)
        return VF_OK;
    p.output = calloc((size_t)e->writes, sizeof *p.output);
    if (!p.output)
        return vf_fail(job->ctx, VF_ERR_MEMORY, "no memory for maps");
    vf_status status = potential_prepare(job->ctx, s, b->molecule, &b->grids.asked, MAP_Z_FASTEST, 1, &plan);
    if (status == VF_OK) {
        snprintf(method, sizeof method, "%s (%s), %s precision; in solvent of eps %g with ions of %g mol/L",
                 plan.method->title, plan.variant, s->precision == VF_F64 ? "double" : "single", e->solvent_dielectric,
                 apbs_ionic_strength(e));
        p.info = describe(job, b, method);
        if (plan.method->tolerance[s->precision] > 0)
            p.info.error.asked = s->accuracy;
        status = pass_map(job, &plan, &p);
    }
    for (int64_t n = 0; n < e->writes; n++)
        map_output_discard(&p.output[n]);
    error_points_free(p.check);
    free(p.layers);
    free(p.output);
    return status;
}

/* ---- the section ---- */

/* The settings of a run of cionize that is this section. */
static void take_settings(const apbs_elec *e, cionize_settings *s)
{
    s->unit = "kT/e";
    s->temperature = e->temperature;
    s->dielectric = e->molecule_dielectric;
    s->solvent = (solvent_settings){.on = true,
                                    .molecule_dielectric = e->molecule_dielectric,
                                    .solvent_dielectric = e->solvent_dielectric,
                                    .stern = apbs_ion_radius(e),
                                    .probe = e->probe,
                                    .surface = (int)apbs_surface(e),
                                    .non_linear = e->non_linear};
    for (int64_t n = 0; n < e->ions; n++)
        if (e->ion[n].charge != 0 && e->ion[n].concentration > 0)
            s->solvent.ion[s->solvent.ions++] = (vf_solvent_ion){e->ion[n].charge, e->ion[n].concentration};
}

static vf_status make_room(vf_context *ctx, apbs_block *b)
{
    if (b->elec->energies != APBS_ENERGIES_COMPS)
        return VF_OK;
    b->atoms.reaction = calloc((size_t)b->molecule->atoms, sizeof *b->atoms.reaction);
    b->atoms.coulomb = calloc((size_t)b->molecule->atoms, sizeof *b->atoms.coulomb);
    return b->atoms.reaction && b->atoms.coulomb ? VF_OK
                                                 : vf_fail(ctx, VF_ERR_MEMORY, "no memory for energies of atoms");
}

vf_status apbs_solve(apbs_job *job, apbs_block *b)
{
    const vf_coulomb_atoms atoms = potential_charges(b->molecule);
    cionize_settings s = job->settings;
    vf_solvent_options o;
    vf_solvent *solvent = NULL;
    take_settings(b->elec, &s);
    vf_stage_begin(&job->stages, "solve");
    vf_status status = make_room(job->ctx, b);
    VF_TRY(status, dissolve_options(&s, job->ctx, &o));
    if (status == VF_OK && !b->uniform)
        status = dissolve(job->ctx, &b->grids.solved, &atoms, b->molecule->radius, &o, &solvent);
    if (solvent)
        b->outcome = vf_solvent_outcome(solvent);
    if (status == VF_OK && b->outcome.edge > 1)
        vf_warn(job->ctx,
                "%s:%" PRId64 ": the potential is up to %.2g kT/e at the edge of the grid, where the linear equation "
                "is taken to hold; use a larger grid",
                job->settings.input, b->elec->line, b->outcome.edge);
    VF_TRY(status, dissolve_energies(&s, job->ctx, solvent, &atoms, b->atoms.reaction ? &b->atoms : NULL, &b->energy));
    b->solved = status == VF_OK;
    vf_stage_begin(&job->stages, "write");
    VF_TRY(status, write_maps(job, b, &s, solvent));
    vf_stage_end(&job->stages);
    vf_solvent_destroy(solvent);
    return status;
}
