#include "name_copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/append.h"

/* The names of one kind, chains or segments. */
typedef struct name_set {
    char (*name)[9]; /* [count] those of the file, then those of copies */
    int64_t count, capacity, own;
    int64_t letter; /* the next name of letters to try */
    int64_t last;   /* the name found last: neighbours mostly have the same */
} name_set;

static int64_t find_name(name_set *set, const char *name, int64_t count)
{
    if (set->last < count && strcmp(set->name[set->last], name) == 0)
        return set->last;
    for (int64_t n = 0; n < count; n++)
        if (strcmp(set->name[n], name) == 0)
            return set->last = n;
    return -1;
}

static bool add_name(name_set *set, const char *name)
{
    if (set->count == set->capacity) {
        const int64_t capacity = set->capacity ? 2 * set->capacity : 64;
        void *larger = realloc(set->name, (size_t)capacity * sizeof *set->name);
        if (!larger)
            return false;
        set->name = larger;
        set->capacity = capacity;
    }
    snprintf(set->name[set->count++], sizeof *set->name, "%s", name);
    return true;
}

/* A to Z, a to z, 0 to 9, then pairs of them. Empty when all are used up. */
static void letters(int64_t n, char out[9])
{
    static const char pool[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const int64_t size = sizeof pool - 1;
    out[0] = '\0';
    if (n < size)
        snprintf(out, 9, "%c", pool[n]);
    else if (n < size + size * size)
        snprintf(out, 9, "%c%c", pool[(n - size) / size], pool[(n - size) % size]);
}

/* A name that no other chain has. */
static void new_name(name_set *set, const char *old, int copy, bool chain, char out[9])
{
    enum { COLUMNS = 4 }; /* of a segment in PDB files */
    if (chain && strlen(old) <= 1)
        for (letters(set->letter++, out); *out; letters(set->letter++, out))
            if (find_name(set, out, set->own) < 0)
                return;
    for (int number = copy + 1;; number++) {
        char digits[12];
        const int width = snprintf(digits, sizeof digits, "%d", number);
        const int room = width < COLUMNS ? COLUMNS - width : 0;
        out[0] = '\0';
        vf_append(out, 9, "%.*s%s", room, old, digits);
        if (find_name(set, out, set->count) < 0)
            return;
    }
}

/* The names of copy k are at own * k and behind, in the order of the file's. */
static bool make_names(name_set *set, const atom_label *labels, int64_t atoms, int copies, bool chain)
{
    char name[9];
    for (int64_t i = 0; i < atoms; i++) {
        const char *own = chain ? labels[i].chain : labels[i].segment;
        if (find_name(set, own, set->count) < 0 && !add_name(set, own))
            return false;
    }
    set->own = set->count;
    for (int k = 1; k < copies; k++)
        for (int64_t n = 0; n < set->own; n++) {
            name[0] = '\0';
            if (chain || set->name[n][0])
                new_name(set, set->name[n], k, chain, name);
            if (!add_name(set, name))
                return false;
        }
    return true;
}

static void label_copies(const atom_label *from, atom_label *to, int copy, name_set *chains, name_set *segments)
{
    const int64_t chain = find_name(chains, from->chain, chains->own) + copy * chains->own;
    const int64_t segment = find_name(segments, from->segment, segments->own) + copy * segments->own;
    *to = *from;
    memcpy(to->chain, chains->name[chain], sizeof to->chain);
    memcpy(to->segment, segments->name[segment], sizeof to->segment);
}

vf_status name_copies(vf_context *ctx, const char *path, atom_label *labels, int64_t atoms, int copies,
                      const int64_t *source, const int *copy, int64_t count)
{
    name_set chains = {0}, segments = {0};
    const bool made =
        make_names(&chains, labels, atoms, copies, true) && make_names(&segments, labels, atoms, copies, false);
    bool ends = false;
    for (int64_t i = 0; made && i < atoms; i++)
        ends |= labels[i].ends_chain;
    for (int64_t n = atoms; made && chains.own > 0 && n < count; n++)
        label_copies(&labels[source[n]], &labels[n], copy[n], &chains, &segments);
    for (int64_t n = atoms; made && ends && n <= count; n++)
        if (n == count || n == atoms || copy[n] != copy[n - 1])
            labels[n - 1].ends_chain = true;
    free(chains.name);
    free(segments.name);
    return made ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for the names of chains", path);
}
