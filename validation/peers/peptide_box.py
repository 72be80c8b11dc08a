"""Two short peptides, ALA-LYS-ALA-LYS, in chains A and B: for tests of other programs that read files of cionize."""
import math


def behind(a, b, c, length, angle, dihedral):
    """The place of an atom bound to c: its distance from c, the angle b-c-atom and the dihedral a-b-c-atom, degrees."""
    def minus(p, q):
        return [x - y for x, y in zip(p, q)]

    def cross(p, q):
        return [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]

    def unit(p):
        size = math.sqrt(sum(x * x for x in p))
        return [x / size for x in p]

    along = unit(minus(c, b))
    normal = unit(cross(minus(b, a), along))
    across = cross(normal, along)
    angle, dihedral = math.radians(angle), math.radians(dihedral)
    d = [-length * math.cos(angle), length * math.sin(angle) * math.cos(dihedral), length * math.sin(angle) * math.sin(dihedral)]
    return [c[i] + d[0] * along[i] + d[1] * across[i] + d[2] * normal[i] for i in range(3)]


def peptide(residues=("ALA", "LYS", "ALA", "LYS")):
    """[(name, residue, number, place)] of the heavy atoms, stretched out; usual lengths and angles."""
    atoms = []
    n, ca = [0.0, 0.0, 0.0], [1.458, 0.0, 0.0]
    c = [1.458 + 1.525 * math.cos(math.radians(69)), 1.525 * math.sin(math.radians(69)), 0.0]
    for number, residue in enumerate(residues, 1):
        following = behind(n, ca, c, 1.329, 116.6, 140)
        cb = behind(c, n, ca, 1.53, 110.1, 120)
        atoms += [("N", residue, number, n), ("CA", residue, number, ca), ("C", residue, number, c),
                  ("O", residue, number, behind(following, ca, c, 1.231, 120.5, 180)), ("CB", residue, number, cb)]
        chain = [n, ca, cb]
        for name, length in (("CG", 1.52), ("CD", 1.52), ("CE", 1.52), ("NZ", 1.49)) if residue == "LYS" else ():
            chain.append(behind(*chain[-3:], length, 112, 180))
            atoms.append((name, residue, number, chain[-1]))
        if number == len(residues):
            atoms.append(("OXT", residue, number, following))
        following_ca = behind(ca, c, following, 1.458, 121.7, 180)
        n, ca, c = following, following_ca, behind(c, following, following_ca, 1.525, 111, -140)
    return atoms


def pdb_of_peptides(shifts=((8, 10, 8), (8, 10, 24))):
    """The text of a PDB file: a chain for each shift."""
    text, serial = "", 0
    for chain, shift in zip("ABCDEFGH", shifts):
        for name, residue, number, place in peptide():
            serial += 1
            text += "ATOM  %5d  %-3s %3s %s%4d    %8.3f%8.3f%8.3f  1.00  0.00          %2s\n" % (
                serial, name, residue, chain, number, *(x + s for x, s in zip(place, shift)), name[0])
        serial += 1
        text += "TER   %5d      %3s %s%4d\n" % (serial, residue, chain, number)
    return text + "END\n"
