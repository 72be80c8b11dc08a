# What `cmake --install` copies: programs, library, public headers, manual pages, completion for shells, sample data, and the files
# by which CMake (voxfield-config.cmake) and pkg-config (voxfield.pc) find them. The installation can be moved afterwards.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/voxfield)

install(TARGETS ${VOXFIELD_LIBRARY} voxfield_programs EXPORT voxfieldTargets)
install(TARGETS cionize mri_recon mri_phantom)

install(FILES ${VOXFIELD_PUBLIC_HEADERS} ${VOXFIELD_PROGRAM_HEADERS} ${PROJECT_BINARY_DIR}/include/voxfield/version.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/voxfield)
install(FILES docs/man/cionize.1 docs/man/mri_recon.1 docs/man/mri_phantom.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(file IN LISTS VOXFIELD_COMPLETIONS)
    get_filename_component(name ${file} NAME)
    set(folder bash-completion/completions)
    if(name MATCHES "^_")
        set(folder zsh/site-functions)
    endif()
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} OPTIONAL)
endforeach()
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/voxfield/data FILES_MATCHING PATTERN "*.pqr" PATTERN "*.h5" PATTERN "README.md")
install(FILES LICENSE LICENSE.DejaVu README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

# What has to be built for that.
add_custom_target(installable DEPENDS cionize mri_recon mri_phantom ${VOXFIELD_LIBRARY})
foreach(target voxfield_programs completions python_binding)
    if(TARGET ${target})
        add_dependencies(installable ${target})
    endif()
endforeach()

# ---- CMake package ----
set(BUILD_SHARED_LIBS_ON_OFF OFF)
set(VOXFIELD_NEEDS_EXPAT OFF)
if(VOXFIELD_HAVE_EXPAT)
    set(VOXFIELD_NEEDS_EXPAT ON)
endif()
if(BUILD_SHARED_LIBS)
    set(BUILD_SHARED_LIBS_ON_OFF ON)
endif()
configure_package_config_file(cmake/voxfield-config.cmake.in ${PROJECT_BINARY_DIR}/voxfield-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/voxfield-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT voxfieldTargets NAMESPACE voxfield:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/voxfield-config.cmake ${PROJECT_BINARY_DIR}/voxfield-config-version.cmake
    cmake/FindFFTW3.cmake DESTINATION ${package_dir})

# ---- pkg-config ----
# "/usr/lib/hdf5/libhdf5.so" -> "-L/usr/lib/hdf5 -lhdf5"; the folder is left out where linkers look anyway.
function(pc_link_flags out)
    set(flags "")
    foreach(library ${ARGN})
        cmake_path(GET library PARENT_PATH folder)
        cmake_path(GET library STEM LAST_ONLY name)
        string(REGEX REPLACE "^lib" "" name ${name})
        if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
            list(APPEND flags -L${folder})
        endif()
        list(APPEND flags -l${name})
    endforeach()
    list(JOIN flags " " flags)
    set(${out} "${flags}" PARENT_SCOPE)
endfunction()

set(libraries ${HDF5_C_LIBRARIES})
list(FILTER libraries INCLUDE REGEX "/libhdf5[^/]*$")
get_target_property(fftw FFTW3::fftw3 INTERFACE_LINK_LIBRARIES)
list(APPEND libraries ${fftw} ${PNG_LIBRARIES} ${ZLIB_LIBRARIES})
if(VOXFIELD_HAVE_CUDA)
    list(APPEND libraries ${CUDA_cudart_static_LIBRARY})
endif()
list(REMOVE_DUPLICATES libraries)
pc_link_flags(pc_libs_private ${libraries})
string(APPEND pc_libs_private " ${OpenMP_C_FLAGS} -pthread -lm")
if(VOXFIELD_HAVE_CUDA)
    string(APPEND pc_libs_private " -lstdc++ -lrt -ldl")
endif()

set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/voxfield.pc.in ${PROJECT_BINARY_DIR}/voxfield.pc @ONLY)
# The programs as functions: with a shared library, they are in that.
set(pc_programs "-L\${libdir} -lvoxfield_programs")
set(pc_programs_private "")
if(BUILD_SHARED_LIBS)
    set(pc_programs "")
elseif(VOXFIELD_HAVE_EXPAT)
    pc_link_flags(pc_programs_private ${EXPAT_LIBRARIES})
endif()
configure_file(cmake/voxfield-programs.pc.in ${PROJECT_BINARY_DIR}/voxfield-programs.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/voxfield.pc ${PROJECT_BINARY_DIR}/voxfield-programs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
