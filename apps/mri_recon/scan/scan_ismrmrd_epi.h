/* Echo-planar imaging in the ISMRMRD reader: ramp sampling, and the phase between readouts of opposite polarity. */
#ifndef SCAN_ISMRMRD_EPI_H
#define SCAN_ISMRMRD_EPI_H

#include "scan_ismrmrd_reader.h"

void ismrmrd_epi_free(ismrmrd_epi_state *state);

/* ---- scan_ismrmrd_ramps.c ---- */

/* Decides from the headers whether readouts are sampled on ramps. Before the matrix is chosen. */
void ismrmrd_find_ramps(ismrmrd_reader *r);
/* Checks this with the samples, if a converter may have interpolated them to even steps. */
VF_MUST_CHECK vf_status ismrmrd_confirm_ramps(ismrmrd_reader *r);
/* Whether a line is sampled on ramps. */
bool ismrmrd_on_ramps(const ismrmrd_reader *r, const scan_line *line);

/* ---- scan_ismrmrd_navigators.c ---- */

/* Chooses the navigators that serve the correction of EPI, and makes room for their samples. Returns their samples of a
 * coil in `samples`. After the frames are known. */
VF_MUST_CHECK vf_status ismrmrd_choose_navigators(ismrmrd_reader *r, int64_t *samples);
void ismrmrd_take_navigator(ismrmrd_reader *r, int64_t index, const ismrmrd_body *body);

/* Navigators that follow each other, and what they say. */
typedef struct epi_train {
    int64_t first, count; /* acquisitions, from the first to the last */
    uint16_t slice;
    int lines; /* navigators */
    bool good;
    epi_phase phase;
} epi_train;

/* Fits all trains, in the order of the file. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_fit_navigators(const ismrmrd_reader *r, epi_train **trains, int *count);

/* ---- scan_ismrmrd_profile.c ---- */

/* Transforms readouts to profiles: z(x) = sum over m of w_m d_m exp(i 2 pi k_m x), for one kind of readouts at a time. */
typedef struct epi_profile {
    int nx;
    bool ramps; /* k as on the ramps, else even */
    const scan_line *like;
    float complex *factor; /* [kept sample][x] */
} epi_profile;

/* Prepares for lines like this one, if the last one was not. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_profile_for(const ismrmrd_reader *r, const scan_line *line, epi_profile *p);
void ismrmrd_profile(const epi_profile *p, const float complex *samples, float complex *out);

/* ---- scan_ismrmrd_ghost.c ---- */

/* What the images themselves say: a phase for each slice, contrast, phase and set. `phase`, `verdict`: [frames]. */
VF_MUST_CHECK vf_status ismrmrd_fit_images(ismrmrd_reader *r, epi_phase *phase, epi_verdict *verdict);

/* What the images say of the phases of navigators: sums of magnitudes without a correction, with their phases, and with the
 * opposite ones; and whether an image clearly has fewer ghosts with another phase than with theirs, or the opposite ones. */
typedef struct epi_opinion {
    double sum[3];
    bool contradicts[2];
    bool needed; /* without a correction, some have more ghosts */
} epi_opinion;

/* How alike images of the forward and of the reversed lines alone are, whatever the phase between them: of the first images, at
 * most 1. */
VF_MUST_CHECK vf_status ismrmrd_likeness(const ismrmrd_reader *r, double *out);

/* Asks the first image of each slice, contrast, phase and set. `phase`, `has`: [frames]. */
VF_MUST_CHECK vf_status ismrmrd_ask_images(ismrmrd_reader *r, const epi_phase *phase, const bool *has,
                                           epi_opinion *out);

/* epi_sharpness of the first image, as the samples' k is understood now. */
VF_MUST_CHECK vf_status ismrmrd_sharpness(const ismrmrd_reader *r, double *out);

/* ---- scan_ismrmrd_epi.c ---- */

/* Corrects the reversed readouts of EPI. After the centre of k-space is known. */
VF_MUST_CHECK vf_status ismrmrd_correct_epi(ismrmrd_reader *r);

#endif
