/* The PQR reader: random molecules in every dialect, truncated and shifted fields, more atoms than serial numbers,
 * and numbers.
 *
 * Numbers are compared for equality: a decimal number has one nearest double, which the reader must find. */
#include <locale.h>

#include "pqr_fixture.h"
#include "text/text_number.h"

typedef struct fields {
    char name[8], residue[8];
    char chain; /* ' ': none */
    int serial, number;
    char code;             /* ' ': none */
    int64_t value[VALUES]; /* x y z in 1/1000, charge and radius in units of the dialect's last decimal */
} fields;

/* value / 10^decimals as text, as printf would write a number with exactly this value. */
static const char *decimal(int64_t value, int decimals, char *out)
{
    int64_t unit = 1;
    for (int i = 0; i < decimals; i++)
        unit *= 10;
    int64_t size = value < 0 ? -value : value;
    sprintf(out, "%s%lld.%0*lld", value < 0 ? "-" : "", (long long)(size / unit), decimals, (long long)(size % unit));
    return out;
}

enum { NUMBER_SIZE = 48 };
typedef struct numbers {
    char x[NUMBER_SIZE], y[NUMBER_SIZE], z[NUMBER_SIZE], charge[NUMBER_SIZE], radius[NUMBER_SIZE];
} numbers;

static numbers write_numbers(const fields *f, int decimals)
{
    numbers n;
    decimal(f->value[X], 3, n.x);
    decimal(f->value[Y], 3, n.y);
    decimal(f->value[Z], 3, n.z);
    decimal(f->value[CHARGE], decimals, n.charge);
    decimal(f->value[RADIUS], decimals, n.radius);
    return n;
}

static int write_pdb2pqr(const fields *f, char *out)
{
    char serial[16], number[16], name[8];
    numbers n = write_numbers(f, 4);
    sprintf(serial, "%d", f->serial);
    sprintf(number, "%d", f->number);
    sprintf(name, strlen(f->name) == 4 ? "%.4s" : " %.3s", f->name);
    return sprintf(out, "%-6s%5.5s %-4s%4.4s %c%4.4s%c   %8.8s%8.8s%8.8s%8.8s%7.7s\n",
                   f->serial % 2 ? "ATOM" : "HETATM", serial, name, f->residue, f->chain, number, f->code, n.x, n.y,
                   n.z, n.charge, n.radius);
}

static int write_pdb2pqr_whitespace(const fields *f, char *out)
{
    char line[256];
    write_pdb2pqr(f, line);
    return sprintf(out, "%.6s %.10s %.22s %.8s %s", line, line + 6, line + 16, line + 38, line + 46);
}

static int write_gmx(const fields *f, char *out)
{
    numbers n = write_numbers(f, 2);
    return sprintf(out, "%-6s%5d %-4.4s%4.4s%c%4d %8s %8s %8s %6s %6s\n", "ATOM", f->serial % 100000, f->name,
                   f->residue, f->chain, f->number % 10000, n.x, n.y, n.z, n.charge, n.radius);
}

static int write_vmd(const fields *f, char *out)
{
    numbers n = write_numbers(f, 3);
    return sprintf(out, "ATOM  %5d %-4s %s %5d    %8s%8s%8s %s %s\n", f->serial, f->name, f->residue, f->number, n.x,
                   n.y, n.z, n.charge, n.radius);
}

static int write_parmed(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "ATOM  %5d %-3s  %-3s %c %3d    %7s %7s %7s %8s %8s\n", f->serial, f->name, f->residue,
                   f->chain, f->number, n.x, n.y, n.z, n.charge, n.radius);
}

/* PDB columns, where a residue name of four letters touches the chain, and the chain a residue number of four
 * digits. */
static int write_amber(const fields *f, char *out)
{
    numbers n = write_numbers(f, 3);
    return sprintf(out, "ATOM  %5d %-4s %-4s%c%4d    %8s%8s%8s%8s%8s\n", f->serial % 100000, f->name, f->residue,
                   f->chain, f->number % 10000, n.x, n.y, n.z, n.charge, n.radius);
}

