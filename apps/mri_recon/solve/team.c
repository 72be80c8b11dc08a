/* Teams of devices, and their shares of the coil maps. */
#include "team.h"
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "voxfield/workpool.h"

vf_status team_create(vf_context *ctx, int first, int count, device_team *out)
{
    *out =
        (device_team){.ctx = ctx, .first = first, .count = count, .queue = calloc((size_t)count, sizeof *out->queue)};
    vf_status status = out->queue ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < count && status == VF_OK; d++)
        status = vf_queue_create(vf_context_device(ctx, first + d), &out->queue[d]);
    return status;
}

void team_free(device_team *t)
{
    for (int d = 0; t->queue && d < t->count; d++)
        vf_queue_destroy(t->queue[d]);
    free(t->queue);
    *t = (device_team){0};
}

typedef struct team_work {
    vf_status (*work)(void *user, int part);
    void *user;
} team_work;

/* The item number is the part number. There are as many workers as parts, but any worker may take any part. */
static vf_status produce(void *user, int worker, int slot, int64_t item)
{
    const team_work *w = user;
    (void)worker;
    (void)slot;
    return w->work(w->user, (int)item);
}

static vf_status consume(void *user, int slot, int64_t item)
{
    (void)user;
    (void)slot;
    (void)item;
    return VF_OK;
}

vf_status team_run(const device_team *t, int parts, vf_status (*work)(void *user, int part), void *user)
{
    team_work w = {work, user};
    const vf_workpool pool = {
        .items = parts, .workers = parts, .slots = parts, .user = &w, .produce = produce, .consume = consume};
    return parts == 1 ? work(user, 0) : vf_workpool_run(t->ctx, &pool);
}

int64_t team_cut(int64_t n, int64_t step, int parts, int part)
{
    const int64_t steps = (n + step - 1) / step, at = steps * part / parts * step;
    return at < n ? at : n;
}

/* ---- coil maps ---- */

static vf_status make_room(const device_team *t, int parts, const team_share *shares, vf_dtype type, int sets,
                           device_maps *m)
{
    m->share = malloc((size_t)parts * sizeof *m->share);
    m->array = calloc((size_t)parts, sizeof *m->array);
    if (!m->share || !m->array)
        return vf_fail(t->ctx, VF_ERR_MEMORY, "no memory");
    memcpy(m->share, shares, (size_t)parts * sizeof *shares);
    m->parts = parts;
    m->sets = sets;
    m->place = -1;
    vf_status status = VF_OK;
    for (int d = 0; d < parts && status == VF_OK; d++)
        status = vf_array_create(vf_queue_device(t->queue[d]), VF_SPACE_DEVICE, type,
                                 sets * shares[d].coils * shares[d].voxels, &m->array[d]);
    return status;
}

typedef struct putting {
    const device_team *team;
    device_maps *to;
    const host_maps *from;
} putting;

static vf_status put_share(void *user, int part)
{
    const putting *p = user;
    const team_share *s = &p->to->share[part];
    const host_maps *maps = p->from;
    vf_status status = VF_OK;
    for (int64_t i = 0; i < maps->sets * s->coils && status == VF_OK; i++) {
        const int64_t coil = i / s->coils * maps->coils + s->first_coil + i % s->coils;
        status = upload_at(p->team->queue[part], maps->data + coil * maps->voxels + s->first_voxel, s->voxels,
                           &p->to->array[part], i * s->voxels);
    }
    return status;
}

vf_status device_maps_put(const device_team *t, int parts, const team_share *shares, vf_dtype type,
                          const host_maps *maps, device_maps *out)
{
    putting p = {t, out, maps};
    vf_status status = VF_OK;
    if (out->parts != parts || out->sets != maps->sets ||
        memcmp(out->share, shares, (size_t)parts * sizeof *shares) != 0) {
        device_maps_free(out);
        status = make_room(t, parts, shares, type, maps->sets, out);
    }
    if (status != VF_OK || out->place == maps->place)
        return status;
    out->place = -1;
    out->filled++;
    status = team_run(t, parts, put_share, &p);
    if (status == VF_OK)
        out->place = maps->place;
    return status;
}

void device_maps_free(device_maps *m)
{
    for (int d = 0; m->array && d < m->parts; d++)
        vf_array_free(&m->array[d]);
    free(m->array);
    free(m->share);
    *m = (device_maps){.filled = m->filled};
}
