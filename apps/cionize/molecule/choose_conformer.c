#include "choose_conformer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atom_element.h"
#include "molecule_arrays.h"
#include "residue_kinds.h"
#include "residues.h"
#include "voxfield/timer.h"

enum { NO_LETTER = 0, OWN_LETTER = ' ' }; /* OWN_LETTER: of an atom without a letter that is a conformer of its own */

/* A letter of a residue. */
typedef struct conformer {
    int64_t next;  /* of the residue; -1: none */
    int64_t first; /* its first atom */
    int64_t atoms;
    double occupancy; /* sum */
    int rank;         /* 0: the chosen one */
    char letter;
} conformer;

typedef struct choosing {
    const molecule *m;
    int64_t *residue;    /* [atoms] the first atom of its residue */
    int64_t *name;       /* [atoms] the first atom of its residue with its name */
    int64_t *conformers; /* [atoms] at a residue's first atom: its first conformer; -1: none */
    bool *choice;        /* [atoms] at a residue's first atom: there are several conformers */
    int64_t *best;       /* [atoms] at a name's first atom: the atom to keep */
    conformer *conformer;
    int64_t count;
    char *letter; /* [atoms] */
} choosing;

/* ---- residues and names ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* Water molecules often share a label. Sets water[i] to the number of the atom's molecule, from 1; 0: no water. An atom begins
 * another one if its name comes again: before the conformers are chosen, find_residues would count the oxygens of all. */
static void number_waters(const molecule *m, int64_t *water)
{
    int64_t count = 0, first = 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        const atom_label *label = &m->labels[i];
        water[i] = 0;
        if (!residue_is_water(label->residue))
            continue;
        if (i == 0 || water[i - 1] == 0 || !same_number(&m->labels[i - 1], label) ||
            name_comes_again(m->labels, first, i))
            first = i, count++;
        water[i] = count;
    }
}

/* Sets first[i] to the first atom of the same residue and, with `names`, of the same name. water: of number_waters. */
static bool find_first(const molecule *m, const int64_t *water, bool names, int64_t *first)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)m->atoms)
        size *= 2;
    int64_t *slots = calloc(size, sizeof *slots); /* atom + 1; 0: free */
    for (int64_t i = 0; slots && i < m->atoms; i++) {
        const atom_label *label = &m->labels[i];
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        hash = hash_bytes(hash, &label->residue_number, sizeof label->residue_number);
        hash = hash_bytes(hash, &label->insertion, 1);
        hash = hash_bytes(hash, &water[i], sizeof water[i]);
        hash = hash_text(hash_text(hash, label->chain), label->segment);
        hash = hash_text(hash, label->number_text);
        if (names)
            hash = hash_text(hash, label->name);
        uint64_t slot = (hash ^ hash >> 32) & (size - 1);
        for (; slots[slot]; slot = (slot + 1) & (size - 1)) {
            const int64_t at = slots[slot] - 1;
            const atom_label *other = &m->labels[at];
            if (same_number(other, label) && water[at] == water[i] && (!names || strcmp(other->name, label->name) == 0))
                break;
        }
        if (!slots[slot])
            slots[slot] = i + 1;
        first[i] = slots[slot] - 1;
    }
    free(slots);
    return slots != NULL;
}

/* ---- conformers ---- */

/* The conformer of an atom; adds it to the residue's. NULL: the atom belongs to all. */
static conformer *conformer_of(choosing *c, int64_t atom, bool add)
{
    int64_t *at = &c->conformers[c->residue[atom]];
    if (c->letter[atom] == NO_LETTER)
        return NULL;
    for (; *at >= 0; at = &c->conformer[*at].next)
        if (c->conformer[*at].letter == c->letter[atom])
            return &c->conformer[*at];
    if (!add)
        return NULL;
    *at = c->count;
    c->conformer[c->count] = (conformer){.next = -1, .first = atom, .letter = c->letter[atom]};
    return &c->conformer[c->count++];
}

