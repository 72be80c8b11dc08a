/* The way into mri_phantom: turns options into settings. mri_phantom_run does the work. */
#include "mri_phantom.h"
#include "phantom_options.h"
#include "program.h"

static vf_status run(vf_context *ctx, program *p)
{
    return mri_phantom_run(ctx, p->settings);
}

int mri_phantom_main(int argc, char **argv)
{
    static const char *const synopsis[] = {"[options] -o scan.h5", NULL};
    static const vf_status failures[] = {VF_ERR_ARGUMENT, VF_ERR_OUTPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED, VF_OK};
    phantom_settings settings = {.arrays = ARRAY_TIME | ARRAY_SENSITIVITY | ARRAY_FIELD_MAP | ARRAY_TRUTH};
    program p = {
        .name = "mri_phantom",
        .about = "MRI scans of a phantom whose signal is known in closed form",
        .synopsis = synopsis,
        .failures = failures,
        .options = phantom_options,
        .examples = "  mri_phantom --case 128 -o case128.h5\n"
                    "  mri_phantom --matrix 192,192,1 --coils 8 --spokes 96 --snr 45 -o slice.h5\n"
                    "  mri_phantom --phantom head --matrix 192,192,1 --coils 8 --spokes 96 --oversample 2 \\\n"
                    "      --image-snr 30 -o head.h5\n"
                    "  mri_phantom --matrix 64 --trajectory cartesian --oversample 2 --coils 4 -o scan.mrd",
        .settings = &settings,
        .run = run,
    };
    return program_main(&p, argc, argv);
}
