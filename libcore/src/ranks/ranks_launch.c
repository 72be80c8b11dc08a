/* Who started this process, and the plugin that speaks to it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks_internal.h"
#include "voxfield/append.h"

/* ---- the environment ---- */

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

/* What launchers set: Open MPI's mpirun; MPICH's mpiexec (Hydra), and srun --mpi=pmi2; srun --mpi=pmix. */
static const struct {
    const char *rank, *size;
    vf_ranks_library library;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", VF_RANKS_OPENMPI},
                 {"PMI_RANK", "PMI_SIZE", VF_RANKS_MPICH},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", VF_RANKS_OPENMPI}};

vf_status vf_ranks_find(vf_context *ctx, vf_ranks_library wish, vf_ranks_launch *out)
{
    *out = (vf_ranks_launch){.library = VF_RANKS_NO, .size = 1};
    if (wish == VF_RANKS_NO)
        return VF_OK;
    for (size_t n = 0; n < sizeof launchers / sizeof *launchers; n++) {
        if (!getenv(launchers[n].rank))
            continue;
        const int rank = number(launchers[n].rank, 0), size = number(launchers[n].size, 0);
        if (size != 1 && rank >= 0)
            *out = (vf_ranks_launch){wish == VF_RANKS_AUTO ? launchers[n].library : wish, rank, size};
        return VF_OK;
    }
    const int tasks = number("SLURM_STEP_NUM_TASKS", 1);
    if (tasks > 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "srun started %d copies of this program that cannot know of each other; use srun --mpi=pmix, or "
                       "srun --mpi=pmi2 with MPICH, or one task and --part",
                       tasks);
    return VF_OK;
}

/* ---- plugins ---- */

static const char *name_of(vf_ranks_library library)
{
    return library == VF_RANKS_MPICH ? "MPICH" : "Open MPI";
}

/* The folder of the program, with a slash at the end; "" if it is not known. */
static void program_folder(char *path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    path[slash ? slash + 1 - path : 0] = '\0';
}

vf_status ranks_load(vf_context *ctx, vf_ranks_library library, const ranks_plugin **out)
{
    static const char *const above[] = {"", "../", "../../"};
    static const char *const folders[] = {VOXFIELD_LIBDIR "/", "lib/"};
    const char *file = library == VF_RANKS_MPICH ? "voxfield_mpich.so" : "voxfield_openmpi.so";
    char folder[2048], path[2300], first[1024] = "";
    program_folder(folder, sizeof folder);
    *out = NULL;
    for (size_t n = 0; folder[0] && n < sizeof above / sizeof *above * 2; n++) {
        (void)snprintf(path, sizeof path, "%s%s%svoxfield/%s", folder, above[n / 2], folders[n % 2], file);
        if (access(path, F_OK) != 0)
            continue;
        void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* Open MPI's components look for its symbols */
        *out = handle ? (const ranks_plugin *)dlsym(handle, RANKS_PLUGIN_NAME) : NULL;
        if (*out && (*out)->version == RANKS_PLUGIN_VERSION)
            return VF_OK;
        (void)snprintf(first, sizeof first, "; %s", *out ? "it is of another version" : dlerror());
        break;
    }
    *out = NULL;
    return vf_fail(
        ctx, VF_ERR_UNSUPPORTED,
        "this process was started by %s's launcher, but there is no %s in lib/voxfield beside the program%s; "
        "install voxfield with it (README.md), or use --mpi no with one process, or --part",
        name_of(library), file, first);
}
