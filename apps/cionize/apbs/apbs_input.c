/* Input files of APBS: the sections READ and PRINT, and the whole. */
#include "apbs_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apbs_reader.h"
#include "text/input_text.h"

enum { MAX_BYTES = 1 << 20 };

/* ---- READ ---- */

static vf_status read_molecule_line(apbs_reader *r)
{
    char quoted[TEXT_QUOTE_SIZE];
    apbs_next(r);
    if (apbs_at(r, "pdb") || apbs_at(r, "xml"))
        return apbs_fail(r, VF_ERR_UNSUPPORTED,
                         "mol %s: only PQR files are read here; write one (pdb2pqr can), and use mol pqr",
                         text_quote(r->word, quoted));
    if (!apbs_at(r, "pqr"))
        return apbs_fail(r, VF_ERR_INPUT, "mol '%s': expected mol pqr FILE", text_quote(r->word, quoted));
    char **larger = apbs_grow(r, r->out->path, r->out->molecules, sizeof *larger);
    if (!larger)
        return VF_ERR_MEMORY;
    r->out->path = larger;
    larger[r->out->molecules] = NULL;
    return apbs_text(r, "mol pqr", &larger[r->out->molecules++]);
}

static vf_status read_read(apbs_reader *r)
{
    static const char *const maps[] = {"diel", "kappa", "charge", "pot", "mesh"};
    char quoted[TEXT_QUOTE_SIZE];
    const int64_t first = r->line;
    vf_status status = VF_OK;
    for (apbs_next(r); status == VF_OK && !apbs_at(r, "end"); apbs_next(r)) {
        if (r->at_end)
            return apbs_fail(r, VF_ERR_INPUT, "the READ section of line %" PRId64 " has no END; add one", first);
        for (int n = 0; n < 5; n++)
            if (apbs_at(r, maps[n]))
                return apbs_fail(r, VF_ERR_UNSUPPORTED,
                                 "READ %s: maps and meshes are not read; remove the line, and usemap", maps[n]);
        if (apbs_at(r, "parm"))
            return apbs_fail(
                r, VF_ERR_UNSUPPORTED,
                "READ parm: parameter files are not read; write the parameters into a PQR file, and remove the line");
        if (!apbs_at(r, "mol"))
            return apbs_fail(r, VF_ERR_INPUT, "unknown word '%s' in a READ section; expected mol pqr FILE, or END",
                             text_quote(r->word, quoted));
        status = read_molecule_line(r);
        if (status != VF_OK)
            return status;
    }
    return status;
}

/* ---- PRINT ---- */

/* The ELEC section of this name, or of this number from 1; -1: none. */
static int64_t find_elec(const apbs_input *in, text_piece word)
{
    int64_t number = 0;
    for (int64_t n = 0; n < in->elecs; n++)
        if (in->elec[n].name && strlen(in->elec[n].name) == word.size &&
            memcmp(in->elec[n].name, word.at, word.size) == 0)
            return n;
    for (size_t i = 0; i < word.size; i++) {
        if (!text_is_digit(word.at[i]) || number > in->elecs)
            return -1;
        number = 10 * number + (word.at[i] - '0');
    }
    return number <= in->elecs ? number - 1 : -1;
}

static vf_status read_what(apbs_reader *r)
{
    static const char *const others[] = {"elecforce", "force", "apolenergy", "apolforce"};
    char quoted[TEXT_QUOTE_SIZE];
    apbs_next(r);
    if (apbs_at(r, "elecEnergy") || apbs_at(r, "energy"))
        return VF_OK;
    for (int n = 0; n < 4; n++)
        if (apbs_at(r, others[n]))
            return apbs_fail(
                r, VF_ERR_UNSUPPORTED,
                "PRINT %s: only electrostatic energies are computed (print elecEnergy); remove the section",
                text_quote(r->word, quoted));
    return apbs_fail(r, VF_ERR_INPUT, "PRINT '%s': expected print elecEnergy", text_quote(r->word, quoted));
}

