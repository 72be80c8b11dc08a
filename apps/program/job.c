#include "job.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

/* ---- the machine's cores and GPUs, divided ---- */

/* Launchers that bind ranks to cores have divided them already. A quota is all ranks' together. */
static vf_status divide_cores(vf_context *ctx, int ranks)
{
    cpu_set_t set;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const bool bound = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < cores;
    if (bound || getenv("OMP_NUM_THREADS") || ranks < 2)
        return VF_OK;
    const int each = vf_context_cores(ctx) / ranks;
    return vf_context_set_threads(ctx, each > 1 ? each : 1);
}

static int count_gpus(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

/* Shows each rank its share of the GPUs, before CUDA starts: one, or several if there are more GPUs than ranks. */
static void divide_gpus(int rank, int ranks)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char all[512] = "", share[512] = "";
    if (getenv("SLURM_GPUS_PER_TASK") || ranks < 2) /* Slurm has divided them */
        return;
    for (int n = 0; !visible && n < count_gpus() && n < 64; n++)
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%d", n ? "," : "", n);
    if (visible)
        (void)snprintf(all, sizeof all, "%s", visible);
    char *of[64], *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(all, ",", &rest); word && count < 64; word = strtok_r(NULL, ",", &rest))
        of[count++] = word;
    for (int n = 0; n < count; n++)
        if (count >= ranks ? n % ranks == rank : n == rank % count)
            (void)snprintf(share + strlen(share), sizeof share - strlen(share), "%s%s", share[0] ? "," : "", of[n]);
    if (count > 1)
        (void)setenv("CUDA_VISIBLE_DEVICES", share, 1);
}

/* ---- the job ---- */

bool job_is_other(const pieces_settings *asked)
{
    return asked->ranks && vf_ranks_rank(asked->ranks) > 0;
}

vf_status job_begin(vf_context *ctx, program *p, pieces_settings *asked, bool *idle)
{
    vf_ranks_launch launch;
    int rank = 0, size = 1;
    *idle = false;
    vf_status status = vf_ranks_find(ctx, asked->mpi, &launch);
    if (status != VF_OK || launch.library == VF_RANKS_NO)
        return status;
    if (asked->parts > 0 || asked->join)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--%s: the ranks of this job share the whole work; leave it out, or use --mpi no",
                       asked->join ? "join" : "part");
    if (program_given(p, "dry-run")) {
        *idle = launch.rank > 0;
        return VF_OK;
    }
    const char *list = option_text(p->options, &p->given, "list");
    if ((p->given.inputs > 0 && strcmp(p->given.input[0], "-") == 0) || (list && strcmp(list, "-") == 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "standard input reaches only one of the ranks; use a file");
    status = vf_ranks_start(ctx, &launch, &asked->ranks);
    if (status != VF_OK)
        return status;
    p->in_job = asked->ranks;
    vf_ranks_on_node(asked->ranks, &rank, &size);
    divide_gpus(rank, size);
    return program_given(p, "threads") ? VF_OK : divide_cores(ctx, size);
}

vf_status job_end(vf_context *ctx, program *p, pieces_settings *asked, vf_status status)
{
    if (asked->ranks && status != VF_OK)
        program_print_error(ctx, p);
    return vf_ranks_end(&asked->ranks, status);
}

bool job_is_told(void)
{
    return getenv("PMI_FD") != NULL;
}

/* The wire protocol of MPICH's process manager: PMI 1, section "abort". */
void job_give_up(int exit_code)
{
    const char *fd = getenv("PMI_FD");
    const struct timespec pause = {.tv_nsec = 300000000};
    (void)nanosleep(&pause, NULL); /* it forwards messages until then */
    if (fd)
        (void)dprintf((int)strtol(fd, NULL, 10), "cmd=abort exitcode=%d\n", exit_code);
}

/* ---- messages ---- */

void job_facts(facts *f, int line, const pieces_settings *asked)
{
    int rank, on_node;
    if (!asked->ranks)
        return;
    const char *mpi = vf_ranks_library_name(asked->ranks);
    const int size = vf_ranks_size(asked->ranks);
    vf_ranks_on_node(asked->ranks, &rank, &on_node);
    fact_begin(f, "job");
    fact_text(f, "mpi", mpi);
    fact_integer(f, "ranks", size);
    fact_say(f, line, "ranks      %d, %d of them on this machine; %s", size, on_node, mpi);
    for (int k = 0; k < size; k++) {
        const char *host, *error;
        int64_t done;
        char name[32];
        vf_ranks_about(asked->ranks, k, &host, &done, &error);
        (void)snprintf(name, sizeof name, "rank %d", k);
        fact_begin(f, name);
        fact_text(f, "host", host);
        fact_integer(f, "done", done);
        if (error)
            fact_text(f, "error", error);
        fact_end(f);
    }
    fact_end(f);
}
