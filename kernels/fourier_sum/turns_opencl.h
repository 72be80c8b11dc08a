/* Factors of phases for OpenCL (turns.cl): doubles, or in single precision integers, so that no device needs doubles. */
#ifndef VOXFIELD_TURNS_OPENCL_H
#define VOXFIELD_TURNS_OPENCL_H

#include "backend/opencl_launch.h"

/* The exponents of two of two factors whose product is a phase in turns, for integers in units of 2^-exponent: they add up to 96,
 * and the first factor is at most `largest`. The product may be 2^23 turns; errors are below 2^-32 turns. */
typedef struct vf_turn_exponents {
    int first, second;
} vf_turn_exponents;
vf_turn_exponents vf_turn_exponents_for(double largest);

/* The factor, as the bits of a double (real: VF_F64) or of an integer in units of 2^-exponent. */
int64_t vf_turn_factor(vf_dtype real, double value, int exponent);

extern const char vf_text_turns[];

#endif
