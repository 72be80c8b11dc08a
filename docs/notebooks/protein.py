# %% [markdown]
# # A protein's potential, and ions around it
#
# HIV-1 protease with its atoms' charges and radii. We compute the potential in vacuum and in water with salt, place ions where their
# energy is lowest, and draw both.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import voxfield

folder = os.environ.get("VOXFIELD_DATA", "data")
protein = voxfield.read_molecule(os.path.join(folder, "1hpv.pqr"))
print(f"{len(protein)} atoms, charge {protein.charges.sum():+.1f} e")

# %% [markdown]
# The potential in vacuum, every 1 angstrom, 10 angstrom around the atoms, in kT/e. Arrays are `[z, y, x]`; positions are x, y, z. An
# AtomGroup of MDAnalysis in place of `protein` does the same, and `vacuum.to_grid_data()` is a Grid of GridDataFormats.

# %%
vacuum = voxfield.potential(protein, grid=1.0)
vacuum

# %% [markdown]
# In water with 0.15 mol/L of salt (Poisson-Boltzmann). The energy of solvation is in kJ/mol.

# %%
water = voxfield.solvent(protein, spacing=1.0, ionic_strength=0.15)
print(f"energy of solvation {water.energy:.0f} kJ/mol")

# %% [markdown]
# Ions: as many as make the whole neutral, and four pairs besides, at least 5 angstrom from atoms.

# %%
ions = voxfield.place_ions(protein, ["SOD:4", "CLA:4"], neutralize="SOD,CLA", spacing=1.0, ion_solute=5)
print(dict(zip(*np.unique(ions.names, return_counts=True))))

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6))
for axis, found, name, limit in ((axes[0], vacuum, "vacuum", 150), (axes[1], water.map, "water with salt", 5)):
    along = found.grid.axes()
    middle = found.shape[0] // 2
    shown = axis.imshow(np.asarray(found)[middle], origin="lower", cmap="RdBu", vmin=-limit, vmax=limit,
                        extent=(along[0][0], along[0][-1], along[1][0], along[1][-1]))
    figure.colorbar(shown, ax=axis, label="kT/e")
    near = abs(protein.positions[:, 2] - along[2][middle]) < 1
    axis.plot(*protein.positions[near, :2].T, "k.", markersize=2)
    for charge, colour in ((1, "blue"), (-1, "red")):
        axis.plot(*ions.positions[ions.charges == charge, :2].T, "o", color=colour, markersize=7, markeredgecolor="white",
                  label="Na+" if charge == 1 else "Cl-")
    axis.set(title=f"{name}, z = {along[2][middle]:.0f}", xlabel="x, angstrom", ylabel="y, angstrom")
axes[0].legend()
figure.tight_layout()
distances = np.linalg.norm(ions.positions[:, None] - protein.positions[None], axis=2).min(1)
assert distances.min() >= 5 - 1e-3 and water.energy < 0
