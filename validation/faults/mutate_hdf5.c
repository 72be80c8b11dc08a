/* Damages HDF5 files at random and reads them by the programs' own readers: scans of all layouts, coil maps, maps.
 *
 *   mutate_hdf5 FOLDER [COUNT]
 *
 * It damages the .h5 files of the folder, COUNT times (1000), by the seeds VOXFIELD_SEED, VOXFIELD_SEED + 1, ...
 * A damaged file is read, or refused with one message; in either case no signal, no descriptor and no process is left,
 * and it takes less than 20 s of processor time and 1 GB, of this process and of the one that reads. Besides random bits, the damage
 * follows the format: headers of heaps, trees and objects; sizes and dimensions; addresses, so that links lead
 * elsewhere; names; parts that are copied over others; truncation. A failure names its seed, so that one file can be made
 * again: VOXFIELD_SEED=... mutate_hdf5 FOLDER 1. */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_processor_time.h"
#include "coils/coil_map_file.h"
#include "maps/read_map.h"
#include "random_fixture.h"
#include "scan/mri_scan.h"
#include "voxfield/hdf5_io.h"

enum {
    MOST_SEEDS = 64,
    MOST_BYTES = 1 << 20,
    MOST_SECONDS = 20,
    MOST_WAIT = 600,
    MOST_KB = 1 << 20,
    PATH_SIZE = 512,
    NAME_SIZE = 64
};

typedef struct seed_file {
    char name[NAME_SIZE];
    char *bytes;
    size_t size;
} seed_file;

static size_t below(size_t limit)
{
    return limit ? (size_t)(random_bits() % limit) : 0;
}

/* ---- damage ---- */

static uint64_t get(const char *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size); /* little-endian, like all hosts here */
    return value;
}

static void flip(char *bytes, size_t first, size_t size)
{
    bytes[first + below(size)] ^= (char)(1 << below(8));
}

/* The place of a random one of the structures with this signature; `size` if there is none. */
static size_t find(const char *bytes, size_t size, const char *signature)
{
    const size_t length = strlen(signature);
    size_t found = size, count = 0;
    for (size_t at = 0; at + length + 64 <= size; at++)
        if (memcmp(bytes + at, signature, length) == 0 && below(++count) == 0)
            found = at;
    return found;
}

static void damage_structure(char *bytes, size_t size)
{
    static const char *const signatures[] = {"GCOL", "HEAP", "TREE", "SNOD", "OHDR", "FRHP", "FHDB",
                                             "BTHD", "BTLF", "FADB", "FAHD", "EAHD", "OCHK", "GCOL"};
    const size_t at = find(bytes, size, signatures[below(sizeof signatures / sizeof *signatures)]);
    for (size_t n = at < size ? 1 + below(3) : 0; n > 0; n--)
        flip(bytes, at, 64);
}

