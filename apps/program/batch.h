/* Several inputs in one call: each is a run of its own, in a process of its own, so that one failing leaves the others alone.
 * Also the names of outputs that follow from the input's: an output named by an extension alone, such as .mrc, is the input's
 * name with it, in the folder of --output-dir. docs/cluster.md. */
#ifndef VOXFIELD_BATCH_H
#define VOXFIELD_BATCH_H

#include "kept_pieces.h"

/* The rows of a program's table of options. */
#define OPTION_ROWS_BATCH(type, member)                                                                                \
    {OPTION_TEXT,                                                                                                      \
     .scope = OPTION_OF_RUN,                                                                                           \
     .name = "output-dir",                                                                                             \
     .argument = "FOLDER",                                                                                             \
     .completes = "/",                                                                                                 \
     OPTION_TO(type, member.folder),                                                                                   \
     .default_help = "that of the input",                                                                              \
     .help = "folder of outputs whose names are the input's with another extension",                                   \
     .more =                                                                                                           \
         "These are the default names, and outputs named by an extension alone, such as `.h5`. The folder is made if " \
         "it is missing."},                                                                                            \
    {                                                                                                                  \
        OPTION_READ,                                                                                                   \
            .scope = OPTION_OF_BATCH, .name = "list", .argument = "FILE", OPTION_TO(type, member.list),                \
            .help = "file with the names of more inputs, one a line; - reads standard input",                          \
            .more =                                                                                                    \
                "Each input is a run of its own; one that fails leaves the others alone. Empty lines and those that "  \
                "begin with # are skipped. The exit status is the worst."                                              \
    }

/* Whether the command line has several inputs, or a list of them. */
bool batch_asked(const struct program *program);

/* Runs the program for each input. Errors: VF_ERR_ARGUMENT (an output that all would write, inputs whose outputs have the
 * same names); VF_ERR_INPUT (the list); VF_ERR_CANCELLED; the worst of the inputs' own, whose messages they have printed. */
VF_MUST_CHECK vf_status batch_run(vf_context *ctx, struct program *program);

/* ---- batch_pages.c ---- */

/* If the inputs had pages (--page .html), writes PROGRAM-pages.html with links to them, in the folder of --output-dir, or here. A part of
 * a batch has none. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status batch_write_index(vf_context *ctx, const struct program *program, const char *const *input,
                                          int64_t count);

/* ---- output_names.c ---- */

/* Makes the folder of --output-dir, unless this is a dry run. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status batch_make_folder(vf_context *ctx, const struct program *program);

/* Whether an option names a file to write. */
bool batch_writes(const struct program_option *row);

/* `path` without the first of the `endings` that it has, with `ending`; in `folder`, if that is not NULL. free() the result. NULL:
 * no memory. */
char *batch_output_name(const char *folder, const char *path, const char *const *endings, const char *ending);

/* The name of an input's output that was asked for by an extension: in --output-dir, with the program's suffix. free() it; NULL: no
 * memory. */
char *batch_output_of(const struct program *p, const char *input, const char *extension);

/* Whether an output is named by an extension alone: ".mrc". */
bool batch_is_extension(const char *name);

/* Makes the names of outputs that are extensions alone, of all rows that are files to write, and the folder of --output-dir. The
 * names live as long as the program. Errors: VF_ERR_OUTPUT (the folder), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status batch_name_outputs(vf_context *ctx, struct program *program);

/* The same for one name that an option's own parser has read; NULL and whole names stay. */
VF_MUST_CHECK vf_status batch_name_output(vf_context *ctx, struct program *program, const char **name);

#endif
