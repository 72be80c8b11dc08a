/* What a run of an input file of APBS tells. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "apbs_job.h"
#include "voxfield/append.h"

/* The terminal's lines: the input, its molecules, sections; then results of a section each; then sums. */
enum { LINE_INPUT = 1, LINE_MOLECULES = 2 };

static int plan_line(const apbs_job *j, int64_t elec)
{
    return LINE_MOLECULES + (int)(j->input.molecules + elec);
}

static int result_line(const apbs_job *j, int64_t elec)
{
    return plan_line(j, j->input.elecs + elec);
}

static int sum_line(const apbs_job *j, int64_t print)
{
    return result_line(j, j->input.elecs + print);
}

const char *apbs_label(const apbs_job *job, int64_t elec, char text[64])
{
    if (job->input.elec[elec].name)
        snprintf(text, 64, "%.60s", job->input.elec[elec].name);
    else
        snprintf(text, 64, "%" PRId64, elec + 1);
    return text;
}

static void list_input(facts *f, const apbs_job *j)
{
    char key[64];
    fact_begin(f, "apbs");
    fact_text(f, "input", j->settings.input);
    fact_say(f, LINE_INPUT, "input      %s (APBS)", j->settings.input);
    for (int64_t n = 0; n < j->molecules; n++) {
        const molecule *m = &j->molecule[n];
        const int line = LINE_MOLECULES + (int)n;
        snprintf(key, sizeof key, "molecule_%" PRId64, n + 1);
        fact_begin(f, key);
        fact_text(f, "path", j->input.path[n]);
        fact_say(f, line, "molecule   %" PRId64 ": %s", n + 1, j->input.path[n]);
        fact_text(f, "sha256", m->digest);
        fact_integer(f, "atoms", m->atoms);
        fact_say(f, line, ", %lld atom%s", (long long)m->atoms, vf_plural(m->atoms));
        fact_number(f, "charge", m->total_charge);
        fact_say(f, line, ", %+.4g e", fabs(m->total_charge) < 1e-6 ? 0 : m->total_charge);
        fact_end(f);
    }
}

static void list_grid(facts *f, const apbs_grids *g, int line)
{
    const int64_t *n = g->asked.counts, *m = g->solved.counts;
    const double *h = g->asked.spacing;
    fact_numbers(f, "origin", g->asked.origin, 3);
    fact_numbers(f, "spacing", h, 3);
    fact_integers(f, "counts", n, 3);
    fact_say(f, line, "; %lld x %lld x %lld points, ", (long long)n[0], (long long)n[1], (long long)n[2]);
    if (h[0] == h[1] && h[0] == h[2])
        fact_only_say(f, line, "%.5g A", h[0]);
    else
        fact_only_say(f, line, "%.5g x %.5g x %.5g A", h[0], h[1], h[2]);
    fact_integers(f, "solved_counts", m, 3);
    if (g->around_atoms || g->further)
        fact_say(f, line, "\n           solved on %lld x %lld x %lld points%s%s", (long long)m[0], (long long)m[1],
                 (long long)m[2], g->around_atoms ? ", because the molecule comes near to the rim" : "",
                 g->further ? ", further out for a better boundary" : "");
}

static void list_plan(facts *f, const apbs_job *j, int64_t n)
{
    const apbs_elec *e = &j->input.elec[n];
    const int line = plan_line(j, n);
    char label[64];
    fact_text(f, "name", apbs_label(j, n, label));
    fact_integer(f, "molecule", e->molecule + 1);
    fact_say(f, line, "elec       %s: molecule %" PRId64, label, e->molecule + 1);
    if (j->block[n].left_out) {
        fact_only_say(f, line, "; not solved, because only the next section would need it, for bcfl focus");
        return;
    }
    list_grid(f, &j->block[n].grids, line);
    fact_number(f, "solute_dielectric", e->molecule_dielectric);
    fact_number(f, "solvent_dielectric", e->solvent_dielectric);
    fact_say(f, line, "\n           dielectric %g, %g in the molecule", e->solvent_dielectric, e->molecule_dielectric);
    fact_number(f, "ionic_strength", apbs_ionic_strength(e));
    if (apbs_ionic_strength(e) > 0)
        fact_say(f, line, "; ionic strength %g mol/L", apbs_ionic_strength(e));
    fact_text(f, "equation", e->non_linear ? "non-linear" : "linear");
    if (e->non_linear)
        fact_say(f, line, "; non-linear equation");
    fact_number(f, "stern", apbs_ion_radius(e));
    fact_number(f, "probe", e->probe);
    fact_text(f, "surface", apbs_surface_name(e));
    fact_say(f, line, "; surface %s", apbs_surface_name(e));
    if (e->probe > 0)
        fact_only_say(f, line, ", probe %g A", e->probe);
    fact_number(f, "temperature", e->temperature);
    fact_say(f, line, "; %g K", e->temperature);
}

