/* What the readers of trajectories share: an open file. Private to them. */
#ifndef CIONIZE_TRAJECTORY_FILE_H
#define CIONIZE_TRAJECTORY_FILE_H

#include "dcd_file.h"
#include "text/input_text.h"
#include "voxfield/timer.h"
#include "xdr_frames.h"

/* Frames are checked before: read and read_cell get only those that exist. */
typedef struct trajectory_format {
    vf_status (*open)(trajectory *t); /* sets atoms, frames and the layout */
    vf_status (*read)(const trajectory *t, int64_t frame, double *x, double *y, double *z);
    vf_status (*read_cell)(const trajectory *t, int64_t frame, unit_cell *cell); /* *cell is zero before */
    void (*close)(trajectory *t);                                                /* also after open has failed */
} trajectory_format;
extern const trajectory_format dcd_format, gro_format, xtc_format, trr_format, netcdf_format;

/* Where the frames of a .gro file are. */
typedef struct gro_layout {
    input_text text;
    struct gro_place {
        text_piece text; /* title, number of atoms, atoms, box */
        int64_t line;    /* of the title, from 1 */
    } * frame;           /* [frames] */
    int64_t capacity;    /* of `frame` */
    locale_t c_locale;   /* a locale with a decimal point */
} gro_layout;

struct trajectory {
    vf_context *ctx;
    char *path;
    int fd;
    int64_t size; /* bytes */
    int64_t atoms, frames;
    const trajectory_format *format;
    dcd_layout dcd; /* of the file's format */
    gro_layout gro;
    xdr_layout xdr;
    struct amber_netcdf *netcdf;
};

/* VF_ERR_INPUT; the file's name comes before the text. */
vf_status trajectory_fail(const trajectory *t, const char *format, ...) VF_PRINTF(2, 3);

/* Reads bytes at an offset. Errors: VF_ERR_INPUT (also if the file ends before). */
VF_MUST_CHECK vf_status trajectory_bytes(const trajectory *t, int64_t offset, void *to, size_t bytes);

/* The error of a coordinate (axis 0 to 2; frame and atom from 0) that is NaN or infinite. */
vf_status trajectory_not_finite(const trajectory *t, int64_t frame, int axis, int64_t atom, double value);

#endif
