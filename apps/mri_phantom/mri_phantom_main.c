/* mri_phantom: mri_phantom_call.c has the way in. */
#include "phantom_options.h"

int main(int argc, char **argv)
{
    return mri_phantom_main(argc, argv);
}
