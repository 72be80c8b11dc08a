/* A parsed selection. Private to selection_text.c, which makes it, and select_atoms.c, which applies it. */
#ifndef CIONIZE_SELECTION_TREE_H
#define CIONIZE_SELECTION_TREE_H

#include "select_atoms.h"

typedef enum selection_word {
    WORD_ALL,
    WORD_NONE,
    WORD_PROTEIN,
    WORD_NUCLEIC,
    WORD_WATER,
    WORD_IONS,
    WORD_HYDROGEN,
    WORD_HEAVY,
    WORD_BACKBONE,
    WORD_SIDECHAIN,
    WORD_HETERO
} selection_word;

/* The fields of texts come first. */
typedef enum selection_field {
    FIELD_NAME,
    FIELD_RESNAME,
    FIELD_CHAIN,
    FIELD_SEGMENT,
    FIELD_ELEMENT,
    FIELD_RESID,
    FIELD_INDEX,
    FIELD_SERIAL,
    FIELD_CHARGE,
    FIELD_RADIUS,
    FIELD_OCCUPANCY,
    FIELD_X,
    FIELD_Y,
    FIELD_Z,
    FIELD_RESIDUE /* only in "same residue as" */
} selection_field;

typedef enum selection_kind {
    NODE_WORD,
    NODE_FIELD,
    NODE_NOT,
    NODE_AND,
    NODE_OR,
    NODE_WITHIN,
    NODE_SAME
} selection_kind;

typedef struct selection_node {
    selection_kind kind;
    selection_word word;
    selection_field field; /* of NODE_FIELD and NODE_SAME */
    bool unequal;          /* !=: the atoms that have none of the values */
    int first, values;     /* in the selection's values */
    double distance;       /* of NODE_WITHIN */
    bool excludes;         /* exwithin: without the atoms of the operand */
    int left, right;       /* operands; -1: none */
    size_t begin, end;     /* place in the text */
} selection_node;

/* A text, or numbers from lo to hi. */
typedef struct selection_value {
    char *text;    /* without quotes; of resid, of a label that is no number, or NULL */
    bool literal;  /* it was in quotes: no wild cards */
    double lo, hi; /* both ends included, unless: */
    bool above, below;
    char code; /* of resid 10A: the insertion code; 0: any */
} selection_value;

struct atom_selection {
    char *where, *text;
    selection_node *node;
    selection_value *value;
    int nodes, values, node_room, value_room;
    int root;
};

#endif
