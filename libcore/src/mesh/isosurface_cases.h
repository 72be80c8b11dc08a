/* The triangles of a cube, by which of its corners are below the level. */
#ifndef ISOSURFACE_CASES_H
#define ISOSURFACE_CASES_H

#include <stdint.h>

/* Corner c of a cube has the offsets c & 1, c >> 1 & 1, c >> 2 & 1 along x, y, z. Edge e is along axis e / 4; bits 0 and 1 of e are the
 * offsets along the other two axes, the earlier axis first. */
enum { CUBE_CORNERS = 8, CUBE_EDGES = 12, CUBE_CASES = 256, MOST_CUBE_TRIANGLES = 5 };

typedef struct cube_cases {
    uint8_t triangles[CUBE_CASES];
    uint8_t edge[CUBE_CASES][MOST_CUBE_TRIANGLES][3];
} cube_cases;

/* Bit c of a case: corner c is below the level. */
void cube_cases_make(cube_cases *cases);

#endif
