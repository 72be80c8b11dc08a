/* ELEC sections of APBS's input files: a table of their words. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apbs_reader.h"

/* What a word does, by what follows it. */
typedef enum word_kind {
    WORD_NUMBER,
    WORD_TRIPLE, /* three numbers */
    WORD_COUNTS, /* three integers */
    WORD_CENTRE, /* mol N, or three numbers */
    WORD_MOLECULE,
    WORD_LINEAR,
    WORD_NON_LINEAR,
    WORD_CHOICE, /* one of `choices` */
    WORD_ION,
    WORD_WRITE,
    WORD_IGNORED, /* with so many words behind it: `least` */
    WORD_REFUSED
} word_kind;

typedef struct elec_choice {
    const char *word, *number; /* the number is APBS's older spelling; NULL: none */
    int value;
    const char *taken;   /* NULL, or how it is taken: "is taken as ..." */
    const char *refused; /* NULL, or why not, and what to do */
} elec_choice;

typedef struct elec_word {
    word_kind kind;
    const char *word;
    size_t at; /* of the member */
    double least, most;
    const elec_choice *choices;
    const char *why; /* it is ignored or refused */
} elec_word;

static const elec_choice boundaries[] = {
    {"mdh", "2", 0, NULL, NULL},
    {"sdh", "1", 0, "is taken as bcfl mdh, which has each atom in place of one sphere for all", NULL},
    {"zero", "0", 0, "is taken as bcfl mdh, which does not need a larger grid", NULL},
    {"focus", "4", 1,
     "is taken as bcfl mdh: a grid that is too small for the molecule is made larger, so it needs no other solution",
     NULL},
    {"map", NULL, 0, NULL, "maps of a potential are not read; use bcfl mdh"},
    {"mem", NULL, 0, NULL, "membranes are not supported; use bcfl mdh without zmem, lmem, mdie and memv"},
    {0}};

static const char splines[] = "surfaces of splines are not supported; use srfm mol, the molecular surface";
static const elec_choice surfaces[] = {{"mol", "0", 0, NULL, NULL},      {"smol", "1", 1, NULL, NULL},
                                       {"spl2", "2", 0, NULL, splines},  {"spl3", NULL, 0, NULL, splines},
                                       {"spl4", NULL, 0, NULL, splines}, {0}};

static const elec_choice energies[] = {{"no", "0", APBS_ENERGIES_NO, NULL, NULL},
                                       {"total", "1", APBS_ENERGIES_TOTAL, NULL, NULL},
                                       {"comps", "2", APBS_ENERGIES_COMPS, NULL, NULL},
                                       {0}};

static const char no_forces[] = "forces are not computed; use calcforce no";
static const elec_choice forces[] = {{"no", "0", 0, "is ignored, because forces are never computed", NULL},
                                     {"total", "1", 0, NULL, no_forces},
                                     {"comps", "2", 0, NULL, no_forces},
                                     {0}};

static const char membrane[] = "membranes are not supported; remove zmem, lmem, mdie and memv";
static const char of_para[] = "is ignored, because it is of mg-para";

#define ELEC(member) offsetof(apbs_elec, member)
#define BEYOND 1e5 /* angstrom */

