/* What is said about kept pieces. */
#include "kept_pieces.h"

void kept_facts(facts *f, int line, const kept_pieces *k)
{
    const long long count = k->behind - k->first;
    if (!k->pieces && k->asked.parts == 0 && !kept_is_joined(k))
        return;
    fact_begin(f, "pieces");
    fact_text(f, "what", k->what);
    fact_integer(f, "all", k->items);
    if (k->asked.parts > 0) {
        fact_integer(f, "part", k->asked.part);
        fact_say(f, line + 1, "part       %d of %d: %lld of %lld %s%s, to %s", k->asked.part, k->asked.parts, count,
                 (long long)k->items, k->what, vf_plural(k->items), k->path);
        fact_integer(f, "parts", k->asked.parts);
    }
    if (kept_is_joined(k)) {
        fact_integer(f, "joined", k->files);
        fact_say(f, line, "parts      %d of %s joined, %lld %s%s", k->files, k->output, count, k->what,
                 vf_plural(count));
    }
    fact_integer(f, "first", k->first);
    fact_integer(f, "count", count);
    fact_integer(f, "kept", k->before);
    if (k->pieces && !kept_is_joined(k) && k->before > 0)
        fact_say(f, line + 2, "kept       %lld of %lld %s%s, from %s", (long long)k->before, count, k->what,
                 vf_plural(count), k->path);
    fact_end(f);
}

void kept_fact_of_end(facts *f, int line, const char *time)
{
    fact_only_say(
        f, line,
        "done       %s; when all parts are there, the same command with --join instead of --part makes the output",
        time);
}
