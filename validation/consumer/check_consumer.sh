#!/bin/bash
# Installs a build of Voxfield into a folder, moves the folder, and uses it as a user would: the programs, the CMake
# package, pkg-config.
# usage: check_consumer.sh BUILD [CMAKE]
set -euo pipefail
export LC_ALL=C

build=$(cd "$1" && pwd)
cmake=${2:-cmake}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cached() { # NAME: prints its value in the build's cache
    sed -n "s|^$1:[A-Z]*=||p" "$build/CMakeCache.txt"
}
fail() {
    echo "FAIL: $1" >&2
    exit 1
}
quietly() { # COMMAND...: runs it, and prints its output only if it fails
    "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; fail "$*"; }
}
cc=$(cached CMAKE_C_COMPILER)
version=$(cached CMAKE_PROJECT_VERSION)

# ---- where things go ----
DESTDIR=$work/stage quietly "$cmake" --install "$build"
[ -x "$work/stage$(cached CMAKE_INSTALL_PREFIX)/bin/cionize" ] || fail "DESTDIR is not honoured"
quietly "$cmake" --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
prefix=$work/moved
for file in bin/cionize include/voxfield/voxfield.h include/voxfield/coulomb_sum.h include/voxfield/version.h \
    share/man/man1/cionize.1 share/bash-completion/completions/cionize share/zsh/site-functions/_mri_recon share/voxfield/data/1hpv.pqr share/doc/voxfield/LICENSE; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
leaked=$(grep -rlFI -e "$build" -e "$(dirname "$(dirname "$here")")" "$prefix" || true)
[ -z "$leaked" ] || fail "the installed files name the folders they were built in: $leaked"
installed=$(cd "$prefix/include/voxfield" && LC_ALL=C ls)
programs=(programs.h mri_recon.h cionize.h) # a library of its own, which voxfield.h does not include
included=$(sed -n 's|^#include "voxfield/\(.*\)"$|\1|p' "$prefix/include/voxfield/voxfield.h" && printf '%s\n' voxfield.h "${programs[@]}")
[ "$installed" = "$(LC_ALL=C sort <<<"$included")" ] || fail "voxfield.h includes other headers than those installed: $installed"
echo "ok: installed, moved, $(find "$prefix" -type f | wc -l) files"

# ---- headers and symbols ----
structure=$(dirname "$here")/structure
quietly python3 "$structure/test_public_headers.py" "$cc" c11 "$prefix/include"
cxx=$(command -v c++ g++ clang++ | head -n 1) || true
[ -z "$cxx" ] || quietly python3 "$structure/test_public_headers.py" "$cxx" c++17 "$prefix/include"
shared=$(find "$prefix" -name "libvoxfield.so.$version")
if [ -n "$shared" ]; then
    quietly python3 "$structure/test_public_symbols.py" nm "$shared" "$prefix"/include/voxfield/*.h
    readelf -d "$shared" | grep -q "soname: \[libvoxfield.so.${version%.*}\]" || fail "the soname is not libvoxfield.so.${version%.*}"
fi
echo "ok: $(wc -l <<<"$installed") headers, each alone in C${cxx:+ and C++}${shared:+; the shared library shows what they declare}"

# ---- the program ----
"$prefix/bin/cionize" --version | grep -qF "$version" || fail "cionize --version does not say $version"
quietly "$prefix/bin/cionize" --device cpu -o "$work/map.dx" "$prefix/share/voxfield/data/point_charge.pqr"
[ -s "$work/map.dx" ] || fail "the installed cionize made no map"
if ldd "$prefix/bin/cionize" | grep -E 'libcuda|libcudart|not found'; then
    fail "cionize would not start without the CUDA driver and runtime, or lacks a library"
fi
echo "ok: cionize $version runs from there, without CUDA's libraries"

# ---- CMake package ----
if [ -n "$(cached CMAKE_GENERATOR)" ]; then
    export CMAKE_GENERATOR
    CMAKE_GENERATOR=$(cached CMAKE_GENERATOR)
fi
examples=$(dirname "$(dirname "$here")")/examples
quietly "$cmake" -S "$examples" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
grep -q "^Voxfield_DIR:PATH=$prefix/" "$work/cmake/CMakeCache.txt" || fail "another voxfield was found"
quietly "$cmake" --build "$work/cmake"
quietly ctest --test-dir "$work/cmake" --no-tests=error --output-on-failure
echo "ok: find_package(Voxfield), and the examples"

# ---- pkg-config ----
if ! command -v pkg-config >/dev/null; then
    echo "SKIP: pkg-config is not installed: voxfield.pc was not tried"
    exit 77
fi
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name voxfield.pc)")
export PKG_CONFIG_PATH
static=()
[ -n "$(find "$prefix" -name 'libvoxfield.so')" ] || static=(--static)
for source in "$examples"/*.c; do
    module=voxfield
    grep -qE 'voxfield/(mri_recon|cionize)\.h' "$source" && module=voxfield-programs
    read -ra flags <<<"$(pkg-config --cflags --libs "${static[@]}" $module)"
    quietly "$cc" -std=c11 -Wall -Wextra -Werror -O2 -o "$work/example" "$source" "${flags[@]}" -lm
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") quietly "$work/example"
done
[ "$(pkg-config --modversion voxfield)" = "$version" ] || fail "voxfield.pc names another version"
echo "ok: pkg-config"
