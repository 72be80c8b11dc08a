/* What ranks.c needs of MPI. A plugin is a shared object with one structure of this type, compiled with one MPI's
 * compiler. Functions return 0, or MPI's error code. They are called by one thread at a time. */
#ifndef RANKS_PLUGIN_H
#define RANKS_PLUGIN_H

enum { RANKS_PLUGIN_VERSION = 3, RANKS_PLUGIN_TEXT = 256 };
#define RANKS_PLUGIN_NAME "voxfield_ranks_plugin"

typedef struct ranks_place {
    int rank, size;
    int node_rank, node_size;        /* among the ranks that share memory */
    char host[RANKS_PLUGIN_TEXT];    /* the machine */
    char library[RANKS_PLUGIN_TEXT]; /* MPI's own description, its first line */
} ranks_place;

typedef struct ranks_plugin {
    int version;
    int (*start)(ranks_place *out);
    int (*send)(int to, const void *data, int bytes);
    int (*poll)(int *from, int *bytes); /* *from: -1 if no message waits */
    int (*receive)(int from, void *data, int bytes);
    int (*stop)(void);
} ranks_plugin;

#endif
