/* Coordinates in binary files, without names: NAMD's .coor, and AMBER's NetCDF restarts. Private to the readers of molecules. */
#ifndef CIONIZE_BINARY_COORDINATES_H
#define CIONIZE_BINARY_COORDINATES_H

#include "molecule_readers.h"

/* Like the readers of molecule_readers.h, of all bytes of a file instead of its lines. */
VF_MUST_CHECK vf_status read_namdbin(molecule_reader *r, const char *bytes, size_t size);
VF_MUST_CHECK vf_status read_ncrst(molecule_reader *r, const char *bytes, size_t size);

/* Whether these are NAMD's coordinates: by their size, or by the file's name. */
bool is_namdbin(const char *name, const char *bytes, size_t size);

/* As for text files: a larger number would overflow sums and grids. */
#define MOST_COORDINATE 1e9

/* The error of coordinate `axis` (0 to 2) of an atom (from 0) that is NaN or beyond. */
vf_status binary_coordinate_fail(const molecule_reader *r, int64_t atom, int axis, double value);

#endif
