/* mri_recon: a scan in memory, independent of the file's layout.
 *
 * k in cycles per field of view of the encoded space, time in s, frequencies in Hz, lengths in mm, positions and
 * directions in the patient's coordinates (LPS: x to the left, y to the back, z to the head). Host memory, C order with
 * x fastest, complex numbers interleaved.
 */
#ifndef MRI_SCAN_H
#define MRI_SCAN_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "scan_settings.h"
#include "voxfield/context.h"
#include "voxfield/digest.h"

/* The position of the voxels in the patient. */
typedef struct scan_geometry {
    bool known;             /* false: directions are the axes, centre is 0 */
    double direction[3][3]; /* unit vectors along x, y, z of the image, LPS */
    double centre[3];       /* mm, LPS: centre of the field of view; for a stack, of the first slice */
    double slice_step;      /* mm between the centres of stacked slices, along direction[2]; 0: no stack */
} scan_geometry;

/* Sample positions in k-space. Several frames may share a trajectory. */
typedef struct scan_trajectory {
    int64_t samples;    /* >= 1 */
    float *k;           /* [sample][3] kx, ky, kz in cycles per encoded field of view, finite */
    float *weights;     /* [sample] >= 0: weights in the sum of squares, or NULL */
    float *time;        /* [sample] s since excitation, or NULL */
    float complex *phi; /* [sample] transform of a voxel's basis function at k, or NULL */
    int64_t readouts;   /* 0: unknown */
    int64_t *readout; /* [readouts + 1] the first sample of each readout, in the order of acquisition, and `samples` */
    bool borrowed;    /* the arrays belong to another trajectory */
} scan_trajectory;

/* One image to reconstruct: a volume, or a slice of a stack. */
typedef struct scan_frame {
    int trajectory;                       /* index */
    int volume, slice;                    /* position in the output: 0 .. volumes - 1, 0 .. slices - 1 */
    int place;                            /* the part of the patient it shows; frames of a place share coil maps */
    int contrast, phase, repetition, set; /* the file's numbers; 0 if it has none */
    float complex *data;                  /* [coil][sample]; NULL for a replica or a part */
    int part_of;                          /* > 0: its data are part of this frame's, */
    int64_t first_sample;                 /* from this sample on */
    bool spare;                           /* a calibration frame of image data: frames are parts of it, or it was not
                                           * selected */
    int replica;                          /* > 0: its data are noise of variance 1, different for each number */
} scan_frame;

/* Limits of all formats. */
enum {
    SCAN_MOST_MATRIX = 16000, /* along an axis, for files and --matrix: the limit of the NUFFT */
    SCAN_MOST_COILS = 4096
};

