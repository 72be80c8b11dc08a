#!/bin/bash
# Writes HIV-1 protease (PDB entry 1HPV) as PQR to standard output: make_1hpv.sh [1hpv.pdb]
#
# Source: the entry in Debian's pymol-data (revision of 31 March 1995). The script keeps the two protein chains and
# omits the inhibitor and the crystal water. PDB2PQR adds the hydrogens and assigns AMBER charges and radii. PROPKA
# decides which groups have a proton at pH 7. Needs Debian's pymol-data and pdb2pqr (python3-propka comes with it).
# Exit status 77: one of these is missing, or the source is a different file.
set -euo pipefail
export LC_ALL=C PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1

source_pdb=${1:-/usr/share/pymol/data/tut/1hpv.pdb}
source_sha256=5e4a3e559491dcde705665959e34f52b51582c5104d933732a25db92804ba153

skip() {
    echo "SKIP: 1hpv.pqr: $1" >&2
    exit 77
}

command -v pdb2pqr >/dev/null || skip "pdb2pqr is not installed (apt-get install pdb2pqr)"
[ -r "$source_pdb" ] || skip "$source_pdb cannot be read (apt-get install pymol-data)"
echo "$source_sha256  $source_pdb" | sha256sum --check --status ||
    skip "$source_pdb is not the file these charges were made from"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The columns after the temperature factor hold the entry's name and line number. PDB2PQR could mistake them for an
# element.
{
    grep '^SEQRES' "$source_pdb" | cut -c1-70
    grep -E '^(ATOM  |TER)' "$source_pdb" | cut -c1-66
    echo END
} >"$work/protein.pdb"
(cd "$work" && pdb2pqr --ff AMBER --titration-state-method propka --with-ph 7.0 --keep-chain protein.pdb protein.pqr) \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

pdb2pqr_version=$(pdb2pqr --version 2>/dev/null | awk '{ print $2 }')
propka_version=$(dpkg-query -W -f '${Version}' python3-propka 2>/dev/null || echo unknown)
cat - "$work/protein.pqr" <<EOF
REMARK   1 HIV-1 protease, PDB entry 1HPV (Kim et al., J. Am. Chem. Soc. 117, 1181 (1995))
REMARK   1 Both chains, without inhibitor and crystal water
REMARK   1 Hydrogens, AMBER charges and radii: PDB2PQR $pdb2pqr_version; protonation at pH 7: PROPKA $propka_version
REMARK   1 Made by make_1hpv.sh
EOF
echo # PDB2PQR's output has no line break at the end
