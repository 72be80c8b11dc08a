#!/bin/bash
# Searches for files that break a reader: builds the fuzzers with clang and three sanitizers (addresses, leaks, undefined
# behaviour), and runs each for a while on its corpus. usage: run_fuzzers.sh CLANG FOLDER [SECONDS [FUZZER...]]
#
# FOLDER keeps the build, what each fuzzer printed (NAME.log), and the inputs that it found (found/NAME; copy into corpus/ what
# is worth keeping). As many fuzzers as there are processors run at once. Exit status 1 if one found a fault: its input is
# FOLDER/NAME-crash-* (-leak-, -timeout-, -oom-), and `FOLDER/build/validation/faults/NAME FILE` repeats it. 77 if clang has no libFuzzer or no OpenMP.
set -euo pipefail
unset LOCPATH # glibc does not free its parts, which would be a leak
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clang=$1 folder=$2 seconds=${3:-60}
shift $(($# < 3 ? $# : 3))
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if ! "$clang" -fopenmp -fsanitize=fuzzer,address,undefined -x c - -o "$folder/probe" >/dev/null 2>&1 \
    <<<'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n > 9 ? 0 : 0; }'; then
    echo "SKIP: $clang has no libFuzzer or no OpenMP (Debian and Ubuntu: libclang-rt-VERSION-dev, libomp-dev)"
    exit 77
fi
rm -f "$folder/probe" "$folder"/*-crash-* "$folder"/*-leak-* "$folder"/*-timeout-* "$folder"/*-oom-*

generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
# Little optimisation: what is fuzzed are readers, and the rest is only linked.
build() {
    cmake -S "$here/../.." -B "$folder/build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-O1 -gline-tables-only' \
        -DCMAKE_C_COMPILER="$clang" -DVOXFIELD_FUZZERS=ON -DVOXFIELD_SANITIZE=address,undefined -DVOXFIELD_CUDA=OFF \
        -DVOXFIELD_TESTS=OFF -DVOXFIELD_BENCHMARKS=OFF &&
        cmake --build "$folder/build" --target fuzzers --parallel "$(nproc)"
}
if ! build >"$folder/build.log" 2>&1; then
    tail -n 40 "$folder/build.log"
    exit 1
fi

fuzz() { # FUZZER
    local corpus=$here/corpus/${1#fuzz_} found=$folder/found/$1 status=0
    mkdir -p "$found"
    # A leak, or an input that takes 20 s or 1 GB, is a fault as well.
    UBSAN_OPTIONS=print_stacktrace=1 "$folder/build/validation/faults/$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 \
        -artifact_prefix="$folder/$1-" -print_final_stats=1 "$found" "$corpus" >"$folder/$1.log" 2>&1 || status=$?
    awk -v name="$1" '/^stat::number_of_executed_units/ { runs = $2 } / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cover = $(i + 1) }
        END { printf "%-14s %9d runs, %d edges\n", name, runs, cover }' "$folder/$1.log"
    if [ $status -ne 0 ]; then
        tail -n 40 "$folder/$1.log"
        echo "FAIL: $1 (status $status)"
    fi
    return $status
}

if [ $# -eq 0 ]; then
    for source in "$here"/fuzz_*.c; do
        name=$(basename "$source" .c)
        if [ -x "$folder/build/validation/faults/$name" ]; then set -- "$@" "$name"; fi
    done
fi
export -f fuzz
export here folder seconds
printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz {}' || exit 1
