/* The ISMRMRD reader: its state and its steps. Data flow: acquisitions -> lines (what is kept of their headers) ->
 * frames. */
#ifndef SCAN_ISMRMRD_READER_H
#define SCAN_ISMRMRD_READER_H

#include "epi_readout.h"
#include "scan_ismrmrd_source.h"

enum { LINE_LEFT_OUT = -1, LINE_NOISE = -2, LINE_NAVIGATOR = -3, LINE_IMAGE = 0 };

/* One acquisition. */
typedef struct scan_line {
    int64_t at;    /* index of its first sample in its frame */
    int32_t frame; /* or LINE_LEFT_OUT, LINE_NOISE, LINE_NAVIGATOR */
    int32_t step_1, step_2;
    uint16_t samples, channels, pre, post, center, dims;
    uint16_t unused; /* components of a stored trajectory that says nothing */
    uint16_t slice, contrast, phase, repetition, set, average, segment, encoding;
    uint16_t direction; /* the counter that diffusionDimension names, if no other does its work */
    uint16_t user[2];   /* idx.user[5] and [6], where Siemens' converter writes the centres of the steps */
    bool reversed;
    bool flipped; /* the file has its samples in forward order; they are put into that of the acquisition */
    uint16_t stored,
        stored_pre;   /* samples and discard_pre in the file, if they are interpolated to another step; else 0 */
    bool calibration; /* not part of the image, but usable to estimate coil maps */
    bool empty;       /* all samples are exactly 0: it was not measured */
    float sample_time_us;
    float shift;   /* what EPI's correction adds to k along x */
    double energy; /* sum of |sample|^2 over what is kept, all channels; of image and calibration lines */
} scan_line;

/* A slice in the numbering of the acquisitions. */
typedef struct scan_slice {
    bool seen, nowhere;                 /* nowhere: no acquisition states a place so far */
    float position[3], direction[3][3]; /* of the first acquisition that states them */
    uint16_t step_2;                    /* of the first acquisition */
    bool partitions;                    /* others have another step_2 */
    int rank;                           /* place in the stack */
    bool calibrated;
    uint64_t calibration_volume; /* the lowest key of volumes with calibration lines */
} scan_slice;

/* A line, for sorting by frame. */
typedef struct scan_order {
    uint64_t key; /* volume, slice; calibrations after all volumes */
    int64_t line;
} scan_order;

/* What the headers of the image's acquisitions have in common: of the kept samples, center_sample, discard_pre and the
 * steps. */
typedef struct ismrmrd_facts {
    int samples_least, samples_most, center_least, center_most, pre_least, pre_most;
    int32_t least[2], most[2]; /* steps 1 and 2 */
} ismrmrd_facts;

/* The energy of readouts by sample, of forward and of reversed ones: of those that begin, end and have their centre
 * where the first one has. */
typedef struct readout_energy {
    uint16_t samples, center, pre, post;
    int64_t lines;
    double *sum;     /* [samples] */
    int lead, trail; /* samples at the ends that are exactly 0 in all lines */
} readout_energy;

/* Echo-planar imaging: ramps, and the phase between readouts of opposite polarity. */
typedef struct ismrmrd_epi_state {
    bool ramps;             /* readouts of `samples` samples are on `gradient` */
    bool ramps_unlikely;    /* as many samples as the matrix has: a converter may have interpolated them */
    bool flipped;           /* a converter has put reversed readouts into forward order, and flags none */
    bool even_calibration;  /* calibration lines are sampled evenly: of a gradient echo */
    epi_trapezoid gradient; /* its scale is that of the header's matrix */
    int samples;
    bool *mixed;               /* [frames + calibrations] has readouts of both polarities; NULL: not EPI */
    int64_t navigators;        /* kept acquisitions of phase correction */
    float complex *samples_of; /* theirs, [coil][sample] of each */
} ismrmrd_epi_state;

/* Image acquisitions whose directions were no unit vectors, of which one was missing, and which are not orthogonal. Those that
 * have none do not count. */
typedef struct ismrmrd_directions {
    int64_t scaled, completed, unusable;
} ismrmrd_directions;

/* Readouts with samples at another step in k than the image's. */
typedef struct ismrmrd_resampling {
    int samples;           /* of such a readout, without discarded ones; 0: there are none */
    float complex *kernel; /* [sample of the image's step][samples] */
    float complex *stored; /* [samples] one channel of a readout */
} ismrmrd_resampling;

