#!/bin/bash
# Makes the sample molecules of this folder anew, or with --check compares the files with what the generators make (byte
# for byte) and with the physics they stand for (check_samples.py).
# Exits with 0 if all is well, 1 if a file differs or is wrong, 77 if nothing could be checked.
# What cannot be made here is named in a line that starts with SKIP.
set -euo pipefail
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
samples=(water_box.pqr nacl.pqr 1hpv.pqr)
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

generate() { # FILE: to standard output
    case $1 in
    water_box.pqr) python3 "$folder/make_water_box.py" --edge 11 --seed 1 ;;
    nacl.pqr) python3 "$folder/make_nacl.py" --half-width 6 --weights smooth ;;
    1hpv.pqr) bash "$folder/make_1hpv.sh" ;;
    esac
}

# The remark that names the programs and their versions: other versions may place a hydrogen elsewhere.
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
