#include "cionize_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "ewald_sum.h"
#include "maps/map_format.h"
#include "molecular_surface.h"
#include "molecule/select_atoms.h"
#include "molecule/unit_cell.h"
#include "solvent/solvent_maps.h"
#include "voxfield/output.h"

/* -o is a map, or the molecule with its ions: the extension tells. */
static vf_status output(vf_context *ctx, const char *option, const char *text, void *to)
{
    cionize_request *request = to;
    const map_format *format;
    (void)option;
    char name[64];
    snprintf(name, sizeof name, "input%.50s", text);
    const char *path = batch_is_extension(text) ? name : text;
    if (vf_path_has_extension(path, ".pdb .pqr .gro .xyz")) {
        request->ions.ionized = text;
        return VF_OK;
    }
    if (map_format_for(ctx, path, &format) == VF_OK) {
        request->output_map = text;
        return VF_OK;
    }
    vf_context_clear_error(ctx);
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "-o '%s': unknown file extension; use .dx, .dx.gz, .mrc, .ccp4, .map, .cube, .cub, .h5 or .hdf5 for "
                   "a map, or .pdb, .pqr, .gro or .xyz for the molecule and its ions",
                   text);
}

static vf_status place(vf_context *ctx, const char *option, const char *text, void *to)
{
    ion_settings *ions = &((cionize_request *)to)->ions;
    ion_request *larger = realloc(ions->request, (size_t)(ions->requests + 1) * sizeof *larger);
    if (!larger)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d kinds of ions", ions->requests + 1);
    ions->request = larger;
    vf_status status = parse_placement(ctx, option, text, &ions->request[ions->requests]);
    ions->requests += status == VF_OK;
    return status;
}

static vf_status neutralize(vf_context *ctx, const char *option, const char *text, void *to)
{
    return parse_counter_ions(ctx, option, text, &((cionize_request *)to)->ions.demand);
}

static vf_status salt(vf_context *ctx, const char *option, const char *text, void *to)
{
    return parse_salt(ctx, option, text, &((cionize_request *)to)->ions.demand);
}

/* occupancy, first, or a letter */
static vf_status altloc(vf_context *ctx, const char *option, const char *text, void *to)
{
    conformer_choice *choice = &((cionize_request *)to)->settings.altloc;
    *choice = (conformer_choice){CONFORMER_BY_OCCUPANCY, '\0'};
    if (strcmp(text, "occupancy") == 0)
        return VF_OK;
    if (strcmp(text, "first") == 0)
        choice->rule = CONFORMER_FIRST;
    else if (text[0] > ' ' && text[0] <= '~' && text[1] == '\0')
        *choice = (conformer_choice){CONFORMER_LETTER, text[0]};
    else
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--%s '%s': expected occupancy, first, or the letter of a conformer, such as A", option, text);
    return VF_OK;
}

/* input, FILE, or A,B,C[,ALPHA,BETA,GAMMA] */
static vf_status cell(vf_context *ctx, const char *option, const char *text, void *to)
{
    static const char cell_files[] = ".gro .gro.gz .pdb .pdb.gz .ent .ent.gz .pqr .pqr.gz .inpcrd .inpcrd.gz .rst7 "
                                     ".rst7.gz .rst .rst.gz .crd .crd.gz .ncrst .xsc .xsc.gz .xst .xst.gz "
                                     ".cif .cif.gz .mmcif .mmcif.gz";
    double numbers[6] = {0, 0, 0, 90, 90, 90};
    const char *rest = text;
    int count = 0;
    cionize_settings *s = &((cionize_request *)to)->settings;
    s->cell = (vf_cell){.kind = VF_CELL_NONE};
    s->cell_from_input = strcmp(text, "input") == 0;
    s->cell_file = vf_path_has_extension(text, cell_files) ? text : NULL;
    if (s->cell_from_input || s->cell_file)
        return VF_OK;
    for (bool more = true; more && count < 6; count++) {
        char *end;
        numbers[count] = strtod(rest, &end);
        more = end != rest && *end == ',';
        rest = end == rest ? "?" : more ? end + 1 : end;
    }
    const double most = VF_COULOMB_MAX_COORDINATE;
    bool lengths = *rest == '\0' && (count == 3 || count == 6);
    for (int a = 0; a < 3; a++)
        lengths = lengths && numbers[a] > 0 && numbers[a] < most;
    const bool valid = lengths && cell_of_shape(numbers, numbers + 3, &s->cell);
    if (lengths && !valid && count == 6)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': no cell has these lengths and angles: %s", option, text,
                       cell_state(numbers, numbers + 3) == UNIT_CELL_RADIANS
                           ? "the angles must be in degrees, and seem to be in radians"
                           : "each angle, in degrees, must be above 0 and less than the sum of the other two, and all "
                             "three together less than 360");
    if (!valid)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--%s '%s': a cell is three lengths in angstrom, and three angles in degrees unless all are 90, "
            "such as 60,60,80 or 60,60,60,90,90,120; or input, for the cell of the input file; or a file that "
            "has it (.gro, .pdb, .pqr, .cif, .inpcrd, .rst7, .ncrst, .xsc)",
            option, text);
    return VF_OK;
}

static vf_status part(vf_context *ctx, const char *option, const char *text, void *to)
{
    return parse_part(ctx, option, text, &((cionize_request *)to)->settings.pieces);
}

/* The syntax is checked before any file is read; a run reads the text again. */
static vf_status selection(vf_context *ctx, const char *option, const char *text, const char **out)
{
    char where[32];
    atom_selection *s = NULL;
    snprintf(where, sizeof where, "--%s", option);
    const vf_status status = selection_parse(ctx, where, text, &s);
    selection_free(s);
    *out = text;
    return status;
}

static vf_status select_atoms(vf_context *ctx, const char *option, const char *text, void *to)
{
    cionize_settings *s = &((cionize_request *)to)->settings;
    const char **larger = realloc(s->select, (size_t)(s->selects + 1) * sizeof *larger);
    if (!larger)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d selections", s->selects + 1);
    s->select = larger;
    return selection(ctx, option, text, &s->select[s->selects++]);
}

static vf_status minus_atoms(vf_context *ctx, const char *option, const char *text, void *to)
{
    return selection(ctx, option, text, &((cionize_request *)to)->settings.minus);
}

