/* cionize: options, and nothing else. The work is cionize_run's. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ions/ions.h"
#include "maps/map_format.h"
#include "program.h"
#include "voxfield/output.h"

static const char usage[] =
    "cionize - the electrostatic potential of a molecule on a grid, and ions at its minima\n"
    "\n"
    "usage: cionize [options] molecule.pqr\n"
    "       cionize [options] --charges FILE molecule.pdb\n"
    "       cionize [options] --script FILE.cfg molecule.pqr\n"
    "\n"
    "Input\n"
    "  --charges FILE           the charges of a molecule whose own file has none: a PSF or AMBER\n"
    "                           prmtop; the molecule's file is then a PDB or AMBER inpcrd\n"
    "  --trajectory FILE.dcd    the map is the mean over the frames of a trajectory\n"
    "  --frames FIRST:LAST:STEP which frames, from 1 (all)\n"
    "  --read-map FILE          place ions on this map (.dx, .dx.gz, .h5) instead of computing one\n"
    "  -i, --script FILE        a script of VMD's cionize; -: from standard input\n"
    "\n"
    "Output\n"
    "  -o, --output FILE        a map: .dx, .dx.gz, .mrc, .ccp4, .cube, .h5; or the molecule and its\n"
    "                           ions: .pdb, .pqr, .xyz (default: molecule.dx, or, with ions,\n"
    "                           molecule_ionized.pdb, beside the input)\n"
    "  --map FILE               the map, beside the ions' files\n"
    "  --map-with-ions          that map is of the molecule and the ions\n"
    "  --deviation FILE         a map of the standard deviation over the frames\n"
    "  --ions FILE              the ions alone: .pdb, .pqr, .xyz\n"
    "  --mask FILE              a map of what excludes ions: 0 nothing, 1 the molecule, 2 an ion\n"
    "  --picture FILE.png       slices through the middle of the map\n"
    "  --report FILE.json       what was done, how long it took, and the figures of map and ions\n"
    "\n"
    "Ions\n"
    "  --place NAME:N[:CHARGE]  N ions, each where its energy is least; may be given several times\n"
    "  --neutralize NAME[,NAME] as many as make the total charge zero, of the one of the right sign\n"
    "  --concentration C        salt of C mol/L in the solvent's volume, and a total charge of zero\n"
    "  --salt CATION,ANION      which salt that is (SOD,CLA)\n"
    "  --ion-solute D           least distance from the centres of atoms (6)\n"
    "  --from-surface           that distance is from the atoms' surfaces: radii are added\n"
    "  --ion-ion D              least distance of ions from each other (10)\n"
    "  --order O                given (default), alternate, largest (charges first)\n"
    "  --refine                 move each ion off the grid to the least energy\n"
    "\n"
    "Grid (angstrom; one number means it for x, y and z)\n"
    "  --spacing H or HX,HY,HZ  distance of grid points (0.5)\n"
    "  --border B               room around the molecule on all sides (10)\n"
    "  --origin X,Y,Z           position of the first point\n"
    "  --size X,Y,Z             edge lengths of the grid      | in place of --border; around the\n"
    "  --counts NX,NY,NZ        numbers of points             | molecule's middle, or from --origin\n"
    "\n"
    "Physics\n"
    "  --units U                kT/e (default), V, kcal/mol/e or e/A\n"
    "  --temperature K          of kT/e (298.15)\n"
    "  --dielectric D           relative permittivity (1)\n"
    "  --distance-dielectric C  permittivity C r: V = sum q / (C r^2)\n"
    "  --r-min R                distances below R count as R (0.1)\n"
    "\n"
    "Computation\n"
    "  --device D               auto (default), cpu, cuda, cuda:0,1; cpu:0,1 makes several\n"
    "                           devices of the CPU, which is for tests\n"
    "  --threads N              CPU threads (default: one per core)\n"
    "  --precision P            single (default) or double\n"
    "  --method M               auto (default) or direct; direct:V also says which variant V:\n"
    "                           on the CPU simd, avx512, avx2, baseline, ref;\n"
    "                           on GPUs tuned, roots, const1, const4, const8\n"
    "  --dry-run                say what would be done, how long it would take, and stop\n"
    "\n"
    "  -q, --quiet              only warnings and errors\n"
    "  --progress               a progress line even where stderr is no terminal\n"
    "  -h, --help               this text\n"
    "  --version                the version\n"
    "\n"
    "Exit status: 0 done, 2 options, 3 input, 4 output, 5 memory, 6 device, 7 device memory,\n"
    "8 not supported, 9 not all ions fitted, 130 interrupted. The manual page cionize(1) says more.\n";

enum {
    OPT_CHARGES = 256,
    OPT_MAP,
    OPT_MAP_WITH_IONS,
    OPT_DEVIATION,
    OPT_IONS,
    OPT_MASK,
    OPT_TRAJECTORY,
    OPT_FRAMES,
    OPT_READ_MAP,
    OPT_PLACE,
    OPT_NEUTRALIZE,
    OPT_CONCENTRATION,
    OPT_SALT,
    OPT_ION_SOLUTE,
    OPT_FROM_SURFACE,
    OPT_ION_ION,
    OPT_ORDER,
    OPT_REFINE,
    OPT_PICTURE,
    OPT_REPORT,
    OPT_SPACING,
    OPT_BORDER,
    OPT_ORIGIN,
    OPT_SIZE,
    OPT_COUNTS,
    OPT_UNITS,
    OPT_TEMPERATURE,
    OPT_DIELECTRIC,
    OPT_DISTANCE_DIELECTRIC,
    OPT_R_MIN,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_PRECISION,
    OPT_METHOD,
    OPT_DRY_RUN,
    OPT_PROGRESS,
    OPT_VERSION,
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"charges", required_argument, NULL, OPT_CHARGES},
    {"script", required_argument, NULL, 'i'},
    {"map", required_argument, NULL, OPT_MAP},
    {"map-with-ions", no_argument, NULL, OPT_MAP_WITH_IONS},
    {"deviation", required_argument, NULL, OPT_DEVIATION},
    {"ions", required_argument, NULL, OPT_IONS},
    {"mask", required_argument, NULL, OPT_MASK},
    {"trajectory", required_argument, NULL, OPT_TRAJECTORY},
    {"frames", required_argument, NULL, OPT_FRAMES},
    {"read-map", required_argument, NULL, OPT_READ_MAP},
    {"place", required_argument, NULL, OPT_PLACE},
    {"neutralize", required_argument, NULL, OPT_NEUTRALIZE},
    {"concentration", required_argument, NULL, OPT_CONCENTRATION},
    {"salt", required_argument, NULL, OPT_SALT},
    {"ion-solute", required_argument, NULL, OPT_ION_SOLUTE},
    {"from-surface", no_argument, NULL, OPT_FROM_SURFACE},
    {"ion-ion", required_argument, NULL, OPT_ION_ION},
    {"order", required_argument, NULL, OPT_ORDER},
    {"refine", no_argument, NULL, OPT_REFINE},
    {"picture", required_argument, NULL, OPT_PICTURE},
    {"report", required_argument, NULL, OPT_REPORT},
    {"spacing", required_argument, NULL, OPT_SPACING},
    {"border", required_argument, NULL, OPT_BORDER},
    {"origin", required_argument, NULL, OPT_ORIGIN},
    {"size", required_argument, NULL, OPT_SIZE},
    {"counts", required_argument, NULL, OPT_COUNTS},
    {"units", required_argument, NULL, OPT_UNITS},
    {"temperature", required_argument, NULL, OPT_TEMPERATURE},
    {"dielectric", required_argument, NULL, OPT_DIELECTRIC},
    {"distance-dielectric", required_argument, NULL, OPT_DISTANCE_DIELECTRIC},
    {"r-min", required_argument, NULL, OPT_R_MIN},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"precision", required_argument, NULL, OPT_PRECISION},
    {"method", required_argument, NULL, OPT_METHOD},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"quiet", no_argument, NULL, 'q'},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {0},
};

/* auto, NAME or NAME:VARIANT; the method itself checks the variant. */
static vf_status method(vf_context *ctx, const char *text, cionize_settings *s)
{
    char name[32];
    const size_t size = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name - 1), text);
    s->variant = text[size] ? text + size + 1 : NULL;
    vf_status status = vf_potential_method_named(ctx, "--method", name, &s->method);
    if (status == VF_OK && !s->method && s->variant)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "--method '%s': a variant needs a method, such as direct:%s", text,
                         s->variant);
    return status;
}