static const elec_word words[] = {
    {WORD_COUNTS, "dime", ELEC(counts), 3, 1e6, NULL, NULL},
    {WORD_TRIPLE, "grid", ELEC(lengths), 1e-3, 1e3, NULL, NULL},
    {WORD_TRIPLE, "glen", ELEC(lengths), 1e-2, BEYOND, NULL, NULL},
    {WORD_TRIPLE, "fglen", ELEC(lengths), 1e-2, BEYOND, NULL, NULL},
    {WORD_TRIPLE, "cglen", ELEC(coarse_lengths), 1e-2, BEYOND, NULL, NULL},
    {WORD_CENTRE, "gcent", ELEC(centre), -BEYOND, BEYOND, NULL, NULL},
    {WORD_CENTRE, "fgcent", ELEC(centre), -BEYOND, BEYOND, NULL, NULL},
    {WORD_CENTRE, "cgcent", ELEC(coarse_centre), -BEYOND, BEYOND, NULL, NULL},
    {WORD_MOLECULE, "mol", ELEC(molecule), 1, 1e6, NULL, NULL},
    {WORD_LINEAR, "lpbe", 0, 0, 0, NULL, NULL},
    {WORD_NON_LINEAR, "npbe", 0, 0, 0, NULL, NULL},
    {WORD_CHOICE, "bcfl", 0, 0, 0, boundaries, NULL},
    {WORD_ION, "ion", 0, 0, 0, NULL, NULL},
    {WORD_NUMBER, "pdie", ELEC(molecule_dielectric), 1, 1e6, NULL, NULL},
    {WORD_NUMBER, "sdie", ELEC(solvent_dielectric), 1, 1e6, NULL, NULL},
    {WORD_CHOICE, "srfm", 0, 0, 0, surfaces, NULL},
    {WORD_NUMBER, "srad", ELEC(probe), 0, 100, NULL, NULL},
    {WORD_NUMBER, "temp", ELEC(temperature), 1e-3, 1e6, NULL, NULL},
    {WORD_CHOICE, "calcenergy", ELEC(energies), 0, 0, energies, NULL},
    {WORD_CHOICE, "calcforce", 0, 0, 0, forces, NULL},
    {WORD_WRITE, "write", 0, 0, 0, NULL, NULL},
    {WORD_IGNORED, "chgm", 0, 1, 0, NULL, "is ignored, because charges are points, which are not spread on the grid"},
    {WORD_IGNORED, "sdens", 0, 1, 0, NULL, "is ignored, because the density of points on the surface follows the grid"},
    {WORD_IGNORED, "swin", 0, 1, 0, NULL, "is ignored, because it is of surfaces of splines"},
    {WORD_IGNORED, "gamma", 0, 1, 0, NULL, "is ignored, because it is of apolar energies"},
    {WORD_IGNORED, "nlev", 0, 1, 0, NULL, "is ignored, because multigrid takes the levels that the grid allows"},
    {WORD_IGNORED, "etol", 0, 1, 0, NULL, "is ignored, because equations are always solved to 1e-6 or better"},
    {WORD_IGNORED, "useaqua", 0, 0, 0, NULL, "is ignored, because it only makes APBS faster"},
    {WORD_IGNORED, "ofrac", 0, 1, 0, NULL, of_para},
    {WORD_IGNORED, "pdime", 0, 3, 0, NULL, of_para},
    {WORD_IGNORED, "async", 0, 1, 0, NULL, of_para},
    {WORD_REFUSED, "lrpbe", 0, 0, 0, NULL, "the regularised equation is solved anyway; use lpbe"},
    {WORD_REFUSED, "nrpbe", 0, 0, 0, NULL, "the regularised equation is solved anyway; use npbe"},
    {WORD_REFUSED, "smpbe", 0, 0, 0, NULL, "ions of finite size are not supported; use lpbe or npbe"},
    {WORD_REFUSED, "usemap", 0, 0, 0, NULL, "maps of dielectric, ions and charge are not read; remove the line"},
    {WORD_REFUSED, "writemat", 0, 0, 0, NULL, "matrices are not written; remove the line"},
    {WORD_REFUSED, "zmem", 0, 0, 0, NULL, membrane},
    {WORD_REFUSED, "lmem", 0, 0, 0, NULL, membrane},
    {WORD_REFUSED, "mdie", 0, 0, 0, NULL, membrane},
    {WORD_REFUSED, "memv", 0, 0, 0, NULL, membrane},
};
enum { WORDS = sizeof words / sizeof *words };

