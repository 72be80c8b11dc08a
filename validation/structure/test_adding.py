#!/usr/bin/env python3
"""The diffs of docs/adding.md: each is of one folder and fits the tree word for word; what they make compiles; and the new
operator runs.

    test_adding.py SOURCE COMPILER INCLUDE LIBRARY...

INCLUDE is a build's folder of generated headers; LIBRARY... its static library and what that needs. The diffs are applied to a copy
of the sources, all of them together.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SECTIONS = ["An operator", "A prior", "A scan format", "An image format", "An option"]
PROGRAM = r"""
#include <stdio.h>
#include <string.h>

#include "kernel_operators.h"
#include "voxfield/context.h"

enum { COUNT = 7, FIRST = 2, PART = 4 };

/* Whole numbers, so all sums are exact. <A x, y> = <x, A^H y>, and A x is what it says. */
int main(void)
{
    vf_context *ctx;
    vf_queue *queue;
    vf_operator *a, *none;
    double x[COUNT] = {3, -1, 4, 1, -5, 9, 2}, y[PART] = {6, -5, 3, 8}, part[PART], back[COUNT], left = 0, right = 0;
    if (vf_context_create(&ctx) != VF_OK || vf_queue_create(vf_context_device(ctx, 0), &queue) != VF_OK)
        return 1;
    vf_device *device = vf_context_device(ctx, 0);
    const vf_vector_space space = {VF_F64, COUNT};
    if (vf_crop_operator(device, space, FIRST, PART, &a) != VF_OK || vf_operator_forward(a, queue, x, part) != VF_OK ||
        vf_operator_adjoint(a, queue, y, back) != VF_OK || vf_queue_sync(queue) != VF_OK) {
        printf("%s\n", vf_context_message(ctx));
        return 1;
    }
    for (int i = 0; i < PART; i++)
        left += part[i] * y[i];
    for (int i = 0; i < COUNT; i++)
        right += x[i] * back[i];
    if (!(left == right) || memcmp(part, x + FIRST, sizeof part) != 0) {
        printf("<A x, y> = %g, <x, A^H y> = %g\n", left, right);
        return 1;
    }
    if (vf_crop_operator(device, space, 4, PART, &none) != VF_ERR_ARGUMENT || none ||
        !strstr(vf_context_message(ctx), "[4, 8) is not within 7")) {
        printf("a part beyond the end: %s\n", vf_context_message(ctx));
        return 1;
    }
    vf_operator_free(a);
    vf_queue_destroy(queue);
    vf_context_destroy(ctx);
    return 0;
}
"""


class Wrong(Exception):
    pass


def diffs(page):
    """The section and the text of each diff."""
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        for text in re.findall(r"^```diff\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            yield section.split("\n")[0], text


def parts(diff):
    """Each file of a diff: its name, whether it is new, and its hunks (old lines, new lines)."""
    for old, new, body in re.findall(r"^--- (\S+)\n\+\+\+ b/(\S+)\n((?:[@ +-].*\n?|\n)*?)(?=^--- |\Z)", diff, re.MULTILINE):
        hunks = []
        for counts, lines in re.findall(r"^@@ (.*?) @@.*\n((?:[ +-].*\n|\n)*)", body, re.MULTILINE):
            rows = [line or " " for line in lines.split("\n")[:-1]]
            before, after = ([row[1:] for row in rows if row[0] in mark] for mark in (" -", " +"))
            said = [int(number.split(",")[1]) if "," in number else 1 for number in counts.split()]
            if said != [len(before), len(after)]:
                raise Wrong(f"{new}: '@@ {counts} @@' has {len(before)} and {len(after)} lines")
            hunks.append((before, after))
        if not hunks or (old != "/dev/null" and old != f"a/{new}"):
            raise Wrong(f"{new}: this is no diff of one file")
        yield new, old == "/dev/null", hunks


def apply(tree, diff):
    """Applies a diff; every hunk must fit in exactly one place. Returns the files."""
    changed = []
    for name, new, hunks in parts(diff):
        path = tree / name
        if new and path.exists():
            raise Wrong(f"{name} is there already")
        text = "" if new else "\n" + path.read_text()
        for before, after in hunks:
            old, put = ("".join(line + "\n" for line in lines) for lines in (before, after))
            if not new and text.count("\n" + old) != 1:
                raise Wrong(f"{name}: these lines are there {text.count(chr(10) + old)} times, not once:\n{old}")
            text = put if new else text.replace("\n" + old, "\n" + put)
        path.write_text(text if new else text[1:])
        changed.append(name)
    return changed


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")


def check(source, compiler, include, libraries, folder):
    tree = folder / "tree"
    for room in ("libcore", "kernels", "apps"):
        shutil.copytree(source / room, tree / room, ignore=shutil.ignore_patterns("*.cu", "*.cuh"))
    found = list(diffs((source / "docs/adding.md").read_text()))
    if [section for section, _ in found] != SECTIONS:
        raise Wrong(f"docs/adding.md has diffs in {[section for section, _ in found]}, not one in each of {SECTIONS}")
    changed = []
    for section, diff in found:
        files = apply(tree, diff)
        if len({pathlib.PurePath(name).parent for name in files}) != 1:
            raise Wrong(f"'{section}' is of more than one folder: {files}")
        print(f"ok: {section}: {', '.join(files)}")
        changed += files
    folders = [*sorted(path for path in (tree / "kernels").iterdir() if path.is_dir()), tree / "kernels", tree / "libcore/include",
               tree / "libcore/src", *(tree / "apps" / room for room in ("program", "cionize", "mri_recon")), include]
    command = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror", *(f"-I{path}" for path in folders)]
    for name in changed:
        if name.endswith(".c"):
            run([*command, "-fsyntax-only", tree / name])
    (folder / "program.c").write_text(PROGRAM)
    run([*command, folder / "program.c", tree / "kernels/operators/crop_operator.c", *libraries, "-o", folder / "program"])
    run([folder / "program"])
    print("ok: the operator runs")


def main():
    source, compiler, include, *libraries = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(pathlib.Path(source), compiler, include, libraries, pathlib.Path(folder))
        except Wrong as wrong:
            print(f"FAIL: {wrong}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
