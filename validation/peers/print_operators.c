/* Prints the operators of space groups by name, for comparison with other programs. Reads lines "A B C ALPHA BETA GAMMA NAME" and
 * prints for each a line with the number of operators (0: not found; -1: built without a table), then a line of twelve
 * numbers for each: turn by rows, and the shift in twenty-fourths. */
#include <stdio.h>
#include <string.h>

#include "molecule/space_group.h"

int main(void)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        unit_cell cell = {.state = UNIT_CELL_NUMBERS};
        symmetry_group group;
        int name = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%lf %lf %lf %lf %lf %lf %n", &cell.lengths[0], &cell.lengths[1], &cell.lengths[2],
                   &cell.angles[0], &cell.angles[1], &cell.angles[2], &name) != 6)
            return 2;
        const space_group_search search = space_group_named(line + name, &cell, &group);
        printf("%d\n", search == SPACE_GROUP_FOUND ? group.count : search == SPACE_GROUP_NO_TABLES ? -1 : 0);
        for (int n = 0; search == SPACE_GROUP_FOUND && n < group.count; n++) {
            for (int i = 0; i < 9; i++)
                printf("%d ", group.op[n].turn[i / 3][i % 3]);
            for (int i = 0; i < 3; i++)
                printf("%.3f%c", 24 * group.op[n].shift[i], i < 2 ? ' ' : '\n');
        }
    }
    return 0;
}
