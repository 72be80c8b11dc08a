/* Cells of NAMD's extended system files (.xsc, .xst): comments, one of which names the columns ("#$LABELS step a_x a_y a_z ...");
 * then a line a step. The last line counts. */
#include <stdio.h>
#include <string.h>

#include "xsc_text.h"

#define LABELS "#$LABELS"

static bool begins_with(text_piece line, const char *start)
{
    return line.size >= strlen(start) && memcmp(line.at, start, strlen(start)) == 0;
}

bool is_xsc(text_piece text)
{
    text_lines lines = {.next = text.at, .end = text.at + text.size};
    text_piece line;
    while (text_next_line(&lines, &line) && (begins_with(line, "#") || text_all_blank(line)))
        if (begins_with(line, LABELS))
            return true;
    return false;
}

/* Where the nine numbers of the cell are among the words of a line; the labels are one word ahead. */
static bool find_columns(text_piece labels, int column[9])
{
    text_words words;
    text_split(labels, &words);
    for (int i = 0; i < 9; i++) {
        const char wanted[3] = {"abc"[i / 3], '_', "xyz"[i % 3]};
        column[i] = -1;
        for (int w = 1; w < words.count; w++)
            if (words.word[w].size == 3 && memcmp(words.word[w].at, wanted, 3) == 0)
                column[i] = w - 1;
        if (column[i] < 0)
            return false;
    }
    return true;
}

static vf_status take_line(molecule_reader *r, text_piece line, int64_t number, const int column[9])
{
    char quoted[TEXT_QUOTE_SIZE];
    double vectors[3][3];
    text_words words;
    text_split(line, &words);
    for (int i = 0; i < 9; i++) {
        text_number value;
        if (column[i] >= words.count)
            return text_fail(
                r->ctx, r->name, number,
                "the last line has %d words, but %c_%c is the word %d; the file is incomplete: copy it again",
                words.count, "abc"[i / 3], "xyz"[i % 3], column[i] + 1);
        if (!text_read_number(words.word[column[i]], r->c_locale, &value))
            return text_fail(r->ctx, r->name, number, "%c_%c: '%s' %s", "abc"[i / 3], "xyz"[i % 3],
                             text_quote(words.word[column[i]], quoted), text_number_trouble(words.word[column[i]]));
        vectors[i / 3][i % 3] = value.value;
    }
    cell_of_vectors(vectors, 1, &r->out->cell);
    return VF_OK;
}

vf_status read_xsc(molecule_reader *r)
{
    text_piece line, labels = {"", 0}, last = {"", 0};
    int64_t labels_at = 0, last_at = 0;
    bool more = true;
    int column[9];
    while (more) {
        const vf_status status = reader_next(r, &line, &more);
        if (status != VF_OK)
            return status;
        if (more && begins_with(line, LABELS)) {
            labels = line;
            labels_at = r->lines.line;
        } else if (more && !begins_with(line, "#") && !text_all_blank(line)) {
            last = line;
            last_at = r->lines.line;
        }
    }
    if (last_at == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: has no line with a cell; NAMD writes one for each step that it stores", r->name);
    if (!find_columns(labels, column))
        return text_fail(
            r->ctx, r->name, labels_at,
            "the labels do not name all of a_x to c_z: the system is not periodic in three directions; give "
            "the cell as --cell A,B,C[,ALPHA,BETA,GAMMA]");
    strcpy(r->out->dialect, "NAMD extended system");
    return take_line(r, last, last_at, column);
}
