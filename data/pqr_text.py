"""The lines of a PQR file, as the generators in this folder write them.

Fields are in the columns of a PDB file and also separated by blanks, so readers of both kinds agree. Remarks must not
contain the words ATOM or HETATM, because some readers treat them as the start of a record anywhere in a line.
"""


def remark(text):
    assert not {"atom", "hetatm"} & set(text.lower().split()), text
    return f"REMARK   1 {text}\n"


def record(serial, name, residue, number, position, charge, radius, decimals=3, charge_decimals=4):
    """The line of one charge. Coordinates and radius in angstrom, charge in e."""
    columns = [f"{value:8.{decimals}f}" for value in position]
    if not all(column.startswith(" ") and len(column) == 8 for column in columns):
        raise ValueError(f"{position} does not fit the columns of a PQR file with {decimals} decimals")
    name = f" {name:<3}" if len(name) < 4 else name
    return (f"ATOM {serial:6d} {name} {residue:<3}  {number:4d}    {''.join(columns)} {charge:7.{charge_decimals}f}"
            f" {radius:6.4f}\n")