static vf_status solute_atoms(vf_context *ctx, const char *option, const char *text, void *to)
{
    return selection(ctx, option, text, &((cionize_request *)to)->settings.solute);
}

static vf_status ligand(vf_context *ctx, const char *option, const char *text, void *to)
{
    return selection(ctx, option, text, &((cionize_request *)to)->settings.solvent.ligand);
}

/* Z:C[,Z:C...] */
static vf_status solvent_salt(vf_context *ctx, const char *option, const char *text, void *to)
{
    solvent_settings *s = &((cionize_request *)to)->settings.solvent;
    const char *at = text;
    bool more = true;
    for (s->ions = 0; more && s->ions < VF_SOLVENT_MOST_IONS; s->ions++) {
        char *end;
        const double charge = strtod(at, &end);
        const char *number = end != at && *end == ':' ? end + 1 : "";
        const double concentration = strtod(number, &end);
        if (!(fabs(charge) >= 0.1 && fabs(charge) <= 20 && concentration >= 0 && concentration <= 20) ||
            end == number || (*end != '\0' && *end != ','))
            break;
        s->ion[s->ions] = (vf_solvent_ion){charge, concentration};
        more = *end == ',';
        at = end + 1;
    }
    double net = 0, all = 0;
    for (int i = 0; i < s->ions; i++) {
        net += s->ion[i].charge * s->ion[i].concentration;
        all += fabs(s->ion[i].charge) * s->ion[i].concentration;
    }
    if (!more && !(all > 0 && fabs(net) <= 1e-6 * all))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--%s '%s': the ions have %+g mol/L of charge together, but a salt is neutral", option, text,
                       net);
    return more ? vf_fail(ctx, VF_ERR_ARGUMENT,
                          "--%s '%s': expected kinds of ions, each a charge and a concentration in mol/L, at most %d: "
                          "2:0.1,-1:0.2 is 0.1 mol/L of MgCl2",
                          option, text, VF_SOLVENT_MOST_IONS)
                : VF_OK;
}

static vf_status take_solvent_map(vf_context *ctx, const char *option, const char *text, void *to)
{
    solvent_settings *s = &((cionize_request *)to)->settings.solvent;
    if (s->maps == MOST_SOLVENT_MAPS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s: at most %d maps", option, MOST_SOLVENT_MAPS);
    const vf_status status = solvent_map_parse(ctx, option, text, &s->map[s->maps]);
    s->maps += status == VF_OK;
    return status;
}

/* z, or z:FILE */
static vf_status profile(vf_context *ctx, const char *option, const char *text, void *to)
{
    cionize_settings *s = &((cionize_request *)to)->settings;
    if (text[0] < 'x' || text[0] > 'z' || (text[1] != '\0' && (text[1] != ':' || text[2] == '\0')))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected x, y or z, or an axis and a file: z:profile.csv",
                       option, text);
    s->has_profile = true;
    s->profile_axis = text[0] - 'x';
    s->profile = text[1] ? text + 2 : NULL;
    return VF_OK;
}

/* ---- the table ---- */

static const option_choice orders[] = {
    {"given", ION_ORDER_GIVEN,
     "one kind after another, in the order of the options; the ions of --neutralize and --concentration come last"},
    {"alternate", ION_ORDER_ALTERNATE, "one ion of each kind in turn"},
    {"largest", ION_ORDER_LARGEST, "the largest charges first"},
    {0}};
static const option_choice ion_name_choices[] = {
    {"given", ION_NAMES_GIVEN, "as the options or the script name them"},
    {"charmm", ION_NAMES_CHARMM, "SOD, CLA, CAL, ZN2"},
    {"amber", ION_NAMES_AMBER, "Na+, Cl-, CA, ZN"},
    {"gromacs", ION_NAMES_GROMACS, "NA, CL, CA, ZN, as in GROMACS's AMBER and OPLS force fields"},
    {"pdb", ION_NAMES_PDB, "NA, CL, CA, ZN, as chemical components of the PDB"},
    {0}};
static const option_choice waters[] = {
    {"solvent", ION_WATER_SOLVENT,
     "each ion takes the place of a water molecule, at its oxygen; water keeps no ions away, and its charges do not "
     "act"},
    {"solute", ION_WATER_SOLUTE, "water counts like other atoms, and ions are placed on the grid"},
    {0}};
static const option_choice measures[] = {
    {"water", ION_BY_WATER, "the number of water molecules that are left"},
    {"volume", ION_BY_VOLUME, "the volume of solvent; where water is solvent, that of the cell without the solute"},
    {0}};
static const option_choice units[] = {
    {"kT/e", 0, NULL}, {"V", 0, NULL}, {"kcal/mol/e", 0, NULL}, {"e/A", 0, NULL}, {0}};
static const option_choice boundaries[] = {
    {"tinfoil", false, "a conductor: the usual condition of Ewald sums in simulations"},
    {"vacuum", true, "vacuum around a sphere of cells; the charges must be neutral, and molecules whole"},
    {0}};
static const option_choice symmetries[] = {
    {"expand", SYMMETRY_EXPAND, "the file is the asymmetric unit; its copies by symmetry are added, also to outputs"},
    {"none", SYMMETRY_NONE, "the file has all atoms of the cell; only translations repeat it"},
    {0}};
static const option_choice surfaces[] = {
    {"ses", VF_SURFACE_EXCLUDED, "solvent-excluded, also called molecular: all that a probe cannot touch"},
    {"sas", VF_SURFACE_ACCESSIBLE, "solvent-accessible: radii larger by the probe's"},
    {"vdw", VF_SURFACE_VAN_DER_WAALS, "the atoms' spheres"},
    {"smooth", VF_SURFACE_SMOOTH, "ses, with the permittivity smoothed over a spacing across it: APBS's srfm smol"},
    {0}};
static const option_choice radii_choices[] = {
    {"file", false, "0, as the file says; it is no sphere"},
    {"bondi", true, "the van der Waals radius of the element, by Bondi (1964) and Mantina and others (2009)"},
    {0}};
static const option_choice precisions[] = {{"single", VF_F32, NULL}, {"double", VF_F64, NULL}, {0}};