/* For calcenergy comps: an atom a line, as in APBS. */
static void list_atoms(facts *f, const apbs_block *b, int line)
{
    fact_only_say(f, line, "\n  Per-atom energies:");
    for (int64_t i = 0; i < b->molecule->atoms; i++)
        fact_only_say(f, line, "\n      Atom %lld:  %1.12E kJ/mol", (long long)i,
                      b->atoms.reaction[i] + b->atoms.coulomb[i]);
}

static void list_result(facts *f, const apbs_job *j, int64_t n)
{
    const apbs_block *b = &j->block[n];
    const int line = result_line(j, n);
    char label[64];
    if (!b->solved)
        return;
    fact_integer(f, "iterations", b->outcome.iterations);
    fact_number(f, "residual", b->outcome.residual);
    fact_number(f, "reaction_kJ/mol", b->energy.reaction);
    fact_number(f, "coulomb_kJ/mol", b->energy.coulomb);
    if (b->elec->energies != APBS_ENERGIES_NO) {
        fact_only_say(f, line, "energy     %s: %.7g kJ/mol, %.7g of the reaction field and %.7g of the charges",
                      apbs_label(j, n, label), b->energy.reaction + b->energy.coulomb, b->energy.reaction,
                      b->energy.coulomb);
        if (b->elec->energies == APBS_ENERGIES_COMPS)
            list_atoms(f, b, line);
    }
    for (int64_t w = 0; w < b->elec->writes; w++)
        fact_only_say(f, line, "%smap        %s", w > 0 || b->elec->energies != APBS_ENERGIES_NO ? "\n" : "",
                      b->path[w]);
    fact_texts(f, "maps", (const char *const *)b->path, (int)b->elec->writes);
}

static void list_sum(facts *f, const apbs_job *j, int64_t n)
{
    const apbs_print *p = &j->input.print[n];
    const int line = sum_line(j, n);
    char key[64], label[64], words[512] = "";
    snprintf(key, sizeof key, "print_%" PRId64, n + 1);
    for (int64_t t = 0; t < p->terms; t++)
        vf_append(words, sizeof words, "%s%s",
                  t == 0             ? ""
                  : p->term[t].minus ? " - "
                                     : " + ",
                  apbs_label(j, p->term[t].elec, label));
    fact_begin(f, key);
    fact_text(f, "terms", words);
    fact_say(f, line, "print      %s", words);
    fact_number(f, "kJ/mol", j->sum[n]);
    fact_say(f, line, "\n  Global net ELEC energy = %1.12E kJ/mol", j->sum[n]);
    fact_number(f, "self_energies", j->selfs[n]);
    if (j->selfs[n] > 1e-9)
        fact_only_say(
            f, line,
            "\n           (without the energies of charges with themselves, which do not cancel in this sum: in APBS "
            "they depend on the grid)");
    fact_end(f);
}

static void list_all(facts *f, const apbs_job *j, bool sums)
{
    char key[64];
    list_input(f, j);
    for (int64_t n = 0; n < j->input.elecs; n++) {
        snprintf(key, sizeof key, "elec_%" PRId64, n + 1);
        fact_begin(f, key);
        list_plan(f, j, n);
        list_result(f, j, n);
        fact_end(f);
    }
    for (int64_t n = 0; sums && n < j->input.prints; n++)
        list_sum(f, j, n);
    fact_end(f);
    fact_stages(f, &j->stages);
}

vf_status apbs_tell(const apbs_job *j, apbs_moment moment, int64_t n, vf_report *report)
{
    const program *p = j->settings.program;
    facts f = {0};
    vf_status status = VF_OK;
    list_all(&f, j, moment >= APBS_TELL_SUMS);
    if (moment == APBS_TELL_REPORT) {
        vf_report_run(report, "cionize", p->argc, p->argv);
        status = facts_report(j->ctx, &f, report);
    } else if (!j->settings.quiet) {
        const int first = moment == APBS_TELL_PLAN    ? LINE_INPUT
                          : moment == APBS_TELL_BLOCK ? result_line(j, n)
                                                      : sum_line(j, 0);
        const int last = moment == APBS_TELL_PLAN    ? plan_line(j, j->input.elecs - 1)
                         : moment == APBS_TELL_BLOCK ? first
                                                     : sum_line(j, j->input.prints - 1);
        status = facts_print(j->ctx, &f, first, last);
    }
    facts_free(&f);
    return status;
}
