/* AMBER's trajectories and restarts in all classic forms of NetCDF, with random coordinates. */
#ifndef NETCDF_FIXTURE_H
#define NETCDF_FIXTURE_H

#include "xdr_fixture.h"

enum { FRAMES = 5, MOST_ATOMS = 40 };
enum { BYTE = 1, CHAR = 2, SHORT = 3, INT = 4, FLOAT = 5, DOUBLE = 6 };

/* What the last file holds: coordinates, and cells as lengths and angles. */
static double expected[FRAMES][MOST_ATOMS][3], cells[FRAMES][6];

/* What a file in the classic format has. */
typedef struct nc_kind {
    int version;  /* 1, 2, 5 */
    int type;     /* of coordinates: FLOAT or DOUBLE */
    int cell;     /* type of cells; 0: none */
    bool restart; /* one frame, without a dimension of frames */
    bool fixed;   /* the dimension of frames has a length */
    bool alone;   /* coordinates are the only variable of records */
    int32_t atoms;
    int64_t records; /* in the header */
    const char *conventions, *units;
    double scale; /* scale_factor of coordinates; 0: no attribute */
} nc_kind;

static inline int width_of(int type)
{
    return type == FLOAT || type == INT ? 4 : type == DOUBLE ? 8 : type == SHORT ? 2 : 1;
}

static inline void put_count(xdr_bytes *b, const nc_kind *k, int64_t value)
{
    put_unsigned(b, (uint64_t)value, k->version == 5 ? 8 : 4);
}

static inline void put_padded(xdr_bytes *b, const char *text)
{
    for (; *text; text++)
        put_unsigned(b, (unsigned char)*text, 1);
    while (b->size % 4)
        put_unsigned(b, 0, 1);
}

static inline void put_name(xdr_bytes *b, const nc_kind *k, const char *name)
{
    put_count(b, k, (int64_t)strlen(name));
    put_padded(b, name);
}

static inline void put_text_attribute(xdr_bytes *b, const nc_kind *k, const char *name, const char *text)
{
    put_name(b, k, name);
    put_int(b, CHAR);
    put_name(b, k, text);
}

typedef struct nc_variable {
    const char *name;
    int type, rank, dims[3];
    int64_t bytes; /* in a record, filled up unless alone */
    size_t offset; /* where the header states its offset */
} nc_variable;

/* Dimensions: frame, spatial, atom, cell. A single record variable has no filling. Returns the offset of records (of the data). */
static inline size_t put_header(xdr_bytes *b, const nc_kind *k, nc_variable *v, int variables)
{
    put_padded(b, k->version == 1 ? "CDF\1" : k->version == 2 ? "CDF\2" : "CDF\5");
    put_unsigned(b, (uint64_t)k->records, k->version == 5 ? 8 : 4);
    put_int(b, 10);
    put_count(b, k, 4);
    static const char *const dims[4] = {"frame", "spatial", "atom", "cell_spatial"};
    const int64_t lengths[4] = {k->fixed ? FRAMES : 0, 3, k->atoms, 3};
    for (int i = 0; i < 4; i++) {
        put_name(b, k, dims[i]);
        put_count(b, k, lengths[i]);
    }
    put_int(b, 12);
    put_count(b, k, 2);
    put_text_attribute(b, k, "title", "a title");
    put_text_attribute(b, k, "Conventions", k->conventions ? k->conventions : "AMBER");
    put_int(b, 11);
    put_count(b, k, variables);
    for (int i = 0; i < variables; i++) {
        const bool coordinates = strcmp(v[i].name, "coordinates") == 0;
        put_name(b, k, v[i].name);
        put_count(b, k, v[i].rank);
        for (int d = 0; d < v[i].rank; d++)
            put_count(b, k, v[i].dims[d]);
        const int attributes = coordinates ? 1 + (k->scale != 0) : 0;
        put_int(b, attributes ? 12 : 0);
        put_count(b, k, attributes);
        if (coordinates)
            put_text_attribute(b, k, "units", k->units ? k->units : "angstrom");
        if (coordinates && k->scale != 0) {
            put_name(b, k, "scale_factor");
            put_int(b, DOUBLE);
            put_count(b, k, 1);
            put_real(b, k->scale, 8);
        }
        put_int(b, v[i].type);
        put_count(b, k, v[i].bytes);
        v[i].offset = b->size;
        put_unsigned(b, 0, k->version == 1 ? 4 : 8);
    }
    return b->size;
}

