# Compiler settings shared by every target, as the interface target voxfield_flags.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Programs find the library where it was built, and beside themselves where they are installed.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

add_library(voxfield_flags INTERFACE)
target_compile_definitions(voxfield_flags INTERFACE _GNU_SOURCE)
# -fno-math-errno: sqrt as one instruction. Nothing here reads errno after a math function. Unlike -ffast-math it keeps NaN.
target_compile_options(voxfield_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -fno-math-errno>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(VOXFIELD_WERROR)
    target_compile_options(voxfield_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
if(VOXFIELD_SANITIZE)
    target_compile_options(voxfield_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-fsanitize=${VOXFIELD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
    target_link_options(voxfield_flags INTERFACE -fsanitize=${VOXFIELD_SANITIZE})
endif()