typedef struct mri_scan {
    const char *path;    /* the file's, for messages; the caller's */
    int64_t matrix[3];   /* encoded voxels along x, y, z; z is 1 for 2D */
    double fov[3];       /* mm, encoded; > 0 */
    int64_t crop[3];     /* voxels of the image to keep, about the centre; equal to matrix if nothing is cut */
    int coils;           /* >= 1 */
    int coils_before;    /* the number before drop_coils; 0: none was left out */
    bool *left_out;      /* [coils_before], or NULL */
    int volumes, slices; /* volumes * slices = frames if none is missing */
    int places;          /* slices, or slabs of 3D scans, each a volume; frame.place is in 0 .. places - 1 */
    int trajectories;
    double dwell;                /* s between samples, if the file has one for all readouts; else 0 */
    scan_trajectory *trajectory; /* [trajectories + calibrations]; the last may be empty */
    double *density; /* [z][y][x] vf_sampling_density of the first trajectory and its weights, kept by compress_coils;
                      * the stages after it do not change what it depends on. Or NULL */
    int frames;
    int calibrations;      /* calibration frames after those, with their own trajectories after the others. They are
                                 * only used to estimate coil maps: calibration lines, at most one frame per place, and
                                 * spare frames */
    scan_frame *frame;     /* [frames + calibrations] */
    double complex *noise; /* [coil][coil] covariance of the coils' noise, or NULL */
    float complex *sensitivity; /* [place][set][coil][z][y][x] of `matrix`, or NULL; coil c of set s sees s_sc, and its
                                 * data are F sum_s s_sc rho_s of the images rho_s */
    int map_sets;               /* 2; or 0 or 1 for one set */
    int compressed_from;        /* the number of coils before compression; 0: not compressed */
    int compressed_along;       /* 1, 2, 3: with a mixture of its own at each position along x, y or z; 0: one for all.
                                 * Before compression: so are the maps, if they are compressed */
    bool own_maps;              /* each place has its own maps; else all share one place's */
    bool maps_weighted;         /* the maps fade as vf_espirit's do; the image gets even intensity */
    bool maps_whitened, maps_compressed; /* these stages are already applied to sensitivity */
    bool whitened;                       /* the coils' noise is decorrelated */
    bool noise_estimated;                /* `noise` is relative: its level is that of the outermost samples */
    bool readouts_found;                 /* the file does not say where readouts begin; find_readouts found it */
    bool stored_trajectory;              /* the file has positions in k-space, not encoding steps */
    float *field_map;                    /* [z][y][x] of `matrix`, Hz, or NULL */
    int references;
    int truths;       /* 0, 1, or `volumes` */
    float *reference; /* [place][references][z][y][x] of `matrix`, one place for all unless own_references; or
                                    * NULL */
    unsigned char *reference_known; /* [place][z][y][x]: where they say something; NULL: everywhere */
    bool own_references;            /* each place has its own */
    float *truth;                   /* [truths][z][y][x] of `crop`, z slices of a stack, or NULL */
    scan_geometry geometry;         /* of all volumes; of the first if they differ */
    scan_geometry *place_geometry;  /* [scan_stacks]; NULL: all share `geometry` */
    char *protocol;                 /* the ISMRMRD header, copied to an ISMRMRD image file; NULL for plain files */
    char *told;                     /* lines on what the file says and how it was understood, or NULL */
    bool ghosts;                    /* of EPI: reversed readouts may have another phase, which is not known */
    char layout[32];                /* "ISMRMRD", "plain", "BART", "fastMRI", "CMRxRecon" */
    char group[256];                /* of the ISMRMRD file, from its root: "/dataset"; "" for plain files */
    char sign[96];                  /* how the file's Fourier transform differs from docs/scans.md; "" if not */
    char description[400];          /* one line: trajectory, units and how they were chosen */
    char corrections[512];          /* what the reader and correct_trajectory changed, separated by "; " */
    char digest[VF_DIGEST_TEXT];    /* of trajectories, weights, time and phi, which Q depends on */
} mri_scan;

/* Reads a scan of any format (docs/scans.md). `out` is overwritten; free it with scan_free. Prints warnings
 * with vf_warn. Errors, each naming file and dataset: VF_ERR_INPUT; VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_scan(vf_context *ctx, const char *path, const scan_request *request, mri_scan *out);
/* Reads k-space of BART (docs/scans.md). settings->input is its .cfl or .hdr, settings->trajectory that of its
 * trajectory, or NULL. Data are multiplied by sqrt(voxels), because BART's transforms are unitary; so images have
 * BART's scale. Also uses the settings units and matrix. `map_matrix`: [3] that of the coil maps, which a scan with a
 * trajectory then has; NULL: there are none. Errors: as read_scan; VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status read_bart_scan(vf_context *ctx, const scan_settings *settings, const int64_t *map_matrix,
                                       mri_scan *out);
/* Warns about input that is valid but probably a mistake: a trajectory that covers little of k-space, a matrix deeper
 * than the trajectory, coil maps that are 0. `name` is the file. */
void scan_warn(vf_context *ctx, const char *name, const mri_scan *raw);
/* Warns of images that lack the centre of k-space, without which there are only edges: of scans that were stopped, counted from the
 * wrong line, or, with `cut`, cut into frames that are too short. For the frames that are reconstructed. */
void scan_warn_of_centre(vf_context *ctx, const char *name, bool cut, const mri_scan *raw);

/* ---- scan_sampling.c ---- */

/* The undersampling of a trajectory for the field of view that is kept: the cells of k-space of one cycle per field of
 * view, over the cells that samples stand for, in the ball, cylinder or box that the trajectory reaches. A sample
 * stands for its cell, or for the length of readout to the next sample if that is less; within a few cells none counts
 * twice. So readout oversampling and repetitions do not count. R is Nyquist's for spokes, and the spacing for Cartesian
 * lines. At least 1. */
