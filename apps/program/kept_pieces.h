/* Runs that are divided among processes (--part, --join), or go on from where an earlier one ended (--resume): which
 * pieces of the result this run makes, and the files that keep them beside the output. docs/cluster.md. */
#ifndef VOXFIELD_KEPT_PIECES_H
#define VOXFIELD_KEPT_PIECES_H

#include "facts.h"
#include "options.h"
#include "voxfield/pieces.h"
#include "voxfield/ranks.h"

typedef enum journal_mode { JOURNAL_AUTO, JOURNAL_YES, JOURNAL_NO } journal_mode;

/* What the user asked for. */
typedef struct pieces_settings {
    int part, parts; /* part 1 to `parts` of the pieces; 0 of 0: all */
    bool join, resume;
    journal_mode journal;
    vf_ranks_library mpi;
    int ranks_planned;         /* --ranks; 0: not asked */
    const char *folder, *list; /* batch.h */
    vf_ranks *ranks;           /* set by job_begin (job.h); NULL: one process */
} pieces_settings;

enum { PIECES_MOST_PARTS = 100000 };
extern const option_choice journal_modes[], mpi_libraries[];

/* Reads the argument of --part: "2/4". Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_part(vf_context *ctx, const char *option, const char *text, pieces_settings *out);

/* The first of the items of a part; of part + 1: the one behind its last. */
int64_t pieces_part_begins(int64_t items, int part, int parts);

/* The rows of a program's table of options, after a heading. `type`: the struct of its settings; `member`: the
 * pieces_settings in it; `parse_it`: an option's parser that calls parse_part; `words`: "layers of the map". */
#define OPTION_ROWS_PIECES(type, member, parse_it, words)                                                              \
    {OPTION_CUSTOM,                                                                                                    \
     .scope = OPTION_OF_DIVISION,                                                                                      \
     .name = "part",                                                                                                   \
     .argument = "I/N",                                                                                                \
     .parse = (parse_it),                                                                                              \
     .excludes = "join journal=no",                                                                                    \
     .help = "only part I of N of the " words ", without its files; see --join",                                       \
     .more = "The part is written beside the output, to OUTPUT.part-I-of-N. Parts need not know of each other: they "  \
             "may be the tasks of a job array. All must have the same options."},                                      \
        {OPTION_FLAG,                                                                                                  \
         .scope = OPTION_OF_KEEPING,                                                                                   \
         .name = "join",                                                                                               \
         OPTION_TO(type, member.join),                                                                                 \
         .excludes = "resume",                                                                                         \
         .help = "the output, from its parts",                                                                         \
         .more =                                                                                                       \
             "The options must be those of the parts. The parts stay; delete them when they are no longer needed."},   \
        {OPTION_FLAG,                                                                                                  \
         .scope = OPTION_OF_KEEPING,                                                                                   \
         .name = "resume",                                                                                             \
         OPTION_TO(type, member.resume),                                                                               \
         .excludes = "journal=no",                                                                                     \
         .help = "go on from an earlier run that did not end; if there is none, begin",                                \
         .more = "The options and the input must be those of that run. The output is the same as without an "          \
                 "interruption, byte by byte."},                                                                       \
        {OPTION_CHOICE,                                                                                                \
         .scope = OPTION_OF_DIVISION,                                                                                  \
         .name = "mpi",                                                                                                \
         .argument = "MPI",                                                                                            \
         OPTION_TO(type, member.mpi),                                                                                  \
         .choices = mpi_libraries,                                                                                     \
         .initial = "auto",                                                                                            \
         .help = "whose launcher started this process as one of several",                                              \
         .more = "Under mpirun, mpiexec or srun, the processes share the work, and the first writes the output."},     \
        {OPTION_INTEGER,                                                                                               \
         .scope = OPTION_OF_RUN,                                                                                       \
         .name = "ranks",                                                                                              \
         .argument = "N",                                                                                              \
         OPTION_TO(type, member.ranks_planned),                                                                        \
         .least = 1,                                                                                                   \
         .most = PIECES_MOST_PARTS,                                                                                    \
         .default_help = "",                                                                                           \
         .needs = "dry-run",                                                                                           \
         .help = "plan a job of N ranks: how long it would take",                                                      \
         .more = "The time is simulated from the speed of this machine, which `--dry-run` measures."},                 \
    {                                                                                                                  \
        OPTION_CHOICE,                                                                                                 \
            .scope = OPTION_OF_KEEPING, .name = "journal", .argument = "WHEN", OPTION_TO(type, member.journal),        \
            .choices = journal_modes, .initial = "auto",                                                               \
            .help = "whether finished " words " are kept beside the output, in OUTPUT.pieces, for --resume",           \
            .more = "The file is removed when the output is complete."                                                 \
    }

