#!/usr/bin/env python3
"""How programs and the shared library are linked and compiled: docs/security.md; and what they take of each thread's stack.

    test_hardening.py READELF LEVEL COMPILER FILE...

LEVEL: of _FORTIFY_SOURCE; 0 in builds that have none. Each check is first tried on a program that lacks everything.
"""
import os
import subprocess
import sys
import tempfile

# Bytes that a thread has of its own for all its life. They are taken from its stack, which may be small. The CUDA runtime has 4 KB,
# and aligns them to as many.
MOST_OF_A_THREAD = 16 << 10


def show(readelf, option, path):
    return subprocess.run([readelf, "-W", option, path], check=True, capture_output=True, text=True).stdout


def flaws(readelf, level, path):
    """What a file lacks."""
    head, segments, dynamic = (show(readelf, option, path) for option in ("-h", "-l", "-d"))
    symbols = show(readelf, "--dyn-syms", path)
    imported = {line.split()[7].split("@")[0] for line in symbols.splitlines() if " UND " in line and len(line.split()) > 7}
    if "DYN" not in head:
        yield "is not position-independent"
    if "GNU_RELRO" not in segments:
        yield "has tables of the linker that stay writable"
    if "BIND_NOW" not in dynamic and not any("FLAGS_1" in line and "NOW" in line for line in dynamic.splitlines()):
        yield "binds lazily"
    stack = [line for line in segments.splitlines() if "GNU_STACK" in line]
    if not stack or "RWE" in stack[0]:
        yield "has an executable stack"
    own = [int(line.split()[5], 16) for line in segments.splitlines() if line.split()[:1] == ["TLS"]]
    if sum(own) > MOST_OF_A_THREAD:
        yield f"takes {sum(own)} bytes of each thread's stack for variables of the thread"
    if "TEXTREL" in dynamic:
        yield "has relocations in its code"
    if "__stack_chk_fail" not in imported:
        yield "has no stack protector"
    checked = {name for name in imported if name.startswith("__") and name.endswith("_chk")}
    if level > 0 and "__snprintf_chk" not in checked and "__vsnprintf_chk" not in checked:
        yield "has no checked functions (_FORTIFY_SOURCE)"


def try_checks(readelf, compiler):
    """Whether a soft program has all flaws; True, too, if this compiler cannot make one."""
    flags = ["-O0", "-fno-pie", "-no-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-Wl,-z,norelro,-z,lazy,-z,execstack"]
    with tempfile.TemporaryDirectory() as folder:
        source, soft = os.path.join(folder, "soft.c"), os.path.join(folder, "soft")
        with open(source, "w", encoding="ascii") as file:
            file.write("_Thread_local char large[1 << 16]; int main(void) { return large[0]; }\n")
        if subprocess.run([compiler, *flags, source, "-o", soft], capture_output=True, check=False).returncode != 0:
            print("the checks were not tried: no program without hardening can be made")
            return True
        found = list(flaws(readelf, 2, soft))
    print(f"self-test: a soft program {', '.join(found)}")
    return len(found) == 7


def main():
    readelf, level, compiler, *paths = sys.argv[1:]
    if not os.path.exists(readelf):
        print("SKIP: no readelf")
        return 77
    wrong = 0 if try_checks(readelf, compiler) else 1
    for path in paths:
        found = list(flaws(readelf, int(level), path))
        wrong += len(found)
        print(f"{'FAIL' if found else 'ok'}: {path}: {'; '.join(found) or 'hardened'}")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
