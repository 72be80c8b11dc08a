# The unit tests that run on an OpenCL device, too: those of computations with an OpenCL backend. With opencl_cases_of_NAME, only
# these cases: a CPU that plays the device compiles and runs small kernels slowly.
set(opencl_tests
    cionize
    test_coulomb_sum
    test_cutoff_sum
    test_ewald_cells
    test_ewald_sum
    test_potential_methods
    test_self_test
    test_copy
    test_fft_vector
    test_first_differences
    test_opencl_device
    test_queues
    test_reduce
    test_special_reductions
)
set(opencl_cases_of_test_ewald_sum test_near_points test_cancelling test_costs test_refusals)
set(opencl_cases_of_test_potential_methods test_boxes test_cost test_refusals test_choose)
set(opencl_cases_of_test_queues test_queues_in_order)
set(opencl_cases_of_test_reduce test_sizes test_same_bits test_wide_accumulators test_refusals)

# Those that run once more, as NAME_opencl_single, as if the device had no double precision: all their cases of single precision.
set(opencl_single_tests
    test_coulomb_sum
    test_cutoff_sum
    test_self_test
    test_fft_vector
    test_reduce
    test_special_reductions
)

# Small cases for NAME_oclgrind, where oclgrind plays the device and checks memory: some thousand elements each.
set(oclgrind_cases_of_test_copy test_few_elements)
set(oclgrind_cases_of_test_fft_vector test_lent_memory test_vectors_begin_anywhere)
set(oclgrind_cases_of_test_first_differences test_unknown_voxels test_weights_by_hand)
set(oclgrind_cases_of_test_opencl_device test_other_context test_kernels_in_order)
set(oclgrind_cases_of_test_special_reductions test_identities test_zeros)
