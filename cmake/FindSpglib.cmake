# Finds spglib (crystal symmetry) as the target Spglib::spglib. Debian's package (libsymspg-dev) has a pkg-config file whose
# version is empty, and no CMake file.
find_path(Spglib_INCLUDE_DIR spglib.h)
find_library(Spglib_LIBRARY NAMES symspg)
mark_as_advanced(Spglib_INCLUDE_DIR Spglib_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Spglib REQUIRED_VARS Spglib_INCLUDE_DIR Spglib_LIBRARY)
if(Spglib_FOUND AND NOT TARGET Spglib::spglib)
    add_library(Spglib::spglib UNKNOWN IMPORTED)
    set_target_properties(Spglib::spglib PROPERTIES
        IMPORTED_LOCATION ${Spglib_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Spglib_INCLUDE_DIR})
endif()
