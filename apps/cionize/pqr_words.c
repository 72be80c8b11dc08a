#include "pqr_words.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

bool pqr_all_blank(pqr_text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!is_blank(text.at[i]))
            return false;
    return true;
}

pqr_text pqr_next_word(const char **p, const char *end)
{
    while (*p < end && is_blank(**p))
        ++*p;
    pqr_text word = {*p, 0};
    while (*p < end && !is_blank(**p))
        ++*p;
    word.size = (size_t)(*p - word.at);
    return word;
}

void pqr_split(pqr_text line, pqr_words *out)
{
    const char *p = line.at, *end = line.at + line.size;
    out->count = 0;
    out->more = false;
    for (pqr_text word = pqr_next_word(&p, end); word.size > 0; word = pqr_next_word(&p, end)) {
        if (out->count == PQR_MAX_WORDS) {
            out->more = true;
            return;
        }
        out->word[out->count++] = word;
    }
}

const char *pqr_quote(pqr_text text, char out[PQR_QUOTE_SIZE])
{
    size_t n = text.size < PQR_QUOTE_SIZE - 4 ? text.size : PQR_QUOTE_SIZE - 4;
    for (size_t i = 0; i < n; i++)
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    strcpy(out + n, n < text.size ? "..." : "");
    return out;
}

/* ---- kinds of lines ---- */

/* The records of PDB files that also stand in PQR files, and those that hardly do. Digits at the end do not count. */
static const char *const other_records[] = {"TITLE",  "HEADER", "COMPND", "SOURCE", "AUTHOR", "CRYST", "TER",
                                            "CONECT", "NUMMDL", "MDLTYP", "CAVEAT", "SPLIT",  "USER",  NULL};
static const char *const pdb_records[] = {"SEQRES", "HELIX",  "SHEET",  "TURN",   "ANISOU", "SIGATM", "SIGUIJ", "SCALE",
                                          "ORIGX",  "MTRIX",  "TVECT",  "MASTER", "JRNL",   "EXPDTA", "REVDAT", "DBREF",
                                          "SEQADV", "MODRES", "CISPEP", "SSBOND", "LINK",   "FORMUL", "HETNAM", "HET",
                                          "HETSYN", "KEYWDS", "SITE",   "FTNOTE", "SPRSDE", "OBSLTE", NULL};

static bool is_word(pqr_text text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.at, word, text.size) == 0;
}

static bool begins(pqr_text text, const char *start)
{
    return text.size >= strlen(start) && memcmp(text.at, start, strlen(start)) == 0;
}

static bool in_list(pqr_text word, const char *const *list)
{
    while (*list && !is_word(word, *list))
        list++;
    return *list != NULL;
}

size_t pqr_record_name(pqr_text word)
{
    size_t name = 0;
    if (word.size >= 4 && strncasecmp(word.at, "ATOM", 4) == 0)
        name = 4;
    if (word.size >= 6 && strncasecmp(word.at, "HETATM", 6) == 0)
        name = 6;
    bool number = word.size == name;
    for (size_t i = name; i < word.size; i++) {
        bool letter = pqr_is_letter(word.at[i]);
        if (letter ? name == 4 : !pqr_is_digit(word.at[i]) && word.at[i] != '*')
            return 0;
        number |= !letter;
    }
    return number ? name : 0;
}

pqr_kind pqr_line_kind(pqr_text line)
{
    const char *p = line.at;
    pqr_text word = pqr_next_word(&p, line.at + line.size);
    if (word.size == 0 || *word.at == '#' || *word.at == '%')
        return PQR_BLANK;
    size_t name = pqr_record_name(word);
    if (name)
        return memcmp(word.at, name == 4 ? "ATOM" : "HETATM", name) == 0 ? PQR_ATOM : PQR_ATOM_CASE;
    if (begins(word, "data_") || begins(word, "loop_") || begins(word, "_atom_site"))
        return PQR_MMCIF;
    while (word.size > 0 && pqr_is_digit(word.at[word.size - 1]))
        word.size--;
    if (is_word(word, "REMARK"))
        return PQR_REMARK;
    if (is_word(word, "MODEL"))
        return PQR_MODEL;
    if (is_word(word, "ENDMDL"))
        return PQR_ENDMDL;
    if (is_word(word, "END"))
        return PQR_END;
    if (in_list(word, other_records))
        return PQR_OTHER;
    return in_list(word, pdb_records) ? PQR_PDB_ONLY : PQR_UNKNOWN;
}
