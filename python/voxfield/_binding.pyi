# The extension module, which cffi makes from python/src/binding.h.
from typing import Any

ffi: Any
lib: Any
