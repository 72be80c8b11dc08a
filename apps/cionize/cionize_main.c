/* cionize: cionize_call.c has both ways in, the command line and the functions of cionize.h. */
#include "cionize_options.h"

int main(int argc, char **argv)
{
    return cionize_main(argc, argv);
}
