#!/usr/bin/env python3
"""The Python package's documentation: all that is public has a docstring, functions have examples, and the examples are right.

usage: test_python_docs.py [test_name ...]
"""
import doctest
import importlib
import inspect
import pkgutil

import numpy
import voxfield
from python_cases import main


def test_examples():
    """Runs every example of every module; NumPy prints as it does from 2.0 on, or as before."""
    numpy.set_printoptions(legacy=False)
    tried = 0
    for found in pkgutil.iter_modules(voxfield.__path__, "voxfield."):
        if found.name.rpartition(".")[2] in ("_binding", "_torch"):
            continue
        result = doctest.testmod(importlib.import_module(found.name), optionflags=doctest.ELLIPSIS)
        assert result.failed == 0, found.name
        tried += result.attempted
    assert tried > 20, tried


def test_public_names():
    missing = [name for name in voxfield.__all__ if not hasattr(voxfield, name)]
    assert not missing, missing
    for name in voxfield.__all__:
        item = getattr(voxfield, name)
        if not callable(item):
            continue
        assert inspect.getdoc(item), f"{name} has no docstring"
        if inspect.isfunction(item):
            assert ">>>" in item.__doc__, f"{name} has no example"
        for method, value in vars(item).items() if inspect.isclass(item) else ():
            if not method.startswith("_") and inspect.isfunction(value) and not issubclass(item, tuple):
                assert inspect.getdoc(getattr(item, method)), f"{name}.{method} has no docstring"


if __name__ == "__main__":
    main(globals())
