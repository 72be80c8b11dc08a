"""Molecules, ions and solvents: what the program cionize does, on arrays."""
from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _arrays
from ._binding import ffi, lib
from ._electrostatics import Grid, Map, charges_of
from ._results import Log, Progress, Result, arrays_of, call, no_zeros, path_bytes
from ._session import IncompleteError

__all__ = ["Ions", "Molecule", "Solvent", "cionize", "place_ions", "read_molecule", "solvent"]

Floats = "np.ndarray[Any, Any]"


@dataclasses.dataclass
class Molecule:
    """Atoms: positions (n, 3) in angstrom, charges (n,) in elementary charges, and what else is known.

    radii (n,) in angstrom; names, residues, chains, elements: n texts each; residue_numbers (n,), whole numbers; cell: 3 lengths and 3
    angles. space_group: its name, if the atoms are only the asymmetric unit of a crystal; None: they are all atoms of the cell.

    >>> import voxfield
    >>> water = voxfield.Molecule([[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]], [-0.8, 0.4, 0.4], radii=[1.5, 1, 1])
    >>> len(water)
    3
    """

    positions: Any
    charges: Any = None
    radii: Any = None
    names: Sequence[str] | None = None
    residues: Sequence[str] | None = None
    chains: Sequence[str] | None = None
    elements: Sequence[str] | None = None
    residue_numbers: Any = None
    cell: Any = None
    space_group: str | None = None

    def __post_init__(self) -> None:
        self.positions = _arrays.geometry(self.positions, "positions", np.float64, (3,))

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        known = [field.name for field in dataclasses.fields(self) if getattr(self, field.name) is not None]
        return f"<voxfield.Molecule of {len(self)} atom{'' if len(self) == 1 else 's'}: {', '.join(known)}>"

    @classmethod
    def of(cls, atoms: Any, charges: Any = None, radii: Any = None) -> "Molecule":
        """A Molecule of another one, of an MDAnalysis AtomGroup, or of positions and charges."""
        if isinstance(atoms, Molecule):
            return dataclasses.replace(atoms, **{name: value for name, value in (("charges", charges), ("radii", radii))
                                                 if value is not None})
        if not hasattr(atoms, "positions") or isinstance(atoms, np.ndarray):
            return cls(atoms, charges, radii)
        xyz, q = charges_of(atoms, charges)
        found: dict[str, Any] = {}
        for name, attribute in (("names", "names"), ("residues", "resnames"), ("chains", "chainIDs"), ("elements", "elements"),
                                ("residue_numbers", "resids"), ("radii", "radii"), ("cell", "dimensions")):
            try:
                found[name] = getattr(atoms, attribute)
            except Exception:  # noqa: BLE001 - MDAnalysis has errors of its own for what a topology lacks
                continue
        if radii is not None:
            found["radii"] = radii
        return cls(xyz, q, **found)


def read_molecule(path: Any, *, log: Log | None = None, **options: Any) -> Molecule:
    """Reads a molecule of any format that cionize reads (PQR; PDB, GRO, mmCIF, ... with the option charges): a Molecule.

    Options: charges (a file), altloc, radii, symmetry. symmetry="expand" adds the copies of a crystal's asymmetric unit; "none" says that the
    file has all atoms of the cell. Without it, the Molecule of a crystal has a space_group, and is refused in its cell. Errors:
    voxfield.InputError; voxfield.ArgumentError for other options.

    >>> import os, tempfile, voxfield
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ion.pqr")
    ...     with open(path, "w") as file:
    ...         _ = file.write("ATOM 1 NA NA 1 0.5 1.0 1.5 1.0 0.95")
    ...     voxfield.read_molecule(path).positions
    array([[0.5, 1. , 1.5]])
    """
    result = call(lib.binding_read_molecule, options, ffi.new("char[]", path_bytes(path)), log=log)[0]
    found = result.arrays
    texts = {name: _texts(found.get(name)) for name in ("names", "residues", "chains", "elements")}
    return Molecule(found["positions"], found["charges"], found.get("radii"), **texts,
                    residue_numbers=found.get("residue_numbers"), cell=found.get("cell"), space_group=result.texts.get("space_group"))


def _texts(characters: Any) -> list[str] | None:
    """Texts from characters with zeros behind, [n][8]."""
    if characters is None:
        return None
    return [bytes(row).rstrip(b"\0").decode(errors="replace") for row in characters]


def _cell_numbers(cell: Any) -> list[float]:
    if cell is None:
        return [0.0] * 6
    numbers = [float(v) for v in np.ravel(_arrays.host_array(cell, "cell"))]
    if len(numbers) == 3:
        numbers += [90.0] * 3
    if len(numbers) != 6:
        raise ValueError("the cell of a molecule must be 3 lengths, or 3 lengths and 3 angles")
    return numbers


