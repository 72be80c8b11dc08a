#include "turns_opencl.h"

#include <math.h>
#include <string.h>

vf_turn_exponents vf_turn_exponents_for(double largest)
{
    int exponent = 0;
    (void)frexp(largest, &exponent);
    return (vf_turn_exponents){62 - exponent, 34 + exponent};
}

int64_t vf_turn_factor(vf_dtype real, double value, int exponent)
{
    if (real != VF_F64)
        return llrint(ldexp(value, exponent));
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