static int write_mdanalysis(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "ATOM %6d %-4s  %-3s %c %4d   %8s %8s %8s %7s %6s\n", f->serial, f->name, f->residue, f->chain,
                   f->number, n.x, n.y, n.z, n.charge, n.radius);
}

static int write_openbabel(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "%s%5d %-4s %-3.3s %c%4d    %8s%8s%8s %11s0000%8s %2s  \n", f->serial % 2 ? "ATOM  " : "HETATM",
                   f->serial, f->name, f->residue, f->chain, f->number, n.x, n.y, n.z, n.charge, n.radius,
                   f->serial % 3 ? "N" : "Cl");
}

static int write_tabs(const fields *f, char *out)
{
    numbers n = write_numbers(f, 4);
    return sprintf(out, "HETATM\t%d\t%s\t%s\t%d%c\t%s\t%s\t%s\t%s\t%s\r\n", f->serial, f->name, f->residue, f->number,
                   f->code, n.x, n.y, n.z, n.charge, n.radius);
}

/* Coordinates that fit eight columns, so that no writer truncates them: then none may be rejected. */
static const struct writer {
    const char *name;
    int (*write)(const fields *, char *);
    int decimals;
    int64_t largest_radius; /* that the dialect separates from the charge */
} writers[] = {
    {"pdb2pqr", write_pdb2pqr, 4, 129999},
    {"pdb2pqr --whitespace", write_pdb2pqr_whitespace, 4, 129999},
    {"gmx", write_gmx, 2, 999},
    {"vmd", write_vmd, 3, 9999},
    {"parmed", write_parmed, 4, 99999},
    {"amber", write_amber, 3, 9999},
    {"mdanalysis", write_mdanalysis, 4, 99999},
    {"openbabel", write_openbabel, 4, 99999},
    {"tabs", write_tabs, 4, 99999},
};

static fields random_fields(const struct writer *w, int serial)
{
    static const char *const names[] = {"N", "CA", "HD11", "1HB", "O5'", "H12A", "ZN", "H5''"};
    static const char *const residues[] = {"ALA", "NALA", "POPC", "DA", "U", "HOH", "2MG", "DC5", "CL-"};
    fields f = {.serial = serial, .number = (int)integer_between(-99, 9999), .chain = ' ', .code = ' '};
    strcpy(f.name, names[integer_between(0, 7)]);
    strcpy(f.residue, residues[integer_between(0, 8)]);
    if (integer_between(0, 3) > 0)
        f.chain = (char)integer_between('A', 'Z');
    if (integer_between(0, 9) == 0)
        f.code = (char)integer_between('A', 'C');
    int64_t reach = integer_between(0, 2) ? 99999 : 9999999; /* near the origin, or filling the columns */
    for (int v = X; v <= Z; v++)
        f.value[v] = integer_between(reach > 999999 ? -999999 : -reach, reach);
    int64_t unit = w->decimals == 4 ? 10000 : w->decimals == 3 ? 1000 : 100;
    f.value[CHARGE] = integer_between(-2 * unit, 2 * unit);
    f.value[RADIUS] = integer_between(0, integer_between(0, 3) ? 3 * unit : w->largest_radius);
    return f;
}

static void reads_random_molecules_in_every_dialect(void **state)
{
    (void)state;
    enum { ATOMS = 3000, LINE = 160 };
    double(*expected)[VALUES] = malloc(ATOMS * sizeof *expected);
    char *text = malloc((size_t)ATOMS * LINE);
    assert_non_null(expected);
    assert_non_null(text);
    for (size_t w = 0; w < sizeof writers / sizeof *writers; w++) {
        size_t used = 0;
        double unit = pow(10, writers[w].decimals);
        for (int i = 0; i < ATOMS; i++) {
            fields f = random_fields(&writers[w], i + 1 + (i > ATOMS / 2 ? 99990 - ATOMS / 2 : 0));
            for (int v = 0; v < VALUES; v++)
                expected[i][v] = (double)f.value[v] / (v < CHARGE ? 1000 : unit);
            used += (size_t)writers[w].write(&f, text + used);
            assert_true(used < (size_t)ATOMS * LINE);
        }
        expect_atoms(text, ATOMS, expected);
    }
    free(text);
    free(expected);
}