class CionizeResult(NamedTuple):
    """Arrays by name, as `vf_cionize` says (map, origin, spacing, points, potential, field, ions, reaction, ...); the report; warnings."""

    arrays: dict[str, Any]
    report: dict[str, Any]
    warnings: list[str]

    def __repr__(self) -> str:
        shapes = (f"{name} {getattr(value, 'shape', '')}".rstrip() for name, value in self.arrays.items())
        return f"<voxfield.CionizeResult: {', '.join(shapes)}{_warned(self.warnings)}>"


def _warned(messages: list[str]) -> str:
    """The end of a result's representation."""
    return f"; {len(messages)} warning{'' if len(messages) == 1 else 's'}" if messages else ""


def cionize(molecule: Any, points: Any = None, *, charges: Any = None, radii: Any = None, progress: Progress | None = None,
            log: Log | None = None, **options: Any) -> CionizeResult:
    """What the program cionize does with these options, on arrays.

    molecule : Molecule, an MDAnalysis AtomGroup, positions (n, 3), or the path of a file
    charges, radii : (n,), unless the molecule has them
    points : (m, 3): the potential there instead of a map; field=True adds the field
    options : all of cionize by name (docs/man/cionize.1); outputs are "memory": map="memory", place="SOD:3", solvent=True;
        sequences are joined by commas, those of place, select, minus and solvent_map are repetitions

    Returns a CionizeResult (arrays, report, warnings). Errors: ValueError; voxfield.Error with the program's message.

    >>> import voxfield
    >>> found = voxfield.cionize([[0.0, 0, 0]], charges=[1.0], units="e/A", origin="1,0,0", counts="1,1,2", spacing=1)
    >>> found.arrays["map"].ravel().round(4), found.arrays["origin"].tolist()
    (array([1.    , 0.7071], dtype=float32), [1.0, 0.0, 0.0])
    """
    file: Any = ffi.NULL
    given: dict[str, Any] = {}
    texts = ffi.new("binding_texts *")
    kept: list[Any] = []
    cell = [0.0] * 6
    if isinstance(molecule, (str, os.PathLike)):
        if isinstance(charges, (str, os.PathLike)):
            options["charges"] = os.fspath(charges)
        elif charges is not None or radii is not None:
            raise TypeError("charges and radii are of the file; read_molecule gives a Molecule whose arrays can be changed")
        file = ffi.new("char[]", path_bytes(molecule))
    else:
        atoms = Molecule.of(molecule, charges, radii)
        if atoms.charges is None:
            raise TypeError("charges are needed")
        xyz, q = charges_of(atoms.positions, atoms.charges)
        given = {"positions": xyz, "charges": q}
        if atoms.radii is not None:
            given["radii"] = _arrays.geometry(atoms.radii, "radii", np.float64)
            if given["radii"].shape != (len(xyz),):
                raise ValueError(f"radii must have the shape ({len(xyz)},), not {given['radii'].shape}")
        cell = _cell_numbers(atoms.cell)
        _fill(texts, atoms, kept)
    if points is not None:
        given["points"] = _arrays.geometry(points, "points", np.float64, (3,))
    arrays, memory = arrays_of(given)
    try:
        result, said = call(lib.binding_cionize, options, file, len(arrays), arrays, texts, cell, progress=progress, log=log, stacklevel=4)
    except IncompleteError as error:
        if isinstance(error.result, Result):
            error.result = _found(error.result, [])
        raise
    del memory, kept
    return _found(result, said)


def _found(result: Result, said: list[str]) -> CionizeResult:
    return CionizeResult(result.arrays, json.loads(result.texts["report"]) if "report" in result.texts else {}, said)


def _fill(texts: Any, atoms: Molecule, kept: list[Any]) -> None:
    for name in ("names", "residues", "chains", "elements"):
        words = getattr(atoms, name)
        if words is None:
            continue
        if len(words) != len(atoms):
            raise ValueError(f"{name} must have {len(atoms)} texts, not {len(words)}")
        each = [ffi.new("char[]", _word(word, name)) for word in words]
        kept += [each, ffi.new("char *[]", each)]
        setattr(texts, name, kept[-1])
    if atoms.residue_numbers is not None:
        numbers = _whole_numbers(atoms.residue_numbers)
        if numbers.shape != (len(atoms),):
            raise ValueError(f"residue_numbers must have the shape ({len(atoms)},), not {numbers.shape}")
        kept += [numbers, ffi.from_buffer("int32_t[]", numbers)]
        texts.residue_numbers = kept[-1]
    if atoms.space_group:
        kept.append(ffi.new("char[]", _word(atoms.space_group, "space_group")))
        texts.space_group = kept[-1]


def _word(word: Any, what: str) -> bytes:
    """A label as C has it. h5py and arrays of the type S have bytes."""
    return no_zeros(bytes(word) if isinstance(word, bytes) else str(word).encode(), what)


