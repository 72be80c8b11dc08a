/* mri_recon: what the stages of a run share. mri_recon_pipeline.c has the stages, recon_facts.c what they tell. */
#ifndef RECON_STATE_H
#define RECON_STATE_H

#include "images/recon_image.h"
#include "kept_frames.h"
#include "program.h"
#include "schedule/forecast.h"
#include "schedule/reconstruct.h"
#include "watch.h"

typedef struct recon_state {
    vf_context *ctx;
    const recon_settings *settings; /* = &planned */
    recon_settings planned;         /* the user's, the prior that --prior auto chose, and what plan_device sets */
    const char *reason;             /* of --prior auto; NULL: the user chose */
    recon_watch watch;
    mri_scan scan;
    scan_sampling sampling;
    recon_summary summary;
    kept_frames kept;
    bool made_frames;       /* false: all were kept, and nothing is known of how they were made */
    float complex *cropped; /* [crop] one frame's image */
    double memory;          /* estimated bytes on each device */
    double began;           /* when the run began, by vf_now */
    recon_forecast forecast;
    recon_image image;
    bool image_kept;      /* its data are the result's (settings->result) */
    recon_image noise;    /* deviations of all places, then their g factors */
    float complex *whole; /* [voxels] one place before cropping */
    struct {              /* --reference; images 0: none */
        int images;
        int64_t counts[3];
        double voxel[3], covered; /* mm; the share of the image that it covers */
        char digest[VF_DIGEST_TEXT], placed[160];
    } reference;
    recon_image other;            /* the image file to compare with, if given */
    image_comparison *comparison; /* [compared] with the truth or with `other` */
    int compared;                 /* compared volumes, counted from the first */
    char *output, *command;
    char devices[64]; /* that made the last frame */
    char created[PROGRAM_TIME_TEXT], method[256], device[640];
} recon_state;

/* ---- mri_recon_pipeline.c ---- */

/* The state of a run; *out is NULL, or to be freed by recon_end, whatever is returned. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status recon_begin(vf_context *ctx, const recon_settings *settings, recon_state **out);
void recon_end(recon_state *r);
/* Reads the scan, corrects its trajectory and selects slices: r->scan. Errors: those of the functions that do so. */
VF_MUST_CHECK vf_status read_corrected(recon_state *r);

/* ---- recon_results.c: calls, whose outputs go to settings->result ---- */

/* Moves the image and the noise map to the result. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status keep_images(recon_state *r);
/* At the end: the result keeps what describes the image, for vf_mri_write_result, and frees the state in the end. */
void keep_run(recon_state *r);

/* ---- place_frames.c ---- */

/* Allocates the image, unless only a part of it is made, the noise map if there is one, and room for a frame of them.
 * Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status make_images(recon_state *r);
/* Where frames go; `user` is the recon_state. place_kept: a frame that was kept, of scan->crop; place_frame, place_noise: as
 * recon_put and recon_put_noise. */
void place_kept(void *user, const scan_frame *frame, const float complex *cropped);
void place_frame(void *user, const scan_frame *frame, const float complex *whole);
void place_noise(void *user, const scan_frame *frame, const float *deviation, const float *g);

/* The grid of the image: its voxels and their position, without data. */
recon_image image_of_scan(const mri_scan *raw);

/* ---- reference_stage.c ---- */

/* Reads --reference, and puts it in place of the scan's own references, resampled to the scan's matrix, for each place. Errors:
 * those of read_image; VF_ERR_INPUT (NaN or infinite values, no edges, a position that is not known or not clear, too little in
 * common with the image), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_reference(recon_state *r);
/* "reference" of the input: the file that was read, and where it lies. */
void reference_facts(facts *f, int line, const recon_state *r);
/* "reference" of the reconstruction: how references fit, and how strongly they act. */
void reference_fit_facts(facts *f, int line, const recon_state *r);

/* ---- compare_stage.c ---- */

/* Reads the image to compare with, before any work starts. Errors: those of read_image; VF_ERR_INPUT (another size). */
VF_MUST_CHECK vf_status read_other(recon_state *r);
/* Compares all volumes if the reference has as many, else the first. Errors: VF_ERR_MEMORY; those of compare_images. */
VF_MUST_CHECK vf_status compare_stage(recon_state *r);
/* Whether --compare names a file. */
bool compares_with_file(const recon_state *r);

/* ---- recon_page.c ---- */

/* Writes --page. Errors: those of vf_page_open and vf_page_add_volume. */
VF_MUST_CHECK vf_status page_stage(recon_state *r);

/* ---- kept_frames.c ---- */

/* Finds what is there and what is to be made: r->kept. Afterwards r->kept.wanted is for schedule.wanted of the settings, unless it
 * is NULL. Errors: those of kept_begin. */
VF_MUST_CHECK vf_status kept_frames_begin(recon_state *r);
/* --dry-run --ranks. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status kept_frames_plan_job(const recon_state *r);

/* ---- sampling_words.c ---- */

/* Describes the undersampling in one line; "" if the scan is complete. */
void say_sampling(const recon_state *r, char *text, size_t size);
/* Warns if all coils together have fewer numbers than about 0.55 of the voxels, unless a reference makes up for them. */
void warn_sampling(const recon_state *r);

/* ---- recon_facts.c ---- */

/* When the run tells something. At its end, it is the result, or that only a part was made. */
typedef enum recon_moment { TELL_FILE, TELL_SCAN, TELL_PLAN, TELL_PART, TELL_RESULT } recon_moment;

/* Prints the lines of a moment, unless the run is quiet. At the end, all facts go to the report too (NULL: none).
 * Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status recon_tell(const recon_state *r, recon_moment moment, vf_report *report);
/* Writes the same facts to a page's object. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status recon_facts_of_run(const recon_state *r, vf_report *report);
/* The image's description: r->created and r->method. */
void describe_image(recon_state *r);

#endif