/* What is asked for of ions; the program's only. */
static ion_settings ions = {.ion_solute = 6, .ion_ion = 10};
static bool says_where, says_order; /* options of theirs were given */

/* -o is a map, or the molecule with its ions: the extension says it. */
static vf_status output(vf_context *ctx, const char *text, cionize_settings *s)
{
    const map_format *format;
    if (vf_path_has_extension(text, ".pdb .pqr .xyz")) {
        ions.ionized = text;
        return VF_OK;
    }
    if (map_format_for(ctx, text, &format) == VF_OK) {
        s->map = text;
        return VF_OK;
    }
    vf_context_clear_error(ctx);
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "%s: the name does not say what to write; end it with one of .dx .dx.gz .mrc .ccp4 .map .cube .cub "
                   ".h5 .hdf5 for "
                   "a map, or .pdb .pqr .xyz for the molecule and its ions",
                   text);
}

static vf_status place(vf_context *ctx, const char *text)
{
    ion_request *larger = realloc(ions.request, (size_t)(ions.requests + 1) * sizeof *larger);
    if (!larger)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d kinds of ions", ions.requests + 1);
    ions.request = larger;
    vf_status status = parse_placement(ctx, "place", text, &ions.request[ions.requests]);
    ions.requests += status == VF_OK;
    return status;
}

