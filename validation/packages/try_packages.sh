#!/bin/bash
# The Debian packages of ./run deb: lintian, then in a root of the same release with nothing but apt in it: installs them, runs the
# README's commands as a user without rights, compiles the examples, upgrades, removes, and looks for what was left behind.
# usage: try_packages.sh [FOLDER]     FOLDER has the packages: out/deb
# Exit status 77: this machine or this user cannot make such a root; the last line says why.
# shellcheck disable=SC2016 # single quotes: what other shells and programs expand
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
debs=$(cd "${1:-$source/out/deb}" && pwd)
work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    exit 1
}
skip() {
    join_lintian
    echo "SKIP: $*"
    exit 77
}
quietly() { # COMMAND...: its output is shown only if it fails
    "$@" >"$work/log" 2>&1 </dev/null || {
        tail -n 40 "$work/log" >&2
        fail "$*"
    }
}
ok() {
    printf 'ok: %s (%d s)\n' "$*" "$SECONDS"
}

mapfile -t packages < <(find "$debs" -name '*.deb' -printf '%f\n' | sort)
[ ${#packages[@]} -ge 3 ] || fail "$debs has no packages; ./run deb makes them"
names=$(printf '%s\n' "${packages[@]%%_*}" | paste -sd ' ')
soname=$(sed -n 's/^Package: libvoxfield\([0-9]\)/libvoxfield\1/p' "$source/debian/control")

# ---- lintian ----
# Beside what follows, which waits for the network and the disk.
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error --display-level '>=warning' "$debs"/*.deb >"$work/lintian" 2>&1 &
    lintian=$!
else
    lintian=
    echo "SKIP: lintian is not installed (package lintian)"
fi
join_lintian() {
    if [ -z "$lintian" ]; then return 0; fi
    local status=0
    wait "$lintian" || status=$?
    lintian=
    cat "$work/lintian"
    [ "$status" -eq 0 ] || fail "lintian found errors"
    ok "lintian found no errors"
}

# ---- a root ----
[ "$(id -u)" -eq 0 ] || skip "only root can make a root of its own"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (package mmdebstrap)"
# Mounts of its own, so that none outlives the command.
in_root() { # COMMAND...
    unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}
mkdir -p "$root/proc"
unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc"' "$root" 2>/dev/null || skip "no right to mount here (a container?)"
rmdir "$root/proc" "$root"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
# What apt takes of this release here, and not what else it has been told to take.
apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
    awk -v codename="$codename" 'index($2, codename) == 1 {print "deb", $1, $2, $3}' >"$work/sources"
grep -q . "$work/sources" || skip "apt knows no source of $codename here"
if ! mmdebstrap --variant=apt --mode=root --dpkgopt=force-unsafe-io --aptopt='Acquire::Languages "none"' \
    "$codename" "$root" - <"$work/sources" >"$work/log" 2>&1; then
    tail -n 5 "$work/log"
    skip "mmdebstrap failed; is there a network?"
fi
quietly in_root apt-get -q update
ok "a root of $codename, $(du -sm "$root" | cut -f1) MB"

files() { # of the root: all but what apt, dpkg and the loader keep for themselves
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./packages -o -path ./var/cache \
        -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune -o -print | sort)
}
versions() { # of the packages in the root
    in_root dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n' | grep voxfield || true
}
apt_get() {
    quietly in_root apt-get -q -y -o APT::Sandbox::User=root "$@"
}

files >"$work/before"
mkdir "$root/packages"
cp "$debs"/*.deb "$root/packages"

join_lintian

# ---- the programs ----
apt_get install --no-install-recommends "/packages/$(printf '%s\n' "${packages[@]}" | grep '^voxfield_')"
in_root cionize --version | sed -n 1p
for file in /usr/share/man/man1/{cionize,mri_recon,mri_phantom}.1.gz /usr/share/zsh/vendor-completions/_{cionize,mri_recon,mri_phantom} \
    /usr/share/doc/voxfield/{copyright,changelog.gz,README.md.gz}; do
    [ -s "$root$file" ] || fail "$file is not installed"
done
in_root bash -c '. /usr/share/bash-completion/completions/cionize; COMP_WORDS=(cionize --units k); COMP_CWORD=2; _cionize; echo "${COMPREPLY[*]}"' |
    grep -qx 'kT/e kcal/mol/e' || fail "bash completes nothing"

# The commands of the README, as they are there, where all that they read is there.
home="$root/tmp/a user's folder"
mkdir "$home"
cp "$root/usr/share/voxfield/data/dipole.pqr" "$home/molecule.pqr"
cp "$root/usr/share/voxfield/data/shepp_logan_2d.h5" "$home/scan.h5"
chown -R 1234:1234 "$home"
as_user() { # COMMAND
    in_root setpriv --reuid 1234 --regid 1234 --clear-groups env HOME="/tmp/a user's folder" bash -c "cd ~ && $1"
}
mapfile -t commands < <(awk '/^```/ {inside = !inside} inside && /^(cionize|mri_recon|mri_phantom) / {sub(/ +#.*/, ""); print}' "$source/README.md")
tried=0
for command in "${commands[@]}"; do
    case $command in
    *apbs.in* | *complex.pqr* | *script.cfg* | *kspace.cfl*) ;; # files that are not samples
    *)
        as_user "$command" >"$work/log" 2>&1 || { tail -n 5 "$work/log" && fail "$command"; }
        tried=$((tried + 1))
        ;;
    esac
