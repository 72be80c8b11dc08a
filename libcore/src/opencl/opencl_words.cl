/* Voxfield's words for OpenCL C 1.2. The first text of every program, compiled with -DREAL=float or double.
 *
 * ARRAY(type, x)  an argument: memory of the device
 * OPEN(type, x)   the pointer x; it is NULL if the launch passed NULL
 * GLOBAL, LONG, DEVICE_FUNCTION: for texts that CUDA compiles, too (backend/kernel_words.cuh)
 */
#pragma OPENCL FP_CONTRACT OFF /* no fused operations but by fma(): sums that compensate their errors stay right */
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double2 REAL2;
#else
typedef float2 REAL2;
#endif

#define GLOBAL global
#define LONG long
#define DEVICE_FUNCTION static inline
#define ARRAY(type, x) global type *x##_memory, const long x##_first
#define OPEN(type, x) global type *x = x##_memory ? (global type *)((global char *)x##_memory + x##_first) : 0

/* (a.x + i a.y) (b.x + i b.y), and with the conjugate of a. */
static inline REAL2 times(REAL2 a, REAL2 b)
{
    return (REAL2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
static inline REAL2 conjugate_times(REAL2 a, REAL2 b)
{
    return (REAL2)(a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x);
}