/* pdb2pqr truncates coordinates that need more than eight columns. The rest is read by its columns, or the line is
 * rejected as ambiguous, but never misread. */
static void never_misreads_cut_coordinates(void **state)
{
    (void)state;
    const struct writer *w = &writers[0];
    int refused = 0, read = 0;
    for (int i = 0; i < 20000; i++) {
        char line[256], column[9] = "";
        molecule m;
        fields f = random_fields(w, 1);
        f.value[integer_between(X, Z)] = integer_between(-99999999, 99999999);
        f.value[integer_between(X, Z)] = integer_between(-99999999, 99999999);
        f.value[CHARGE] = -1234;
        write_pdb2pqr(&f, line);
        if (parse(line, &m) != VF_OK) {
            refused++;
            if (!contains_all(vf_context_message(ctx), "by columns,"))
                fail_msg("%s for\n%s", vf_context_message(ctx), line);
            continue;
        }
        read++;
        const double got[3] = {m.x[0], m.y[0], m.z[0]};
        for (int v = X; v <= Z; v++) {
            memcpy(column, line + 30 + 8 * v, 8);
            if (!(got[v] == strtod(column, NULL)))
                fail_msg("%.10g read from '%s' in\n%s", got[v], column, line);
        }
        molecule_free(&m);
    }
    assert_true(read > refused && refused > 0);
}

/* A record without one of the last six fields must be rejected. One that lacks another field, or has an extra one,
 * is rejected or read with the same numbers. */
static void never_shifts_fields(void **state)
{
    (void)state;
    enum { FIELDS = 11 };
    for (int i = 0; i < 20000; i++) {
        char word[FIELDS][NUMBER_SIZE], line[512] = "";
        fields f = random_fields(&writers[6], 1);
        numbers n = write_numbers(&f, 4);
        const char *const from[FIELDS] = {"ATOM", "1", f.name, f.residue, NULL,    NULL,
                                          n.x,    n.y, n.z,    n.charge,  n.radius};
        for (int k = 0; k < FIELDS; k++)
            snprintf(word[k], NUMBER_SIZE, "%s", from[k] ? from[k] : "");
        bool digit_chain = integer_between(0, 1);
        sprintf(word[4], "%c", (int)(digit_chain ? integer_between('0', '9') : integer_between('A', 'Z')));
        sprintf(word[5], "%d", f.number);
        bool chain = integer_between(0, 1), insert = integer_between(0, 1);
        int at = (int)integer_between(1, FIELDS - 1);
        for (int k = 0; k < FIELDS; k++) {
            if ((k == 4 && !chain) || (k == at && !insert))
                continue;
            if (k == at)
                add_line(line, sizeof line, "%s ",
                         (const char *const[]){"7", "7.25", "X", "1001"}[integer_between(0, 3)]);
            add_line(line, sizeof line, "%s ", word[k]);
        }
        molecule m;
        if (parse(line, &m) != VF_OK)
            continue;
        bool same = m.x[0] == (double)f.value[X] / 1000 && m.y[0] == (double)f.value[Y] / 1000 &&
                    m.z[0] == (double)f.value[Z] / 1000 && m.charge[0] == (double)f.value[CHARGE] / 1e4 &&
                    m.radius[0] == (double)f.value[RADIUS] / 1e4;
        if (!same || (!insert && at > 5))
            fail_msg("read as %g %g %g %g %g: %s", m.x[0], m.y[0], m.z[0], m.charge[0], m.radius[0], line);
        molecule_free(&m);
    }
}

