/* mri_recon: how long a run will take, before it begins: the solver's iterations (forecast_counts.c), and the seconds of
 * each stage (forecast.c). For the plan, the choice of devices, and the report. */
#ifndef FORECAST_H
#define FORECAST_H

#include "scan/mri_scan.h"
#include "settings.h"

/* What the solver will do. Numbers are typical of scans of their kind. */
typedef struct forecast_counts {
    double first_images;     /* made for the noise, and the solver's iterations for all of them */
    double first_iterations; /* over all channels, as in the report */
    double phase_iterations; /* for the phase, if one side of k-space is missing; not in the report */
    double iterations;       /* for all frames and channels, as in the report */
    double applications;     /* of F^H W F, with sparse priors; of a series: to all its frames */
    double sure_solutions;   /* that choose lambda, each as long as that of one frame or series */
    double replicas;         /* frames of noise, for a noise map */
} forecast_counts;

/* The stages of the report, and what comes before them. */
typedef enum forecast_part {
    FORECAST_BEFORE, /* until the plan: start of the program, reading, coils; measured */
    FORECAST_NOISE,
    FORECAST_MAPS,
    FORECAST_DENSITY,
    FORECAST_ADJOINT,
    FORECAST_Q,
    FORECAST_SOLVE,
    FORECAST_WRITE, /* with "combine", "picture" and "compare" */
    FORECAST_PARTS
} forecast_part;
extern const char *const forecast_names[FORECAST_PARTS]; /* as in the report */

typedef struct recon_forecast {
    forecast_counts counts;
    double part[FORECAST_PARTS]; /* s */
    double gpu;                  /* s of that on GPUs, which is in no part; 0 on the CPU */
    double again;                /* s of all that each part of the run does again (--part, MPI) */
    double speed, core, region;  /* see forecast_make; 0: not measured */
} recon_forecast;

/* Seconds of the work that a GPU can take over, on the CPU and on one GPU, and the number of products by F^H W F of all coils, for
 * the choice of devices. Nothing is measured, so that the same input takes the same device. */
void forecast_devices(vf_context *ctx, const recon_settings *settings, const mri_scan *raw,
                      const scan_sampling *sampling, double *cpu, double *gpu, double *products);

/* Seconds of a run on the context's devices. `before`: seconds until now.
 *
 * The rates are those of one core of a Xeon of 2023. If the run is long enough, some milliseconds, up to 1.5 % of the run,
 * measure this machine: a small product by F^H W F on the context's threads gives `speed`, seconds here over those of the
 * model; text and memory on one thread (voxfield/machine_speed.h) give `core`, the same of serial work; empty parallel
 * regions give `region`, seconds that threads take to begin and end together. So the forecast follows the machine and what
 * else runs on it. On GPUs only `core` is measured. */
void forecast_make(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, const scan_sampling *sampling,
                   double before, recon_forecast *out);

double forecast_total(const recon_forecast *forecast);

/* Points of the transform for F^H W F: the doubled grid, or the matrix itself for samples on a grid. */
double forecast_transform_points(const solve_settings *solve, const mri_scan *raw);
/* Whether all trajectories are sampled on the Cartesian grid, as the settings compute F. */
bool forecast_on_grid(const solve_settings *solve, const mri_scan *raw);
/* Time segments that a field map needs: about as many if its frequencies are spread evenly, else fewer; 1 without. */
double forecast_segments(const solve_settings *solve, const mri_scan *raw);

#endif
