#include "recon_files.h"

#include <stdlib.h>
#include <string.h>

#include "bart/cfl_names.h"
#include "batch.h"
#include "program.h"

const char *const recon_endings[] = {".h5", ".hdf5", ".mrd", ".ismrmrd", ".cfl", ".hdr", NULL};

char *recon_default_output(const char *input, const char *folder)
{
    return batch_output_name(folder, input, recon_endings, cfl_is_name(input) ? "_image.cfl" : "_image.h5");
}

enum { MOST_FILES = 32 };

/* Adds both files of a BART pair. `names` owns the strings made for it. */
static vf_status add_file(vf_context *ctx, program_file *files, char **names, int *count, program_file file)
{
    if (!file.path || !cfl_is_name(file.path)) {
        files[(*count)++] = file;
        return VF_OK;
    }
    for (int i = 0; i < 2; i++) {
        names[*count] = cfl_file_name(file.path, i ? ".hdr" : ".cfl");
        if (!names[*count])
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
        files[*count] = (program_file){file.what, names[*count]};
        (*count)++;
    }
    return VF_OK;
}

vf_status recon_check_names(vf_context *ctx, const recon_settings *s, const char *output)
{
    const bool other = s->compare && strcmp(s->compare, "truth") != 0;
    const program_file given[] = {{"the scan", s->scan.input},
                                  {"the trajectory", s->scan.trajectory},
                                  {"the gradient response (--girf)", s->scan.girf},
                                  {"the motion", s->scan.motion},
                                  {"the coil maps (--coils)", s->maps},
                                  {"the image", output},
                                  {"the picture", s->picture},
                                  {"the report", s->report},
                                  {"the noise map", s->noise_map},
                                  {"the coil maps (--save-coils)", s->save_coils},
                                  {"Q (--save-q)", s->save_q},
                                  {"Q (--load-q)", s->load_q},
                                  {"the image to compare with", other ? s->compare : NULL}};
    program_file files[MOST_FILES];
    char *names[MOST_FILES] = {NULL};
    int count = 0;
    vf_status status = VF_OK;
    for (size_t i = 0; i < sizeof given / sizeof *given && status == VF_OK; i++)
        status = add_file(ctx, files, names, &count, given[i]);
    VF_TRY(status, program_check_names(ctx, files, count));
    for (int i = 0; i < count; i++)
        free(names[i]);
    return status;
}
