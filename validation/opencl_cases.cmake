# The unit tests that run on an OpenCL device, too: those of computations with an OpenCL backend. With opencl_cases_of_NAME, only
# these cases: a CPU that plays the device compiles and runs small kernels slowly.
set(opencl_tests
    test_coulomb_sum
    test_copy
    test_fft_vector
    test_first_differences
    test_fourier_sum
    test_fourier_algebra
)