/* The methods that may begin a section. */
static const char no_fem[] = "finite elements are not supported; use mg-auto";
static const char no_bem[] = "boundary elements are not supported; use mg-auto";
static const char no_spheres[] = "this method is not supported; use mg-auto";
static const elec_choice methods[] = {
    {"mg-manual", NULL, 0, NULL, NULL},
    {"mg-auto", NULL, 1, NULL, NULL},
    {"mg-para", NULL, 0, NULL,
     "grids divided among processes are not supported; use mg-auto without pdime, ofrac and async, and with the dime "
     "of the whole grid"},
    {"mg-dummy", NULL, 0, NULL,
     "it solves nothing, and maps of dielectric, ions and charge are not written; use mg-manual"},
    {"fe-manual", NULL, 0, NULL, no_fem},
    {"bem", NULL, 0, NULL, no_bem},
    {"bem-manual", NULL, 0, NULL, no_bem},
    {"tabi", NULL, 0, NULL, no_bem},
    {"pygbe", NULL, 0, NULL, no_bem},
    {"geoflow", NULL, 0, NULL, no_spheres},
    {"geoflow-auto", NULL, 0, NULL, no_spheres},
    {"pbam", NULL, 0, NULL, no_spheres},
    {"pbam-auto", NULL, 0, NULL, no_spheres},
    {"pbsam", NULL, 0, NULL, no_spheres},
    {"pbsam-auto", NULL, 0, NULL, no_spheres},
    {0}};

/* ---- words with arguments ---- */

static const elec_choice *find_choice(const apbs_reader *r, const elec_choice *choices)
{
    for (; choices->word; choices++)
        if (apbs_at(r, choices->word) || (choices->number && apbs_at(r, choices->number)))
            return choices;
    return NULL;
}

static vf_status read_choice(apbs_reader *r, const elec_word *w, apbs_elec *e)
{
    char quoted[TEXT_QUOTE_SIZE], what[64];
    apbs_next(r);
    const elec_choice *c = find_choice(r, w->choices);
    if (!c)
        return apbs_fail(r, VF_ERR_INPUT, "%s: '%s' is unknown; APBS knows %s %s and others", w->word,
                         text_quote(r->word, quoted), w->word, w->choices->word);
    if (c->refused)
        return apbs_fail(r, VF_ERR_UNSUPPORTED, "%s %s: %s", w->word, c->word, c->refused);
    snprintf(what, sizeof what, "%s %s", w->word, c->word);
    if (c->taken)
        apbs_say_once(r, what, c->taken);
    if (w->choices == energies)
        e->energies = c->value;
    if (w->choices == surfaces)
        e->smooth = c->value;
    if (w->choices == boundaries)
        e->focus = c->value;
    return VF_OK;
}

static vf_status read_triple(apbs_reader *r, const elec_word *w, double *to)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++)
        VF_TRY(status, apbs_number(r, w->word, w->least, w->most, &to[a]));
    return status;
}

static vf_status read_counts(apbs_reader *r, const elec_word *w, int64_t *to)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3; a++)
        VF_TRY(status, apbs_integer(r, w->word, (int64_t)w->least, (int64_t)w->most, &to[a]));
    return status;
}

static vf_status read_molecule_number(apbs_reader *r, const elec_word *w, int64_t *to)
{
    int64_t number = 0;
    const vf_status status = apbs_integer(r, w->word, 1, 1000000, &number);
    *to = number - 1;
    return status;
}

static vf_status read_centre(apbs_reader *r, const elec_word *w, apbs_centre *to)
{
    apbs_reader before = *r;
    apbs_next(r);
    to->on_molecule = apbs_at(r, "mol");
    if (to->on_molecule)
        return read_molecule_number(r, w, &to->molecule);
    r->next = before.next; /* the word is the first of three numbers */
    r->next_line = before.next_line;
    return read_triple(r, w, to->at);
}

