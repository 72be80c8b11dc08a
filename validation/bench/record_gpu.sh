# shellcheck shell=bash disable=SC2154 # root and began are those of ./run
# The command `gpu` of ./run, which sources this file: tests, compute-sanitizer and benchmarks on a machine with an NVIDIA GPU, and
# the record of all of them.

# Each part leaves its results in RESULTS_DIR/parts as soon as it is done: a machine may be lent for some minutes at a time. The
# record is made when all parts are there (gpu_record.py).
gpu() { # [PART...]
    # Relative, for the reports name the commands they come from, and a record should name nobody's folders.
    local folder=build/gpu work=build/gpu/record status=0 results=${RESULTS_DIR:-$root/validation/results}
    local part parts=(tests sanitizer benchmarks studies) gpus
    for part in "$@"; do
        case " ${parts[*]} opencl " in *" $part "*) continue ;; esac
        case $part in
        tests-[1-9]of[1-9]) ;; # a share of the tests
        *) die -2 "gpu has the parts ${parts[*]} (or its shares tests-1of2, tests-2of2) and opencl, and not: $part" ;;
        esac
    done
    have nvidia-smi || die -77 "SKIP: no GPU here: there is no nvidia-smi"
    gpu_names >/dev/null || die -77 "SKIP: no GPU here: $(nvidia-smi 2>&1 | head -n 1)"
    have nvcc || PATH=$PATH:/usr/local/cuda/bin
    have nvcc || die "no nvcc: install the CUDA Toolkit, or put its bin folder on the PATH"
    have compute-sanitizer || PATH=$PATH:/usr/local/cuda/compute-sanitizer
    need build
    have python3 || die "no python3, which writes the record"
    mkdir -p "$results"
    results=$(cd "$results" && pwd)
    build cuda gpu all -DCMAKE_CUDA_ARCHITECTURES="${CUDAARCHS:-native}"
    cd "$root" || die "$root is gone"
    [ -x $folder/validation/unit/test_coulomb_sum ] ||
        die "the unit tests were not built: is cmocka (libcmocka-dev) there? See build/gpu/configure.log"
    mapfile -t gpus < <(gpu_names)
    rm -rf "$work"
    mkdir -p "$work"
    describe_run "$work"
    # One after the other: beside each other they are slow, and some run out of time.
    [ $# -gt 0 ] || set -- "${parts[@]}"
    for part in "$@"; do
        say "" "== $part"
        mkdir -p "$work/$part"
        "gpu_${part%-*}" "$folder" "$work/$part" "${part#tests-}" || status=1
        if [ "$part" = opencl ]; then # no part of the record
            cp "$work/opencl/time_opencl.json" "$results/opencl-$(date +%F).json" || status=1
            continue
        fi
        python3 validation/bench/gpu_record.py "$work" "$results" "$part" || status=1
    done
    [ "$results" != "$root/validation/results" ] || python3 validation/bench/cuda_sources.py --write || status=1
    say "$((SECONDS - began)) s"
    [ $status -eq 0 ] || die "not all is well: see above"
}

# What the parts of a run share: the devices, the compiler and the sources.
describe_run() { # WORK
    local work=$1
    nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm --format=csv,noheader >"$work/devices.csv"
    nvcc --version >"$work/nvcc.txt"
    python3 validation/bench/cuda_sources.py --list >"$work/sources.txt" 2>"$work/listed_by.txt" # by their digest a record is known
    xargs sha256sum <"$work/sources.txt" >"$work/digests.txt"
    xargs cat <"$work/sources.txt" | sha256sum | cut -d' ' -f1 >"$work/digest.txt"
    grep -E '\.cuh?$' "$work/sources.txt" | xargs cat | sha256sum | cut -d' ' -f1 >"$work/digest_cu.txt"
    if [ "$(cat "$work/listed_by.txt")" = git ] && [ -z "${VOXFIELD_COMMIT-}" ]; then
        git rev-parse HEAD >"$work/commit.txt"
        git status --porcelain --untracked-files=no >"$work/changes.txt"
    else
        say "no git repository here, or VOXFIELD_COMMIT is set: the record names ${VOXFIELD_COMMIT:-no} commit"
        [ -z "${VOXFIELD_COMMIT-}" ] || say "$VOXFIELD_COMMIT" >"$work/commit.txt"
    fi
}

