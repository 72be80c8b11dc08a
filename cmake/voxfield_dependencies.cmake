# The dependencies of Voxfield. README.md gives the reason for each.
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
# For packages that bring their libraries along: all others go into the binaries. Debian's HDF5 also names libcurl, for files in
# clouds, which nothing here opens, so that none of it is linked.
option(VOXFIELD_STATIC_DEPENDENCIES "Link the static libraries of HDF5, FFTW, libpng, zlib, expat and spglib" OFF)
if(VOXFIELD_STATIC_DEPENDENCIES)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
    set(HDF5_USE_STATIC_LIBRARIES ON)
    set(ZLIB_USE_STATIC_LIBS ON)
endif()
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 REQUIRED COMPONENTS C)
if(VOXFIELD_STATIC_DEPENDENCIES)
    find_library(SZIP_LIBRARY sz REQUIRED)
    find_library(AEC_LIBRARY aec REQUIRED)
    target_link_libraries(hdf5::hdf5 INTERFACE ${SZIP_LIBRARY} ${AEC_LIBRARY})
endif()
find_package(FFTW3 REQUIRED)

# For the XML header of ISMRMRD files.
find_package(EXPAT)
set(VOXFIELD_HAVE_EXPAT OFF)
if(EXPAT_FOUND)
    set(VOXFIELD_HAVE_EXPAT ON)
else()
    message(STATUS "Voxfield: no ISMRMRD files (expat not found: package libexpat1-dev); mri_recon will say so")
endif()

# For space groups by name.
find_package(Spglib)
set(VOXFIELD_HAVE_SPGLIB OFF)
if(Spglib_FOUND)
    set(VOXFIELD_HAVE_SPGLIB ON)
else()
    message(STATUS "Voxfield: no table of space groups (spglib not found: package libsymspg-dev); cionize will say so")
endif()

# For GPUs of other vendors. Only headers are needed to build; the library is loaded when a program uses it.
set(VOXFIELD_HAVE_OPENCL OFF)
if(VOXFIELD_OPENCL)
    find_path(OPENCL_INCLUDE CL/cl.h PATHS /usr/local/cuda/include) # the CUDA Toolkit has these headers, too
    mark_as_advanced(OPENCL_INCLUDE)
    if(OPENCL_INCLUDE)
        set(VOXFIELD_HAVE_OPENCL ON)
    else()
        message(STATUS "Voxfield: no OpenCL (CL/cl.h not found: package opencl-c-headers); --device opencl will say so")
    endif()
endif()

# Puts texts (OpenCL C, pages' scripts) into the library, each as `const char vf_text_NAME[]` for a file NAME.cl, NAME.cuh, NAME.js ...
function(voxfield_texts)
    foreach(file IN LISTS ARGN)
        get_filename_component(name ${file} NAME_WE)
        set(made ${CMAKE_CURRENT_BINARY_DIR}/text_${name}.c)
        add_custom_command(OUTPUT ${made} DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
            COMMAND ${CMAKE_COMMAND} -DTEXT=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DNAME=vf_text_${name} -DTO=${made}
                -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake VERBATIM)
        # A target of its own, because the library's is another folder's.
        add_custom_target(text_${name} DEPENDS ${made})
        add_dependencies(voxfield text_${name})
        set_source_files_properties(${made} TARGET_DIRECTORY voxfield PROPERTIES GENERATED ON COMPILE_OPTIONS -Wno-overlength-strings)
        target_sources(voxfield PRIVATE ${made})
    endforeach()
endfunction()

# The compute capabilities of this machine's GPUs, in the form of CMake's architectures, and how many GPUs there are.
# Empty and 0 without a GPU or a driver.
function(voxfield_gpus capabilities count)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
    set(found "")
    if(status EQUAL 0)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${text}")
    endif()
    list(LENGTH found gpus)
    string(REPLACE "." "" found "${found}")
    list(REMOVE_DUPLICATES found)
    list(TRANSFORM found APPEND -real)
    set(${capabilities} "${found}" PARENT_SCOPE)
    set(${count} ${gpus} PARENT_SCOPE)
endfunction()