/* ion charge Q conc C radius R, the pairs in any order, or the older ion Q C R. */
static vf_status read_ion(apbs_reader *r, apbs_elec *e)
{
    static const char *const names[] = {"charge", "conc", "radius"};
    static const double least[] = {-1000, 0, 0}, most[] = {1000, 1000, 100};
    double value[3] = {0};
    bool given[3] = {false};
    if (e->ions == APBS_MOST_IONS)
        return apbs_fail(r, VF_ERR_UNSUPPORTED,
                         "ion: a section has at most %d kinds of ions; remove those without effect", APBS_MOST_IONS);
    for (int n = 0; n < 3; n++) {
        const apbs_reader before = *r;
        int which = 0;
        apbs_next(r);
        while (which < 3 && !apbs_at(r, names[which]))
            which++;
        if (which == 3) {
            which = n;
            r->next = before.next;
            r->next_line = before.next_line;
        }
        if (given[which])
            return apbs_fail(r, VF_ERR_INPUT, "ion: %s is given twice; expected charge, conc and radius, each once",
                             names[which]);
        given[which] = true;
        const vf_status status = apbs_number(r, "ion", least[which], most[which], &value[which]);
        if (status != VF_OK)
            return status;
    }
    e->ion[e->ions++] = (apbs_ion){value[0], value[1], value[2]};
    return VF_OK;
}

static vf_status read_write(apbs_reader *r, apbs_elec *e)
{
    char quoted[TEXT_QUOTE_SIZE];
    apbs_write *larger = apbs_grow(r, e->write, e->writes, sizeof *larger);
    if (!larger)
        return VF_ERR_MEMORY;
    e->write = larger;
    apbs_next(r);
    if (!apbs_at(r, "pot"))
        return apbs_fail(r, VF_ERR_UNSUPPORTED,
                         "write %s: only maps of the potential are written (write pot); remove the line, and use "
                         "cionize --solvent --solvent-map for others",
                         text_quote(r->word, quoted));
    apbs_next(r);
    const bool gzip = apbs_at(r, "gz");
    if (!gzip && !apbs_at(r, "dx"))
        return apbs_fail(r, VF_ERR_UNSUPPORTED, "write pot %s: this format is not written; use dx or gz",
                         text_quote(r->word, quoted));
    apbs_write *w = &e->write[e->writes++];
    *w = (apbs_write){.line = r->line, .gzip = gzip};
    return apbs_text(r, "write", &w->stem);
}

static vf_status read_equation(apbs_reader *r, apbs_elec *e, bool non_linear)
{
    if (e->equation_line > 0 && e->non_linear != non_linear)
        return apbs_fail(r, VF_ERR_INPUT,
                         "lpbe and npbe exclude each other, and one is in line %" PRId64 "; keep one of them",
                         e->equation_line);
    e->non_linear = non_linear;
    e->equation_line = r->line;
    return VF_OK;
}

static vf_status read_ignored(apbs_reader *r, const elec_word *w)
{
    apbs_say_once(r, w->word, w->why);
    for (int n = 0; n < (int)w->least; n++) {
        apbs_next(r);
        if (r->at_end || apbs_at(r, "end"))
            return apbs_fail(r, VF_ERR_INPUT, "%s: a value is missing behind it; add it, or remove the word", w->word);
    }
    return VF_OK;
}

static vf_status read_word(apbs_reader *r, const elec_word *w, apbs_elec *e)
{
    void *at = (char *)e + w->at;
    switch (w->kind) {
    case WORD_NUMBER:
        return apbs_number(r, w->word, w->least, w->most, at);
    case WORD_TRIPLE:
        return read_triple(r, w, at);
    case WORD_COUNTS:
        return read_counts(r, w, at);
    case WORD_CENTRE:
        return read_centre(r, w, at);
    case WORD_MOLECULE:
        return read_molecule_number(r, w, at);
    case WORD_LINEAR:
    case WORD_NON_LINEAR:
        return read_equation(r, e, w->kind == WORD_NON_LINEAR);
    case WORD_CHOICE:
        return read_choice(r, w, e);
    case WORD_ION:
        return read_ion(r, e);
    case WORD_WRITE:
        return read_write(r, e);
    case WORD_IGNORED:
        return read_ignored(r, w);
    default:
        return apbs_fail(r, VF_ERR_UNSUPPORTED, "%s: %s", w->word, w->why);
    }
}

