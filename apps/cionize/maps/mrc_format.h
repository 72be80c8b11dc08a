/* The header of MRC and CCP4 maps (MRC2014; Cheng et al., J. Struct. Biol. 192 (2015) 146). Private to their reader and writer. */
#ifndef CIONIZE_MRC_FORMAT_H
#define CIONIZE_MRC_FORMAT_H

/* Words of the header, from 0; the format's description counts from 1. */
enum {
    NX = 0,
    MODE = 3,
    NXSTART = 4,
    MX = 7,
    CELL_LENGTHS = 10,
    CELL_ANGLES = 13,
    MAPC = 16,
    DMIN = 19,
    DMAX = 20,
    DMEAN = 21,
    ISPG = 22,
    NSYMBT = 23,
    NVERSION = 27,
    ORIGIN = 49,
    MAP = 52,
    MACHINE_STAMP = 53,
    RMS = 54,
    LABELS_USED = 55,
    LABELS = 56,
    WORDS = 256,
    LABEL_SIZE = 80,
    LABELS_MOST = 10,
};

#endif
