/* Writes ions, preceded by some atoms with names, with the writer of cionize, and the expected result of reading
 * them.
 *
 * usage: write_sample_ions FILE ATOMS IONS EXPECTED
 *
 * EXPECTED becomes a text file: a line for every atom with its name, element, residue number, x, y and z. Used by
 * read_ions.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ions/ions.h"

static ion_kind kinds[] = {
    {"SOD", "Na", 1, 1.41, ""}, {"CLA", "Cl", -1, 2.27, ""}, {"CAL", "Ca", 2, 1.37, ""}, {"POT", "K", 1, 1.76, ""}};
static const struct {
    const char *name, *element;
} names[] = {{"N", "N"}, {"CA", "C"}, {"C", "C"}, {"O", "O"}, {"HH11", "H"}, {"SG", "S"}};
enum { KINDS = sizeof kinds / sizeof *kinds, NAMES = sizeof names / sizeof *names };

/* In thousandths, and in the range of pdb2pqr's PQR columns. */
static double place(int64_t i, int axis)
{
    return (double)((i * (7919 + 104 * axis) + 11) % 500000 - 99000) / 1000;
}

static void fill_atom(molecule *mol, int64_t i)
{
    atom_label *label = &mol->labels[i];
    mol->x[i] = place(i, 0);
    mol->y[i] = place(i, 1);
    mol->z[i] = place(i, 2);
    mol->charge[i] = (double)(i % 7 - 3) / 8;
    mol->radius[i] = 1.5;
    snprintf(label->name, sizeof label->name, "%s", names[i % NAMES].name);
    snprintf(label->element, sizeof label->element, "%s", names[i % NAMES].element);
    snprintf(label->residue, sizeof label->residue, "ARG");
    snprintf(label->chain, sizeof label->chain, "A");
    label->residue_number = (int32_t)(i / NAMES + 1);
}

static int write_expected(const char *path, const molecule *mol, const ion_list *ions)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return 1;
    for (int64_t i = 0; i < mol->atoms; i++)
        fprintf(file, "%s %s %d %.3f %.3f %.3f\n", mol->labels[i].name, mol->labels[i].element,
                (int)mol->labels[i].residue_number, mol->x[i], mol->y[i], mol->z[i]);
    for (int64_t i = 0; i < ions->count; i++) {
        const ion_site *site = &ions->sites[i];
        fprintf(file, "%s %s %lld %.3f %.3f %.3f\n", kinds[site->kind].name, kinds[site->kind].element,
                (long long)i + 1, site->position[0], site->position[1], site->position[2]);
    }
    return fclose(file) != 0;
}

int main(int argc, char **argv)
{
    vf_context *ctx = NULL;
    if (argc != 5 || vf_context_create(&ctx) != VF_OK) {
        fprintf(stderr, "usage: write_sample_ions FILE ATOMS IONS EXPECTED\n");
        return 2;
    }
    const size_t atoms = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10);
    double *numbers = calloc(5 * atoms + 1, sizeof *numbers);
    molecule mol = {.atoms = (int64_t)atoms, .labels = calloc(atoms + 1, sizeof(atom_label))};
    ion_list ions = {KINDS, kinds, (int64_t)count, calloc(count + 1, sizeof(ion_site))};
    vf_status status = VF_ERR_MEMORY;
    if (numbers && mol.labels && ions.sites) {
        mol.x = numbers;
        mol.y = numbers + atoms;
        mol.z = numbers + 2 * atoms;
        mol.charge = numbers + 3 * atoms;
        mol.radius = numbers + 4 * atoms;
        for (int64_t i = 0; i < mol.atoms; i++)
            fill_atom(&mol, i);
        for (int64_t i = 0; i < ions.count; i++)
            ions.sites[i] = (ion_site){(int)(i % KINDS), {place(i, 3), place(i, 4), place(i, 5)}, -1};
        status =
            write_ions(ctx, argv[1], &ions, atoms ? &mol : NULL, NULL, "made by write_sample_ions: an ATOM, ions # 1");
        if (status == VF_OK && write_expected(argv[4], &mol, &ions) != 0)
            status = VF_ERR_OUTPUT;
    }
    if (status != VF_OK)
        fprintf(stderr, "%s\n", vf_context_message(ctx));
    free(numbers);
    free(mol.labels);
    free(ions.sites);
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}
