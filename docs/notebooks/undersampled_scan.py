# %% [markdown]
# # An undersampled Cartesian scan, with a map of the noise
#
# k-space of a quarter of the lines, from an array in memory, as of a scanner's export: `(coils, ky, kx)`, zeros where nothing was
# acquired. `voxfield.reconstruct` estimates coil maps and noise, chooses the prior and its strength, and says how noisy each voxel is.

# %%
import matplotlib.pyplot as plt
import numpy as np
import voxfield

N, COILS = 128, 8
rng = np.random.default_rng(2)

# %% [markdown]
# A slice through a head, roughly: skull, brain, ventricles, and fine structure.

# %%
y, x = (np.mgrid[:N, :N] - N // 2) / (N / 2)
head = 1.0 * ((x / 0.72) ** 2 + (y / 0.88) ** 2 < 1) - 0.5 * ((x / 0.66) ** 2 + (y / 0.82) ** 2 < 1)
for side in (-1, 1):
    head -= 0.3 * (((x - 0.16 * side) / 0.09) ** 2 + (y / 0.3) ** 2 < 1)
head += 0.08 * np.sin(40 * x) * ((x / 0.5) ** 2 + ((y - 0.45) / 0.2) ** 2 < 1)
turn = 2 * np.pi * np.arange(COILS)[:, None, None] / COILS
coils = np.exp(-((x - np.cos(turn)) ** 2 + (y - np.sin(turn)) ** 2) + 1j * (turn + x * np.cos(turn)))

# %% [markdown]
# The scan: every third line, and 20 lines at the centre for coil maps. `noise_only` are samples without signal, which scanners acquire.

# %%
def to_kspace(images):
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(images, axes=(-2, -1))), axes=(-2, -1))


full = to_kspace(coils * head)
sigma = 0.4
full += sigma * (rng.standard_normal(full.shape) + 1j * rng.standard_normal(full.shape)) / np.sqrt(2) * np.sqrt(N)
lines = (np.arange(N) % 3 == 1) | (abs(np.arange(N) - N // 2) < 10)
kspace = np.where(lines[:, None], full, 0)
noise_only = sigma * np.sqrt(N / 2) * (rng.standard_normal((COILS, 4000)) + 1j * rng.standard_normal((COILS, 4000)))
print(f"{lines.sum()} of {N} lines")

# %%
found = voxfield.reconstruct(kspace, noise=noise_only, noise_map=True, return_maps=True, fov_mm=(220, 220, 5))
found

# %% [markdown]
# The sum of squares of what was acquired folds; the reconstruction does not. The noise map is the standard deviation of each voxel.

# %%
folded = np.sqrt((abs(np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(kspace, axes=(-2, -1))), axes=(-2, -1))) ** 2).sum(0))
figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.3))
for axis, (name, image, colours) in zip(axes, [("sum of squares", folded, "gray"), ("reconstruct", abs(found.image), "gray"),
                                               ("its noise", found.noise, "magma"), ("a coil's map", abs(found.maps[0]), "viridis")]):
    shown = axis.imshow(image, cmap=colours, vmin=0)
    figure.colorbar(shown, ax=axis, fraction=0.046)
    axis.set_title(name, fontsize=10)
    axis.axis("off")
figure.tight_layout()
truth = abs(head) * np.sqrt((abs(coils) ** 2).sum(0))


def error(image):  # up to a factor: with samples of noise, coils are scaled to noise of 1
    return np.linalg.norm(image * (image * truth).sum() / (image ** 2).sum() - truth) / np.linalg.norm(truth)


print(f"error {100 * error(abs(found.image)):.1f} %, folded {100 * error(folded):.1f} %")
assert error(abs(found.image)) < 0.5 * error(folded) and np.isfinite(found.noise).all()