typedef struct scan_sampling {
    double mean; /* over the part of k-space that the trajectory reaches */
    double edge; /* at the ends of the most undersampled axis: lines or spokes outside the dense middle */
} scan_sampling;
/* Measures the most undersampled trajectory. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_measure_sampling(vf_context *ctx, const mri_scan *raw, scan_sampling *out);
/* Sets reached[i], [voxels of `matrix`] by frequency with 0 at n / 2, where cells of k-space lie in the ball, cylinder or
 * box that the trajectory reaches; leaves the others as they are. Radial scans do not reach the corners. */
void scan_mark_reached(vf_context *ctx, const mri_scan *raw, int trajectory, bool *reached);

/* Volumes of one time at different places: slabs, or stacks of slices with other directions. Place p belongs to stack
 * p / slices, and volume n shows stack n % scan_stacks. */
static inline int scan_stacks(const mri_scan *raw)
{
    return raw->slices > 0 && raw->places > raw->slices ? raw->places / raw->slices : 1;
}
/* The frame whose data a frame's are part of, or itself. */
static inline const scan_frame *scan_whole(const mri_scan *raw, const scan_frame *frame)
{
    return frame->part_of > 0 ? &raw->frame[frame->part_of] : frame;
}
/* The distance from a coil's samples to the next coil's. */
static inline int64_t scan_stride(const mri_scan *raw, const scan_frame *frame)
{
    return raw->trajectory[scan_whole(raw, frame)->trajectory].samples;
}
/* A coil's samples in a frame that is no replica. */
static inline const float complex *scan_coil(const mri_scan *raw, const scan_frame *frame, int64_t coil)
{
    return scan_whole(raw, frame)->data + coil * scan_stride(raw, frame) + frame->first_sample;
}
/* Whether two frames show the same but for time: they differ only in repetition. */
bool scan_same_kind(const scan_frame *a, const scan_frame *b);
/* The number of samples in all frames. */
int64_t scan_samples(const mri_scan *raw);
/* Sets of maps in raw->sensitivity: of one place, and of all places. */
int scan_map_sets(const mri_scan *raw);
int scan_all_map_sets(const mri_scan *raw);
void scan_free(mri_scan *scan); /* leaves it zero */

/* ---- scan_arrays.c: the arrays of a scan ---- */

/* Allocates zeroed memory for `count` elements of `size` bytes; `what` is for the message. Fails if that exceeds the
 * free memory, because the kernel would end the process later. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_allocate(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size,
                                      void *out);
/* The same for `count` elements of what `pointer` points to. */
#define SCAN_NEW(ctx, path, what, count, pointer) scan_allocate(ctx, path, what, count, sizeof *(pointer), &(pointer))
/* The same for memory into which a source reads next: all threads do that, and need nobody to touch its pages before. */
VF_MUST_CHECK vf_status scan_allocate_to_read(vf_context *ctx, const char *path, const char *what, int64_t count,
                                              size_t size, void *out);
/* Checks that `count` elements of `size` bytes fit in memory, before they are allocated in pieces. */
VF_MUST_CHECK vf_status scan_require_memory(vf_context *ctx, const char *path, const char *what, int64_t count,
                                            size_t size);
/* Gives a trajectory weights of 1, if it has none. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_need_weights(vf_context *ctx, const char *path, scan_trajectory *t);
/* Copies all arrays of a trajectory to `to`, which must be zero; free it also after a failure. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_copy_trajectory(vf_context *ctx, const char *path, const scan_trajectory *from,
                                             scan_trajectory *to);
/* Errors: VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status scan_check_cancelled(vf_context *ctx);
void scan_free_trajectory(scan_trajectory *t); /* leaves it zero */
void scan_drop_truth(mri_scan *s);
bool scan_all_zero(const float *values, int64_t count);
/* Adds a line to s->told, which --info prints: what the file says, and how it was understood. */
void scan_tell(mri_scan *s, const char *format, ...) VF_PRINTF(2, 3);

/* ---- change_matrix.c ---- */

/* Changes matrix and crop to `wanted` voxels (x, y, z) over the same field of view. Samples beyond the k-space of a
 * smaller matrix get the weight 0. The truth is dropped. Errors: VF_ERR_ARGUMENT (not possible, or the scan has maps on
 * its matrix), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status change_matrix(vf_context *ctx, const int64_t wanted[3], mri_scan *raw);

#endif