/* A name with and without a letter: the atom without one is a conformer, too. */
static void find_letters(choosing *c)
{
    const molecule *m = c->m;
    for (int64_t i = 0; i < m->atoms; i++) {
        c->letter[i] = m->labels[i].alternate;
        c->conformers[i] = -1;
        c->best[i] = 0; /* until find_best: whether the name occurs with a letter */
    }
    for (int64_t i = 0; i < m->atoms; i++)
        if (c->letter[i] != NO_LETTER)
            c->best[c->name[i]] = 1;
    for (int64_t i = 0; i < m->atoms; i++)
        if (c->letter[i] == NO_LETTER && c->best[c->name[i]])
            c->letter[i] = OWN_LETTER;
}

static void find_conformers(choosing *c)
{
    const molecule *m = c->m;
    for (int64_t i = 0; i < m->atoms; i++) {
        conformer *own = conformer_of(c, i, true);
        if (!own)
            continue;
        own->atoms++;
        own->occupancy += m->labels[i].occupancy;
        const int64_t residue = c->residue[i], other = c->conformer[c->conformers[residue]].first;
        c->choice[residue] |= c->letter[c->name[i]] != NO_LETTER && c->letter[c->name[i]] != c->letter[i];
        c->choice[residue] |=
            c->letter[other] != c->letter[i] && strcmp(m->labels[other].residue, m->labels[i].residue) != 0;
    }
}

static double mean_occupancy(const conformer *c)
{
    return c->occupancy / (double)c->atoms;
}

/* Whether a is to be preferred to b. Occupancies have two or three decimals, and sums of them rounding errors. */
static bool is_better(const conformer *a, const conformer *b, conformer_choice choice)
{
    const double equal = 1e-4, difference = mean_occupancy(a) - mean_occupancy(b);
    if (choice.rule == CONFORMER_FIRST)
        return a->first < b->first;
    if (choice.rule == CONFORMER_LETTER && (a->letter == choice.letter) != (b->letter == choice.letter))
        return a->letter == choice.letter;
    return fabs(difference) > equal ? difference > 0 : a->letter < b->letter;
}

static void rank_conformers(choosing *c, int64_t residue, conformer_choice choice)
{
    for (int64_t a = c->conformers[residue]; a >= 0; a = c->conformer[a].next)
        for (int64_t b = c->conformers[residue]; b >= 0; b = c->conformer[b].next)
            c->conformer[a].rank += a != b && is_better(&c->conformer[b], &c->conformer[a], choice);
}

/* The conformer of rank 0. */
static const conformer *chosen_of(const choosing *c, int64_t residue)
{
    int64_t at = c->conformers[residue];
    while (at >= 0 && c->conformer[at].rank != 0)
        at = c->conformer[at].next;
    return at < 0 ? NULL : &c->conformer[at];
}

/* Whether an atom may be kept; which one of its name is decided by the ranks. */
static bool may_keep(choosing *c, int64_t atom)
{
    const atom_label *label = &c->m->labels[atom];
    const conformer *own = conformer_of(c, atom, false), *chosen = chosen_of(c, c->residue[atom]);
    if (!own || !chosen || own == chosen)
        return true;
    return !atom_is_hydrogen(label->name, label->residue, label->element) &&
           strcmp(label->residue, c->m->labels[chosen->first].residue) == 0;
}

static void find_best(choosing *c)
{
    for (int64_t i = 0; i < c->m->atoms; i++)
        c->best[i] = -1;
    for (int64_t i = 0; i < c->m->atoms; i++) {
        int64_t *best = &c->best[c->name[i]];
        if (!c->choice[c->residue[i]] || c->letter[i] == NO_LETTER || !may_keep(c, i))
            continue;
        if (*best < 0 || conformer_of(c, i, false)->rank < conformer_of(c, *best, false)->rank)
            *best = i;
    }
}

/* ---- the molecule ---- */

typedef struct chosen_report {
    int64_t residues, dropped, first; /* first: the first residue's first conformer that was chosen */
} chosen_report;

