# What runs on a GPU of the tests that take a device (vf_gpu_test): all cases, unless there is a list here, which has those whose
# computation is another there. What reads and writes files, or compares options, does so on the CPU. With `none` the test is one of
# the CPU alone. A program that starts on a GPU takes a second, so cases with many runs and little computation are long.
# test_run_script.py looks whether the cases are there.
foreach(name mri_bart mri_layouts mri_scanners mri_counters mri_references mri_advice mri_channels mri_epi mri_corrections cionize_readers cionize_errors)
    set(gpu_cases_of_${name} none)
endforeach()
set(gpu_cases_of_mri_recon test_iterative_beats_gridding test_every_trajectory test_coils test_off_resonance test_operators_agree
    test_lambda_does_not_depend_on_scale test_frames test_reference_prior test_q_is_kept test_same_bits_every_run
    test_interrupt_leaves_nothing test_progress_on_a_terminal test_large_off_resonance test_far_from_the_tolerance
    test_too_large_numbers test_no_memory)
set(gpu_cases_of_mri_outputs test_why_the_cpu test_maps_of_large_and_small_numbers test_residuals_beyond_rounding
    test_iterations_are_counted)
set(gpu_cases_of_mri_calibration test_own_maps test_frames_of_one_trajectory)
set(gpu_cases_of_mri_series test_frames test_cartesian)
set(gpu_cases_of_mri_windows test_each_frame test_same_bits)
set(gpu_cases_of_mri_frame_noise test_lower_error test_weights)
set(gpu_cases_of_mri_noise_map test_replicas_of_methods test_full_cartesian test_g_of_two_coils)
set(gpu_cases_of_mri_lambda test_scale_and_order test_number test_noise_scan)
set(gpu_cases_of_mri_sparse test_solvers_agree test_lower_error test_zeros test_same_bits test_shapes test_volume)
set(gpu_cases_of_mri_joint test_lower_error test_same_bits test_shared_trajectory test_small_scans)
set(gpu_cases_of_mri_optimum test_wavelet test_tv test_temporal test_llr test_nuclear)
set(gpu_cases_of_mri_sure test_series test_risk test_coarse test_same_bits)
set(gpu_cases_of_mri_pieces test_parts test_resume)
set(gpu_cases_of_cionize_pieces test_parts_are_one_run test_parts_of_other_potentials test_parts_of_averages test_blocks_of_frames
    test_kill test_signals)
set(gpu_cases_of_cionize_grid test_one_point test_absurd_grids test_large_layers_fit)
set(gpu_cases_of_cionize_cutoff test_laws test_cells test_difference test_far_beyond_the_molecule)
set(gpu_cases_of_cionize_maps test_double_precision test_figures_of_every_order test_bits_do_not_depend_on_threads)
set(gpu_cases_of_cionize_outputs test_dry_run test_why_the_cpu test_report)
set(gpu_cases_of_cionize_scripts test_script test_averages_over_frames test_memory_for_ions test_interrupt_while_placing)
# Two solvers that agree on small problems, in thousands of iterations: the solvers' code is that of the CPU, and test_exact and
# test_mri_optimum.py compare them with the optimum.
set(gpu_cases_of_test_tgv test_exact test_affine test_stairs)

# These start first, the longest before the others: what begins last should be short.
set(gpu_longest cionize_faults_cuda mri_optimum mri_noise_map test_reduce_operators mri_sparse mri_frame_noise mri_recon mri_joint
    cionize_ions cionize_physics mri_sure cionize_pieces mri_pieces test_fourier_sum mri_windows mri_partial mri_map_sets mri_lambda
    cionize_water mri_forecast test_convex mri_study_quick test_tgv mri_series cionize_maps cionize_scripts)
