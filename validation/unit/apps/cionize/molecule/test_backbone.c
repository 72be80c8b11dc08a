/* Backbones: helices and strands, gaps, alpha carbons alone, nucleotides. validation/peers/test_backbone_dssp.py compares with mkdssp. */
#include <math.h>

#include "molecule/backbone.h"
#include "molecule/molecule_arrays.h"
#include "molecule/molecule_part.h"
#include "molecule_fixture.h"

static const double DEGREE = 0.017453292519943295;

static void add_atom(molecule *m, const char *name, const char *residue, const char *chain, int number,
                     const double place[3])
{
    atom_label *label = &m->labels[m->atoms];
    *label = (atom_label){.residue_number = number};
    snprintf(label->name, sizeof label->name, "%s", name);
    snprintf(label->residue, sizeof label->residue, "%s", residue);
    snprintf(label->chain, sizeof label->chain, "%s", chain);
    molecule_place(m, m->atoms, place);
    m->charge[m->atoms] = 0;
    m->radius[m->atoms] = 1;
    m->atoms++;
}

static molecule empty(void)
{
    molecule m = {0};
    assert_true(molecule_resize(&m, 400));
    m.atoms = 0;
    return m;
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void unit(double v[3])
{
    const double size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++)
        v[k] /= size;
}

/* The place behind a, b, c at `length` from c, by an angle and a dihedral in degrees. */
static void extend(const double a[3], const double b[3], const double c[3], double length, double angle,
                   double dihedral, double out[3])
{
    double ab[3], bc[3], n[3], m[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = b[k] - a[k];
        bc[k] = c[k] - b[k];
    }
    unit(bc);
    cross(ab, bc, n);
    unit(n);
    cross(n, bc, m);
    for (int k = 0; k < 3; k++)
        out[k] = c[k] + length * (-cos(angle * DEGREE) * bc[k] + sin(angle * DEGREE) * cos(dihedral * DEGREE) * m[k] +
                                  sin(angle * DEGREE) * sin(dihedral * DEGREE) * n[k]);
}

/* A chain of `count` residues with the angles phi and psi, and usual bonds (Engh and Huber). */
static void add_peptide(molecule *m, const char *chain, int count, double phi, double psi)
{
    double n[3] = {0, 0, 0}, ca[3] = {1.46, 0, 0}, c[3] = {2.0, 1.42, 0}, o[3], next[3], last[3];
    for (int i = 0; i < count; i++) {
        extend(n, ca, c, 1.33, 116.6, psi, next);
        extend(n, ca, c, 1.23, 120.1, psi + 180, o);
        add_atom(m, "N", "ALA", chain, i + 1, n);
        add_atom(m, "CA", "ALA", chain, i + 1, ca);
        add_atom(m, "C", "ALA", chain, i + 1, c);
        add_atom(m, "O", "ALA", chain, i + 1, o);
        memcpy(last, c, sizeof last);
        double following[3];
        extend(ca, last, next, 1.46, 121.9, 180, following); /* omega */
        memcpy(n, next, sizeof n);
        extend(last, n, following, 1.52, 111, phi, c);
        memcpy(ca, following, sizeof ca);
    }
}

/* A letter for each residue, '|' before each that begins a piece; "" if the backbone has none. */
static const char *shapes(const molecule *m, backbone *b)
{
    static char out[512];
    size_t n = 0;
    assert_int_equal(backbone_find(ctx, m, b), VF_OK);
    for (int64_t i = 0; i < b->count; i++) {
        double size = 0;
        for (int k = 0; k < 3; k++)
            size += b->at[i].side[k] * b->at[i].side[k];
        assert_true(fabs(size - 1) < 1e-12); /* fails for NaN */
        if (b->at[i].begins)
            out[n++] = '|';
        out[n++] = "-HEN"[b->at[i].kind];
    }
    out[n] = '\0';
    return out;
}

/* Twelve residues of an alpha helix: turns from residue 1 to 8, so residues 2 to 11 are helix. A chain of phi = -120, psi = 130 is
 * no strand without a partner. Ten residues of a 3-10 helix have turns from 1 to 7: residues 2 to 9. */
static void test_helices(void **state)
{
    (void)state;
    backbone b;
    molecule m = empty();
    add_peptide(&m, "A", 12, -57, -47);
    assert_string_equal(shapes(&m, &b), "|-HHHHHHHHHH-");
    /* The sides are at right angles to the curve, which climbs 3 angstrom on a chord of 2 x 2.3 sin(100 degrees) = 4.5, or 34
     * degrees; and C=O leans from the axis by some 20 degrees. cos(34) cos(20) = 0.78. From the first residue to the last there
     * are three turns and a little more: 3 degrees off the axis. */
    double axis[3];
    for (int k = 0; k < 3; k++)
        axis[k] = b.at[11].place[k] - b.at[0].place[k];
    unit(axis);
    for (int64_t i = 2; i < 10; i++) {
        const double *p = b.at[i].side, *q = b.at[1].side;
        const double along = p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2];
        assert_true(fabs(along) > 0.7);
        assert_true(along * (q[0] * axis[0] + q[1] * axis[1] + q[2] * axis[2]) > 0); /* it does not turn over */
    }
    backbone_free(&b);
    molecule_free(&m);
    m = empty();
    add_peptide(&m, "A", 12, -120, 130);
    assert_string_equal(shapes(&m, &b), "|------------");
    backbone_free(&b);
    molecule_free(&m);
    m = empty();
    add_peptide(&m, "A", 10, -49, -26);
    assert_string_equal(shapes(&m, &b), "|-HHHHHHHH-");
    backbone_free(&b);
    molecule_free(&m);
}