static void reads_more_atoms_than_serials(void **state)
{
    (void)state;
    enum { ATOMS = 120000, LINE = 96 };
    char *text = malloc((size_t)ATOMS * LINE);
    double(*expected)[VALUES] = malloc(ATOMS * sizeof *expected);
    assert_non_null(text);
    assert_non_null(expected);
    /* truncated to five columns (pdb2pqr), six columns, hexadecimal (VMD), hybrid-36's first block, asterisks, from
     * 0 again (gmx) */
    for (int style = 0; style < 6; style++) {
        size_t used = 0;
        for (int i = 0; i < ATOMS; i++) {
            char serial[16];
            int n = i + 1;
            if (n <= 99999)
                sprintf(serial, "%5d", n);
            else if (style == 0)
                sprintf(serial, "%d", n / 10);
            else if (style == 1)
                sprintf(serial, "%d", n);
            else if (style == 2)
                sprintf(serial, "%x", (unsigned)n);
            else if (style == 3)
                sprintf(serial, "A%04d", (n - 100000) % 10000);
            else
                sprintf(serial, style == 4 ? "*****" : "%5d", n % 100000);
            double x = (double)(i % 1000) - 500, y = (double)(i / 1000), z = -1;
            memcpy(expected[i], (double[VALUES]){x, y, z, i % 2 ? 0.417 : -0.417, 1.5}, sizeof *expected);
            used += (size_t)sprintf(text + used, "%s%s  OW  SOL A%4d    %8.3f%8.3f%8.3f %7.4f %6.4f\n",
                                    i % 2 ? "ATOM  " : "HETATM", serial, i / 30 % 10000, x, y, z,
                                    i % 2 ? 0.417 : -0.417, 1.5);
        }
        expect_atoms(text, ATOMS, expected);
        assert_string_equal(warnings, "");
    }
    free(text);
    free(expected);
}

/* ---- numbers ---- */

static bool number(const char *text, double *value)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    text_number out = {.value = NAN};
    bool is = text_read_number((text_piece){text, strlen(text)}, c_locale, &out);
    freelocale(c_locale);
    *value = out.value;
    return is;
}

static void reads_numbers_correctly_rounded(void **state)
{
    (void)state;
    const char *const special[] = {"0.1",
                                   "-0.3",
                                   "9007199254740993",
                                   "9007199254740992.5",
                                   "0.1e-22",
                                   "123456789012345678901234567890",
                                   "1e22",
                                   "1e23",
                                   "1e308",
                                   "4.9e-324",
                                   "1e-400",
                                   "2.2250738585072011e-308",
                                   "8.41",
                                   "1.7e-05",
                                   "00000000000000000000000000000000001.5",
                                   "-.5",
                                   "7."};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        double value;
        assert_true(number(special[i], &value));
        if (!(value == strtod(special[i], NULL)))
            fail_msg("%s read as %.17g", special[i], value);
    }
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double value;
        uint64_t mantissa = random_bits() >> integer_between(1, 60);
        int decimals = (int)integer_between(0, 18);
        decimal(integer_between(0, 1) ? (int64_t)mantissa : -(int64_t)mantissa, decimals, text);
        if (integer_between(0, 3) == 0)
            sprintf(text + strlen(text), "e%+03d", (int)integer_between(-40, 40));
        assert_true(number(text, &value));
        if (!(value == strtod(text, NULL)))
            fail_msg("%s read as %.17g, not %.17g", text, value, strtod(text, NULL));
    }
    const char *const none[] = {"",   "-",  "+",  ".",    "e5",  "1e",  "1e+",   "--1",  "1-",
                                "1 ", " 1", "1f", "0x10", "nan", "inf", "1e999", "1..2", "1,5"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        double value;
        if (number(none[i], &value))
            fail_msg("'%s' read as %g", none[i], value);
    }
}

TEST_MAIN(set_up_context, close_context, cmocka_unit_test(reads_random_molecules_in_every_dialect),
          cmocka_unit_test(never_misreads_cut_coordinates), cmocka_unit_test(never_shifts_fields),
          cmocka_unit_test(reads_more_atoms_than_serials), cmocka_unit_test(reads_numbers_correctly_rounded))
