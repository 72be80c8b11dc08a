#!/bin/sh
# Runs a unit test's cases on an OpenCL device that oclgrind plays, which checks every access to memory, races in groups and
# between them, and the arguments of OpenCL's functions. Fails if the test does, or if oclgrind says anything.
# usage: run_oclgrind.sh PROGRAM [CASE...]
set -eu
library=
for folder in /usr/lib/oclgrind /usr/lib/*/oclgrind /usr/lib /usr/lib/* /usr/local/lib; do
    if [ -z "$library" ] && [ -e "$folder/liboclgrind-rt-icd.so" ]; then library=$folder/liboclgrind-rt-icd.so; fi
done
if [ -z "$library" ]; then
    echo "SKIP: oclgrind is not installed (package oclgrind)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$1
shift
echo "$library" >"$work/oclgrind.icd"
status=0
OCL_ICD_VENDORS=$work XDG_CACHE_HOME=$work OCLGRIND_LOG=$work/log OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 OCLGRIND_UNIFORM_WRITES=1 \
    OCLGRIND_MAX_ERRORS=20 OCLGRIND_GLOBAL_MEM_SIZE=1073741824 "$program" opencl "$@" || status=$?
if [ -s "$work/log" ]; then
    cat "$work/log"
    status=1
fi
exit $status