# The generations that GPU code is compiled for: CMake's architectures. `native`: those of this machine's GPUs.
# All of them take seven times as long as one, so only ALL, for programs that go elsewhere, has them. The last one of a
# list also has PTX, from which newer GPUs make their own code.
# TEST: that the code compiles is all that is wanted, and programs do not use it. PTX shows that; to assemble it takes as long
# again (.ci/run does that, for this generation and the oldest).
function(voxfield_generations out native)
    if(VOXFIELD_CUDA STREQUAL "ALL")
        set(wanted 75-real 80-real 86-real)
        if(CUDAToolkit_VERSION VERSION_LESS 11.8)
            list(APPEND wanted 86-virtual)
        elseif(CUDAToolkit_VERSION VERSION_LESS 12.8)
            list(APPEND wanted 89-real 90)
        else()
            list(APPEND wanted 89-real 90-real 100-real 120)
        endif()
    elseif(CUDAToolkit_VERSION VERSION_LESS 11.8)
        set(wanted 86)
    else()
        set(wanted 90) # compiles every branch of the sources
    endif()
    if(VOXFIELD_CUDA STREQUAL "TEST")
        list(TRANSFORM wanted APPEND -virtual)
    endif()
    if(native AND NOT VOXFIELD_CUDA STREQUAL "ALL")
        execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
        string(REGEX MATCHALL "[0-9]+" known "${known}")
        list(TRANSFORM known APPEND -real)
        set(unknown ${native})
        list(REMOVE_ITEM unknown ${known})
        if(NOT unknown) # else this toolkit is older than the GPU, which uses the PTX
            set(wanted ${native})
        endif()
    endif()
    set(${out} ${wanted} PARENT_SCOPE)
endfunction()

set(VOXFIELD_HAVE_CUDA OFF)
set(VOXFIELD_CUDA_IS_A_TEST OFF)
set(wants_cuda ${VOXFIELD_CUDA})
voxfield_gpus(native VOXFIELD_GPUS)
if(VOXFIELD_CUDA STREQUAL "NATIVE" AND NOT native)
    set(wants_cuda OFF)
endif()
if(wants_cuda)
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        # The CUDA runtime is linked statically, so the programs also start without a toolkit or a driver.
        set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
        set(CMAKE_CUDA_STANDARD 17)
        find_package(CUDAToolkit REQUIRED)
        if(VOXFIELD_CUDA STREQUAL "TEST" AND (NOT native OR CMAKE_CUDA_ARCHITECTURES))
            set(VOXFIELD_CUDA_IS_A_TEST ON)
        endif()
        if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
            # Not in the cache, because the value depends on VOXFIELD_CUDA.
            voxfield_generations(CMAKE_CUDA_ARCHITECTURES "${native}")
        endif()
        enable_language(CUDA)
        set(VOXFIELD_HAVE_CUDA ON)
    elseif(NOT VOXFIELD_CUDA MATCHES "^(AUTO|NATIVE|TEST)$")
        message(FATAL_ERROR "Voxfield: VOXFIELD_CUDA=${VOXFIELD_CUDA}, but there is no CUDA compiler that works here. "
            "Install the CUDA Toolkit, or name its nvcc by -DCMAKE_CUDA_COMPILER=; AUTO does without.")
    endif()
endif()
if(VOXFIELD_HAVE_CUDA)
    if(VOXFIELD_CUDA_IS_A_TEST)
        # toeplitz_axes.cu took 12 processor seconds instead of 72; with no optimisation at all it would be more.
        target_compile_options(voxfield_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcicc -O1 -Xptxas -O1 -Xcompiler=-O1>")
    else()
        # Machine code for GPUs is compressed: the driver unpacks a source file's kernels when one of them is first used. Drivers
        # for CUDA 12 may not know the closest packing, those for CUDA 13 do.
        set(older_cuda $<VERSION_LESS:$<CUDA_COMPILER_VERSION>,13.0>)
        target_compile_options(voxfield_flags INTERFACE
            $<$<COMPILE_LANGUAGE:CUDA>:$<IF:${older_cuda},-Xfatbin=-compress-all,--compress-mode=size>>)
    endif()
    message(STATUS "Voxfield: GPU code with CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
    if(VOXFIELD_CUDA_IS_A_TEST)
        message(STATUS "Voxfield: GPU code is compiled only as a test, and programs refuse to use it; -DVOXFIELD_CUDA=ALL makes it for use elsewhere")
    elseif(NOT native AND NOT VOXFIELD_CUDA STREQUAL "ALL" AND NOT DEFINED ENV{CUDAARCHS} AND NOT DEFINED CACHE{CMAKE_CUDA_ARCHITECTURES})
        message(STATUS "Voxfield: no GPU here, so GPU code is for one generation; -DVOXFIELD_CUDA=ALL compiles it for all")
    endif()
else()
    set(why "no CUDA compiler found")
    if(NOT VOXFIELD_CUDA)
        set(why "VOXFIELD_CUDA=OFF")
    elseif(NOT wants_cuda)
        set(why "this machine has no GPU; VOXFIELD_CUDA=AUTO builds GPU code all the same")
    endif()
    message(STATUS "Voxfield: CPU only (${why}); --device cuda will say so")
endif()
