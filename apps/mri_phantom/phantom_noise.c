/* Random numbers and noise. Serial on purpose: the same seed gives the same numbers with any number of threads. */
#include <math.h>
#include <stdlib.h>

#include "mri_phantom.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

phantom_random random_start(uint64_t seed, uint64_t stream)
{
    phantom_random random;
    uint64_t state = splitmix(&seed) ^ stream * UINT64_C(0xd1342543de82ef95);
    for (int n = 0; n < 4; n++)
        random.state[n] = splitmix(&state);
    return random;
}

static uint64_t next(phantom_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double random_uniform(phantom_random *random)
{
    return (double)(next(random) >> 11) * 0x1p-53;
}

double complex random_normal(phantom_random *random)
{
    double size = sqrt(-log(1 - random_uniform(random))); /* |z|^2 is exponential with mean 1 */
    double angle = 2 * M_PI * random_uniform(random);
    return complex_of(size * cos(angle), size * sin(angle));
}

double complex_rms(const float complex *data, int64_t count)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        double re = crealf(data[n]), im = cimagf(data[n]);
        sum += re * re + im * im;
    }
    return count > 0 ? sqrt(sum / (double)count) : 0;
}

/* n_c = sigma (sqrt(1 - correlation) own_c + sqrt(correlation) common). */
vf_status phantom_noise(vf_context *ctx, double sigma, double correlation, uint64_t seed, uint64_t stream,
                        int64_t coils, int64_t samples, float complex *data)
{
    double own = sigma * sqrt(1 - correlation), shared = sigma * sqrt(correlation);
    float complex *common = calloc((size_t)samples + 1, sizeof *common);
    if (!common)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the noise");
    phantom_random random = random_start(seed, stream);
    if (correlation > 0)
        for (int64_t m = 0; m < samples; m++)
            common[m] = (float complex)random_normal(&random);
    for (int64_t n = 0; n < coils * samples; n++) {
        double complex noise = own * random_normal(&random) + shared * common[n % samples];
        data[n] = (float complex)((double complex)data[n] + noise);
    }
    free(common);
    return VF_OK;
}

/* The mean over the object's voxels of x sqrt(s^H P^-1 s), P = (1 - R) 1 + R 1 1^T: by Sherman and Morrison
 * s^H P^-1 s = (sum |s_c|^2 - R / (1 - R + R C) |sum s_c|^2) / (1 - R). */
static double mean_signal(const phantom_coils *coils, double correlation, int64_t voxels, const float *image,
                          const float complex *maps)
{
    double largest = 0, sum = 0, count = 0, coil_count = (double)coils->coils;
    for (int64_t n = 0; n < voxels; n++)
        largest = fmax(largest, (double)image[n]);
    for (int64_t n = 0; n < voxels; n++) {
        double squares = 0;
        double complex total = 0;
        if (!((double)image[n] > 0.1 * largest))
            continue;
        for (int64_t c = 0; c < coils->coils; c++) {
            double complex s = maps[c * voxels + n];
            squares += creal(s) * creal(s) + cimag(s) * cimag(s);
            total += s;
        }
        squares -= correlation / (1 - correlation + correlation * coil_count) * creal(total * conj(total));
        sum += (double)image[n] * sqrt(fmax(squares, 0) / (1 - correlation));
        count++;
    }
    return count > 0 ? sum / count : 0;
}

vf_status phantom_image_sigma(vf_context *ctx, const phantom *object, const phantom_coils *coils, double correlation,
                              const int64_t matrix[3], double snr, double *sigma)
{
    int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    float *image = calloc((size_t)voxels, sizeof *image);
    float complex *maps = calloc((size_t)(voxels * coils->coils), sizeof *maps);
    vf_status status =
        image && maps ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the image of --image-snr");
    VF_TRY(status, phantom_voxels(ctx, object, matrix, image));
    if (status == VF_OK) {
        coils_voxels(ctx, coils, matrix, maps);
        *sigma = sqrt(2 * (double)voxels) * mean_signal(coils, correlation, voxels, image, maps) / snr;
    }
    free(image);
    free(maps);
    return status;
}