# More than 12 tests on one GPU at a time are slow, whatever the machine. Tests labelled gpus want two; those against other
# programs might be skipped. Of SHARE KofN every N-th test from the K-th on. The longest begin first, by the newest record.
gpu_tests() { # FOLDER WORK SHARE
    local labels='gpu|unit' first=1 step=1
    case $3 in *of*) first=${3%of*} step=${3#*of} ;; esac
    python3 validation/bench/gpu_record.py --costs "$1"
    if [ ${#gpus[@]} -ge 2 ]; then labels="$labels|gpus"; else say "one GPU: the tests that need two are left out"; fi
    OMP_WAIT_POLICY=passive OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} ctest --test-dir "$1" -L "^($labels)\$" -LE '^peers$' -I "$first,,$step" --parallel 12 --output-on-failure --no-tests=error \
        --output-junit "$root/$2/tests.xml" </dev/null
}

# All tests of OpenCL on NVIDIA's driver, and the times of its kernels beside those by CUDA. A machine may have the driver, but no file
# that names it (.icd), and the loader libOpenCL.so.1 only in the CUDA Toolkit; so both are looked for. Other drivers are left out.
gpu_opencl() { # FOLDER WORK
    local status=0 driver loader
    driver=$(find_library libnvidia-opencl.so.1) || die "no libnvidia-opencl.so.1: NVIDIA's driver is here without OpenCL"
    mkdir -p "$2/vendors"
    say "$driver" >"$2/vendors/nvidia.icd"
    export OCL_ICD_VENDORS=$root/$2/vendors/ OCL_ICD_FILENAMES=$driver
    if ! has_library libOpenCL.so.1; then
        loader=$(find_library libOpenCL.so.1) || die "no libOpenCL.so.1 (package ocl-icd-libopencl1)"
        export LD_LIBRARY_PATH=${loader%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
    "$1/apps/cionize/cionize" --devices
    OMP_WAIT_POLICY=passive ctest --test-dir "$1" -L '^opencl$' -LE '^oclgrind$' --parallel 4 --output-on-failure --no-tests=error \
        --output-junit "$root/$2/tests.xml" </dev/null || status=1
    "$1/validation/bench/time_opencl" "$2/time_opencl.json" 1 cuda opencl </dev/null || status=1
    return $status
}

# The path of a library: the loader's, or that in the usual folders of drivers and of the CUDA Toolkit.
find_library() { # NAME
    local path
    path=$(/sbin/ldconfig -p 2>/dev/null | sed -n "s|.*$1 .*x86-64.* => ||p" | head -n 1)
    [ -n "$path" ] || path=$(find /usr/lib /usr/lib64 /usr/local/nvidia /usr/local/cuda/ /opt -name "$1" 2>/dev/null | head -n 1)
    [ -n "$path" ] && printf '%s\n' "$path"
}

gpu_sanitizer() { # FOLDER WORK
    "$1/apps/mri_phantom/mri_phantom" -q --matrix 12 --spokes 30 --coils 2 --field-hz 10 -o "$2/small.h5"
    "$1/apps/mri_phantom/mri_phantom" -q --matrix 12 --spokes 30 --coils 2 -o "$2/plain.h5"
    sanitize "${SANITIZER_SECONDS:-240}" "$2" "$1"
}

gpu_benchmarks() { # FOLDER WORK
    local program status=0
    for program in "$1"/validation/bench/bench_*; do
        if ! [ -f "$program" ] || ! [ -x "$program" ]; then continue; fi
        "$program" cuda "$2/$(basename "$program").json" </dev/null || status=1
    done
    python3 validation/bench/time_mri_recon.py "$1" cuda "$2/bench_mri_recon.json" || status=1
    return $status
}

gpu_studies() { # FOLDER WORK
    local status=0
    python3 validation/tables/mri_study.py run "$1" "$2/bench_mri_study.json" --device cuda --limit "${STUDY_SECONDS:-15}" || status=1
    python3 validation/tables/cionize_study.py run "$1" "$2/bench_cionize_study.json" --device cuda \
        --limit "${CIONIZE_STUDY_SECONDS:-60}" || status=1
    if [ ${#gpus[@]} -ge 2 ]; then python3 validation/bench/time_devices.py "$1" "$2/bench_devices.json" || status=1; fi
    return $status
}

# Every kernel on a small case, under every tool: as many at a time as there are cores, 6 at most, for they share one GPU.
# compute-sanitizer cannot run on every machine with a GPU; the record says what came of it. Each tool leaves a log of its cases in
# order, and one status. Only tests that launch some hundred kernels on up to a million elements; the operators' test takes the
# most elements as its argument. Racecheck leaves out the single-pass scan, whose mbarrier events it takes for races.
sanitize() { # SECONDS WORK FOLDER
    local seconds=$1 work=$2 folder=$3 tools=(memcheck racecheck initcheck synccheck) tool case most running=()
    local recon="$folder/apps/mri_recon/mri_recon --device cuda -q $work/small.h5" unit=$folder/validation/unit
    local cases=("$unit/test_coulomb_sum cuda test_sizes test_charge_reversal" "$unit/test_fft_vector cuda"
        "$unit/test_ion_search cuda test_ties test_no_charge test_exact_map"
        "$unit/test_copy cuda test_copy_every_type test_gather_and_scatter test_boxes test_swap"
        "$unit/test_reduce cuda test_wide_accumulators" "$unit/test_special_reductions cuda test_all_the_same test_zeros"
        "$unit/test_scan cuda test_again_and_again" "$unit/test_special_scans cuda test_nan_and_infinity"
        "$unit/test_histogram cuda test_more_threads_than_planned" "$unit/test_histogram_edges cuda test_extreme_edges"
        "$unit/test_sort cuda test_more_threads_than_planned"
        "$unit/test_multigrid cuda" "$unit/test_stencil cuda test_shapes test_same_bits test_nan" "$unit/test_solvent cuda"
        "$unit/test_toeplitz cuda test_lengths" "$unit/test_cosine cuda test_sum test_spectrum"
        "$unit/test_queues cuda test_large_copies" "$unit/test_wavelet_algebra cuda test_haar_by_hand test_sums"
        "$unit/test_differences cuda test_by_hand test_special_values" "$unit/test_low_rank cuda test_nan test_optimality"
        "$recon --iterations 2 --operator nufft" "$recon --iterations 2 --operator direct --prior differences"
        "$recon --iterations 2 --operator nufft --precision double --coils walsh" "$recon --method gridding")
    for tool in products phasors naive registers constant-arrays constant-structs tuned-structs; do # not with a field map
        cases+=("${recon/small.h5/plain.h5} --iterations 2 --operator direct --variant $tool")
    done
    for tool in tuned pairs bank bank-4; do
        cases+=("$recon --method adjoint --operator direct --variant $tool")
    done
    cases+=("$unit/test_reduce_operators 5000")
    if ! have compute-sanitizer; then
        printf 'SKIP: %s: there is no compute-sanitizer\n' "${tools[@]}"
        return
    fi
    most=$(nproc)
    [ "$most" -le 6 ] || most=6
    for case in "${!cases[@]}"; do
        for tool in "${tools[@]}"; do
            # shellcheck disable=SC2207 # numbers, one a word
            while running=($(jobs -pr)) && [ ${#running[@]} -ge "$most" ]; do
                wait -n || true
            done
            sanitize_case "$tool" "$seconds" "$work/$tool-$case" "${cases[case]}" &
        done
    done
    wait
    for tool in "${tools[@]}"; do
        collect_cases "$tool" "$work" "${cases[@]}"
    done
}

# One case under one tool: PREFIX.log and PREFIX.status. If one of the tool's cases ran out of time, those not begun are left out.
sanitize_case() { # TOOL SECONDS PREFIX CASE
    local tool=$1 seconds=$2 prefix=$3 case=$4 status=0 output=() without=()
    case $case in *mri_recon*) output=(-o "$prefix.h5") ;; esac
    case $tool in racecheck) without=(--kernel-regex-exclude kns=vf_scan_tiles) ;; esac
    if [ -e "${prefix%-*}.late" ]; then return; fi
    # shellcheck disable=SC2086 # words, not one word
    timeout "$seconds" compute-sanitizer --tool "$tool" "${without[@]}" --error-exitcode 99 $case "${output[@]}" \
        </dev/null >"$prefix.log" 2>&1 || status=$?
    if [ $status -eq 124 ]; then : >"${prefix%-*}.late"; fi
    echo $status >"$prefix.status"
}

# The tool's log out of those of its cases, and its status: of a case with an error if there is one, else 124 if one ran out of
# time, else 77 if one was skipped.
collect_cases() { # TOOL WORK CASE...
    local tool=$1 prefix=$2/$1 case number=0 one wrong="" late="" skipped=""
    shift 2
    : >"$prefix.log"
    for case in "$@"; do
        one=124 # not begun
        if [ -e "$prefix-$number.status" ]; then
            one=$(cat "$prefix-$number.status")
            cat "$prefix-$number.log" >>"$prefix.log"
            [ "$one" -eq 0 ] || say "$tool: status $one: $case"
        fi
        case $one in
        0) ;;
        77) skipped=77 ;;
        124) late=124 ;;
        *) wrong=$one ;;
        esac
        number=$((number + 1))
    done
    one=${wrong:-${late:-${skipped:-0}}}
    echo "$one" >"$prefix.status"
    say "$tool: status $one, $# cases: $(grep -E 'SUMMARY|Error:|not supported' "$prefix.log" | sort | uniq -c | sort -rn | head -n 1)"
}
