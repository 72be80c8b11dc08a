# %% [markdown]
# # An image from a radial scan
#
# We make a scan of a phantom whose image is known: 64 golden-angle spokes, 6 coils, noise. Then we make images of it in three ways:
# by the adjoint alone, by least squares, and by `voxfield.reconstruct`, which chooses everything itself.

# %%
import matplotlib.pyplot as plt
import numpy as np
import voxfield

N, SPOKES, COILS = 128, 64, 6
rng = np.random.default_rng(1)

# %% [markdown]
# The phantom: ellipses of Shepp and Logan's kind, (value, centre x, y, half axes, angle), in half fields of view. Arrays are `[y, x]`.

# %%
y, x = (np.mgrid[:N, :N] - N // 2) / (N / 2)
phantom = np.zeros((N, N))
for value, x0, y0, a, b, angle in [(1, 0, 0, 0.69, 0.92, 0), (-0.7, 0, 0, 0.64, 0.87, 0), (-0.2, 0.22, 0, 0.11, 0.31, -18),
                                   (-0.2, -0.22, 0, 0.16, 0.41, 18), (0.3, 0, -0.35, 0.21, 0.25, 0), (0.3, 0, 0.1, 0.05, 0.05, 0)]:
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    u, v = (x - x0) * c + (y - y0) * s, (y - y0) * c - (x - x0) * s
    phantom[(u / a) ** 2 + (v / b) ** 2 < 1] += value

# %% [markdown]
# Coils around the head, and the trajectory in cycles per field of view. The columns of points are kx, ky.

# %%
turn = 2 * np.pi * np.arange(COILS)[:, None, None] / COILS
maps = np.exp(-((x - 1.2 * np.cos(turn)) ** 2 + (y - 1.2 * np.sin(turn)) ** 2) / 2 + 1j * turn)
maps /= np.sqrt((abs(maps) ** 2).sum(0))
angle = np.pi * (np.sqrt(5) - 1) / 2 * np.arange(SPOKES)[:, None]
r = np.arange(-N / 2, N / 2, 0.5)
k = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).reshape(-1, 2)

# %% [markdown]
# The scan. `A` is the encoding of a scan as a linear map, from an image to the samples of each coil.

# %%
A = voxfield.ImagingOperator(k, maps)
samples = A(phantom.astype(np.complex64))
noise = 0.01 * abs(samples).max() / 20
samples += (noise * (rng.standard_normal(samples.shape) + 1j * rng.standard_normal(samples.shape))).astype(np.complex64)

# %% [markdown]
# Three images. The adjoint needs weights: the area of k-space that a sample of a spoke stands for, |k| times its distances, over the
# number of voxels.

# %%
density = np.maximum(np.hypot(*k.T), 0.25) * (np.pi / SPOKES) * 0.5 / N ** 2
adjoint = voxfield.nufft1(k, density * samples, (N, N))
adjoint = (maps.conj() * adjoint).sum(0)
least_squares = A.solve(samples, lam=1e-3)
chosen = voxfield.reconstruct(samples, k, maps, shape=(N, N))
print(f"{least_squares.iterations} iterations; reconstruct: {chosen.report['device']}")

# %%
images = {"phantom": phantom, "adjoint, weights |k|": adjoint, "least squares": least_squares.image, "reconstruct": chosen.image}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.9))
errors = {}
for axis, (name, image) in zip(axes, images.items()):
    size = abs(image)
    errors[name] = np.linalg.norm(size - phantom) / np.linalg.norm(phantom)
    axis.imshow(size, cmap="gray", vmin=0, vmax=0.6)
    axis.set_title(f"{name}\nerror {100 * errors[name]:.1f} %" if errors[name] else name, fontsize=10)
    axis.axis("off")
figure.tight_layout()
assert errors["reconstruct"] < errors["least squares"] < errors["adjoint, weights |k|"], errors