/* ---- the whole section ---- */

static int find_word(const char *name)
{
    int n = 0;
    while (n < WORDS && strcmp(words[n].word, name) != 0)
        n++;
    return n;
}

static vf_status need(const apbs_reader *r, const int64_t *line, const char *const *names)
{
    for (; *names; names++)
        if (line[find_word(*names)] == 0)
            return apbs_fail(r, VF_ERR_INPUT, "%s is missing in the ELEC section that ends here; add it", *names);
    return VF_OK;
}

/* What the answer depends on must be there: there are no defaults in APBS either. */
static vf_status check_section(const apbs_reader *r, const int64_t *line, apbs_elec *e)
{
    static const char *const all[] = {"dime", "mol", "pdie", "sdie", "srfm", "srad", "temp", NULL};
    static const char *const manual[] = {"gcent", NULL};
    static const char *const automatic[] = {"fglen", "cglen", "fgcent", "cgcent", NULL};
    const int grid = find_word("grid"), glen = find_word("glen");
    double charge = 0, all_charges = 0;
    vf_status status = need(r, line, all);
    VF_TRY(status, need(r, line, e->automatic ? automatic : manual));
    if (status != VF_OK)
        return status;
    if (e->equation_line == 0)
        return apbs_fail(r, VF_ERR_INPUT, "neither lpbe nor npbe is in the ELEC section that ends here; add one");
    if (!e->automatic && (line[grid] > 0) == (line[glen] > 0))
        return apbs_fail(r, VF_ERR_INPUT, "%s in the ELEC section that ends here; give one of them",
                         line[grid] > 0 ? "grid and glen are both" : "neither grid nor glen is");
    for (int64_t n = 0; n < e->ions; n++) {
        charge += e->ion[n].charge * e->ion[n].concentration;
        all_charges += fabs(e->ion[n].charge) * e->ion[n].concentration;
    }
    if (fabs(charge) > 1e-6 * all_charges)
        return apbs_fail(r, VF_ERR_INPUT,
                         "the ions of the ELEC section that ends here have a net charge of %g e mol/L; change their "
                         "concentrations so that it is 0",
                         charge);
    for (int a = 0; a < 3 && line[grid] > 0; a++) {
        e->lengths[a] *= (double)(e->counts[a] - 1);
        if (e->lengths[a] > BEYOND)
            return apbs_fail(r, VF_ERR_INPUT,
                             "the grid of the ELEC section that ends here is %g angstrom long, more than %g; change "
                             "grid or dime",
                             e->lengths[a], BEYOND);
    }
    return VF_OK;
}

/* Words of the other kind of grid, which APBS passes over. */
static bool is_of_other(const apbs_elec *e, const char *word)
{
    static const char *const of_auto[] = {"fglen", "cglen", "fgcent", "cgcent"}, *const of_manual[] = {"grid", "glen",
                                                                                                       "gcent"};
    bool found = false;
    for (int n = 0; n < 4 && !e->automatic; n++)
        found |= strcmp(word, of_auto[n]) == 0;
    for (int n = 0; n < 3 && e->automatic; n++)
        found |= strcmp(word, of_manual[n]) == 0;
    return found;
}

