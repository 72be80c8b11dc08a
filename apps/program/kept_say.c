/* What is said about kept pieces. */
#include <stdio.h>

#include "kept_pieces.h"

void kept_say(const kept_pieces *k)
{
    const long long count = k->behind - k->first;
    if (kept_is_joined(k))
        printf("parts      %d of %s joined, %lld %s%s\n", k->files, k->output, count, k->what, vf_plural(count));
    if (k->asked.parts > 0)
        printf("part       %d of %d: %lld of %lld %s%s, to %s\n", k->asked.part, k->asked.parts, count,
               (long long)k->items, k->what, vf_plural(k->items), k->path);
    if (k->pieces && !kept_is_joined(k) && k->before > 0)
        printf("kept       %lld of %lld %s%s, from %s\n", (long long)k->before, count, k->what, vf_plural(count),
               k->path);
}

void kept_say_end(const char *time)
{
    printf("done       %s; when all parts are there, the same command with --join instead of --part makes the output\n",
           time);
}

void kept_report(vf_report *report, const kept_pieces *k)
{
    if (!k->pieces)
        return;
    vf_report_begin(report, "pieces");
    vf_report_text(report, "what", k->what);
    vf_report_integer(report, "all", k->items);
    if (k->asked.parts > 0) {
        vf_report_integer(report, "part", k->asked.part);
        vf_report_integer(report, "parts", k->asked.parts);
    }
    if (kept_is_joined(k))
        vf_report_integer(report, "joined", k->files);
    vf_report_integer(report, "first", k->first);
    vf_report_integer(report, "count", k->behind - k->first);
    vf_report_integer(report, "kept", k->before);
    vf_report_end(report);
}
