/* Feeds arbitrary bytes to the reader of scripts. A script that is read has settings in range and complete commands,
 * and reads the same after it is written in a plain form. A rejected one leaves an error message and no memory. Like
 * fuzz_pqr.c, a fuzzer with libFuzzer, otherwise a program that runs files. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_replay.h"
#include "ions/script.h"
#include "voxfield/append.h"

static void require_sound(const script *s)
{
    bool placed = false;
    int64_t line = 0;
    REQUIRE(s->ion_solute >= 0 && s->ion_solute <= 1e5 && s->ion_ion >= 0 && s->ion_ion <= 1e5);
    REQUIRE(s->border >= 0 && s->border <= 1e5 && (s->has_spacing ? s->spacing >= 1e-3 : s->spacing == 0));
    for (int a = 0; a < 3; a++)
        REQUIRE(s->box_lo[a] >= -1e5 && s->box_lo[a] <= s->box_hi[a] && s->box_hi[a] <= 1e5);
    for (int64_t i = 0; i < s->commands; i++) {
        const script_command *c = &s->command[i];
        REQUIRE(c->line > line);
        line = c->line;
        REQUIRE((c->path == NULL) == (c->verb == SCRIPT_PLACEION) && (!c->path || *c->path));
        if (c->verb == SCRIPT_PLACEION) {
            REQUIRE(c->request.count >= 0 && c->request.count <= ION_MOST && !ion_name_trouble(c->request.kind.name));
            REQUIRE(isfinite(c->request.kind.charge) && c->request.kind.charge != 0);
            placed = true;
        }
        REQUIRE(c->verb != SCRIPT_SAVEION || placed);
    }
}

/* 17 digits preserve every double. */
static void require_round_trip(vf_context *ctx, const script *s)
{
    enum { MOST = 1 << 16 };
    static char text[MOST];
    size_t used = 0;
    script again;
    text[0] = '\0';
#define WRITE(...) used = vf_append(text, sizeof text, __VA_ARGS__)
    if (s->has_box)
        WRITE("XYZDIM %.17g %.17g %.17g %.17g %.17g %.17g\n", s->box_lo[0], s->box_lo[1], s->box_lo[2], s->box_hi[0],
              s->box_hi[1], s->box_hi[2]);
    if (s->has_distance_dielectric)
        WRITE("DDD %.17g\n", s->distance_dielectric);
    WRITE("BEGIN\n");
    for (int64_t i = 0; i < s->commands; i++) {
        const script_command *c = &s->command[i];
        if (used + 256 + (c->path ? strlen(c->path) : 0) > MOST)
            return;
        if (c->verb == SCRIPT_PLACEION)
            WRITE("PLACEION %s %lld %.17g\n", c->request.kind.name, (long long)c->request.count,
                  c->request.kind.charge);
        else
            WRITE("%s %s\n", c->verb == SCRIPT_SAVEION ? "SAVEION" : "SAVEGRID", c->path);
    }
#undef WRITE
    REQUIRE(parse_script(ctx, "plain.cfg", text, used, &again) == VF_OK);
    REQUIRE(again.commands == s->commands && again.has_box == s->has_box);
    REQUIRE(memcmp(again.box_lo, s->box_lo, sizeof s->box_lo) == 0 &&
            memcmp(again.box_hi, s->box_hi, sizeof s->box_hi) == 0 &&
            again.distance_dielectric == s->distance_dielectric);
    for (int64_t i = 0; i < s->commands; i++) {
        const script_command *a = &s->command[i], *b = &again.command[i];
        REQUIRE(a->verb == b->verb && (!a->path || strcmp(a->path, b->path) == 0));
        REQUIRE(strcmp(a->request.kind.name, b->request.kind.name) == 0 && a->request.count == b->request.count &&
                a->request.kind.charge == b->request.kind.charge);
    }
    script_free(&again);
}

static void check_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    REQUIRE(strncmp(text, "fuzz.cfg:", 9) == 0 || strncmp(text, "plain.cfg:", 10) == 0);
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~'); /* no control characters for a terminal */
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    vf_context *ctx;
    script s;
    memset(&s, 0x5a, sizeof s);
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_log, NULL);
    char *text = exact_copy(data, size);
    vf_status status = parse_script(ctx, "fuzz.cfg", text, size, &s);
    free(text);
    if (status == VF_OK) {
        require_sound(&s);
        require_round_trip(ctx, &s);
    } else {
        REQUIRE(status == VF_ERR_INPUT && s.commands == 0 && !s.command && !s.grid_file);
        check_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    script_free(&s);
    vf_context_destroy(ctx);
    return status;
}
