#include "pqr_lines.h"

#include <string.h>
#include <strings.h>

/* Records of PDB files that also occur in PQR files, and those that rarely do. Digits at the end are ignored. */
static const char *const other_records[] = {"TITLE",  "HEADER", "COMPND", "SOURCE", "AUTHOR", "CRYST", "TER",
                                            "CONECT", "NUMMDL", "MDLTYP", "CAVEAT", "SPLIT",  "USER",  NULL};
static const char *const pdb_records[] = {
    "SEQRES", "HELIX", "SHEET",  "TURN",   "ANISOU", "SIGATM", "SIGUIJ", "SCALE",  "ORIGX",  "MTRIX",  "TVECT",
    "MASTER", "JRNL",  "EXPDTA", "REVDAT", "DBREF",  "SEQADV", "MODRES", "CISPEP", "SSBOND", "LINK",   "FORMUL",
    "HETNAM", "HET",   "HETSYN", "KEYWDS", "SITE",   "FTNOTE", "SPRSDE", "OBSLTE", "HYDBND", "SLTBRG", NULL};

static bool is_word(text_piece text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.at, word, text.size) == 0;
}

static bool begins(text_piece text, const char *start)
{
    return text.size >= strlen(start) && memcmp(text.at, start, strlen(start)) == 0;
}

static bool in_list(text_piece word, const char *const *list)
{
    while (*list && !is_word(word, *list))
        list++;
    return *list != NULL;
}

size_t pqr_record_name(text_piece word)
{
    size_t name = 0;
    if (word.size >= 4 && strncasecmp(word.at, "ATOM", 4) == 0)
        name = 4;
    if (word.size >= 6 && strncasecmp(word.at, "HETATM", 6) == 0)
        name = 6;
    bool number = word.size == name;
    for (size_t i = name; i < word.size; i++) {
        bool letter = text_is_letter(word.at[i]);
        if (letter ? name == 4 : !text_is_digit(word.at[i]) && word.at[i] != '*')
            return 0;
        number |= !letter;
    }
    return number ? name : 0;
}

pqr_kind pqr_line_kind(text_piece line)
{
    const char *p = line.at;
    text_piece word = text_next_word(&p, line.at + line.size);
    if (word.size == 0 || *word.at == '#' || *word.at == '%')
        return PQR_BLANK;
    size_t name = pqr_record_name(word);
    if (name)
        return memcmp(word.at, name == 4 ? "ATOM" : "HETATM", name) == 0 ? PQR_ATOM : PQR_ATOM_CASE;
    if (begins(word, "data_") || begins(word, "loop_") || begins(word, "_atom_site"))
        return PQR_MMCIF;
    if (begins(word, "CONECT")) /* serial numbers of five columns touch it */
        return PQR_OTHER;
    while (word.size > 0 && text_is_digit(word.at[word.size - 1]))
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
