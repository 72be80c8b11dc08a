/* Declarations shared by the files of the forecast. */
#ifndef FORECAST_INTERNAL_H
#define FORECAST_INTERNAL_H

#include "forecast.h"

/* The machine: seconds over those of the reference, of products by F^H W F and of serial work, and those of a parallel region. */
typedef struct forecast_machine {
    const vf_context *ctx;
    int threads;
    double speed, core, region;
} forecast_machine;

/* What the formulas need of a scan. */
typedef struct forecast_sizes {
    double voxels, points, grid;   /* of the image, of F^H W F's transform, of the NUFFT */
    double voxel_work, point_work; /* n log2 n */
    double lines;                  /* along the longest axis */
    double samples;                /* of a frame, the mean */
    double frames, trajectories, coils;
    double together;  /* frames that are solved together */
    double solutions; /* of a channel: frames, or windows of series */
    double systems;   /* the coils that a product by F^H W F sums over */
    double sets;      /* of coil maps, if the user asks for several: each has an image */
    double wide;      /* 2 in double precision */
    double segments;  /* of time, with a field map */
    double rough;     /* of the lengths of transforms, the mean */
    bool volume, on_grid, direct, maps, series;
    bool even_maps; /* they do not fade where the coils see little, as ESPIRiT's do */
    bool one_sided; /* one side of k-space is missing, and the phase makes up for it */
} forecast_sizes;

/* All but even_maps and one_sided. */
forecast_sizes forecast_sizes_of(const solve_settings *solve, const coil_settings *coils,
                                 const schedule_settings *schedule, const mri_scan *raw);

/* Counts of a run. */
forecast_counts forecast_count(const forecast_sizes *sizes, const solve_settings *solve, const noise_settings *noise,
                               const mri_scan *raw, const scan_sampling *sampling);

/* Seconds of a product by F^H W F, of one coil and one time segment, on one thread of the reference machine. */
double forecast_product_seconds(const forecast_sizes *sizes);

/* Pieces that threads share: of products, transforms and passes over vectors. */
double forecast_pieces_of_product(const forecast_sizes *sizes);
double forecast_pieces_of_transform(const forecast_sizes *sizes);
double forecast_pieces_of_vector(const forecast_sizes *sizes);
/* Parallel regions of a product, of one coil and one time segment. */
double forecast_regions_of_product(const forecast_sizes *sizes);
/* How many times as fast as one thread all threads are, if they share so many pieces. */
double forecast_gain(const forecast_machine *machine, double pieces);
/* Seconds of work that takes `parallel` seconds on one thread of the reference, in so many parallel regions. Regions have all
 * threads or one, as voxfield/team_size.h decides. */
double forecast_seconds(const forecast_machine *machine, double parallel, double pieces, double regions);

/* The reference machine with the context's threads. */
forecast_machine forecast_usual_machine(const vf_context *ctx);
/* Measures the mean time of a parallel region of all threads. */
double forecast_measure_region(const forecast_machine *machine);
/* Measures products of about `seconds` each, of one thread of the reference: their time over what it should be. 0: they cannot
 * be made. */
double forecast_measure_speed(vf_context *ctx, const forecast_machine *machine, const forecast_sizes *sizes,
                              const mri_scan *raw, double seconds);

#endif
