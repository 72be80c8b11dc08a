find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
if(VOXFIELD_TESTS AND NOT (CMOCKA_INCLUDE AND CMOCKA_LIBRARY))
    message(WARNING "Voxfield: cmocka is missing, so the unit tests are left out (package libcmocka-dev)")
endif()
find_package(Python3 COMPONENTS Interpreter)

# Adds a unit test with cmocka, linked to the library and the stages of the programs.
function(vf_unit_test name)
    if(NOT (CMOCKA_INCLUDE AND CMOCKA_LIBRARY))
        return()
    endif()
    add_executable(${name} ${name}.c)
    target_include_directories(${name} PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(${name} PRIVATE cionize_stages mri_recon_stages voxfield voxfield_flags ${CMOCKA_LIBRARY} PNG::PNG ZLIB::ZLIB m)
    vf_register(${name} COMMAND ${name} ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()

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

# Registers a unit test that takes a device: once for the CPU and once, as NAME_gpu, for a GPU. Without a GPU, the
# latter is skipped with a message.
function(vf_device_test name)
    vf_unit_test(${name} cpu)
    if(TARGET ${name})
        vf_threads(${name})
        vf_register(${name}_gpu COMMAND ${name} cuda)
        set_tests_properties(${name}_gpu PROPERTIES LABELS gpu)
    endif()
endfunction()
