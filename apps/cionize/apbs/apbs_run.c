/* Runs an input file of APBS: all checks first, then a section after another. */
#include "apbs_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apbs_job.h"
#include "maps/map_format.h"
#include "maps/map_output.h"

static vf_status read_molecules(apbs_job *j)
{
    vf_status status = VF_OK;
    j->molecule = calloc((size_t)j->input.molecules, sizeof *j->molecule);
    if (!j->molecule)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for molecules");
    for (int64_t n = 0; status == VF_OK && n < j->input.molecules; n++) {
        status = read_molecule_choosing(j->ctx, j->input.path[n], NULL, j->settings.altloc, &j->molecule[n]);
        j->molecules += status == VF_OK;
    }
    return status;
}

static vf_status name_maps(apbs_job *j, apbs_block *b)
{
    b->path = calloc((size_t)b->elec->writes + 1, sizeof *b->path);
    bool named = b->path != NULL;
    for (int64_t w = 0; named && w < b->elec->writes; w++) {
        const apbs_write *write = &b->elec->write[w];
        const size_t size = strlen(write->stem) + 8;
        b->path[w] = malloc(size);
        named = b->path[w] != NULL;
        if (named)
            snprintf(b->path[w], size, "%s.dx%s", write->stem, write->gzip ? ".gz" : "");
    }
    return named ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the names of maps");
}

static vf_status check_names(const apbs_job *j)
{
    int64_t count = 2 + j->input.molecules, n = 0;
    for (int64_t e = 0; e < j->input.elecs; e++)
        count += j->input.elec[e].writes;
    program_file *files = calloc((size_t)count, sizeof *files);
    if (!files)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the names of files");
    files[n++] = (program_file){"the input", j->settings.input};
    files[n++] = (program_file){"the report", j->settings.report};
    for (int64_t e = 0; e < j->input.elecs; e++)
        for (int64_t w = 0; w < j->input.elec[e].writes; w++)
            files[n++] = (program_file){"a map (write pot)", j->block[e].path[w]};
    for (int64_t m = 0; m < j->input.molecules; m++) { /* one may be read several times */
        bool again = false;
        for (int64_t k = 0; k < m; k++)
            again |= strcmp(j->input.path[k], j->input.path[m]) == 0;
        if (!again)
            files[n++] = (program_file){"a molecule", j->input.path[m]};
    }
    vf_status status = program_check_names(j->ctx, files, (int)n);
    for (int64_t e = 0; status == VF_OK && e < j->input.elecs; e++)
        for (int64_t w = 0; status == VF_OK && w < j->input.elec[e].writes; w++) {
            const map_info info = {
                .grid = j->block[e].grids.asked, .type = j->settings.precision, .molecule = j->block[e].molecule};
            const map_format *format = j->input.elec[e].write[w].gzip ? &map_dx_gz : &map_dx;
            status =
                program_check_place(j->ctx, j->block[e].path[w], map_output_bytes(format, &info), "use a smaller dime");
        }
    free(files);
    return status;
}

/* The part of the charges' own energies, q^2 / pdie, that a sum of sections leaves: 0 if they cancel. */
static double own_energies(const apbs_job *j, const apbs_print *p)
{
    double net = 0, all = 0;
    for (int64_t t = 0; t < p->terms; t++) {
        const apbs_elec *e = &j->input.elec[p->term[t].elec];
        const molecule *m = &j->molecule[e->molecule];
        for (int64_t i = 0; i < m->atoms; i++) {
            const double own = m->charge[i] * m->charge[i] / e->molecule_dielectric;
            net += p->term[t].minus ? -own : own;
            all += own;
        }
    }
    return all > 0 ? fabs(net) / all : 0;
}

/* Whether the section is only there for the next one to focus on: no map, no sum. */
static bool only_for_focusing(const apbs_input *in, int64_t n)
{
    bool only = n + 1 < in->elecs && in->elec[n + 1].focus && in->elec[n + 1].molecule == in->elec[n].molecule &&
                in->elec[n].writes == 0;
    for (int64_t p = 0; p < in->prints; p++)
        for (int64_t t = 0; t < in->print[p].terms; t++)
            only &= in->print[p].term[t].elec != n;
    return only;
}

