#!/bin/bash
# Makes the sample molecules and scans of this folder again. With --check, compares the files with the generators'
# output: molecules byte by byte, scans number by number, because their bytes depend on the versions of libraries.
# --check also compares the molecules with the physics that they represent (check_samples.py).
# mri_phantom makes the scans: the program in the variable MRI_PHANTOM, or the one on the PATH, or the one that ./run
# built in ../build.
# Exit status: 0; 1 if a file differs or is wrong; 77 if nothing could be checked.
# A line that starts with SKIP names each file that cannot be made on this machine.
set -euo pipefail
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
samples=(water_box.pqr nacl.pqr 1hpv.pqr shepp_logan_2d.h5 shepp_logan_3d.h5)
mode="make"
case "${1-}" in
--check) mode=check ;;
"") ;;
*)
    echo "usage: $0 [--check]" >&2
    exit 2
    ;;
esac
command -v python3 >/dev/null || { echo "SKIP: python3 is not installed"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

phantom=${MRI_PHANTOM:-$(command -v mri_phantom || ls "$folder/../build/release/apps/mri_phantom/mri_phantom" 2>/dev/null || true)}

scan() { # FILE OPTIONS...: to standard output
    [ -n "$phantom" ] || { echo "SKIP: $1: mri_phantom is not built" >&2; return 77; }
    "$phantom" --quiet "${@:2}" --compress 9 --without time -o "$work/scan.h5" && cat "$work/scan.h5"
}

generate() { # FILE: to standard output
    case $1 in
    water_box.pqr) python3 "$folder/make_water_box.py" --edge 11 --seed 1 ;;
    nacl.pqr) python3 "$folder/make_nacl.py" --half-width 6 --weights smooth ;;
    1hpv.pqr) bash "$folder/make_1hpv.sh" ;;
    shepp_logan_2d.h5) scan "$1" --matrix 96,96,1 --trajectory golden-angle --spokes 36 --coils 4 --snr 50 ;;
    shepp_logan_3d.h5) scan "$1" --matrix 48 --trajectory koosh-ball --spokes 460 --snr 50 ;;
    esac
}

# Whether two scans have the same numbers, up to the differences between the libraries' sines and logarithms.
same_scan() {
    [[ $1 = *.h5 ]] && command -v h5diff >/dev/null && h5diff -q -p 1e-4 "$1" "$2"
}

# The remark with the programs and their versions: other versions may place a hydrogen differently.
made_with() {
    sed -n 's/^REMARK *1 *\(.*PDB2PQR.*\)/\1/p' "$1"
}

failed=0
for sample in "${samples[@]}"; do
    status=0
    generate "$sample" >"$work/$sample" 2>"$work/log" || status=$?
    cat "$work/log"
    if [ $status -eq 77 ]; then
        continue
    elif [ $status -ne 0 ]; then
        echo "FAIL: $sample: its generator ended with exit status $status"
        failed=1
    elif [ $mode = make ]; then
        chmod 644 "$work/$sample" && mv "$work/$sample" "$folder/$sample"
        echo "made: $sample"
    elif cmp -s "$work/$sample" "$folder/$sample"; then
        echo "ok: $sample: as generated"
    elif same_scan "$work/$sample" "$folder/$sample"; then
        echo "ok: $sample: as generated, but for rounding"
    elif [ "$(made_with "$work/$sample")" != "$(made_with "$folder/$sample")" ]; then
        echo "SKIP: $sample: other programs here ($(made_with "$work/$sample"))"
    else
        echo "FAIL: $sample: differs from what its generator makes; make_samples.sh makes it anew"
        failed=1
    fi
done

if [ $mode = check ]; then
    python3 "$folder/check_samples.py" || failed=1
fi
exit $failed