/* A key of the options that the user gave, those of OPTION_OF_RESULT without files to write, and of the files that they
 * and the input name. free() it. NULL: no memory. */
struct program;
char *pieces_key(const struct program *program, const char *input);

/* Whether a run keeps its pieces: because the options ask for it, or because it is expected to take so many `seconds`
 * that losing them would hurt. `output` must be a file. */
bool kept_wanted(const pieces_settings *asked, const char *output, double seconds);

/* Whether items that are the bytes of the output go straight to their final places, in OUTPUT.pieces-map, which becomes the
 * output by its name: so nothing is written twice. Not for --part, and not if the run goes on from one that kept its items
 * elsewhere. Rank 0's answer counts. */
bool kept_places(const pieces_settings *asked, const char *output);

typedef struct kept_pieces {
    vf_context *ctx;
    pieces_settings asked;
    vf_pieces *pieces;     /* NULL: none are kept, and all are to be made */
    const char *what;      /* "layer" */
    char *path;            /* of the file */
    char *output;          /* that the pieces belong to */
    int64_t items;         /* of the whole result */
    int64_t group;         /* of which as many belong together */
    int64_t first, behind; /* this run's part of them */
    int64_t before;        /* of those: there when the run began */
    int files;             /* that were joined; 0: none */
    char *key, *maker;     /* of the result, and bytes of an item: */
    size_t item_bytes;
    char *data; /* the file that has the items at their places, item 0 at data_begin; NULL: the file of pieces */
    int64_t data_begin;
} kept_pieces;

/* What a run would make, without files: for its plan. Parts consist of whole groups of `group` items, a divisor of
 * their number, if there is a group for each. Free with kept_end. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status kept_plan(vf_context *ctx, const pieces_settings *asked, const char *output, int64_t items,
                                  int64_t group, const char *what, kept_pieces *out);

/* Finds or makes the file of pieces, beside `output`, or reads the parts that are to be joined. result->data_begin > 0:
 * kept_places. Free with kept_end. Errors:
 * those of vf_pieces_create, _resume and _gather; VF_ERR_OUTPUT (pieces of an earlier run are there, but the user does
 * not ask to resume it); VF_ERR_INPUT (parts are missing or incomplete); VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status kept_begin(vf_context *ctx, const pieces_settings *asked, const char *output,
                                   const vf_pieces_result *result, int64_t group, const char *what, kept_pieces *out);

/* Whether only a part is made, by this process (--part, or as a rank other than 0), or nothing, because the parts are
 * joined. */
bool kept_is_part(const kept_pieces *kept);
bool kept_is_joined(const kept_pieces *kept);

/* Whether finished pieces are only kept, because other ranks make the ones between. */
bool kept_only(const kept_pieces *kept);

/* After a rank's work, with its status: rank 0 waits for the others and opens the files of all ranks, so that all pieces
 * are there. Without ranks it does nothing. Errors: those of vf_ranks_collect and vf_pieces_gather. */
VF_MUST_CHECK vf_status kept_collect(kept_pieces *kept, vf_status status);
VF_MUST_CHECK vf_status kept_gather_ranks(kept_pieces *kept); /* its second half */

/* How many pieces the run has to make. */
int64_t kept_missing(const kept_pieces *kept);

/* The pieces, with lines about those that are kept, and the part: `line` and the two behind it. Nothing if there are none. */
void kept_facts(facts *f, int line, const kept_pieces *kept);
void kept_fact_of_end(facts *f, int line, const char *time); /* of a part */

/* Ends the use of the file. After a success, the pieces of a whole result are removed, those of parts stay. After a
 * failure, all stay, and a warning says how to go on. `kept` may be zero. Returns the status, or an error of closing. */
VF_MUST_CHECK vf_status kept_end(kept_pieces *kept, vf_status status);

#endif
