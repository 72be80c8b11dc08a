/* What a run is at, for the report and for people. */
#include <stdio.h>

#include "mri_recon.h"

void watch_stage(recon_watch *watch, const char *name, double work)
{
    vf_stage_begin(&watch->stages, name);
    vf_progress_end(&watch->progress);
    snprintf(watch->title, sizeof watch->title, "%s%s", watch->which, name);
    vf_progress_begin(&watch->progress, stderr, watch->mode, watch->title, work, 1, NULL);
}
