#include "label_csv.h"

#include <stdio.h>
#include <string.h>

/* A text as CSV has it: in quotes if it holds what separates, quotes doubled (RFC 4180). */
static vf_status csv_text(vf_output *out, const char *text)
{
    vf_status status = VF_OK;
    if (!strpbrk(text, ",\"\n\r# "))
        return vf_output_printf(out, "%s,", text);
    status = vf_output_printf(out, "\"");
    for (; status == VF_OK && *text; text++)
        status = *text == '"' ? vf_output_printf(out, "\"\"") : vf_output_printf(out, "%c", *text);
    return status == VF_OK ? vf_output_printf(out, "\",") : status;
}

void label_residue_text(const atom_label *label, char text[32])
{
    if (*label->number_text)
        snprintf(text, 32, "%s", label->number_text);
    else if (label->insertion)
        snprintf(text, 32, "%ld%c", (long)label->residue_number, label->insertion);
    else
        snprintf(text, 32, "%ld", (long)label->residue_number);
}

vf_status label_csv(vf_output *out, const atom_label *label, bool with_name)
{
    char number[32];
    label_residue_text(label, number);
    const char *const texts[] = {label->name, label->residue, number, label->chain, label->segment};
    vf_status status = VF_OK;
    for (int n = with_name ? 0 : 1; status == VF_OK && n < 5; n++)
        status = csv_text(out, texts[n]);
    return status;
}