static const option_choice exclusions[] = {{"atom", EXCLUDE_ATOM, "the atom itself"},
                                           {"residue", EXCLUDE_RESIDUE, "all atoms of its residue"},
                                           {"nothing", EXCLUDE_NOTHING, "no atom"},
                                           {0}};

#define SETTING(member) OPTION_TO(cionize_request, settings.member)
#define ION_SETTING(member) OPTION_TO(cionize_request, ions.member)
#define SETS(member) OPTION_GIVEN(cionize_request, settings.member)
#define SETS_ION(member) OPTION_GIVEN(cionize_request, ions.member)
/* Options that have ions placed. */
#define PLACES_IONS "place neutralize concentration script"
/* Options that study the map. */
#define SURFACES "surface-mesh surface-picture scene"
#define STUDIES "compare profile radial page " SURFACES

const program_option cionize_options[] = {
    {OPTION_GROUP, .name = "Input",
     .help = "Files of molecules may be compressed with gzip. A molecule named - is read from standard input."},
    {OPTION_READ, .name = "charges", .argument = "FILE",
     .completes = ".psf .psf.gz .prmtop .prmtop.gz .parm7 .parm7.gz .top -", SETTING(charges),
     .help = "the charges, if the molecule's file has none: PSF or AMBER prmtop",
     .more =
         "A PSF file may come from CHARMM, NAMD or X-PLOR. The molecule is then a PDB or mmCIF file, a GROMACS .gro "
         "file, "
         "coordinates of CHARMM (.crd) or NAMD (binary, .coor), or an AMBER coordinate file, as text (inpcrd, rst7) or "
         "NetCDF (ncrst, rst7). Both files must have the same atoms in the same order. The names of the atoms are "
         "compared, if both files have them. One of the two files may be -, standard input."},
    {OPTION_CUSTOM, .name = "altloc", .argument = "RULE", .parse = altloc, .default_help = "occupancy",
     .help = "which alternate location is kept of residues with several: occupancy, first, or a letter",
     .more =
         "`occupancy` keeps the conformer whose atoms have the largest mean occupancy, of equal ones the first letter; "
         "`first` the one that comes first in the file. With a letter, residues that do not have it choose by "
         "occupancy. "
         "Each residue chooses for itself.",
     .completes = "occupancy first"},
    {OPTION_CHOICE, .name = "radii", .argument = "R", SETTING(bondi), .choices = radii_choices, .initial = "file",
     .help = "radii of atoms to which the file gives none, or 0",
     .more =
         "Radii count for --solvent, --from-surface, --radial and the outline in pictures. Lone pairs, virtual sites "
         "and Drude particles have none."},
    {OPTION_READ, .name = "trajectory", .argument = "FILE", .completes = ".dcd .xtc .trr .nc .ncdf .gro",
     SETTING(trajectory),
     .help = "trajectory of the same atoms (.dcd, .xtc, .trr, .nc, .gro); the map is the mean over its frames",
     .more = "The file's contents tell its format; .nc is AMBER's NetCDF. A long trajectory is read frame by frame. "
             "The grid covers all frames. Ions keep their distance from the atoms of every frame."},
    {OPTION_TEXT, .name = "frames", .argument = "FIRST:LAST:STEP", SETTING(frames), .default_help = "all",
     .help = "frames of the trajectory, counted from 1", .needs = "trajectory",
     .more = "Both ends are included. Negative numbers count from the end: -1 is the last frame. Each part may be left "
             "out. A number alone selects one frame."},
    {OPTION_READ, .name = "read-map", .argument = "FILE",
     .completes = ".dx .dx.gz .mrc .mrc.gz .ccp4 .ccp4.gz .map .map.gz .cube .cube.gz .cub .cub.gz .h5 .hdf5",
     SETTING(read_map), .needs = PLACES_IONS " " STUDIES, .excludes = "trajectory select minus",
     .help = "existing map (.dx, .mrc, .cube, .h5) to place ions on or to study, instead of a new one",
     .more =
         "The ions are placed on the grid of this map, with its constants. If its file does not state the "
         "dielectric, through which "
         "ions act on each other, they need --dielectric or --distance-dielectric. Options that contradict the file "
         "are errors: another "
         "grid, unit, temperature, dielectric, --r-min or --precision. A variant of --method, --mask and "
         "--deviation are "
         "errors too. If the map includes the potential of ions, later ions feel it, but may overlap them: a "
         "warning says so."},
    {OPTION_READ, .letter = 'i', .name = "script", .argument = "FILE", .completes = ".cfg .in .txt -",
     ION_SETTING(script), .help = "script of VMD's cionize; - reads standard input",
     .more = "The section SCRIPTS describes the commands."},

    {OPTION_GROUP, .name = "Selections",
     .help = "A selection chooses atoms: `protein and not resname LIG`, `chain A and within 5 of resname HEM`. The "
             "section SELECTIONS describes the language."},
    {OPTION_CUSTOM, .name = "select", .argument = "SELECTION", .parse = select_atoms, .default_help = "all atoms",
     .excludes = "refine", .why = "the map has the potential of selected atoms alone",
     .help = "the atoms that act: the map is their potential; may be repeated",
     .more = "All atoms still count for the extent of the grid, for the distance of ions and in output files. If "
             "repeated, each selection gives a map, and all output names get its number: map_1.dx, map_2.dx. With "
             "--trajectory, the selection is made once, by the labels and positions of the molecule's file."},
    {OPTION_CUSTOM, .name = "minus", .argument = "SELECTION", .parse = minus_atoms, .default_help = "",
     .excludes = "refine " PLACES_IONS, .why = "ions are placed by a potential, not by a difference",
     .help = "atoms whose potential is subtracted from that of --select, or of all atoms"},
    {OPTION_CUSTOM, .name = "solute", .argument = "SELECTION", .parse = solute_atoms, .default_help = "all atoms",
     .excludes = "refine", .why = "the map has the potential of selected atoms",
     .help = "the atoms that count: for the extent of the grid, the distance of ions, and in output files",
     .more = "The others still act, unless --select leaves them out."},

    {OPTION_GROUP, .name = "Output"},
    {OPTION_CUSTOM, .letter = 'o', .name = "output", .argument = "FILE",
     .completes = ".dx .dx.gz .mrc .ccp4 .map .cube .cub .h5 .hdf5 .pdb .pqr .gro .xyz", .parse = output,
     .default_help = "INPUT.dx, or INPUT_ionized.pdb if ions are placed",
     .help = "the map (.dx, .dx.gz, .mrc, .ccp4, .cube, .h5), or the molecule and its ions (.pdb, .pqr, .gro, .xyz)",
     .more = "The extension selects the format: see the section FORMATS. The default name replaces `.pqr`, `.pdb`, "
             "`.ent`, `.gro`, `.inpcrd`, `.rst7`, `.rst`, `.crd`, `.cor`, `.coor`, `.ncrst`, `.nc`, `.cif` or `.mmcif` "
             "of the "
             "input, with or without `.gz`. The file is beside the input. An input in /dev or /proc has no default "
             "output."},
    {OPTION_WRITE, .name = "map", .argument = "FILE", .completes = ".dx .dx.gz .mrc .ccp4 .map .cube .cub .h5 .hdf5",
     SETTING(map), .help = "the map, in addition to the files of ions"},
    {OPTION_FLAG, .name = "map-with-ions", ION_SETTING(map_with_ions), .needs = PLACES_IONS,
     .help = "a map and picture that include the potential of the ions",
     .more = "Without this option, both show the molecule alone."},
    {OPTION_WRITE, .name = "deviation", .argument = "FILE",
     .completes = ".dx .dx.gz .mrc .ccp4 .map .cube .cub .h5 .hdf5", SETTING(deviation), .needs = "trajectory",
     .help = "map of the potential's standard deviation over the frames"},
    {OPTION_WRITE, .name = "ions", .argument = "FILE", .completes = ".pdb .pqr .gro .xyz", ION_SETTING(ions),
     .needs = PLACES_IONS, .help = "the ions alone: .pdb, .pqr, .gro or .xyz"},
    {OPTION_WRITE, .name = "mask", .argument = "FILE", .completes = ".dx .dx.gz .mrc .ccp4 .map .cube .cub .h5 .hdf5",
     ION_SETTING(mask), .needs = PLACES_IONS,
     .help = "map of excluded points: 0 free, 1 near the molecule, 2 near an ion"},
    {OPTION_PICTURE, .name = "picture", .argument = "FILE.png", SETTING(picture),
     .help = "three slices through the middle of the map"},
    {OPTION_WRITE, .name = "page", .argument = "FILE.html", .completes = ".html", SETTING(page),
     .help = "page for a browser: molecule, surface coloured by the potential, isosurfaces, slices, ions",
     .more = "One file that needs no network. It has at most 5 MB, so it has a reduced map, and the atoms of molecules "
             "of up to 200,000."},
    {OPTION_WRITE, .name = "report", .argument = "FILE.json", .completes = ".json", SETTING(report),
     .help = "settings, times, statistics of the map, and all ions",
     .more = "The report has the name, position and energy of every ion, and the time of every stage."},

    {OPTION_GROUP, .name = "Studies of the map"},
    {OPTION_READ, .scope = OPTION_OF_REPORT, .name = "compare", .argument = "FILE",
     .completes = ".dx .dx.gz .mrc .mrc.gz .ccp4 .ccp4.gz .map .map.gz .cube .cube.gz .cub .cub.gz .h5 .hdf5",
     SETTING(compare), .help = "another map on the same grid: the difference to it, on the terminal and in the report",
     .more =
         "The formats are those of --read-map. The run prints the rms difference, also relative to the rms of FILE, "
         "the mean and the largest difference and its place, and the correlation. If the grids differ, the message "
         "has the options for that of FILE."},
    {OPTION_CUSTOM, .name = "profile", .argument = "AXIS[:FILE.csv]", .completes = "x y z x: y: z:", .parse = profile,
     .default_help = "", .help = "mean potential of the layers along x, y or z, as a table",
     .more = "By default, the file is INPUT_profile_z.csv. In a periodic cell, the table also has the double integral "
             "of the charge density, which the profile must equal, and the run prints the rms difference."},
    {OPTION_WRITE, .name = "radial", .argument = "FILE.csv", .completes = ".csv", SETTING(radial),
     .excludes = "trajectory", .why = "the surface moves from frame to frame",
     .help = "distribution of the potential by distance from the molecule's surface, as a table"},
    {OPTION_NUMBER, .name = "radial-width", .argument = "W", SETTING(radial_width), .least = 0.01, .most = 100,
     .unit = "angstrom", .initial = "0.5", .needs = "radial", .help = "width of the shells of --radial"},

    {OPTION_GROUP, .name = "Surface",
     .help = "The molecule's surface, coloured by the map's potential at it: solvent-excluded, or as --surface and "
             "--probe say. The molecule must have radii. A periodic cell must be rectangular; its images are not "
             "drawn. With "
             "--trajectory, it is the surface of the molecule's file, with the mean over the frames."},
    {OPTION_PICTURE, .name = "surface-picture", .argument = "FILE.png", SETTING(surface.picture),
     .help = "both sides of the surface, with light and shadow"},
    {OPTION_WRITE, .name = "surface-mesh", .argument = "FILE", .completes = ".ply .glb", SETTING(surface.mesh),
     .help = "the surface as triangles, with colours and the potential: .ply or .glb",
     .more = ".ply is for programs (ParaView, MeshLab, Blender), .glb, which is glTF, also for browsers and slides. "
             "Lengths are in angstrom."},
    {OPTION_WRITE, .name = "scene", .argument = "NAME", SETTING(surface.scene), .excludes = "cell",
     .why = "the viewers do not repeat a periodic map",
     .help = "NAME.pml, NAME.cxc and NAME.vmd, which show the surface in PyMOL, ChimeraX and VMD",
     .more = "They load the map and NAME_molecule.pqr, which is written, too. The map must be .dx, .mrc, .ccp4 or "
             ".cube. Files in the folder of NAME may be moved together."},
    {OPTION_NUMBER, .name = "surface-offset", .argument = "D", SETTING(surface.offset), .least = 0, .most = 20,
     .unit = "angstrom", .initial = "1.4", .needs = SURFACES " page",
     .help = "how far outside of the surface the potential is taken",
     .more = "ChimeraX and the APBS plugin of PyMOL do the same by default. With 0, it is the potential at the surface "
             "itself, which shows single atoms."},
    {OPTION_NUMBER, .name = "surface-range", .argument = "R", SETTING(surface.range), .least = 1e-6, .most = 1e6,
     .needs = SURFACES " page", .default_help = "by the values",
     .help = "range of the surface's colours, -R to R, in the map's unit",
     .more = "By default, it covers 98 % of the vertices, rounded up; in a solvent, it is at most 5 kT/e."},

    {OPTION_GROUP, .name = "Ions",
     .help = "Ions have the names of CHARMM (SOD, CLA), AMBER (Na+, Cl-), GROMACS or the PDB (NA, CL), in upper or "
             "lower case."},
    {OPTION_CUSTOM, .name = "place", .argument = "NAME:N[:CHARGE]", .parse = place, .excludes = "script",
     .why = "the script places the ions", .help = "N ions, each where its energy is lowest; may be repeated",
     .more = "If a charge is given, any name of up to four characters is allowed."},
    {OPTION_CUSTOM, .name = "neutralize", .argument = "NAME[,NAME]", .parse = neutralize, .excludes = "script",
     .why = "the script places the ions", .help = "as many ions as bring the total charge to zero, or nearest to it",
     .more = "Of a cation and an anion, the one with the right sign is used."},
    {OPTION_NUMBER, .name = "concentration", .argument = "C", ION_SETTING(demand.concentration),
     SETS_ION(demand.has_concentration), .least = 0, .most = ION_MOST_CONCENTRATION, .unit = "mol/L",
     .excludes = "neutralize script", .help = "salt of C mol/L in the solvent of the grid, and a total charge of zero",
     .more = "C is the concentration of a reservoir around the grid. With --trajectory, the volume of the solvent is "
             "the mean over 16 frames, or over all if there are fewer."},
    {OPTION_CUSTOM, .name = "salt", .argument = "CATION,ANION", .parse = salt, .initial = "SOD,CLA",
     .needs = "concentration", .help = "ions of the salt"},
    {OPTION_NUMBER, .name = "ion-solute", .argument = "D", ION_SETTING(ion_solute), SETS_ION(has_ion_solute),
     .least = 0, .most = 1e4, .unit = "angstrom", .initial = "6", .needs = PLACES_IONS,
     .help = "minimum distance of ions from the centres of atoms"},
    {OPTION_FLAG, .name = "from-surface", ION_SETTING(from_surface), .needs = PLACES_IONS,
     .help = "that distance measured from atom surfaces instead of centres",
     .more = "The radius of each atom is added. The molecule must have radii."},
    {OPTION_NUMBER, .name = "ion-ion", .argument = "D", ION_SETTING(ion_ion), SETS_ION(has_ion_ion), .least = 0,
     .most = 1e4, .unit = "angstrom", .initial = "10", .needs = PLACES_IONS, .help = "minimum distance between ions"},
    {OPTION_CHOICE, .name = "ion-names", .argument = "NAMES", ION_SETTING(names), .choices = ion_name_choices,
     .initial = "given", .needs = PLACES_IONS, .help = "whose names ions have in the output"},
    {OPTION_CHOICE, .name = "order", .argument = "ORDER", ION_SETTING(order), .choices = orders, .initial = "given",
     .needs = "place neutralize concentration", .excludes = "script",
     .why = "a script's ions are placed in the order of its commands", .help = "order of placement"},
    {OPTION_CHOICE, .name = "water", .argument = "KIND", ION_SETTING(water), .choices = waters, .needs = PLACES_IONS,
     .excludes = "script",
     .why = "the ions of a script are placed as by VMD's cionize, with water as part of the solute",
     .default_help = "solvent if the molecule has water", .help = "what water molecules in the input are",
     .more = "Water is known by the names of its residues and by its atoms, in the models of all common force fields."},
    {OPTION_TEXT, .name = "keep-water", .argument = "SELECTION", ION_SETTING(keep_water), .default_help = "none",
     .needs = "place neutralize concentration", .excludes = "script",
     .help = "water that stays with the solute: a selection of atoms, or within:R",
     .more = "A molecule is kept if one of its atoms is selected; with `within:R`, if its oxygen is nearer than R "
             "angstrom to "
             "an atom that is not water. This water acts, keeps ions away, and is never replaced."},
    {OPTION_CHOICE, .name = "concentration-by", .argument = "MEASURE", ION_SETTING(concentration_by),
     .choices = measures, .needs = "concentration", .default_help = "water where it is solvent, otherwise volume",
     .help = "what the number of ions for a concentration follows from"},
    {OPTION_FLAG, .name = "renumber", ION_SETTING(renumber), .needs = PLACES_IONS,
     .help = "residues of the molecule numbered anew, from 1 in each chain, without gaps"},
    {OPTION_FLAG, .name = "refine", ION_SETTING(refine), .needs = PLACES_IONS, .excludes = "read-map trajectory",
     .why = "it moves ions by the potential between grid points",
     .help = "ions off the grid: each moves to the lowest energy nearby",
     .more =
         "An ion moves by at most one spacing from its grid point. In a periodic cell, this takes seconds for each ion "
         "of a large map."},

    {OPTION_GROUP, .name = "Points",
     .help = "Values at points instead of a grid. If nothing else is asked for, no map is computed."},
    {OPTION_TEXT, .name = "points", .argument = "FILE", .completes = "atoms .csv .txt .xyz .xyz.gz .pqr .pdb .gro .h5",
     SETTING(points.points), .excludes = "read-map solute part join resume",
     .why = "points are summed by one process, from all atoms of the molecule",
     .help = "the potential at the points of FILE; or at the molecule's own atoms, if FILE is the word atoms",
     .more =
         "The extension of FILE tells its format: .xyz; .pdb, .ent, .pqr or .gro, for the positions of their atoms; "
         ".h5, with a dataset points of [n][3]; all others are text or CSV with x, y and z, one point a line. "
         "Positions are in angstrom. The section POINTS has the details. The units, dielectric, --r-min, --cell, "
         "--accuracy and --method are those of maps. Values are in double precision."},
    {OPTION_FLAG, .name = "field", SETTING(points.field), .needs = "points",
     .help = "the electric field at the points, too",
     .more = "It is minus the gradient of the potential, in its unit per angstrom."},
    {OPTION_CHOICE, .name = "exclude", .argument = "WHAT", SETTING(points.exclude), SETS(points.has_exclude),
     .choices = exclusions, .initial = "atom", .needs = "points",
     .help = "what does not count at an atom, with --points atoms",
     .more = "In a periodic cell, the nearest image of an excluded atom does not count; its other images do. A residue "
             "is neighbouring atoms of the file with the same chain, residue name and number. An atom and its Drude "
             "particle leave out each other."},
    {OPTION_WRITE, .name = "points-out", .argument = "FILE", .completes = ".csv .h5 .hdf5", SETTING(points.out),
     .needs = "points", .default_help = "INPUT_points.csv", .help = "the values at the points: .csv or .h5",
     .more = "With --trajectory, CSV has the mean and the standard deviation over the frames, HDF5 the values of each "
             "frame."},
    {OPTION_WRITE, .name = "field-map", .argument = "FILE", .completes = ".h5 .hdf5 .mrc", SETTING(points.field_map),
     .excludes = "trajectory read-map part join resume", .why = "it is made of the molecule, by one process",
     .help = "the electric field on the grid: .h5, or .mrc for three files NAME_x.mrc, NAME_y.mrc and NAME_z.mrc"},

    {OPTION_GROUP, .name = "Grid",
     .help = "Lengths are in angstrom. One number applies to x, y and z. The grid is centred on the molecule, "
             "unless --origin is given."},
    {OPTION_TRIPLE, .name = "spacing", .argument = "H", SETTING(spacing), SETS(has_spacing), .least = 1e-3, .most = 1e4,
     .unit = "angstrom", .initial = "0.5", .help = "distance between grid points: H, or HX,HY,HZ"},
    {OPTION_NUMBER, .name = "border", .argument = "B", SETTING(border), SETS(has_border), .least = 0, .most = 1e5,
     .unit = "angstrom", .initial = "10", .excludes = "size counts", .why = "both set the extent of the grid",
     .help = "margin around the outermost atoms on all sides"},
    {OPTION_TRIPLE, .name = "origin", .argument = "X,Y,Z", SETTING(origin), SETS(has_origin), .least = -1e5,
     .most = 1e5, .unit = "angstrom", .help = "position of the first grid point",
     .more = "By default, the origin is a whole multiple of the spacing."},
    {OPTION_TRIPLE, .name = "size", .argument = "X,Y,Z", SETTING(size), SETS(has_size), .least = 0, .most = 1e5,
     .unit = "angstrom", .excludes = "counts", .why = "both set the extent of the grid",
     .help = "edge lengths of the grid, instead of a border"},
    {OPTION_COUNTS, .name = "counts", .argument = "NX,NY,NZ", SETTING(counts), SETS(has_counts), .least = 1,
     .most = INFINITY, .help = "numbers of grid points, instead of a border"},
    {OPTION_CUSTOM, .name = "cell", .argument = "CELL",
     .completes = "input .gro .pdb .pqr .inpcrd .rst7 .ncrst .xsc .xst .cif .mmcif", .parse = cell,
     .default_help = "none: free space", .excludes = "border size distance-dielectric",
     .why = "the map covers a periodic cell once",
     .help = "periodic cell A,B,C[,ALPHA,BETA,GAMMA], in angstrom and degrees; input: that of the input file; or FILE",
     .more =
         "`input` takes the cells of the trajectory's frames, or else that of the molecule's file: the record CRYST1 "
         "of PDB and PQR files, _cell of mmCIF, the box of GROMACS's and AMBER's coordinates. FILE is one of these "
         "files (.gro, .pdb, "
         ".pqr, .cif, .inpcrd, .rst7, .ncrst) or NAMD's .xsc or .xst, read for its cell alone. The first vector is "
         "along x, "
         "the second in the plane of x "
         "and y. The grid covers the cell once: a box of the cell's volume with edges along x, y and z. Its spacing is "
         "the one nearest to --spacing that divides the edges, unless --counts is given. If frames have cells of "
         "different sizes, the map has their mean, and shows the mean potential at the same fractional coordinates. "
         "The mean potential is 0; a uniform background neutralises a net charge. Distances of ions are those of the "
         "nearest images. Needs --method fast, which auto takes."},

    {OPTION_CHOICE, .name = "symmetry", .argument = "S", SETTING(symmetry), .choices = symmetries,
     .default_help = "a file with a space group is rejected", .needs = "cell read-map",
     .help = "what a crystal's space group means for the atoms of the file",
     .more = "The space group is that of the file with the cell: the record CRYST1, or _symmetry or _space_group in "
             "mmCIF. The "
             "operators are those that the file lists (REMARK 290, _space_group_symop), or else the group's own. With "
             "--trajectory, only none is allowed. With P 1 the option changes nothing; without a space group, expand "
             "gives a "
             "warning. In another cell than that of the crystal, expand is rejected."},

    {OPTION_GROUP, .name = "Physics", .help = "By default, the molecule is in vacuum."},
    {OPTION_WORD, .name = "units", .argument = "UNIT", SETTING(unit), .choices = units, .initial = "kT/e",
     .help = "unit of the potential", .more = "The constants are from CODATA 2022."},
    {OPTION_NUMBER, .name = "temperature", .argument = "T", SETTING(temperature), SETS(has_temperature), .least = 1,
     .most = 1e5, .unit = "K", .initial = "298.15",
     .help = "temperature in kelvin, of the unit kT/e and of the salt of --solvent",
     .more = "Without --solvent, other units do not depend on it."},
    {OPTION_NUMBER, .name = "dielectric", .argument = "D", SETTING(dielectric), SETS(has_dielectric), .least = 1e-3,
     .most = 1e6, .initial = "1", .help = "relative permittivity of the whole space; 1 is vacuum"},
    {OPTION_NUMBER, .name = "distance-dielectric", .argument = "C", SETTING(dielectric), SETS(distance_dielectric),
     .least = 1e-3, .most = 1e6, .excludes = "dielectric", .help = "permittivity C r that grows with the distance r",
     .more = "The potential is then the sum of q_i / (C max(|r - r_i|, R)^2), times Coulomb's constant."},
    {OPTION_CHOICE, .name = "boundary", .argument = "B", SETTING(vacuum), .choices = boundaries, .initial = "tinfoil",
     .needs = "cell", .excludes = PLACES_IONS, .why = "in vacuum, the potential of a single ion is not periodic",
     .help = "what surrounds a periodic crystal"},
    {OPTION_NUMBER, .name = "smooth", .argument = "SIGMA", SETTING(sigma), .least = VF_EWALD_LEAST_SIGMA, .most = 1e3,
     .unit = "angstrom", .default_help = "point charges", .excludes = "distance-dielectric read-map " PLACES_IONS,
     .why = "ions are placed by the potential of points, with one dielectric",
     .help = "the potential of Gaussian charges of this standard deviation, instead of points",
     .more = "The map of VMD's PMEPot with an Ewald factor of beta has a SIGMA of 0.7071 / beta; its default, 0.25 per "
             "angstrom, is 2.83 angstrom. Needs --method fast, which auto takes, on the CPU."},
    {OPTION_NUMBER, .name = "r-min", .argument = "R", SETTING(r_min), SETS(has_r_min), .least = 1e-6, .most = 1e3,
     .unit = "angstrom", .initial = "0.1", .help = "smallest distance in the sum: smaller ones count as R",
     .more = "This keeps the potential finite at the atoms."},

    {OPTION_GROUP, .name = "Solvent",
     .help = "The molecule in a solvent with salt: the linear Poisson-Boltzmann equation. Radii of atoms are those of "
             "the file. "
             "docs/solvent.md has the theory, and the names that users of APBS know."},
    {OPTION_FLAG, .name = "solvent", SETTING(solvent.on), .excludes = "read-map dielectric distance-dielectric smooth",
     .why = "the equation is solved for a molecule of point charges and its own dielectrics",
     .help = "the potential in a solvent with salt, and the energy of solvation",
     .more =
         "With --cell, molecule, solvent and salt are periodic. "
         "Water molecules of the file are left out, because the solvent stands for them; --solute names the atoms that "
         "stay instead. With --select, all atoms of the solute shape the surface, and the selected ones act. Ions are "
         "placed by the potential in the solvent, on the grid, so --script, --refine, --water and --keep-water are "
         "rejected."},
    {OPTION_NUMBER, .name = "solute-dielectric", .argument = "D", SETTING(solvent.molecule_dielectric), .least = 1,
     .most = 1e4, .initial = "2", .needs = "solvent", .help = "relative permittivity in the molecule"},
    {OPTION_NUMBER, .name = "solvent-dielectric", .argument = "D", SETTING(solvent.solvent_dielectric), .least = 1,
     .most = 1e4, .initial = "78.54", .needs = "solvent",
     .help = "relative permittivity of the solvent; 78.54 is water at 298.15 K"},
    {OPTION_NUMBER, .name = "ionic-strength", .argument = "C", SETTING(solvent.strength), .least = 0, .most = 10,
     .unit = "mol/L", .initial = "0.15", .needs = "solvent", .help = "ionic strength of the salt in the solvent",
     .more = "Of a salt of ions of one charge each, it is the concentration."},
    {OPTION_CUSTOM, .name = "solvent-salt", .argument = "Z:C,Z:C", .parse = solvent_salt, .needs = "solvent",
     .excludes = "ionic-strength", .why = "both say how much salt there is", .default_help = "ions of one charge each",
     .help =
         "the salt's kinds of ions, each a charge and a concentration in mol/L: 2:0.1,-1:0.2 is 0.1 mol/L of MgCl2"},
    {OPTION_FLAG, .name = "non-linear", SETTING(solvent.non_linear), .needs = "solvent",
     .help = "the full Poisson-Boltzmann equation, for strong charges such as those of nucleic acids",
     .more = "The linear equation is its limit for potentials of less than kT/e where ions can be."},
    {OPTION_NUMBER, .name = "stern", .argument = "R", SETTING(solvent.stern), .least = 0, .most = 20,
     .unit = "angstrom", .initial = "2", .needs = "solvent",
     .help = "radius of the salt's ions, by which they keep from the atoms' spheres"},
    {OPTION_NUMBER, .name = "probe", .argument = "R", SETTING(solvent.probe), .least = 0.1, .most = 10,
     .unit = "angstrom", .initial = "1.4", .needs = "solvent page " SURFACES,
     .help = "radius of the solvent's molecules"},
    {OPTION_CHOICE, .name = "surface", .argument = "S", SETTING(solvent.surface), .choices = surfaces, .initial = "ses",
     .needs = "solvent page " SURFACES, .help = "what parts the molecule from the solvent"},
    {OPTION_WRITE, .name = "energies", .argument = "FILE", .completes = ".json .csv", SETTING(solvent.energies),
     .needs = "solvent", .help = "energies in the solvent, in all, of residues and of atoms: .json or .csv",
     .more = "If nothing else is asked for, no map is made. With --trajectory, the file has the energies of each "
             "frame, on a grid around "
             "the molecule of that frame."},
    {OPTION_CUSTOM, .name = "solvent-map", .argument = "WHAT:FILE",
     .completes = "dielectric: ions: distance: charge:", .parse = take_solvent_map, .needs = "solvent",
     .excludes = "trajectory", .why = "the grid moves with the molecule", .default_help = "none",
     .help = "a map of the dielectric, the ions' accessibility, the distance from the surface, or the charge: "
             "dielectric, ions, distance, "
             "charge; may be repeated",
     .more = "`distance:d.dx` has angstrom, negative inside down to 0.9 times the probe's radius."},
    {OPTION_NUMBER, .name = "accuracy-energy", .argument = "E", SETTING(solvent.accuracy), .least = 1e-4, .most = 0.2,
     .needs = "solvent", .excludes = "spacing counts size trajectory", .why = "both set the spacing",
     .default_help = "the spacing is given",
     .help = "relative error of the reaction energy, for which the spacing is chosen: 0.01",
     .more = "Two coarse solutions tell how the energy depends on the spacing. The spacing is at most 1 and at least "
             "0.1 angstrom."},
    {OPTION_FLAG, .name = "energy-error", SETTING(solvent.error), .needs = "energies", .excludes = "trajectory",
     .why = "it is that of one molecule",
     .help = "an estimate of the energy's error, from a second solution on a coarser grid"},
    {OPTION_CUSTOM, .name = "ligand", .argument = "SELECTION", .parse = ligand, .needs = "energies",
     .excludes = "complex", .why = "both say what binds", .default_help = "none",
     .help = "atoms that bind to the others: the energy of binding, on one grid, by the difference to both alone"},
    {OPTION_TEXT, .name = "complex", .argument = "FILE,FILE", .completes = ".pqr", SETTING(solvent.partners),
     .needs = "energies", .excludes = "trajectory", .why = "a file has the partner's positions at one time",
     .help = "the partners of the complex: two PQR files, for the energy of binding",
     .more = "The three molecules are solved for on one grid, that covers them all. The partners need not have the "
             "positions that they have in the complex."},

    {OPTION_FLAG, .name = "apbs", SETTING(apbs),
     .excludes =
         "charges radii trajectory read-map select minus solute output map picture points field-map spacing border "
         "origin size counts cell units temperature dielectric distance-dielectric smooth solvent part join "
         "resume journal " STUDIES " " PLACES_IONS,
     .why = "the input file of APBS says what to do",
     .help = "the input is an input file of APBS, which is run as it is",
     .more = "Files named in it are looked for from the current folder, as APBS does. Sections ELEC with mg-auto and "
             "mg-manual are supported, and their sums (print elecEnergy). A word that cannot be honoured stops the "
             "run; one that does not change "
             "the result is ignored with a note. docs/solvent.md has the list."},

    {OPTION_GROUP, .name = "Computation"},
    {OPTION_TEXT, .scope = OPTION_OF_RUN, .name = "device", .argument = "DEVICE", .completes = "auto cpu cuda opencl",
     SETTING(device), .initial = "auto",
     .help =
         "where to compute: auto, cpu, cuda, opencl, or a list such as cuda:0,1; cpu:0,1 simulates devices for tests",
     .more = "`auto` estimates the work, and prints its choice and the reason. `cuda` uses as many GPUs as pay off. "
             "`cuda:0,1` are "
             "GPUs by number. `opencl:1` is an OpenCL device of the list of --devices, of which `auto` takes none; "
             "`cpu,opencl:0` "
             "share a map. `cpu:0,1` simulates several devices on the CPU, to test what several GPUs would do; it "
             "is not faster. A requested GPU that is not available is an error. If one of several devices fails while "
             "the map is computed, a warning says so and the others continue."},
    {OPTION_CUSTOM, .letter = 'p', .scope = OPTION_OF_RUN, .name = "threads", .argument = "N", .parse = option_threads,
     .default_help = "one per core", .help = "number of CPU threads",
     .more = "Only cores that the process may use are counted: its affinity, and its quota of processor time."},
    {OPTION_CHOICE, .name = "precision", .argument = "P", SETTING(precision), SETS(has_precision),
     .choices = precisions, .initial = "single", .help = "precision of the computation, and of values in the map",
     .more = "Some formats store single precision only."},
    {OPTION_CUSTOM, .letter = 'm', .name = "method", .argument = "NAME[:VARIANT]",
     .completes = "auto exact fast cutoff:", .parse = parse_method, .initial = "auto",
     .help =
         "method of the map: auto, exact, fast, or cutoff:R[:LAW]; variants are simd, avx512, avx2, baseline and ref "
         "on the CPU, and scatter of fast and cutoff; on GPUs tuned, roots, const1, const4, const8 and dcs1 to dcs3 "
         "of exact; bins, large-bin, small-bin and small-bin-overlap of fast and cutoff; by OpenCL tuned and dcs3, and "
         "bins",
     .more =
         "`auto` is the faster of `exact` and `fast`. `exact` is the direct sum over all atoms, in free space. "
         "`fast`, to --accuracy, splits it into a sum over near pairs and a convolution on a mesh. The names of "
         "VMD's cionize mean the same: `standard` is `exact`, `multilevel` is `fast`; so is `direct` `exact`. "
         "`cutoff:R` is another potential, of the atoms and images nearer than R angstrom: `cutoff:12`. Its laws are "
         "`plain` (1/r, the default), `shifted` (1/r - 1/R), `smoothed` ((1 - r^2/R^2)^2 / r, as NAMD without PME) "
         "and `switched` or `switched:R_ON` (the switching function of CHARMM and NAMD, from R_ON or 5/6 of R on): "
         "`cutoff:12:switched:10`. The run prints how much the map differs from the sum over all atoms. `simd` is "
         "the widest instruction set of the CPU, `ref` is plain C in double precision on one thread. `roots` "
         "computes all reciprocal roots with the special function units. `dcs1` to `dcs3` are the published kernels of "
         "the direct sum; `large-bin`, `small-bin`, `small-bin-overlap` and `scatter` those with a cutoff."},
    {OPTION_NUMBER, .name = "accuracy", .argument = "E", SETTING(accuracy), .least = 1e-10, .most = 1e-3,
     .initial = "1e-6", .excludes = "distance-dielectric", .why = "sums with it are exact",
     .help = "largest error of methods that are not exact: rms over the map, relative to the rms potential",
     .more = "The error of single points is at most 10 times that. It cannot be combined with --method exact or "
             "cutoff. Below 1e-6, `fast` needs --precision double. Each run "
             "measures the error at up to 256 random points, against exact sums, and warns if it is larger."},
    {OPTION_FLAG, .scope = OPTION_OF_RUN, .name = "dry-run", SETTING(dry_run),
     .help = "the plan, time and memory only; no file is written",
     .more = "It is an error if the memory is not enough."},

    {OPTION_GROUP, .name = "Long runs",
     .help =
         "A map can be computed in parts, by several processes or machines, and a run that was interrupted can go on."},
    OPTION_ROWS_PIECES(cionize_request, settings.pieces, part, "layers of the map"),
    OPTION_ROWS_BATCH(cionize_request, settings.pieces),

    {OPTION_GROUP, .name = "Messages"},
    {OPTION_FLAG, .letter = 'q', .scope = OPTION_OF_RUN, .name = "quiet", SETTING(quiet),
     .help = "only warnings and errors"},
    {OPTION_FLAG, .scope = OPTION_OF_RUN, .name = "progress", SETTING(progress), .excludes = "quiet",
     .help = "progress even if standard error is not a terminal: a line every ten seconds"},
    OPTION_ROW_DEVICES,
    OPTION_ROWS_HELP,
    {0}};