typedef struct ismrmrd_reader {
    vf_context *ctx;
    const ismrmrd_source *source;
    const ismrmrd_protocol *protocol;
    const scan_request *request;
    const ismrmrd_encoding *e; /* the encoding that is reconstructed: number `encoding` of the protocol */
    int encoding;
    mri_scan *out;
    scan_line *line;       /* [acquisitions] */
    scan_slice *slice;     /* [65536] */
    double partition_step; /* mm from one to the next, by their positions; 0: not known */
    int partitions;        /* counted in idx.slice, of a volume; 0: none are */
    int slice_count;       /* slices seen */
    bool slabs;            /* 3D: each slice number is a volume of its own */
    bool plane;            /* the header or step_2 has several places along z, but nothing was encoded along it */
    bool conjugate;        /* the samples are conjugated, so that their Fourier transform has the sign of scans.md */
    bool as_stored;        /* center_sample of reversed readouts counts samples as stored */
    int64_t image_lines, noise_lines, calibration_lines;
    int64_t centers_assumed;          /* readouts without a center_sample */
    scan_order *order;                /* [image_lines + calibration_lines] by frame, then as in the file */
    int64_t *frame_first;             /* [frames + calibrations + 1] in `order` */
    int64_t *frame_samples;           /* [frames + calibrations] */
    int dims;                         /* components of the trajectory; 0: Cartesian */
    ismrmrd_acquisition_header first; /* of the first image acquisition */
    ismrmrd_facts facts;
    readout_energy readout[2]; /* forward, reversed */
    ismrmrd_directions directions;
    bool oblique;       /* acquisitions have different orientations */
    bool oblique_slice; /* acquisitions of one slice have different orientations */
    float moved;        /* mm: the farthest that an acquisition lies from the first of its slice */
    int moved_slice;
    double step_scale[ISMRMRD_MOST_ENCODINGS][2]; /* a step of another encoding over one of the image's, minus 1 */
    int64_t center[2];                            /* the encoding steps at k = 0 */
    bool center_missing[2];                       /* the header does not state them */
    ismrmrd_epi_state epi;
    ismrmrd_resampling resample;
    char units_text[300];
} ismrmrd_reader;

static inline int64_t line_kept(const scan_line *line)
{
    return line->samples - line->pre - line->post;
}

/* Encoding step 1 or 2, with axis 0 or 1, from the centre of k-space, in steps of the image. */
static inline double ismrmrd_step_k(const ismrmrd_reader *r, const scan_line *line, int axis)
{
    const double k = (double)((axis == 0 ? line->step_1 : line->step_2) - r->center[axis]);
    return line->encoding < ISMRMRD_MOST_ENCODINGS ? k * (1 + r->step_scale[line->encoding][axis]) : k;
}

/* Whether a Cartesian readout and its encoding steps stay within the encoded matrix. `axis` gets the first axis that
 * does not (0: x). Needs r->center. In scan_ismrmrd_trajectory.c. */
bool ismrmrd_line_fits(const ismrmrd_reader *r, const scan_line *line, int *axis);

/* k along x of a Cartesian sample as acquired, without a shift; on ramps as the header describes them, or even. */
double ismrmrd_readout_k(const ismrmrd_reader *r, const scan_line *line, int sample, bool ramps);

/* Makes a scan from acquisitions. `out` must be zero; free it also after a failure. */
VF_MUST_CHECK vf_status ismrmrd_assemble(vf_context *ctx, const ismrmrd_source *source,
                                         const ismrmrd_protocol *protocol, const scan_request *request, mri_scan *out);

/* ---- the steps, in order ---- */

/* scan_ismrmrd_heads.c: reads all headers: which encoding, which acquisitions are image data. */
VF_MUST_CHECK vf_status ismrmrd_read_heads(ismrmrd_reader *r);

/* What is kept of a header, for a line that is left out. */
scan_line ismrmrd_line_of(const ismrmrd_acquisition_header *head);

/* scan_ismrmrd_places.c: where acquisitions that their counters put into one slice lie at several places, or in several
 * orientations, with the same lines each, makes these slices. */
VF_MUST_CHECK vf_status ismrmrd_separate_places(ismrmrd_reader *r);