static vf_status ion_option(vf_context *ctx, int option, const char *text)
{
    static const char *const orders[] = {"given", "alternate", "largest", NULL};
    int order = 0;
    vf_status status = VF_OK;
    says_where |=
        option == OPT_ION_SOLUTE || option == OPT_FROM_SURFACE || option == OPT_ION_ION || option == OPT_REFINE;
    says_order |= option == OPT_ORDER;
    switch (option) {
    case 'i':
        ions.script = text;
        break;
    case OPT_MAP_WITH_IONS:
        ions.map_with_ions = true;
        break;
    case OPT_IONS:
        ions.ions = text;
        break;
    case OPT_MASK:
        ions.mask = text;
        break;
    case OPT_PLACE:
        status = place(ctx, text);
        break;
    case OPT_NEUTRALIZE:
        status = parse_counter_ions(ctx, "neutralize", text, &ions.demand);
        break;
    case OPT_CONCENTRATION:
        ions.demand.has_concentration = true;
        status = program_number(ctx, "concentration", text, 0, ION_MOST_CONCENTRATION, &ions.demand.concentration);
        break;
    case OPT_SALT:
        status = parse_salt(ctx, "salt", text, &ions.demand);
        break;
    case OPT_ION_SOLUTE:
        ions.has_ion_solute = true;
        status = program_number(ctx, "ion-solute", text, 0, 1e4, &ions.ion_solute);
        break;
    case OPT_FROM_SURFACE:
        ions.from_surface = true;
        break;
    case OPT_ION_ION:
        ions.has_ion_ion = true;
        status = program_number(ctx, "ion-ion", text, 0, 1e4, &ions.ion_ion);
        break;
    case OPT_ORDER:
        status = program_word(ctx, "order", text, orders, &order);
        ions.order = (ion_order)order;
        break;
    case OPT_REFINE:
        ions.refine = true;
        break;
    default: /* getopt has said what is wrong */
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "cionize --help lists the options");
    }
    return status;
}

static vf_status one_option(vf_context *ctx, int option, const char *text, cionize_settings *s)
{
    vf_status status = VF_OK;
    switch (option) {
    case 'o':
        status = output(ctx, text, s);
        break;
    case OPT_MAP:
        s->map = text;
        break;
    case OPT_DEVIATION:
        s->deviation = text;
        break;
    case OPT_TRAJECTORY:
        s->trajectory = text;
        break;
    case OPT_FRAMES:
        s->frames = text;
        break;
    case OPT_READ_MAP:
        s->read_map = text;
        break;
    case 'q':
        s->quiet = true;
        break;
    case OPT_CHARGES:
        s->charges = text;
        break;
    case OPT_PICTURE:
        status = program_picture(ctx, text, &s->picture);
        break;
    case OPT_REPORT:
        s->report = text;
        break;
    case OPT_SPACING:
        s->has_spacing = true;
        status = program_triple(ctx, "spacing", text, 1e-3, 1e4, "angstrom", s->spacing);
        break;
    case OPT_BORDER:
        s->has_border = true;
        status = program_number(ctx, "border", text, 0, 1e5, &s->border);
        break;
    case OPT_ORIGIN:
        s->has_origin = true;
        status = program_triple(ctx, "origin", text, -1e5, 1e5, "angstrom", s->origin);
        break;
    case OPT_SIZE:
        s->has_size = true;
        status = program_triple(ctx, "size", text, 0, 1e5, "angstrom", s->size);
        break;
    case OPT_COUNTS:
        s->has_counts = true;
        status = program_counts(ctx, "counts", text, s->counts);
        break;
    case OPT_UNITS:
        s->unit = text;
        if (!(potential_constant(text, 1) > 0))
            status = vf_fail(ctx, VF_ERR_ARGUMENT, "--units '%s': expected one of %s", text, potential_units);
        break;
    case OPT_TEMPERATURE:
        status = program_number(ctx, "temperature", text, 1, 1e5, &s->temperature);
        break;
    case OPT_DIELECTRIC:
        s->has_dielectric = true;
        status = program_number(ctx, "dielectric", text, 1e-3, 1e6, &s->dielectric);
        break;
    case OPT_DISTANCE_DIELECTRIC:
        s->has_dielectric = true;
        s->distance_dielectric = true;
        status = program_number(ctx, "distance-dielectric", text, 1e-3, 1e6, &s->dielectric);
        break;
    case OPT_R_MIN:
        status = program_number(ctx, "r-min", text, 1e-6, 1e3, &s->r_min);
        break;
    case OPT_DEVICE:
        s->device = text;
        break;
    case OPT_THREADS:
        status = program_threads(ctx, text);
        break;
    case OPT_PRECISION:
        s->has_precision = true;
        status = program_precision(ctx, text, &s->precision);
        break;
    case OPT_METHOD:
        status = method(ctx, text, s);
        break;
    case OPT_DRY_RUN:
        s->dry_run = true;
        break;
    case OPT_PROGRESS:
        s->progress = VF_PROGRESS_ON;
        break;
    default:
        status = ion_option(ctx, option, text);
    }
    return status;
}

