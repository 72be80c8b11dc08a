/* mri_recon: recon_call.c has both ways in, the command line and the functions of mri_recon.h. */
#include "recon_options.h"

int main(int argc, char **argv)
{
    return mri_recon_main(argc, argv);
}
