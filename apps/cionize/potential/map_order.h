/* cionize: the order of values in map files. */
#ifndef CIONIZE_MAP_ORDER_H
#define CIONIZE_MAP_ORDER_H

/* [z][y][x] (x fastest), or [x][y][z] (z fastest). */
typedef enum map_order { MAP_X_FASTEST, MAP_Z_FASTEST } map_order;

#endif