static vf_status read_section(apbs_reader *r, apbs_elec *e)
{
    int64_t line[WORDS] = {0};
    char quoted[TEXT_QUOTE_SIZE];
    for (apbs_next(r); !apbs_at(r, "end"); apbs_next(r)) {
        int n = 0;
        if (r->at_end)
            return apbs_fail(r, VF_ERR_INPUT, "the ELEC section of line %" PRId64 " has no END; add one", e->line);
        while (n < WORDS && !apbs_at(r, words[n].word))
            n++;
        if (n == WORDS)
            return apbs_fail(
                r, VF_ERR_INPUT,
                "unknown word '%s' in an ELEC section; check its spelling and the number of values before it",
                text_quote(r->word, quoted));
        if (is_of_other(e, words[n].word))
            return apbs_fail(r, VF_ERR_INPUT, "%s is of %s, but this section is %s; remove it", words[n].word,
                             e->automatic ? "mg-manual" : "mg-auto", e->automatic ? "mg-auto" : "mg-manual");
        if (line[n] > 0 && words[n].kind != WORD_ION && words[n].kind != WORD_WRITE && words[n].kind != WORD_IGNORED)
            vf_warn(r->ctx, "%s:%" PRId64 ": %s is in line %" PRId64 ", too; the last one counts, as in APBS", r->name,
                    r->line, words[n].word, line[n]);
        line[n] = r->line;
        const vf_status status = read_word(r, &words[n], e);
        if (status != VF_OK)
            return status;
    }
    return check_section(r, line, e);
}

static vf_status read_name(apbs_reader *r, apbs_elec *e)
{
    if (e->name)
        return apbs_fail(r, VF_ERR_INPUT, "name: this section has a name already; keep one of them");
    vf_status status = apbs_text(r, "name", &e->name);
    for (int64_t n = 0; status == VF_OK && n < r->out->elecs - 1; n++)
        if (r->out->elec[n].name && strcmp(r->out->elec[n].name, e->name) == 0)
            return apbs_fail(r, VF_ERR_INPUT,
                             "name: the ELEC section of line %" PRId64 " has the same name; change one of them",
                             r->out->elec[n].line);
    apbs_next(r);
    return status;
}

vf_status apbs_read_elec(apbs_reader *r)
{
    char quoted[TEXT_QUOTE_SIZE];
    vf_status status = VF_OK;
    apbs_elec *larger = apbs_grow(r, r->out->elec, r->out->elecs, sizeof *larger);
    if (!larger)
        return VF_ERR_MEMORY;
    r->out->elec = larger;
    apbs_elec *e = &r->out->elec[r->out->elecs++];
    *e = (apbs_elec){.line = r->line};
    apbs_next(r);
    while (status == VF_OK && apbs_at(r, "name"))
        status = read_name(r, e);
    if (status != VF_OK)
        return status;
    const elec_choice *method = find_choice(r, methods);
    if (!method)
        return apbs_fail(
            r, VF_ERR_INPUT,
            "'%s': an ELEC section begins with its name, if it has one, and a method: mg-auto or mg-manual",
            text_quote(r->word, quoted));
    if (method->refused)
        return apbs_fail(r, VF_ERR_UNSUPPORTED, "%s: %s", method->word, method->refused);
    e->automatic = method->value;
    return read_section(r, e);
}

static vf_status check_molecule(const apbs_reader *r, const apbs_elec *e, int64_t molecule)
{
    if (molecule < r->out->molecules)
        return VF_OK;
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s:%" PRId64 ": this ELEC section uses molecule %" PRId64 ", but READ has %" PRId64
                   "; change the number behind mol, or add a molecule",
                   r->name, e->line, molecule + 1, r->out->molecules);
}

vf_status apbs_check_elec(apbs_reader *r, const apbs_elec *e)
{
    vf_status status = check_molecule(r, e, e->molecule);
    VF_TRY(status, e->centre.on_molecule ? check_molecule(r, e, e->centre.molecule) : VF_OK);
    VF_TRY(status, e->coarse_centre.on_molecule ? check_molecule(r, e, e->coarse_centre.molecule) : VF_OK);
    return status;
}
