#!/usr/bin/env python3
"""Compiles each public header alone, and all of them in one file, with every warning an error.

    test_public_headers.py COMPILER STANDARD FOLDER...

STANDARD is c11 or c++17. FOLDERs are searched for includes; the headers are those in FOLDER/voxfield.
"""
import pathlib
import subprocess
import sys


def compiles(compiler, standard, folders, names):
    language = "c++" if "++" in standard else "c"
    # A typedef after the includes, because C requires a declaration in a file.
    text = "".join(f'#include "{name}"\n' for name in names) + "typedef int ends_here;\n"
    command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
               "-fsyntax-only", *[f"-I{folder}" for folder in folders], "-"]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(f"FAIL: {standard}: {', '.join(names)}\n{done.stdout}")
    return done.returncode == 0


def main():
    compiler, standard, *folders = sys.argv[1:]
    if not compiler or compiler.endswith("-NOTFOUND"):
        print(f"SKIP: no compiler for {standard}")
        return 77
    names = []
    for folder in map(pathlib.Path, folders):
        names += sorted(f"voxfield/{path.name}" for path in folder.glob("voxfield/*.h"))
    if not names:
        print(f"FAIL: no headers in {folders}")
        return 1
    fine = [compiles(compiler, standard, folders, [name]) for name in names]
    fine.append(compiles(compiler, standard, folders, names))
    fine.append(compiles(compiler, standard, folders, names[::-1]))
    print(f"{standard}: {len(names)} headers, {fine.count(False)} failures")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
