# What users of the library get: its headers, and the shared library.

# The public headers: those of libcore, those of kernels (most are named like their folders), and voxfield.h, which includes them.
# All others are internal. The copies are for projects that use add_subdirectory: they include the kernels' headers by
# the same name as projects that use an installed Voxfield.
set(public_headers status context device grid vector copy reduce scan histogram sort neighbours stencil matrix_product operator solver pipeline)
set(public_kernels coulomb_sum fourier_sum gridding cartesian encoding toeplitz normal circulant wavelet)
list(TRANSFORM public_headers REPLACE "(.+)" "libcore/include/voxfield/\\1.h")
list(TRANSFORM public_kernels REPLACE "(.+)" "kernels/\\1/\\1.h")
list(APPEND public_kernels kernels/priors/prior.h kernels/priors/penalties.h kernels/operators/kernel_operators.h kernels/voxfield.h)
file(COPY ${public_kernels} DESTINATION ${PROJECT_BINARY_DIR}/include/voxfield)
set(VOXFIELD_PUBLIC_HEADERS ${public_headers} ${public_kernels})

# The programs as functions, a library of its own (apps/CMakeLists.txt): voxfield.h does not include these.
set(VOXFIELD_PROGRAM_HEADERS apps/program/programs.h apps/mri_recon/mri_recon.h apps/cionize/cionize.h)
foreach(header ${VOXFIELD_PROGRAM_HEADERS})
    cmake_path(GET header FILENAME name)
    configure_file(${header} ${PROJECT_BINARY_DIR}/include/voxfield/${name} COPYONLY)
endforeach()

# The shared library, made of the static library's objects. It exports only what the public headers declare (status.h:
# VF_API_BEGIN). The linker map also hides the symbols of C++ and of the CUDA runtime. Versions before 1.0 are
# compatible within a minor version, so the soname has the minor version.
add_library(voxfield_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:voxfield>)
set_target_properties(voxfield_shared PROPERTIES OUTPUT_NAME voxfield EXPORT_NAME voxfield LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/voxfield.map)
get_target_property(folders voxfield INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(voxfield_shared INTERFACE ${folders})
target_link_libraries(voxfield_shared PRIVATE voxfield) # only for its dependencies
target_link_options(voxfield_shared PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/voxfield.map")

# The target that users link: the shared library if BUILD_SHARED_LIBS is set.
set(VOXFIELD_LIBRARY voxfield)
if(BUILD_SHARED_LIBS)
    set(VOXFIELD_LIBRARY voxfield_shared)
endif()
if(BUILD_SHARED_LIBS OR VOXFIELD_TESTS)
    set_target_properties(voxfield_shared PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()
add_library(voxfield::voxfield ALIAS ${VOXFIELD_LIBRARY})
