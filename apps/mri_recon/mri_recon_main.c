/* mri_recon: reads the options into settings and calls mri_recon_run. */
#include "job.h"
#include "program.h"
#include "recon_options.h"
#include "settings.h"

static vf_status run(vf_context *ctx, program *p)
{
    recon_settings *s = p->settings;
    vf_status status = settings_complete(ctx, s, program_given(p, "partial-fourier"), program_given(p, "prior"));
    s->program = p;
    bool idle = false;
    VF_TRY(status, job_begin(ctx, p, &s->pieces, &idle));
    if (job_is_other(&s->pieces)) {
        s->quiet = true;
        s->progress = VF_PROGRESS_OFF;
        s->report = NULL;
    }
    if (status == VF_OK && !idle)
        status = mri_recon_run(ctx, s);
    return job_end(ctx, p, &s->pieces, status);
}

int main(int argc, char **argv)
{
    static const char *const synopsis[] = {"[options] scan.h5", "[options] --output-dir FOLDER *.h5", NULL};
    recon_settings settings = {.solve.tolerance = -1};
    program p = {
        .name = "mri_recon",
        .about = "images from the raw data of an MRI scan, Cartesian or not",
        .synopsis = synopsis,
        .intro = "The scan is an ISMRMRD file, a plain HDF5 file with a group /scan, or k-space of BART (.cfl and "
                 ".hdr). The image solves (F^H W F + lambda P) image = F^H W data by conjugate gradients. F has the "
                 "trajectory, coils and field map. W has the weights of the samples. P is the prior.",
        .options = recon_options,
        .endings = recon_endings,
        .suffix = "_image",
        .input = "scan",
        .input_example = "scan.h5",
        .settings = &settings,
        .input_at = offsetof(recon_settings, scan.input),
        .run = run,
    };
    return program_main(&p, argc, argv);
}