done
[ "$tried" -ge 10 ] || fail "only $tried of the README's ${#commands[@]} commands were tried"
for file in molecule.dx head_image.h5 map.png; do
    [ -s "$home/$file" ] || fail "the commands made no $file"
done
ok "installed, and $tried of the README's commands run by a user without rights"

# ---- the library ----
apt_get install --no-install-recommends "/packages/$(printf '%s\n' "${packages[@]}" | grep "^${soname}_")" \
    "/packages/$(printf '%s\n' "${packages[@]}" | grep '^libvoxfield-dev_')" cmake make gcc libc6-dev pkgconf
as_user 'cp -r /usr/share/doc/libvoxfield-dev/examples . && cd examples && for source in *.c; do
    cc -std=c11 -O2 -o "${source%.c}" "$source" $(pkg-config --cflags --libs voxfield) -lm && ./"${source%.c}" || exit 1; done' >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" && fail "the examples by pkg-config"; }
as_user 'cmake -S examples -B by-cmake && cmake --build by-cmake --target nufft && by-cmake/nufft && ldd by-cmake/nufft' >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" && fail "an example by CMake"; }
grep -q "libvoxfield.so.${soname#libvoxfield} => /" "$work/log" || fail "the example is not linked with the package's library"
ok "examples compiled by pkg-config and by CMake"

# ---- the Python module ----
apt_get install --no-install-recommends "/packages/$(printf '%s\n' "${packages[@]}" | grep '^python3-voxfield_')"
as_user 'python3 -c "
import numpy, voxfield
points = numpy.random.default_rng(1).uniform(-8, 8, (50, 2)).astype(numpy.float32)
image = numpy.eye(16, dtype=numpy.complex64)
row, column = numpy.mgrid[-8:8, -8:8] / 16
exact = [(image * numpy.exp(-2j * numpy.pi * (x * column + y * row))).sum() for x, y in points.astype(float)]
got = voxfield.NUFFT(points, (16, 16), accuracy=1e-5).forward(image)
# On the diagonal both coordinates are the same, so the order of the axes does not matter.
error = numpy.linalg.norm(got - exact) / numpy.linalg.norm(exact)
assert error < 1e-5, error
"' >"$work/log" 2>&1 || { tail -n 20 "$work/log" && fail "the Python module"; }
ok "the Python module computes a NUFFT"

# ---- a later version ----
for package in "${packages[@]}"; do
    dpkg-deb -R "$debs/$package" "$work/later"
    sed -i -E 's/^(Version: .*)$/\1+later/; s/(libvoxfield[0-9.]+ \(= [^)]+)\)/\1+later)/' "$work/later/DEBIAN/control"
    dpkg-deb -Znone -b "$work/later" "$root/packages/later_$package" >/dev/null
    rm -r "$work/later"
done
mapfile -t later < <(cd "$root" && printf '/%s\n' packages/later_*)
apt_get install --no-install-recommends "${later[@]}"
[ "$(versions | grep -c '+later ii')" -eq ${#packages[@]} ] || fail "after the upgrade: $(versions)"
as_user 'cionize --dry-run molecule.pqr && ./examples/nufft' >/dev/null || fail "after the upgrade, the programs do not run"
ok "upgraded"

# ---- gone ----
rm -rf "$home"
# shellcheck disable=SC2086 # several words
apt_get purge $names cmake make gcc libc6-dev pkgconf
apt_get autoremove --purge
[ -z "$(versions)" ] || fail "after the removal: $(versions)"
files >"$work/after"
diff "$work/before" "$work/after" || fail "these files were left behind (>), or taken along (<)"
ok "removed; nothing was left behind"