static inline void put_values(xdr_bytes *b, const nc_kind *k, const nc_variable *v, int frame)
{
    const size_t begin = b->size;
    const double scale = k->scale != 0 ? k->scale : 1;
    if (strcmp(v->name, "coordinates") == 0)
        for (int i = 0; i < 3 * k->atoms; i++) {
            const double value = uniform_between(-100, 100), stored = v->type == FLOAT ? (double)(float)value : value;
            put_real(b, value, width_of(v->type));
            expected[frame][i / 3][i % 3] = stored * scale;
        }
    else if (strncmp(v->name, "cell", 4) == 0)
        for (int i = 0; i < 3; i++) {
            const bool angles = strcmp(v->name, "cell_angles") == 0;
            const double value = (double)(float)uniform_between(60, 110);
            put_real(b, value, width_of(v->type));
            cells[frame][angles ? 3 + i : i] = value;
        }
    while ((int64_t)(b->size - begin) < v->bytes)
        put_unsigned(b, 0x5a, 1);
}

static inline xdr_bytes make_nc(const nc_kind *k)
{
    xdr_bytes b = {0};
    nc_variable v[6];
    int variables = 0;
    const int64_t of_atoms = 3 * (int64_t)k->atoms * width_of(k->type), of_cell = 3 * width_of(k->cell);
    v[variables++] = (nc_variable){.name = "spatial", .type = CHAR, .rank = 1, .dims = {1}, .bytes = 4};
    if (!k->restart && !k->alone)
        v[variables++] = (nc_variable){.name = "step", .type = SHORT, .rank = 1, .dims = {0}, .bytes = 4};
    if (k->cell)
        v[variables++] =
            k->restart
                ? (nc_variable){.name = "cell_lengths", .type = k->cell, .rank = 1, .dims = {3}, .bytes = of_cell}
                : (nc_variable){.name = "cell_lengths", .type = k->cell, .rank = 2, .dims = {0, 3}, .bytes = of_cell};
    v[variables++] =
        k->restart
            ? (nc_variable){.name = "coordinates", .type = k->type, .rank = 2, .dims = {2, 1}, .bytes = of_atoms}
            : (nc_variable){.name = "coordinates", .type = k->type, .rank = 3, .dims = {0, 2, 1}, .bytes = of_atoms};
    if (k->cell)
        v[variables++] =
            k->restart
                ? (nc_variable){.name = "cell_angles", .type = k->cell, .rank = 1, .dims = {3}, .bytes = of_cell}
                : (nc_variable){.name = "cell_angles", .type = k->cell, .rank = 2, .dims = {0, 3}, .bytes = of_cell};
    put_header(&b, k, v, variables);
    const int frames = k->restart ? 1 : FRAMES;
    int64_t at = (int64_t)b.size; /* variables without records come first, whole */
    for (int i = 0; i < variables; i++) {
        const bool whole = v[i].rank == 0 || v[i].dims[0] != 0;
        const int64_t bytes = whole ? v[i].bytes : k->fixed ? FRAMES * v[i].bytes : v[i].bytes;
        for (int byte = 0; byte < (k->version == 1 ? 4 : 8); byte++)
            b.at[v[i].offset + (size_t)byte] = (unsigned char)(at >> 8 * ((k->version == 1 ? 3 : 7) - byte));
        at += bytes;
    }
    for (int i = 0; i < variables; i++)
        if (v[i].dims[0] != 0)
            put_values(&b, k, &v[i], 0);
    if (k->fixed) /* the values of all frames, variable by variable */
        for (int i = 0; i < variables; i++)
            for (int f = 0; f < FRAMES && v[i].dims[0] == 0; f++)
                put_values(&b, k, &v[i], f);
    for (int f = 0; f < frames && !k->fixed && !k->restart; f++)
        for (int i = 0; i < variables; i++)
            if (v[i].dims[0] == 0)
                put_values(&b, k, &v[i], f);
    return b;
}

#endif
