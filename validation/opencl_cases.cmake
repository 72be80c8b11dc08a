# The unit tests that run on an OpenCL device, too: those of computations with an OpenCL backend. With opencl_cases_of_NAME, only
# these cases: a CPU that plays the device compiles and runs small kernels slowly.
set(opencl_tests
    cionize
    cionize_cutoff
    cionize_grid
    cionize_ions
    mri
    mri_series
    mri_sparse
    test_circulant
    test_circulant_chain
    test_copy
    test_coulomb_sum
    test_cutoff_sum
    test_density
    test_differences
    test_ewald_cells
    test_ewald_sum
    test_fft_vector
    test_first_differences
    test_fourier_algebra
    test_fourier_sum
    test_gridding
    test_gridding_algebra
    test_ion_search
    test_low_rank
    test_normal_memory
    test_opencl_device
    test_operators
    test_penalties
    test_potential_methods
    test_queues
    test_reduce
    test_scan
    test_self_test
    test_solvers
    test_special_reductions
    test_special_scans
    test_tgv
    test_toeplitz
    test_toeplitz_algebra
    test_wavelet
    test_wavelet_algebra
)
# Of the programs' scripts for other devices, those whose computation runs on the device and takes few seconds on PoCL. mri_opencl and
# cionize_opencl compare all operators, priors and methods with the CPU. Left out, with seconds of processor time on PoCL: cionize_maps (16;
# its formats are the host's), cionize_physics and cionize_accuracy (large molecules), cionize_pieces, mri_pieces and the scripts of
# noise, lambda, optimum, joint, sure, windows and frame_noise (hundreds of small runs or thousands of iterations, of kernels that
# the unit tests check); readers, layouts, scanners and errors have nothing on a device.
set(opencl_cases_of_cionize_cutoff test_laws test_cells test_far_beyond_the_molecule)
set(opencl_cases_of_cionize_grid test_one_point)
set(opencl_cases_of_cionize_ions test_every_ion_is_where_its_energy_is_least)
set(opencl_cases_of_mri_series test_cartesian)
set(opencl_cases_of_mri_sparse test_zeros)
set(opencl_cases_of_test_ewald_sum test_near_points test_cancelling test_costs test_refusals)
set(opencl_cases_of_test_normal_memory test_matrices)
set(opencl_cases_of_test_potential_methods test_boxes test_cost test_refusals test_choose)
set(opencl_cases_of_test_queues test_queues_in_order)
set(opencl_cases_of_test_reduce test_sizes test_same_bits test_wide_accumulators test_refusals)
set(opencl_cases_of_test_fourier_sum test_batches test_large_k test_small_terms test_far_voxels)
set(opencl_cases_of_test_fourier_algebra test_ranges_and_threads test_positions_of_grid test_nan test_refusals)
set(opencl_cases_of_test_gridding_algebra test_adjoint test_double_positions test_batch test_linear test_refusals test_other_samples_refused)
set(opencl_cases_of_test_scan test_again_and_again) # each type and operator is a program of its own: test_special_scans has most
set(opencl_cases_of_test_ion_search test_random test_ties test_no_charge test_exact_map test_refine test_exclude_about
    test_function test_errors)
set(opencl_cases_of_test_tgv test_exact)
set(opencl_cases_of_test_gridding test_one_dimension test_two_dimensions test_edges)
set(opencl_cases_of_test_toeplitz test_against_dense test_delta test_hermitian_part test_nan test_refusals)
set(opencl_cases_of_test_wavelet test_against_reference test_threads test_not_finite test_refusals)

# Those that run once more, as NAME_opencl_single, as if the device had no double precision: all their cases of single precision.
set(opencl_single_tests
    test_coulomb_sum
    test_cutoff_sum
    test_differences
    test_fft_vector
    test_fourier_sum
    test_gridding
    test_low_rank
    test_reduce
    test_self_test
    test_special_reductions
    test_special_scans
    test_toeplitz
    test_wavelet
)

# Small cases for NAME_oclgrind, where oclgrind plays the device and checks memory: some thousand elements each.
set(oclgrind_cases_of_test_copy test_few_elements)
set(oclgrind_cases_of_test_first_differences test_unknown_voxels test_weights_by_hand)
set(oclgrind_cases_of_test_opencl_device test_other_context test_kernels_in_order)
set(oclgrind_cases_of_test_special_reductions test_identities test_zeros)
set(oclgrind_cases_of_test_special_scans test_zeros_of_extremes)
set(oclgrind_cases_of_test_self_test test_kernels) # all kernels
