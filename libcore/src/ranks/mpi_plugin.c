/* The plugin: compiled with mpicc, once for each MPI. Messages have a communicator of their own. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "ranks_plugin.h"

enum { TAG = 7 };
static MPI_Comm all = MPI_COMM_NULL;

static int find_place(ranks_place *out)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Comm node;
    int length = 0, error = MPI_Comm_dup(MPI_COMM_WORLD, &all);
    if (!error)
        error = MPI_Comm_rank(all, &out->rank);
    if (!error)
        error = MPI_Comm_size(all, &out->size);
    if (!error)
        error = MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, out->rank, MPI_INFO_NULL, &node);
    if (!error)
        error = MPI_Comm_rank(node, &out->node_rank);
    if (!error)
        error = MPI_Comm_size(node, &out->node_size);
    if (!error)
        error = MPI_Comm_free(&node);
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    if (!error)
        error = MPI_Get_processor_name(host, &length);
    (void)snprintf(out->host, sizeof out->host, "%.*s", (int)sizeof out->host - 1, host);
    if (!error)
        error = MPI_Get_library_version(text, &length);
    if (error)
        return error;
    text[strcspn(text, "\n,")] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\t')
            *c = ' ';
    (void)snprintf(out->library, sizeof out->library, "%.*s", (int)sizeof out->library - 1, text);
    return 0;
}

static int start(ranks_place *out)
{
    int level = 0;
    memset(out, 0, sizeof *out);
    const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (error)
        return error;
    return level < MPI_THREAD_SERIALIZED ? MPI_ERR_OTHER : find_place(out);
}

static int send_to(int to, const void *data, int bytes)
{
    return MPI_Send(data, bytes, MPI_BYTE, to, TAG, all);
}

static int poll_any(int *from, int *bytes)
{
    int there = 0;
    MPI_Status status;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, TAG, all, &there, &status);
    *from = -1;
    if (error || !there)
        return error;
    *from = status.MPI_SOURCE;
    return MPI_Get_count(&status, MPI_BYTE, bytes);
}

static int receive_from(int from, void *data, int bytes)
{
    return MPI_Recv(data, bytes, MPI_BYTE, from, TAG, all, MPI_STATUS_IGNORE);
}

static int stop(void)
{
    const int error = MPI_Comm_free(&all);
    return error ? error : MPI_Finalize();
}

__attribute__((visibility("default"))) const ranks_plugin voxfield_ranks_plugin = {.version = RANKS_PLUGIN_VERSION,
                                                                                   .start = start,
                                                                                   .send = send_to,
                                                                                   .poll = poll_any,
                                                                                   .receive = receive_from,
                                                                                   .stop = stop};