/* Names or numbers, in turn with signs. */
static vf_status read_print(apbs_reader *r)
{
    char quoted[TEXT_QUOTE_SIZE];
    apbs_print *larger = apbs_grow(r, r->out->print, r->out->prints, sizeof *larger);
    if (!larger)
        return VF_ERR_MEMORY;
    r->out->print = larger;
    apbs_print *p = &r->out->print[r->out->prints++];
    *p = (apbs_print){.line = r->line};
    const vf_status status = read_what(r);
    if (status != VF_OK)
        return status;
    for (bool minus = false;;) {
        apbs_next(r);
        const int64_t elec = r->at_end ? -1 : find_elec(r->out, r->word);
        if (elec < 0)
            return apbs_fail(r, VF_ERR_INPUT, "PRINT: '%s' is no ELEC section before it; use the name or number of one",
                             text_quote(r->word, quoted));
        apbs_term *terms = apbs_grow(r, p->term, p->terms, sizeof *terms);
        if (!terms)
            return VF_ERR_MEMORY;
        p->term = terms;
        p->term[p->terms++] = (apbs_term){elec, minus};
        apbs_next(r);
        if (apbs_at(r, "end"))
            return VF_OK;
        minus = apbs_at(r, "-");
        if (!minus && !apbs_at(r, "+"))
            return apbs_fail(r, VF_ERR_INPUT, "PRINT: expected +, - or END, not '%s'; put blanks around the signs",
                             text_quote(r->word, quoted));
    }
}

/* ---- the whole ---- */

static vf_status read_section(apbs_reader *r)
{
    char quoted[TEXT_QUOTE_SIZE];
    if (apbs_at(r, "read"))
        return read_read(r);
    if (apbs_at(r, "elec"))
        return apbs_read_elec(r);
    if (apbs_at(r, "print"))
        return read_print(r);
    if (apbs_at(r, "apolar"))
        return apbs_fail(r, VF_ERR_UNSUPPORTED,
                         "APOLAR: apolar energies are not computed; remove the section, and its PRINT apolEnergy");
    return apbs_fail(r, VF_ERR_INPUT, "unknown word '%s' where a section begins; expected READ, ELEC, PRINT or QUIT",
                     text_quote(r->word, quoted));
}

static vf_status read_sections(apbs_reader *r)
{
    vf_status status = VF_OK;
    for (apbs_next(r); status == VF_OK && !r->at_end && !apbs_at(r, "quit"); apbs_next(r)) {
        status = read_section(r);
        if (status != VF_OK)
            return status;
    }
    if (status == VF_OK && r->out->molecules == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: there is no molecule; add READ mol pqr FILE END", r->name);
    if (status == VF_OK && r->out->elecs == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: there is no ELEC section, so there is nothing to compute", r->name);
    for (int64_t n = 0; status == VF_OK && n < r->out->elecs; n++)
        status = apbs_check_elec(r, &r->out->elec[n]);
    return status;
}

vf_status parse_apbs_input(vf_context *ctx, const char *name, const char *text, size_t bytes, apbs_input *out)
{
    *out = (apbs_input){0};
    if (bytes > MAX_BYTES)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: is larger than %d MiB, so it is no input file of APBS", name,
                       MAX_BYTES >> 20);
    if (bytes > 0 && memchr(text, '\0', bytes))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: has zero bytes, so it is not a text file; save it as plain text", name);
    const size_t skip = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    apbs_reader r = {
        .ctx = ctx, .name = name, .next = text + skip, .end = text + bytes, .next_line = 1, .line = 1, .out = out};
    const vf_status status = read_sections(&r);
    if (status != VF_OK)
        apbs_input_free(out);
    return status;
}

vf_status read_apbs_input(vf_context *ctx, const char *path, apbs_input *out)
{
    input_text text = {0};
    *out = (apbs_input){0};
    vf_status status = input_text_read(ctx, path, &text);
    VF_TRY(status, parse_apbs_input(ctx, path, text.data, text.size, out));
    input_text_free(&text);
    return status;
}

void apbs_input_free(apbs_input *input)
{
    for (int64_t n = 0; n < input->molecules; n++)
        free(input->path[n]);
    free(input->path);
    for (int64_t n = 0; n < input->elecs; n++) {
        apbs_elec *e = &input->elec[n];
        for (int64_t w = 0; w < e->writes; w++)
            free(e->write[w].stem);
        free(e->write);
        free(e->name);
    }
    free(input->elec);
    for (int64_t n = 0; n < input->prints; n++)
        free(input->print[n].term);
    free(input->print);
    *input = (apbs_input){0};
}

double apbs_ionic_strength(const apbs_elec *elec)
{
    double sum = 0;
    for (int64_t n = 0; n < elec->ions; n++)
        sum += 0.5 * elec->ion[n].concentration * elec->ion[n].charge * elec->ion[n].charge;
    return sum;
}

double apbs_ion_radius(const apbs_elec *elec)
{
    double largest = 0;
    for (int64_t n = 0; n < elec->ions; n++)
        largest = fmax(largest, elec->ion[n].radius);
    return largest;
}
