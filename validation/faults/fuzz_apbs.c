/* Feeds arbitrary bytes to the reader of APBS's input files. One that is read has numbers in range and complete sections, and reads
 * the same after it is written in a plain form. A rejected one leaves an error message and no memory. Like fuzz_pqr.c, a fuzzer
 * with libFuzzer, otherwise a program that runs files. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apbs/apbs_input.h"
#include "fuzz_replay.h"
#include "voxfield/append.h"

static void require_sound(const apbs_input *in)
{
    REQUIRE(in->molecules > 0 && in->elecs > 0);
    for (int64_t n = 0; n < in->molecules; n++)
        REQUIRE(in->path[n] && *in->path[n]);
    for (int64_t n = 0; n < in->elecs; n++) {
        const apbs_elec *e = &in->elec[n];
        REQUIRE(e->line > 0 && (!e->name || *e->name) && e->molecule >= 0 && e->molecule < in->molecules);
        REQUIRE(!e->centre.on_molecule || e->centre.molecule < in->molecules);
        REQUIRE(!e->coarse_centre.on_molecule || e->coarse_centre.molecule < in->molecules);
        for (int a = 0; a < 3; a++)
            REQUIRE(e->counts[a] >= 3 && e->lengths[a] > 0 && e->lengths[a] <= 1e9 && isfinite(e->centre.at[a]) &&
                    (!e->automatic || (e->coarse_lengths[a] > 0 && e->coarse_lengths[a] <= 1e5)));
        REQUIRE(e->molecule_dielectric >= 1 && e->solvent_dielectric >= 1 && e->probe >= 0 && e->temperature > 0);
        REQUIRE(apbs_ionic_strength(e) >= 0 && apbs_ion_radius(e) >= 0 && apbs_ion_radius(e) <= 100);
        for (int64_t w = 0; w < e->writes; w++)
            REQUIRE(e->write[w].stem && *e->write[w].stem);
    }
    for (int64_t n = 0; n < in->prints; n++) {
        REQUIRE(in->print[n].terms > 0);
        for (int64_t t = 0; t < in->print[n].terms; t++)
            REQUIRE(in->print[n].term[t].elec >= 0 && in->print[n].term[t].elec < in->elecs);
    }
}

enum { MOST = 1 << 20 };
static char plain[MOST];
#define WRITE(...) (void)vf_append(plain, sizeof plain, __VA_ARGS__)

static void write_centre(const char *word, const apbs_centre *c)
{
    if (c->on_molecule)
        WRITE("%s mol %lld\n", word, (long long)c->molecule + 1);
    else
        WRITE("%s %.17g %.17g %.17g\n", word, c->at[0], c->at[1], c->at[2]);
}

static void write_elec(const apbs_elec *e)
{
    WRITE("ELEC ");
    if (e->name)
        WRITE("name \"%s\"\n", e->name);
    WRITE("%s\ndime %lld %lld %lld\n", e->automatic ? "mg-auto" : "mg-manual", (long long)e->counts[0],
          (long long)e->counts[1], (long long)e->counts[2]);
    WRITE("%s %.17g %.17g %.17g\n", e->automatic ? "fglen" : "glen", e->lengths[0], e->lengths[1], e->lengths[2]);
    write_centre(e->automatic ? "fgcent" : "gcent", &e->centre);
    if (e->automatic) {
        WRITE("cglen %.17g %.17g %.17g\n", e->coarse_lengths[0], e->coarse_lengths[1], e->coarse_lengths[2]);
        write_centre("cgcent", &e->coarse_centre);
    }
    WRITE("%s mol %lld pdie %.17g sdie %.17g srfm %s srad %.17g temp %.17g calcenergy %d\n",
          e->non_linear ? "npbe" : "lpbe", (long long)e->molecule + 1, e->molecule_dielectric, e->solvent_dielectric,
          e->smooth ? "smol" : "mol", e->probe, e->temperature, e->energies);
    for (int64_t n = 0; n < e->ions; n++)
        WRITE("ion charge %.17g conc %.17g radius %.17g\n", e->ion[n].charge, e->ion[n].concentration,
              e->ion[n].radius);
    for (int64_t n = 0; n < e->writes; n++)
        WRITE("write pot %s \"%s\"\n", e->write[n].gzip ? "gz" : "dx", e->write[n].stem);
    WRITE("end\n");
}

/* A name in quotes cannot have quotes; one that is a number may be that of a later section. */
static bool can_be_written(const apbs_input *in)
{
    bool can = true;
    for (int64_t n = 0; n < in->molecules; n++)
        can &= !strchr(in->path[n], '"');
    for (int64_t n = 0; n < in->elecs; n++) {
        const apbs_elec *e = &in->elec[n];
        can &= !e->name || (!strchr(e->name, '"') && strspn(e->name, "0123456789") < strlen(e->name));
        for (int64_t w = 0; w < e->writes; w++)
            can &= !strchr(e->write[w].stem, '"');
    }
    return can;
}

