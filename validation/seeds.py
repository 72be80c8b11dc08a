"""Random numbers of the tests in Python, as random_fixture.h for those in C: they follow from one seed, a fixed one
unless the environment variable VOXFIELD_SEED gives another. The first use prints it, so what prints no seed has drawn
nothing."""
import functools
import os
import random
import re
import sys

FIXED_SEED = 1


@functools.lru_cache(maxsize=None)
def seed():
    given = os.environ.get("VOXFIELD_SEED", str(FIXED_SEED))
    value = int(given, 16 if given.startswith("0x") else 10) if re.fullmatch("0x[0-9a-fA-F]+|[0-9]+", given) else 2 ** 64
    if value >= 2 ** 64:
        print(f"VOXFIELD_SEED '{given}': expected a whole number below 2^64, decimal or 0x...", file=sys.stderr)
        sys.exit(2)
    print(f"seed {value} (VOXFIELD_SEED={value} repeats it)", flush=True)
    return value


def program_seed():
    """For the programs' options --seed, which take no more than 2^63 - 1."""
    return seed() % 2 ** 31


def draw(*stream):
    """A random.Random. Each stream, of any numbers or words, has numbers of its own."""
    return random.Random(repr((seed(), *stream)))


def generator(*stream):
    """The same for NumPy; a stream is whole numbers."""
    import numpy  # noqa: PLC0415 - few tests need it
    return numpy.random.default_rng([seed(), *stream])
