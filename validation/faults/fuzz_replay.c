/* Runs a fuzzer under libFuzzer, or over the given files and directories. Of these, files named ok-* must be read,
 * and files named bad-* must be rejected. */
#include "fuzz_replay.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_one(data, size); /* the function checks its own conditions */
    return 0;
}

#ifndef VOXFIELD_LIBFUZZER
static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0;
    if (!file) {
        perror(path);
        return 1;
    }
    for (size_t got = 1; got > 0; size += got) {
        if (size == capacity)
            data = realloc(data, capacity = capacity ? 2 * capacity : 4096);
        REQUIRE(data);
        got = fread(data + size, 1, capacity - size, file);
    }
    fclose(file);
    vf_status status = fuzz_one(data, size);
    free(data);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool wrong =
        (strncmp(name, "ok-", 3) == 0 && status != VF_OK) || (strncmp(name, "bad-", 4) == 0 && status == VF_OK);
    if (wrong)
        fprintf(stderr, "%s: %s, but its name says otherwise\n", path, status == VF_OK ? "was read" : "was rejected");
    return wrong;
}

static int run_directory(const char *path, int *files)
{
    DIR *directory = opendir(path);
    int wrong = 0;
    if (!directory) {
        perror(path);
        return 1;
    }
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        char *inner = NULL;
        if (entry->d_name[0] == '.')
            continue;
        REQUIRE(asprintf(&inner, "%s/%s", path, entry->d_name) > 0);
        wrong += run_file(inner);
        ++*files;
        free(inner);
    }
    closedir(directory);
    return wrong;
}

int main(int argc, char **argv)
{
    int files = 0, wrong = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            wrong += run_directory(argv[i], &files);
        } else {
            wrong += run_file(argv[i]);
            files++;
        }
    }
    printf("%d files, %d wrong\n", files, wrong);
    return wrong || files == 0;
}
#endif
