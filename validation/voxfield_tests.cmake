find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
if(VOXFIELD_TESTS AND NOT (CMOCKA_INCLUDE AND CMOCKA_LIBRARY))
    message(WARNING "Voxfield: cmocka is missing, so the unit tests are left out (package libcmocka-dev)")
endif()
find_package(Python3 COMPONENTS Interpreter)
include(${CMAKE_CURRENT_LIST_DIR}/gpu_cases.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/opencl_cases.cmake)

# There are 150 test programs, and a faster linker than the usual one takes half the time, if there is one.
include(CheckLinkerFlag)
set(VOXFIELD_TEST_LINKER "")
set(CMAKE_REQUIRED_LIBRARIES stdc++) # which GPU code needs, and not every linker finds
foreach(linker lld gold)
    check_linker_flag(C -fuse-ld=${linker} VOXFIELD_HAVE_LINKER_${linker})
    if(VOXFIELD_HAVE_LINKER_${linker} AND NOT VOXFIELD_TEST_LINKER)
        set(VOXFIELD_TEST_LINKER -fuse-ld=${linker})
    endif()
endforeach()
unset(CMAKE_REQUIRED_LIBRARIES)

# Adds a program with cmocka, linked to the library and the stages of the programs, if there is cmocka. It has the name of its
# source, which may lie in a folder: `files/test_append` makes test_append.
function(vf_unit_program source)
    if(NOT (CMOCKA_INCLUDE AND CMOCKA_LIBRARY))
        return()
    endif()
    get_filename_component(name ${source} NAME)
    add_executable(${name} ${source}.c)
    target_include_directories(${name} PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(${name} PRIVATE cionize_stages mri_recon_stages voxfield voxfield_flags ${CMOCKA_LIBRARY} PNG::PNG ZLIB::ZLIB m)
    target_link_options(${name} PRIVATE ${VOXFIELD_TEST_LINKER})
endfunction()

# A unit test: such a program and its arguments.
function(vf_unit_test source)
    vf_unit_program(${source})
    get_filename_component(name ${source} NAME)
    if(TARGET ${name})
        vf_register(${name} COMMAND ${name} ${ARGN})
        set_tests_properties(${name} PROPERTIES LABELS unit)
    endif()
endfunction()

# A unit test of a program that is another test's too: with these arguments, and with ISA, code for this instruction set.
function(vf_unit_again name program)
    cmake_parse_arguments(PARSE_ARGV 2 again "" ISA "")
    # voxfield_instruction_sets() compiles one of three sets without any checks, so a sanitizer would find nothing.
    if(VOXFIELD_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND again_ISA STREQUAL avx2 AND NOT VOXFIELD_WIDEST_ISA STREQUAL avx2)
        return()
    endif()
    if(TARGET ${program})
        vf_register(${name} COMMAND ${program} ${again_UNPARSED_ARGUMENTS})
        set_tests_properties(${name} PROPERTIES LABELS unit)
        if(again_ISA)
            set_tests_properties(${name} PROPERTIES ENVIRONMENT VOXFIELD_ISA=${again_ISA})
        endif()
    endif()
endfunction()

# Tests need no more optimisation than this, and take half the time to compile.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(VOXFIELD_TEST_OPTIONS $<$<COMPILE_LANGUAGE:C>:-O1>)
endif()

# Registers a test whose exit status 77 means skipped.
function(vf_register name)
    add_test(NAME ${name} ${ARGN})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

# Tests with threads that share memory: the thread sanitizer runs these.
function(vf_threads)
    foreach(name ${ARGN})
        if(TEST ${name})
            get_test_property(${name} LABELS labels)
            set_tests_properties(${name} PROPERTIES LABELS "${labels};threads")
        endif()
    endforeach()
endfunction()

# Tests with gigabytes, or millions of samples: minutes under a sanitizer.
function(vf_large)
    foreach(name ${ARGN})
        if(TEST ${name})
            set_tests_properties(${name} PROPERTIES LABELS "unit;large")
        endif()
    endforeach()
endfunction()

# Registers a test that needs GPUs, as many as GPUS says (1 unless given), with the LABELS: the cases of gpu_cases.cmake. Where the build has no GPU code or
# the machine not so many GPUs, the test is left out and counted: validation/left_out.txt in the build folder has the reason,
# and the summary of `./run check` shows it.
function(vf_gpu_test name)
    cmake_parse_arguments(PARSE_ARGV 1 gpu "" GPUS "COMMAND;LABELS")
    if(NOT gpu_GPUS)
        set(gpu_GPUS 1)
    endif()
    string(REGEX REPLACE "_gpu$" "" base ${name})
    if("${gpu_cases_of_${base}}" STREQUAL "none")
        return()
    endif()
    set(why "")
    if(NOT VOXFIELD_HAVE_CUDA)
        set(why "no GPU code in this build")
    elseif(VOXFIELD_GPUS EQUAL 0)
        set(why "no GPU")
    elseif(VOXFIELD_GPUS LESS gpu_GPUS)
        set(why "one GPU here, two needed")
    endif()
    if(why)
        set_property(GLOBAL APPEND PROPERTY VOXFIELD_LEFT_OUT "${name}: ${why}")
        return()
    endif()
    vf_register(${name} COMMAND ${gpu_COMMAND} ${gpu_cases_of_${base}})
    list(FIND gpu_longest ${base} rank)
    if(rank GREATER_EQUAL 0)
        math(EXPR cost "1000 - ${rank}")
        set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${gpu_LABELS}")
endfunction()

# Registers NAME_opencl, a test on an OpenCL device, if NAME is listed in opencl_cases.cmake, and NAME_opencl_single if it is there, too. Without
# a device it is skipped.
function(vf_opencl_test name)
    cmake_parse_arguments(PARSE_ARGV 1 opencl "" "" "COMMAND;LABELS")
    string(REGEX REPLACE "_opencl$" "" base ${name})
    if(NOT base IN_LIST opencl_tests)
        return()
    endif()
    if(NOT VOXFIELD_HAVE_OPENCL)
        set_property(GLOBAL APPEND PROPERTY VOXFIELD_LEFT_OUT "${name}: no OpenCL in this build")
        return()
    endif()
    vf_register(${name} COMMAND ${opencl_COMMAND} ${opencl_cases_of_${base}})
    set_tests_properties(${name} PROPERTIES LABELS "${opencl_LABELS}")
    if(DEFINED oclgrind_cases_of_${base})
        list(GET opencl_COMMAND 0 program)
        vf_register(${base}_oclgrind COMMAND ${PROJECT_SOURCE_DIR}/validation/faults/run_oclgrind.sh $<TARGET_FILE:${program}>
            ${oclgrind_cases_of_${base}})
        set_tests_properties(${base}_oclgrind PROPERTIES LABELS "${opencl_LABELS};oclgrind")
    endif()
    if(base IN_LIST opencl_single_tests)
        vf_register(${name}_single COMMAND ${opencl_COMMAND} ${opencl_cases_of_${base}})
        set_tests_properties(${name}_single PROPERTIES LABELS "${opencl_LABELS}" ENVIRONMENT VOXFIELD_OPENCL_NO_DOUBLE=1)
    endif()
endfunction()

# Tests of solvers. These have no parallel regions of their own, and those of the kernels that they call thousands of times are
# in other tests with the label threads: vectors in test_solvers and test_operators, penalties in test_penalties,
# differences in test_differences. test_gridding has one thread; test_gridding_algebra runs the same code with several.
set(VOXFIELD_THREADS_OF_OTHERS test_tgv test_convex test_convex_errors test_convex_steps test_gridding)

# Registers a unit test that takes a device: once for the CPU and once, as NAME_gpu, for a GPU, or for two if a second
# argument says so.
function(vf_device_test source)
    vf_unit_test(${source} cpu)
    get_filename_component(name ${source} NAME)
    if(TARGET ${name})
        if(NOT name IN_LIST VOXFIELD_THREADS_OF_OTHERS)
            vf_threads(${name})
        endif()
        if("${ARGV1}" STREQUAL 2)
            vf_gpu_test(${name}_gpu GPUS 2 COMMAND ${name} cuda LABELS gpus)
        else()
            vf_gpu_test(${name}_gpu COMMAND ${name} cuda LABELS gpu)
            vf_opencl_test(${name}_opencl COMMAND ${name} opencl LABELS opencl)
        endif()
    endif()
endfunction()