static void drop_others(choosing *c, molecule *m, bool *keep, chosen_report *report)
{
    report->first = -1;
    for (int64_t i = 0; i < m->atoms; i++) {
        const int64_t residue = c->residue[i];
        keep[i] = true;
        if (!c->choice[residue])
            continue;
        report->residues += i == residue;
        if (report->first < 0)
            report->first = residue;
        keep[i] = c->letter[i] == NO_LETTER || c->best[c->name[i]] == i ||
                  (c->best[c->name[i]] >= 0 && c->letter[i] == c->letter[c->best[c->name[i]]]);
        report->dropped += !keep[i];
    }
}

static void say(vf_context *ctx, const char *name, conformer_choice choice, const choosing *c,
                const chosen_report *report)
{
    static const char *const rules[] = {[CONFORMER_BY_OCCUPANCY] = "of the largest mean occupancy",
                                        [CONFORMER_FIRST] = "that comes first",
                                        [CONFORMER_LETTER] = "of --altloc, or else of the largest mean occupancy,"};
    const conformer *chosen = chosen_of(c, report->first);
    const atom_label *label = &c->m->labels[chosen->first];
    const char code[2] = {label->insertion, '\0'}, text[2] = {chosen->letter, '\0'};
    char number[16];
    snprintf(number, sizeof number, "%" PRId32 "%s", label->residue_number, code);
    vf_warn(ctx,
            "%s: %" PRId64 " residue%s alternate locations; of each, the conformer %s is kept (of %s %s%s%s %s%s, "
            "occupancy %.2f), and %" PRId64 " atom%s left out; --altloc chooses another",
            name, report->residues, report->residues == 1 ? " has" : "s have", rules[choice.rule], label->residue,
            *label->number_text ? label->number_text : number, *label->chain ? " of " : "", label->chain,
            chosen->letter == OWN_LETTER ? "that without a letter" : "letter ",
            chosen->letter == OWN_LETTER ? "" : text, mean_occupancy(chosen), report->dropped,
            report->dropped == 1 ? " is" : "s are");
}

static vf_status choose(vf_context *ctx, const char *name, conformer_choice choice, choosing *c, molecule *m,
                        bool *keep)
{
    chosen_report report = {0};
    number_waters(m, c->best); /* which find_letters sets anew */
    bool room = find_first(m, c->best, false, c->residue) && find_first(m, c->best, true, c->name);
    if (room) {
        find_letters(c);
        find_conformers(c);
        for (int64_t i = 0; i < m->atoms; i++)
            if (c->choice[i])
                rank_conformers(c, i, choice);
        find_best(c);
        drop_others(c, m, keep, &report);
        if (report.residues == 0)
            return VF_OK;
        say(ctx, name, choice, c, &report);
        for (int64_t i = 0; i < m->atoms; i++)
            if (c->choice[c->residue[i]])
                m->labels[i].alternate = '\0';
        room = molecule_keep(m, keep);
    }
    return room ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to choose among alternate locations", name);
}

vf_status choose_conformers(vf_context *ctx, const char *name, conformer_choice choice, molecule *m)
{
    const size_t n = (size_t)m->atoms;
    bool any = false;
    for (int64_t i = 0; i < m->atoms; i++)
        any |= m->labels[i].alternate != NO_LETTER;
    if (!any)
        return VF_OK;
    choosing c = {.m = m,
                  .residue = malloc(n * sizeof *c.residue),
                  .name = malloc(n * sizeof *c.name),
                  .conformers = malloc(n * sizeof *c.conformers),
                  .choice = calloc(n, sizeof *c.choice),
                  .best = malloc(n * sizeof *c.best),
                  .conformer = calloc(n, sizeof *c.conformer),
                  .letter = calloc(n, 1)};
    bool *keep = malloc(n * sizeof *keep);
    vf_status status = c.residue && c.name && c.conformers && c.choice && c.best && c.conformer && c.letter && keep
                           ? choose(ctx, name, choice, &c, m, keep)
                           : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to choose among alternate locations", name);
    free(c.residue);
    free(c.name);
    free(c.conformers);
    free(c.choice);
    free(c.best);
    free(c.conformer);
    free(c.letter);
    free(keep);
    return status;
}
