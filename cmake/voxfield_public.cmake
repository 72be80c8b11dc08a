# What users of the library see: its headers, and the shared library.

# The public headers: libcore's, of a kernel the one with its folder's name, and voxfield.h, which includes them. All others are internal. The copies let projects
# that take Voxfield in by add_subdirectory include kernels' headers by the same name as those that find it installed.
set(public_headers status context device grid vector operator solver pipeline)
set(public_kernels coulomb_sum fourier_sum gridding)
list(TRANSFORM public_headers REPLACE "(.+)" "libcore/include/voxfield/\\1.h")
list(TRANSFORM public_kernels REPLACE "(.+)" "kernels/\\1/\\1.h")
list(APPEND public_kernels kernels/voxfield.h)
file(COPY ${public_kernels} DESTINATION ${PROJECT_BINARY_DIR}/include/voxfield)
set(VOXFIELD_PUBLIC_HEADERS ${public_headers} ${public_kernels})

# The shared library, out of the static one's objects. It shows what the public headers declare (status.h: VF_API_BEGIN) and nothing
# else: the rest is hidden, and the map keeps back what C++ and the CUDA runtime bring along. Versions before 1.0 promise
# compatibility within a minor version, so that is the soname.
add_library(voxfield_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:voxfield>)
set_target_properties(voxfield_shared PROPERTIES OUTPUT_NAME voxfield EXPORT_NAME voxfield LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/voxfield.map)
get_target_property(folders voxfield INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(voxfield_shared INTERFACE ${folders})
target_link_libraries(voxfield_shared PRIVATE voxfield) # for what that needs; its objects are all there
target_link_options(voxfield_shared PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/voxfield.map")

# What users link: the shared library if BUILD_SHARED_LIBS says so.
set(VOXFIELD_LIBRARY voxfield)
if(BUILD_SHARED_LIBS)
    set(VOXFIELD_LIBRARY voxfield_shared)
endif()
if(BUILD_SHARED_LIBS OR VOXFIELD_TESTS)
    set_target_properties(voxfield_shared PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()
add_library(voxfield::voxfield ALIAS ${VOXFIELD_LIBRARY})