/* Sizes and dimensions: numbers that are small become others, large or near. */
static void damage_number(char *bytes, size_t size)
{
    static const uint64_t values[] = {0, 1, 2, 0x7f, 0xffff, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    const size_t width = below(2) ? 8 : 4;
    for (int tries = 0; tries < 4096; tries++) {
        const size_t at = below(size - width);
        const uint64_t now = get(bytes + at, width);
        if (now < 1 || now > 65536)
            continue;
        uint64_t other = values[below(sizeof values / sizeof *values)];
        if (below(2))
            other = below(2) ? now * (1 + below(1000)) : now + below(5) - 2;
        memcpy(bytes + at, &other, width);
        return;
    }
}

/* Addresses: what was one becomes another. */
static void damage_address(char *bytes, size_t size)
{
    size_t at[2] = {0, 0};
    for (int tries = 0, found = 0; tries < 65536 && found < 2; tries++) {
        const size_t place = below(size / 8) * 8;
        const uint64_t now = get(bytes + place, 8);
        if (now >= 48 && now < size && now % 8 == 0)
            at[found++] = place;
    }
    memcpy(bytes + at[0], bytes + at[1], 8);
}

static void damage_name(char *bytes, size_t size)
{
    static const char *const names[] = {"data", "xml", "scan", "trajectory", "maps", "potential",
                                        "head", "idx", "traj", "kspace",     "mask", "ismrmrd_header"};
    const size_t at = find(bytes, size, names[below(sizeof names / sizeof *names)]);
    const char *other = names[below(sizeof names / sizeof *names)];
    if (at < size)
        memcpy(bytes + at, other, strlen(other) + below(2));
}

static void damage_part(char *bytes, size_t size)
{
    const size_t length = 8 + below(504), from = below(size - length), to = below(size - length);
    memmove(bytes + to, bytes + from, length);
}

/* Returns the new size. */
static size_t damage(char *bytes, size_t size)
{
    for (size_t n = 1 + below(3); n > 0; n--)
        switch (below(8)) {
        case 0:
        case 1:
            for (size_t bits = 1 + below(8); bits > 0; bits--)
                flip(bytes, 0, size);
            break;
        case 2:
        case 3:
            damage_structure(bytes, size);
            break;
        case 4:
        case 5:
            damage_number(bytes, size);
            break;
        case 6:
            below(2) ? damage_address(bytes, size) : damage_name(bytes, size);
            break;
        default:
            damage_part(bytes, size);
        }
    return below(16) ? size : size - below(size - 1024);
}

/* ---- reading ---- */

typedef enum outcome { READ, REFUSED, DIED, OUTCOMES } outcome;

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static long most_kilobytes(int who)
{
    struct rusage usage;
    return getrusage(who, &usage) == 0 ? usage.ru_maxrss : 0;
}

static vf_status read_it(vf_context *ctx, const char *name, const char *path)
{
    vf_status status;
    if (strncmp(name, "potential", 9) == 0) {
        loaded_map map;
        status = read_map(ctx, path, NULL, &map);
        if (status == VF_OK)
            map_free(&map);
    } else if (strncmp(name, "coils", 5) == 0) {
        mri_scan scan = {.matrix = {8, 8, 1}, .crop = {8, 8, 1}, .coils = 3, .places = 1};
        coil_settings coils = {.compress = COMPRESS_NONE};
        status = read_coil_maps(ctx, path, &coils, &scan);
        scan_free(&scan);
    } else {
        mri_scan scan;
        status = read_scan(ctx, path, &(scan_request){.group = NULL}, &scan);
        if (status == VF_OK)
            scan_free(&scan);
    }
    return status;
}

static bool is_refusal(vf_status status)
{
    return status == VF_ERR_INPUT || status == VF_ERR_MEMORY || status == VF_ERR_UNSUPPORTED;
}

/* Reads one file. Returns what is wrong, or NULL. */
static const char *check(vf_context *ctx, const char *name, const char *path, outcome *out)
{
    const int before = open_descriptors();
    const double used = processor_time();
    alarm(MOST_WAIT); /* nothing waits forever */
    const vf_status status = read_it(ctx, name, path);
    alarm(0);
    const char *text = vf_context_message(ctx);
    *out = status == VF_OK ? READ : strstr(text, "the file is damaged: ") ? DIED : REFUSED;
    if (status != VF_OK && !is_refusal(status))
        return "another status than those of bad files";
    if ((status != VF_OK) != (text[0] != '\0') || (status != VF_OK && !strstr(text, path)))
        return "no message that names the file, or one without reason";
    if (processor_time() - used >= MOST_SECONDS)
        return "it took too long";
    if (open_descriptors() != before)
        return "a descriptor is left open";
    if (waitpid(-1, NULL, WNOHANG) >= 0)
        return "a process is left";
    if (most_kilobytes(RUSAGE_SELF) > MOST_KB || most_kilobytes(RUSAGE_CHILDREN) > MOST_KB)
        return "it took too much memory";
    return NULL;
}

/* ---- the whole ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const seed_file *)a)->name, ((const seed_file *)b)->name);
}

static int load(const char *folder, seed_file *seeds)
{
    int count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < MOST_SEEDS;) {
        char path[PATH_SIZE + 256];
        seed_file *seed = &seeds[count];
        if (!strstr(entry->d_name, ".h5") || strlen(entry->d_name) >= NAME_SIZE)
            continue;
        snprintf(path, sizeof path, "%.500s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        seed->bytes = malloc(MOST_BYTES);
        if (!file || !seed->bytes)
            exit(2);
        seed->size = fread(seed->bytes, 1, MOST_BYTES, file);
        fclose(file);
        memcpy(seed->name, entry->d_name, strlen(entry->d_name) + 1);
        count += seed->size > 2048;
    }
    if (directory)
        closedir(directory);
    qsort(seeds, (size_t)count, sizeof *seeds, by_name); /* the same draws on every machine */
    return count;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static seed_file seeds[MOST_SEEDS];
    static char bytes[MOST_BYTES];
    const char *parent = getenv("TMPDIR");
    char folder[PATH_SIZE], path[PATH_SIZE + 16];
    vf_context *ctx;
    int64_t tally[OUTCOMES] = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: mutate_hdf5 FOLDER [COUNT]\n");
        return 2;
    }
    const int64_t count = argc > 2 ? strtoll(argv[2], NULL, 10) : 1000;
    const uint64_t first = seed_random();
    const int files = load(argv[1], seeds);
    snprintf(folder, sizeof folder, "%.400s/mutate.XXXXXX", parent ? parent : "/tmp");
    if (files < 1 || !mkdtemp(folder) || vf_context_create(&ctx) != VF_OK)
        return 2;
    snprintf(path, sizeof path, "%s/damaged.h5", folder);
    for (int n = 0; n < files; n++) {
        outcome out;
        write_file(path, seeds[n].bytes, seeds[n].size);
        const char *wrong = check(ctx, seeds[n].name, path, &out);
        if (wrong || out != READ) {
            fprintf(stderr, "%s, undamaged: %s: %s\n", seeds[n].name, wrong ? wrong : "not read",
                    vf_context_message(ctx));
            return 1;
        }
    }
    for (int64_t n = 0; n < count; n++) {
        random_state = (first + (uint64_t)n) * UINT64_C(0x2545f4914f6cdd1d);
        const seed_file *seed = &seeds[below((size_t)files)];
        outcome out;
        memcpy(bytes, seed->bytes, seed->size);
        const size_t size = damage(bytes, seed->size);
        write_file(path, bytes, size);
        const char *wrong = check(ctx, seed->name, path, &out);
        if (wrong) {
            fprintf(stderr, "seed %" PRIu64 ", %s: %s (%s); the file is %s\n", first + (uint64_t)n, seed->name, wrong,
                    vf_context_message(ctx), path);
            return 1;
        }
        if (getenv("MUTATE_VERBOSE"))
            printf("%" PRIu64 " %s: %s\n", first + (uint64_t)n, seed->name, vf_context_message(ctx));
        tally[out]++;
        vf_context_clear_error(ctx);
    }
    printf("%" PRId64 " damaged files from seed %" PRIu64 " on: %" PRId64 " read, %" PRId64 " refused, %" PRId64
           " that broke HDF5 in its own process; %ld MB at most, and %ld MB there\n",
           count, first, tally[READ], tally[REFUSED], tally[DIED], most_kilobytes(RUSAGE_SELF) / 1024,
           most_kilobytes(RUSAGE_CHILDREN) / 1024);
    unlink(path);
    rmdir(folder);
    for (int n = 0; n < files; n++)
        free(seeds[n].bytes);
    vf_context_destroy(ctx);
    return 0;
}