static vf_status read_options(vf_context *ctx, const program *p, int argc, char **argv, cionize_settings *s)
{
    bool dielectric = false, salt = false, temperature = false;
    const char *map = NULL;
    int option, named_by = 0; /* the map */
    while ((option = getopt_long(argc, argv, "i:o:qh", options, NULL)) != -1) {
        if (option == 'h' || option == OPT_VERSION)
            program_print_and_exit(p, option == 'h');
        dielectric |= option == OPT_DIELECTRIC;
        salt |= option == OPT_SALT;
        temperature |= option == OPT_TEMPERATURE;
        vf_status status = program_value(ctx, argv, options);
        if (status == VF_OK)
            status = one_option(ctx, option, optarg, s);
        if (status != VF_OK)
            return status;
        if (map && s->map != map && option != named_by)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "-o and --map both name the map, %s and %s: give one of them", map,
                           s->map);
        named_by = s->map != map ? option : named_by;
        map = s->map;
    }
    if (salt && !ions.demand.has_concentration)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--salt is for a --concentration");
    if (dielectric && s->distance_dielectric)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--dielectric and --distance-dielectric exclude each other");
    if (ions.demand.has_concentration && ions.demand.counter_kinds > 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--concentration neutralises, too: leave out --neutralize");
    if (s->has_size && s->has_counts)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--size and --counts exclude each other");
    if (s->has_border && (s->has_size || s->has_counts))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--border and %s exclude each other: both say where the grid ends",
                       s->has_size ? "--size" : "--counts");
    if (s->quiet && s->progress == VF_PROGRESS_ON)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--quiet and --progress exclude each other");
    if (temperature && strcmp(s->unit, "kT/e") != 0)
        vf_warn(ctx, "--temperature is that of kT/e, and does nothing in %s", s->unit);
    return program_input(ctx, p, argc, argv, "molecule.pqr", "one molecule", &s->input);
}

/* Options that say how ions are placed where none are, or where a script says it. */
static vf_status check_ion_options(vf_context *ctx)
{
    if (ions.script && says_order)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--order: a script's ions are placed in the order of its commands");
    if ((says_where || says_order) && !ions.script && !wants_ions(&ions))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--ion-solute, --from-surface, --ion-ion, --order and --refine say how ions are placed: ask for "
                       "some by --place, --neutralize or --concentration");
    return VF_OK;
}

static vf_status run_cionize(vf_context *ctx, program *p, int argc, char **argv)
{
    cionize_settings settings = {
        .spacing = {0.5, 0.5, 0.5},
        .border = 10,
        .unit = "kT/e",
        .temperature = 298.15,
        .dielectric = 1,
        .r_min = 0.1,
        .device = "auto",
        .ions = &ions,
        .argc = p->argc,
        .argv = p->argv,
    };
    vf_status status = read_options(ctx, p, argc, argv, &settings);
    if (status == VF_OK)
        status = check_ion_options(ctx);
    if (status == VF_OK && ions.demand.salt[0].charge == 0)
        status = parse_salt(ctx, "salt", "SOD,CLA", &ions.demand);
    p->quiet = settings.quiet;
    if (status == VF_OK && settings.dry_run && settings.report)
        vf_note(ctx, "note: --dry-run writes nothing, so there will be no report %s", settings.report);
    if (status == VF_OK)
        status = cionize_run(ctx, &settings);
    free(ions.request);
    return status;
}

int main(int argc, char **argv)
{
    program p = {.name = "cionize", .usage = usage, .run = run_cionize};
    return program_main(&p, argc, argv);
}
