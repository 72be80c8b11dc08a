/* Reads OpenDX maps of cionize and of other programs (docs/formats.md). */
#include "dx_reader.h"
#include "voxfield/timer.h"

/* ---- the footer ---- */

static vf_status refuse_more_values(dx_reader *r, text_piece word)
{
    int64_t more = 0;
    text_number number;
    vf_status status = VF_OK;
    while (status == VF_OK && text_read_number(word, r->w.c_locale, &number)) {
        more++;
        status = words_next(&r->w, &word);
    }
    if (status != VF_OK)
        return status;
    return words_fail(&r->w, "there are %lld values, but only %lld %s expected; copy or write the file again",
                      (long long)(r->w.items + more), (long long)r->w.items, r->w.items == 1 ? "is" : "are");
}

/* Reads to the end of the file, which also checks the checksum of a compressed file. */
static vf_status read_footer(dx_reader *r)
{
    char text[TEXT_QUOTE_SIZE];
    bool found = false, class_follows = false;
    text_number number;
    text_piece word;
    if (r->w.next == r->w.end)
        return words_fail(
            &r->w, "the file ends right after its last value, which may be cut; copy or write the file again, or end "
                   "the line");
    for (;;) {
        vf_status status = words_next(&r->w, &word);
        if (status == VF_OK && word.size == 0)
            break;
        if (status == VF_OK && *word.at == '#') {
            status = words_rest_of_line(&r->w, &word);
        } else if (status == VF_OK) {
            if (!found && text_read_number(word, r->w.c_locale, &number))
                status = refuse_more_values(r, word);
            else if (!found && !words_end_values(word))
                status = words_fail(&r->w, "unexpected '%s' after the last value", text_quote(word, text));
            else if (class_follows && word_is(word, "array"))
                status = words_fail(&r->w, "the file has a second array; a map has only one");
            found = true;
            class_follows = word_is(word, "class");
        }
        if (status != VF_OK)
            return status;
    }
    if (!found)
        vf_warn(r->w.ctx,
                "%s: the lines that usually follow the values are missing; all values are "
                "there",
                r->w.map->path);
    return VF_OK;
}

vf_status read_map_dx(vf_context *ctx, loaded_map *map)
{
    dx_reader r = {0};
    vf_status status = words_open(ctx, map, &r.w);
    VF_TRY(status, dx_read_header(&r));
    VF_TRY(status, words_read_values(&r.w));
    VF_TRY(status, read_footer(&r));
    return words_close(&r.w, status);
}