/* scan_ismrmrd_places.c: where the header calls the scan 3D, makes idx.slice, which counts partitions then, step 2. */
void ismrmrd_count_partitions(ismrmrd_reader *r);
/* Warns if slices seem to be partitions by their energy. After the samples are read. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_warn_of_partitions(const ismrmrd_reader *r);

/* scan_ismrmrd_repeats.c: the value of the counter that diffusionDimension names, where images do not have it anyway. */
uint16_t ismrmrd_direction_of(const ismrmrd_protocol *protocol, const ismrmrd_acquisition_header *head);
/* Makes these values part of `set`, so that each becomes an image. Errors: VF_ERR_INPUT if `set` has no room. */
VF_MUST_CHECK vf_status ismrmrd_number_directions(ismrmrd_reader *r);
/* Warns if readouts of one place in k-space that an image merges differ by more than noise. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_check_repeats(ismrmrd_reader *r);

/* scan_ismrmrd_directions.c: makes directions unit vectors, and computes one that is missing from the two others; counts what it
 * did, for the warnings. Directions that are not orthogonal stay. */
void ismrmrd_mend_directions(ismrmrd_directions *count, ismrmrd_acquisition_header *head);
void ismrmrd_warn_of_directions(const ismrmrd_reader *r);

/* scan_ismrmrd_tell.c: for --info, what the header and the acquisitions say, and where the image lies. `others`: the
 * acquisitions that are no image data. */
void ismrmrd_tell_header(const ismrmrd_reader *r, const char *others);
void ismrmrd_tell_geometry(const ismrmrd_reader *r);

/* scan_ismrmrd_space.c: matrix, field of view and crop, from the XML header and what the acquisitions have. */
VF_MUST_CHECK vf_status ismrmrd_read_space(ismrmrd_reader *r);

/* scan_ismrmrd_readout.c: changes matrix and field of view along x to what the readouts show. */
void ismrmrd_fit_readout(ismrmrd_reader *r);

/* scan_ismrmrd_resample.c: finds calibration lines, and others, whose samples are at another step in k than the image's, and
 * makes their headers those of interpolated ones. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_find_other_steps(ismrmrd_reader *r);
/* Interpolates one channel of such a line, `from` its first sample that is kept. Errors: VF_ERR_INPUT: not finite. */
VF_MUST_CHECK vf_status ismrmrd_resample(const ismrmrd_reader *r, int64_t index, int channel, const float *from,
                                         float complex *to);

/* scan_ismrmrd_space.c: the order of slices, and the image's position in the patient. */
VF_MUST_CHECK vf_status ismrmrd_order_slices(ismrmrd_reader *r);

/* scan_ismrmrd_sort.c: the frame of each acquisition. */
VF_MUST_CHECK vf_status ismrmrd_sort(ismrmrd_reader *r);
/* Makes the frames again without lines that are `empty`, and moves the samples. */
VF_MUST_CHECK vf_status ismrmrd_leave_out_empty(ismrmrd_reader *r);

/* scan_ismrmrd_fill.c: the samples, the stored trajectory, and the covariance of the noise. */
VF_MUST_CHECK vf_status ismrmrd_fill(ismrmrd_reader *r);
/* Reverses the order of samples. */
void ismrmrd_reverse(float complex *own, int64_t count);

/* scan_ismrmrd_centre.c: adds a line whose samples are in its frame to the energy of readouts. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_add_energy(ismrmrd_reader *r, const scan_line *line);
/* Whether a line begins, ends and has its centre where those of `e` do. */
bool ismrmrd_is_alike(const readout_energy *e, const scan_line *line);
/* Where the samples' energy shows that the headers' centre of k-space is wrong, moves it. */
VF_MUST_CHECK vf_status ismrmrd_check_centre(ismrmrd_reader *r);
/* The same for kspace_encode_step_1 or _2, with axis 0 or 1. */
VF_MUST_CHECK vf_status ismrmrd_check_step(ismrmrd_reader *r, int axis);

/* scan_ismrmrd_trajectory.c: makes a scan Cartesian whose header says so, if its stored trajectories are 0 everywhere, or have no
 * numbers. */
VF_MUST_CHECK vf_status ismrmrd_leave_out_trajectories(ismrmrd_reader *r);
/* One trajectory per frame; equal ones are then shared. */
VF_MUST_CHECK vf_status ismrmrd_make_cartesian(ismrmrd_reader *r);
VF_MUST_CHECK vf_status ismrmrd_convert_trajectories(ismrmrd_reader *r);

/* Sets the number of samples and the readouts of a frame's trajectory. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_mark_readouts(const ismrmrd_reader *r, int frame, scan_trajectory *t);

/* scan_ismrmrd_fill.c: the covariance of the noise alone, for lines that are LINE_NOISE or LINE_LEFT_OUT. */
VF_MUST_CHECK vf_status ismrmrd_fill_noise(ismrmrd_reader *r);

#endif
