# Compiler settings shared by every target, as the interface target voxfield_flags.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

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

# Sets the flags of NAME_baseline.c, NAME_avx2.c and NAME_avx512.c, which compile one source for three instruction
# sets. Further arguments are flags for all three.
# -O3: the loops have constant bounds and must be unrolled.
# -mprefer-vector-width=512: the compiler must not split the vectors that the code uses.
function(voxfield_instruction_sets name)
    set_property(SOURCE ${name}_baseline.c ${name}_avx2.c ${name}_avx512.c TARGET_DIRECTORY voxfield
        APPEND PROPERTY COMPILE_OPTIONS -O3 ${ARGN})
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        set_property(SOURCE ${name}_avx2.c TARGET_DIRECTORY voxfield APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma)
        set_property(SOURCE ${name}_avx512.c TARGET_DIRECTORY voxfield APPEND PROPERTY COMPILE_OPTIONS
            -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512)
    endif()
endfunction()
