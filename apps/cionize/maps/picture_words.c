#include "picture_words.h"

#include <stdio.h>
#include <string.h>

#include "molecule/molecule_part.h"
#include "voxfield/ticks.h"
#include "voxfield/timer.h"

void picture_title(const map_info *info, const char *what, int width, char title[PICTURE_TITLE])
{
    const char *slash = strrchr(info->input, '/');
    const int rest = vf_text_width(VF_FONT_LARGE, what) + vf_text_width(VF_FONT_LARGE, ": ");
    char name[1024];
    vf_text_shorten(VF_FONT_LARGE, slash ? slash + 1 : info->input, width - rest, name, sizeof name);
    (void)snprintf(title, PICTURE_TITLE, "%s: %s", name, what);
}

/* "selected: protein (1231 atoms, +4 e) of 8867", with as much of a long selection as there is room for. */
static void picture_selection(const char *selection, int64_t whole, char text[PICTURE_WORDS])
{
    enum { MOST = 32 };
    const char *numbers = strrchr(selection, '(');
    int size = numbers ? (int)(numbers - selection) : 0;
    const bool cut = size > MOST;
    size = cut ? MOST : size;
    while (cut && size > 0 && (selection[size] & 0xc0) == 0x80) /* within a character of UTF-8 */
        size--;
    (void)snprintf(text, PICTURE_WORDS, "selected: %.*s%s%s of %lld", size, selection, cut ? "... " : "",
                   numbers ? numbers : selection, (long long)whole);
}

const char *picture_atoms(const map_info *info, char text[PICTURE_WORDS])
{
    const int64_t whole = molecule_whole_atoms(info->molecule);
    if (info->selection) {
        picture_selection(info->selection, whole, text);
        return text;
    }
    char part[48] = "", number[VF_LABEL_TEXT];
    if (info->molecule->of_whole)
        (void)snprintf(part, sizeof part, "solute: %lld of ", (long long)info->molecule->atoms);
    (void)snprintf(text, PICTURE_WORDS, "%s%lld atom%s, %s %s e", part, (long long)whole, vf_plural(whole),
                   *part ? "charge" : "total charge",
                   vf_label_text(info->molecule->total_charge, 3, VF_LABEL_TRIM | VF_LABEL_SIGN, number));
    return text;
}

const char *picture_medium(const map_info *info, char text[PICTURE_WORDS])
{
    char number[VF_LABEL_TEXT];
    vf_label_text(info->dielectric, 4, VF_LABEL_TRIM, number);
    text[0] = '\0';
    if (info->dielectric != 1 || info->distance_dielectric)
        (void)snprintf(text, PICTURE_WORDS, "relative permittivity %s%s", number,
                       info->distance_dielectric ? " r/Å"
                       : info->surface           ? " in the molecule"
                                                 : "");
    return text;
}

vf_status picture_write(vf_context *ctx, const vf_canvas *canvas, const map_info *info, const char *path)
{
    const vf_png_text texts[] = {{"Title", info->quantity},
                                 {"Description", info->input},
                                 {"Software", info->program},
                                 {"Comment", info->command},
                                 {"Creation Time", info->created}};
    return vf_canvas_write_png(ctx, canvas, path, texts, (int)(sizeof texts / sizeof *texts));
}
