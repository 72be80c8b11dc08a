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

# The fuzzer is told which code has run. Programs without a fuzzer link, too, because the address sanitizer has functions that
# take the reports.
if(VOXFIELD_FUZZERS)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR NOT VOXFIELD_SANITIZE MATCHES "address")
        message(FATAL_ERROR "Voxfield: VOXFIELD_FUZZERS=ON needs clang (-DCMAKE_C_COMPILER=clang) and -DVOXFIELD_SANITIZE=address,undefined")
    endif()
    target_compile_options(voxfield_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()

# Hardening (docs/security.md). Sanitizers have their own checks, and an unoptimised build has nothing to check by.
# Position-independent programs need -pie at the link, too, which CMake passes only after this check.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(VOXFIELD_FORTIFY 0) # the level, for the test of the binaries
if(VOXFIELD_HARDENED)
    include(CheckCCompilerFlag)
    include(CheckCSourceCompiles)
    include(CheckLinkerFlag)
    check_c_compiler_flag(-fstack-protector-strong VOXFIELD_HAVE_STACK_PROTECTOR)
    if(VOXFIELD_HAVE_STACK_PROTECTOR AND NOT VOXFIELD_SANITIZE) # with both, gcc 12 misplaces aligned variables
        target_compile_options(voxfield_flags INTERFACE
            $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fstack-protector-strong>)
    endif()
    check_linker_flag(C LINKER:-z,relro,-z,now VOXFIELD_HAVE_IMMEDIATE_BINDING)
    if(VOXFIELD_HAVE_IMMEDIATE_BINDING)
        target_link_options(voxfield_flags INTERFACE LINKER:-z,relro,-z,now)
    endif()
    if(CMAKE_C_LINK_PIE_SUPPORTED) # CMake knows no way for CUDA; the host's compiler links
        target_link_options(voxfield_flags INTERFACE
            $<$<AND:$<LINK_LANGUAGE:CUDA>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-pie>)
    endif()
    if(NOT VOXFIELD_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
        # Old compilers and C libraries know level 2 alone, and warn of 3. Not for CUDA: its front end does not know the
        # built-in functions of level 3.
        set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
        check_c_source_compiles("#include <string.h>\nint main(void) { return (int)strlen(\"\"); }" VOXFIELD_HAVE_FORTIFY_3)
        unset(CMAKE_REQUIRED_FLAGS)
        set(VOXFIELD_FORTIFY 2)
        if(VOXFIELD_HAVE_FORTIFY_3)
            set(VOXFIELD_FORTIFY 3)
        endif()
        target_compile_options(voxfield_flags INTERFACE
            "$<$<COMPILE_LANGUAGE:C>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${VOXFIELD_FORTIFY}>")
    endif()
endif()

set(VOXFIELD_WIDEST_ISA avx2)
if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo flags REGEX "^flags.* avx512bw .*avx512vl" LIMIT_COUNT 1)
    if(flags)
        set(VOXFIELD_WIDEST_ISA avx512)
    endif()
endif()

# Compiles NAME_isa.inc of this folder for three instruction sets, as NAME_baseline.c, NAME_avx2.c and NAME_avx512.c of the
# build, in which ISA(name) is the set's name of what others see. Further arguments are flags for all three.
# -O3: the loops have constant bounds and must be unrolled.
# Sanitizers: gcc takes minutes for unrolled loops with checks. All sets are the same source, so addresses are checked in the
# widest one that this machine runs, where a vector reaches farthest, and undefined behaviour in the baseline.
# -O1 takes a quarter of the time of -O3, and makes tests of these loops a sixth slower.
# No stack protector and no checked memcpy: they cost the direct sum 6 to 9 %, because blocks of vectors are arrays on the
# stack. Their bounds are constants, and no length in a file reaches them.
# -mprefer-vector-width=512: the compiler must not split the vectors that the code uses.
function(voxfield_instruction_sets name)
    set(flags_avx2 -mavx2 -mfma)
    set(flags_avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512)
    foreach(isa baseline avx2 avx512)
        set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_${isa}.c)
        file(CONFIGURE OUTPUT ${file} CONTENT "#define ISA(name) name##_@isa@\n#include \"@name@_isa.inc\"\n" @ONLY)
        target_sources(voxfield PRIVATE ${file})
        set_property(SOURCE ${file} TARGET_DIRECTORY voxfield PROPERTY INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR})
        set_property(SOURCE ${file} TARGET_DIRECTORY voxfield APPEND PROPERTY COMPILE_OPTIONS -O3 ${ARGN}
            -U_FORTIFY_SOURCE $<$<BOOL:${VOXFIELD_HAVE_STACK_PROTECTOR}>:-fno-stack-protector>)
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            set_property(SOURCE ${file} TARGET_DIRECTORY voxfield APPEND PROPERTY COMPILE_OPTIONS ${flags_${isa}})
        endif()
        if(VOXFIELD_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
            set(unchecked -fno-sanitize=address,undefined)
            if(isa STREQUAL VOXFIELD_WIDEST_ISA)
                set(unchecked -fno-sanitize=undefined)
            elseif(isa STREQUAL baseline)
                set(unchecked -fno-sanitize=address)
            endif()
            list(APPEND unchecked -O1 -Wno-maybe-uninitialized) # of vectors filled lane by lane
            set_property(SOURCE ${file} TARGET_DIRECTORY voxfield APPEND PROPERTY COMPILE_OPTIONS ${unchecked})
        endif()
    endforeach()
endfunction()

# For such files that shuffle vectors (backend/simd_blocks.h): gcc 12 makes wrong code of shuffled vectors when it checks
# them for undefined behaviour, at any optimisation; addresses are still checked.
function(voxfield_shuffles name)
    if(VOXFIELD_SANITIZE MATCHES undefined AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        foreach(isa baseline avx2 avx512)
            set_property(SOURCE ${CMAKE_CURRENT_BINARY_DIR}/${name}_${isa}.c TARGET_DIRECTORY voxfield
                APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=undefined)
        endforeach()
    endif()
endfunction()