def _whole_numbers(given: Any) -> np.ndarray[Any, Any]:
    """Residue numbers of 32 bits; a cast alone would cut fractions and wrap larger numbers."""
    numbers = _arrays.geometry(given, "residue_numbers", None)
    whole = numbers.astype(np.int32) if (abs(numbers.astype(np.float64)) < 2**31).all() else None
    if whole is None or not (whole == numbers).all():
        raise ValueError("residue_numbers must be whole numbers of at most 32 bits")
    return whole


class Ions(NamedTuple):
    """Ions in the order of placement: names, positions (n, 3), charges (n,), energies (n,) in the unit times e; report; warnings."""

    names: list[str]
    positions: Any
    charges: Any
    energies: Any
    report: dict[str, Any]
    warnings: list[str]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{self.names.count(name)} {name}" for name in dict.fromkeys(self.names))
        return f"<voxfield.Ions: {kinds or 'none'}{_warned(self.warnings)}>"


def place_ions(molecule: Any, place: Any = None, *, neutralize: Any = None, concentration: float | None = None, salt: Any = None,
               charges: Any = None, progress: Progress | None = None, log: Log | None = None, **options: Any) -> Ions:
    """Places ions where their energy is lowest, one after another, as cionize does.

    molecule : as of `cionize`
    place : "SOD:3", or ("SOD:3", "CLA:2"): names and numbers
    neutralize : "SOD" or "SOD,CLA": as many as bring the total charge to zero
    concentration : mol/L of `salt` (default "SOD,CLA") in the solvent, and a total charge of zero
    options : ion_solute, ion_ion, from_surface, spacing, border, cell, ... of cionize

    Returns Ions. If there is no place for all, voxfield.IncompleteError is raised, whose `result` has those that fitted (arrays ions,
    ion_names). Method: docs/ions.md.

    >>> import voxfield
    >>> found = voxfield.place_ions([[0.0, 0, 0]], "SOD:1", charges=[-1.0], spacing=1, ion_solute=3)
    >>> found.names, float((found.positions[0] ** 2).sum())
    (['SOD'], 9.0)
    """
    if place is None and neutralize is None and concentration is None:
        raise TypeError("which ions? Give place, neutralize or concentration")
    found = cionize(molecule, charges=charges, progress=progress, log=log, place=place, neutralize=neutralize, concentration=concentration, salt=salt,
                    **options)
    names = _texts(found.arrays["ion_names"]) or []
    return Ions(names, found.arrays["ions"], found.arrays["ion_charges"], found.arrays["ion_energies"], found.report, found.warnings)


class Solvent(NamedTuple):
    """A molecule in a solvent.

    map: Map of the potential, kT/e. energy: of solvation, kJ/mol; coulomb: in the solute's dielectric, kJ/mol; atom_energy and
    atom_coulomb (n,): the same by atoms. report; warnings.
    """

    map: Map
    energy: float
    coulomb: float
    atom_energy: Any
    atom_coulomb: Any
    report: dict[str, Any]
    warnings: list[str]

    def __repr__(self) -> str:
        return f"<voxfield.Solvent: {self.map!r}, energy {self.energy:.6g} kJ/mol, coulomb {self.coulomb:.6g} kJ/mol{_warned(self.warnings)}>"


def solvent(molecule: Any, *, charges: Any = None, radii: Any = None, ionic_strength: float = 0.15, solute_dielectric: float = 2.0,
            solvent_dielectric: float = 78.54, progress: Progress | None = None, log: Log | None = None, **options: Any) -> Solvent:
    """The potential of a molecule in a solvent with salt, by the Poisson-Boltzmann equation, and its energy of solvation.

    molecule : as of `cionize`, with radii
    ionic_strength : mol/L; further options of cionize: non_linear=True, probe, surface, stern, spacing, border, ...

    Returns a Solvent (map, energy, coulomb, atom_energy, atom_coulomb, report, warnings). Theory: docs/solvent.md.

    >>> import voxfield
    >>> born = voxfield.solvent([[0.0, 0, 0]], charges=[1.0], radii=[2.0], solute_dielectric=1, ionic_strength=0, spacing=0.5)
    >>> 330 < -born.energy < 360                           # Born: 1389.4 / 2 / 2 (1 - 1/78.54) = 342.9 kJ/mol
    True
    """
    found = cionize(molecule, charges=charges, radii=radii, progress=progress, log=log, solvent=True, energies="memory", map="memory",
                    ionic_strength=ionic_strength, solute_dielectric=solute_dielectric, solvent_dielectric=solvent_dielectric, **options)
    arrays = found.arrays
    grid = Grid(tuple(arrays["origin"].tolist()), tuple(arrays["spacing"].tolist()), arrays["map"].shape)
    return Solvent(Map(arrays["map"], grid, str(options.get("units", "kT/e")), "solvent"), float(arrays["reaction"].ravel()[0]),
                   float(arrays["coulomb"].ravel()[0]), arrays.get("atom_reaction"), arrays.get("atom_coulomb"), found.report,
                   found.warnings)
