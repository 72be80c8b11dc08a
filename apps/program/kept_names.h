/* The names of files of pieces, made from that of the output. free() them. NULL: no memory, or no such file. */
#ifndef VOXFIELD_KEPT_NAMES_H
#define VOXFIELD_KEPT_NAMES_H

char *kept_part_path(const char *output, int part, int parts);
char *kept_data_path(const char *output); /* in which all ranks' items are at their final places */
char *kept_rank_file(const char *output); /* of another rank than 0, left by an earlier run */

#endif