/* 17 digits preserve every double. */
static void require_round_trip(vf_context *ctx, const apbs_input *in)
{
    apbs_input again;
    if (!can_be_written(in))
        return;
    plain[0] = '\0';
    WRITE("READ\n");
    for (int64_t n = 0; n < in->molecules; n++)
        WRITE("mol pqr \"%s\"\n", in->path[n]);
    WRITE("END\n");
    for (int64_t n = 0; n < in->elecs; n++)
        write_elec(&in->elec[n]);
    for (int64_t n = 0; n < in->prints; n++) {
        WRITE("PRINT elecEnergy ");
        for (int64_t t = 0; t < in->print[n].terms; t++) {
            const int64_t elec = in->print[n].term[t].elec;
            const char *sign = t == 0 ? "" : in->print[n].term[t].minus ? " - " : " + ";
            if (in->elec[elec].name)
                WRITE("%s\"%s\"", sign, in->elec[elec].name);
            else
                WRITE("%s%lld", sign, (long long)elec + 1);
        }
        WRITE(" end\n");
    }
    const size_t used = strlen(plain);
    if (used + 1 >= MOST)
        return;
    REQUIRE(parse_apbs_input(ctx, "plain.in", plain, used, &again) == VF_OK);
    REQUIRE(again.molecules == in->molecules && again.elecs == in->elecs && again.prints == in->prints);
    for (int64_t n = 0; n < in->elecs; n++) {
        const apbs_elec *a = &in->elec[n], *b = &again.elec[n];
        REQUIRE(a->molecule == b->molecule && a->automatic == b->automatic && a->non_linear == b->non_linear &&
                a->probe == b->probe && a->smooth == b->smooth && a->temperature == b->temperature &&
                a->energies == b->energies);
        REQUIRE(memcmp(a->counts, b->counts, sizeof a->counts) == 0 &&
                memcmp(a->lengths, b->lengths, sizeof a->lengths) == 0 && a->ions == b->ions && a->writes == b->writes);
        REQUIRE(apbs_ionic_strength(a) == apbs_ionic_strength(b) && apbs_ion_radius(a) == apbs_ion_radius(b));
    }
    for (int64_t n = 0; n < in->prints; n++)
        for (int64_t t = 0; t < in->print[n].terms; t++)
            REQUIRE(again.print[n].term[t].elec == in->print[n].term[t].elec &&
                    again.print[n].term[t].minus == in->print[n].term[t].minus);
    apbs_input_free(&again);
}

static void check_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    REQUIRE(strncmp(text, "fuzz.in:", 8) == 0 || strncmp(text, "plain.in:", 9) == 0);
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~'); /* no control characters for a terminal */
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    vf_context *ctx;
    apbs_input in;
    memset(&in, 0x5a, sizeof in);
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_log, NULL);
    char *text = exact_copy(data, size);
    const vf_status status = parse_apbs_input(ctx, "fuzz.in", text, size, &in);
    free(text);
    if (status == VF_OK) {
        require_sound(&in);
        require_round_trip(ctx, &in);
    } else {
        REQUIRE((status == VF_ERR_INPUT || status == VF_ERR_UNSUPPORTED) && !in.path && !in.elec && !in.print);
        check_log(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    apbs_input_free(&in);
    vf_context_destroy(ctx);
    return status;
}