/* Prolines have no hydrogen to give: of an alpha helix with prolines at 6 and 7, whose bonds to 2 and 3 are missing, turns are left from 1
 * and from 4 to 8. */
static void test_prolines(void **state)
{
    (void)state;
    backbone b;
    molecule m = empty();
    add_peptide(&m, "A", 12, -57, -47);
    for (int64_t i = 20; i < 28; i++)
        snprintf(m.labels[i].residue, sizeof m.labels[i].residue, "%s", i < 24 ? "PRO" : "NPRO");
    assert_string_equal(shapes(&m, &b), "|----HHHHHHH-");
    backbone_free(&b);
    molecule_free(&m);
}

/* Without a residue, or with a TER, two pieces; a residue alone is no piece; without O there are no bonds. */
static void test_gaps(void **state)
{
    (void)state;
    backbone b;
    molecule m = empty();
    bool keep[48];
    molecule part;
    add_peptide(&m, "A", 12, -57, -47);
    m.labels[19].ends_chain = true; /* of residue 5 */
    assert_string_equal(shapes(&m, &b), "|-----|-HHHHH-");
    backbone_free(&b);
    m.labels[19].ends_chain = false;
    for (int i = 0; i < 48; i++)
        keep[i] = i / 4 != 3 && i / 4 != 5; /* residue 5 is alone */
    assert_true(molecule_part(&m, keep, &part));
    assert_string_equal(shapes(&part, &b), "|---|-HHHH-");
    assert_int_equal(part.labels[b.at[3].atom].residue_number, 7);
    backbone_free(&b);
    molecule_free(&part);
    for (int i = 0; i < 48; i++)
        keep[i] = i % 4 == 1; /* alpha carbons */
    assert_true(molecule_part(&m, keep, &part));
    assert_string_equal(shapes(&part, &b), "|------------");
    /* 3.8 angstrom apart, and placed as they are */
    assert_true(fabs(b.at[5].place[0] - part.x[5]) < 1e-12 && b.at[5].tip == -1);
    backbone_free(&b);
    molecule_free(&part);
    molecule_free(&m);
}

/* Calcium, a ligand and water are no backbone. */
static void test_others(void **state)
{
    (void)state;
    backbone b;
    molecule m = empty();
    for (int i = 0; i < 4; i++) {
        const double place[3] = {3.8 * i, 0, 0};
        add_atom(&m, i < 2 ? "CA" : i == 2 ? "O" : "C1'", i < 2 ? "CA" : i == 2 ? "HOH" : "LIG", "A", i + 1, place);
    }
    assert_string_equal(shapes(&m, &b), "");
    backbone_free(&b);
    molecule_free(&m);
}

/* A strand of DNA as a helix of 36 degrees and 3.38 angstrom a step: the ribbon is wide along the axis, and its normal points to it. */
static void test_nucleotides(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double r, angle, z;
    } atoms[] = {{"C4'", 7.9, 70, 1.9},
                 {"O3'", 8.9, 60, -0.6},
                 {"C1'", 5.9, 67, 0.5},
                 {"N9", 4.6, 77, 0.4},
                 {"N1", 0.5, 40, 0.1}};
    backbone b;
    molecule m = empty();
    for (int i = 0; i < 8; i++)
        for (size_t a = 0; a < sizeof atoms / sizeof *atoms; a++) {
            const double angle = (atoms[a].angle + 36 * i) * DEGREE;
            const double place[3] = {atoms[a].r * cos(angle), atoms[a].r * sin(angle), atoms[a].z + 3.38 * i};
            if (strcmp(atoms[a].name, "N9") != 0 || i % 2 == 0) /* pyrimidines: no N9, N3 faces the partner */
                add_atom(&m, strcmp(atoms[a].name, "N1") == 0 && i % 2 ? "N3" : atoms[a].name, i % 2 ? "DC" : "DA", "A",
                         i + 1, place);
        }
    assert_string_equal(shapes(&m, &b), "|NNNNNNNN");
    for (int64_t i = 1; i < 7; i++) {
        assert_string_equal(m.labels[b.at[i].tip].name, i % 2 ? "N3" : "N1");
        assert_true(fabs(b.at[i].side[2]) >
                    0.6); /* the curve climbs by 0.53 of a radian: cos is 0.86, less the direction of C1' */
    }
    backbone_free(&b);
    molecule_free(&m);
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(test_helices), cmocka_unit_test(test_prolines),
          cmocka_unit_test(test_gaps), cmocka_unit_test(test_others), cmocka_unit_test(test_nucleotides))