static vf_status prepare(apbs_job *j)
{
    const char *name = j->settings.input;
    vf_stage_begin(&j->stages, "read");
    vf_status status = read_apbs_input(j->ctx, name, &j->input);
    VF_TRY(status, read_molecules(j));
    if (status != VF_OK)
        return status;
    vf_stage_begin(&j->stages, "plan");
    j->block = calloc((size_t)j->input.elecs, sizeof *j->block);
    j->sum = calloc((size_t)j->input.prints + 1, sizeof *j->sum);
    j->selfs = calloc((size_t)j->input.prints + 1, sizeof *j->selfs);
    if (!j->block || !j->sum || !j->selfs)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for %" PRId64 " ELEC sections", j->input.elecs);
    for (int64_t n = 0; status == VF_OK && n < j->input.elecs; n++) {
        apbs_block *b = &j->block[n];
        b->elec = &j->input.elec[n];
        b->molecule = &j->molecule[b->elec->molecule];
        b->uniform = apbs_is_uniform(b->elec);
        b->left_out = only_for_focusing(&j->input, n);
        if (!b->left_out)
            status = apbs_place_grids(j->ctx, name, b->elec, j->molecule, &b->grids);
        VF_TRY(status, name_maps(j, b));
    }
    VF_TRY(status, check_names(j));
    for (int64_t n = 0; status == VF_OK && n < j->input.prints; n++)
        j->selfs[n] = own_energies(j, &j->input.print[n]);
    vf_stage_end(&j->stages);
    VF_TRY(status, apbs_tell(j, APBS_TELL_PLAN, 0, NULL));
    return status;
}

static vf_status execute(apbs_job *j, vf_report **report)
{
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < j->input.elecs; n++) {
        if (j->block[n].left_out)
            continue;
        status = apbs_solve(j, &j->block[n]);
        VF_TRY(status, apbs_tell(j, APBS_TELL_BLOCK, n, NULL));
    }
    for (int64_t n = 0; status == VF_OK && n < j->input.prints; n++) {
        const apbs_print *p = &j->input.print[n];
        for (int64_t t = 0; t < p->terms; t++) {
            const solvent_energy *e = &j->block[p->term[t].elec].energy;
            j->sum[n] += (p->term[t].minus ? -1 : 1) * (e->reaction + e->coulomb);
        }
    }
    VF_TRY(status, apbs_tell(j, APBS_TELL_SUMS, 0, NULL));
    VF_TRY(status, apbs_tell(j, APBS_TELL_REPORT, 0, *report));
    VF_TRY(status, vf_report_commit(report));
    return status;
}

static void free_job(apbs_job *j)
{
    for (int64_t n = 0; j->block && n < j->input.elecs; n++) {
        apbs_block *b = &j->block[n];
        for (int64_t w = 0; b->path && w < b->elec->writes; w++)
            free(b->path[w]);
        free(b->path);
        free(b->atoms.reaction);
        free(b->atoms.coulomb);
    }
    for (int64_t n = 0; n < j->molecules; n++)
        molecule_free(&j->molecule[n]);
    free(j->molecule);
    free(j->block);
    free(j->sum);
    free(j->selfs);
    free(j->command);
    apbs_input_free(&j->input);
}

vf_status apbs_run(vf_context *ctx, const cionize_settings *settings)
{
    apbs_job j = {.ctx = ctx, .settings = *settings};
    vf_report *report = NULL;
    vf_status status = VF_OK;
    program_time(j.created);
    j.command = program_command(settings->program);
    if (!j.command)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    if (settings->report && !settings->dry_run)
        status = vf_report_create(ctx, settings->report, &report);
    VF_TRY(status, prepare(&j));
    if (status == VF_OK && !settings->dry_run)
        status = execute(&j, &report);
    vf_report_discard(&report);
    free_job(&j);
    return status;
}
