/* Launch shapes of GPU steps of the Fourier sum: a lookup, and a function for the tuning program to set another. */
#include "fourier_sum_tuning.h"

vf_fourier_tuning vf_fourier_find_tuning(const int capability[2], vf_fourier_tuned_step step, vf_trig trig)
{
    const vf_fourier_tuning_row *found = &vf_fourier_tunings[0];
    for (size_t i = 1; i < sizeof vf_fourier_tunings / sizeof *vf_fourier_tunings; i++)
        if (vf_fourier_tunings[i].capability[0] == capability[0] &&
            vf_fourier_tunings[i].capability[1] == capability[1])
            found = &vf_fourier_tunings[i];
    return found->shapes[step][trig];
}

bool vf_fourier_tuning_valid(const vf_fourier_tuning *t, int most_chunk)
{
    return t->threads >= VF_FOURIER_LEAST_THREADS && t->threads <= VF_FOURIER_MOST_THREADS &&
           t->threads % VF_FOURIER_THREAD_STEP == 0 && t->chunk >= VF_FOURIER_LEAST_CHUNK && t->chunk <= most_chunk &&
           t->unroll >= 1 && t->unroll <= VF_FOURIER_MOST_UNROLL && (t->unroll & (t->unroll - 1)) == 0;
}

bool vf_fourier_tuning_combination(int number, int most_chunk, vf_fourier_tuning *shape)
{
    for (int threads = VF_FOURIER_LEAST_THREADS; threads <= VF_FOURIER_MOST_THREADS; threads *= 2)
        for (int unroll = 1; unroll <= VF_FOURIER_MOST_UNROLL; unroll *= 2)
            for (int chunk = VF_FOURIER_LEAST_CHUNK, last = 0; !last; chunk *= 2) {
                last = chunk >= most_chunk;
                if (number-- > 0)
                    continue;
                *shape = (vf_fourier_tuning){threads, last ? most_chunk : chunk, unroll};
                return true;
            }
    return false;
}

vf_fourier_tuning vf_fourier_usual_tuning(int most_chunk)
{
    return (vf_fourier_tuning){256, most_chunk < 4096 ? most_chunk : 4096, 1};
}

vf_status vf_fourier_set_tuning(vf_fourier *plan, const vf_fourier_tuning *t)
{
    vf_context *ctx = vf_device_context(plan->device);
    if (plan->most_chunk == 0)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED, "Fourier sum: variant '%s' on %s has nothing to tune", plan->variant,
                       vf_device_spec(plan->device));
    if (!vf_fourier_tuning_valid(t, plan->most_chunk))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "Fourier sum: %d threads, chunks of %d, unrolling %d: threads must be a multiple of %d from %d "
                       "to %d, chunks %d to %d, unrolling a power of two up to %d",
                       t->threads, t->chunk, t->unroll, VF_FOURIER_THREAD_STEP, VF_FOURIER_LEAST_THREADS,
                       VF_FOURIER_MOST_THREADS, VF_FOURIER_LEAST_CHUNK, plan->most_chunk, VF_FOURIER_MOST_UNROLL);
    plan->tuning = *t;
    return VF_OK;
}
