#!/usr/bin/env python3
"""Writes the C source of the Python package's extension module, from the declarations in binding.h, by cffi.

    emit_binding.py HEADER... OUT.c

The C compiler checks the declarations against the headers. The module uses CPython's limited API: one for all versions from 3.10 on.
"""
import os
import re
import sys

import cffi

# What C calls in Python: those who listen to programs.
CALLBACKS = """
extern "Python" void python_log(void *user, int level, const char *text);
extern "Python" void python_progress(void *user, const char *stage, double share);
"""


def declarations(path):
    """What stands between the two marks."""
    text = open(path, encoding="utf-8").read()
    return re.search(r"/\* cffi: begin \*/(.*)/\* cffi: end \*/", text, re.DOTALL)[1]


def main():
    *headers, out = sys.argv[1:]
    ffi = cffi.FFI()
    ffi.cdef("".join(declarations(header) for header in headers) + CALLBACKS)
    includes = "".join(f'#include "{os.path.basename(header)}"\n' for header in headers)
    ffi.set_source("voxfield._binding", includes, py_limited_api=True)
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
