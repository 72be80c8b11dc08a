/* What a run tells: one list of facts, from which the terminal's lines and the report are both written.
 *
 * The facts are in the report's order. The words of some of them make the terminal's lines, which a program numbers from
 * 1 in the order of its output. So a fact is stated once, with its key, its value and its words:
 *
 *     fact_integer(f, "coils", raw->coils);
 *     fact_say(f, LINE_SCAN, ", %d coils", raw->coils);
 *
 * Keys and values are copied. If memory runs out, facts_print and facts_report say so. */
#ifndef FACTS_H
#define FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/report.h"

/* One fact. `value` [count] has the type of its kind; a text's has its bytes. */
typedef enum fact_kind {
    FACT_WORDS, /* only the terminal has it */
    FACT_TEXT,
    FACT_NUMBER,
    FACT_INTEGER,
    FACT_BOOL,
    FACT_NUMBERS,
    FACT_INTEGERS,
    FACT_TEXTS,  /* one behind another */
    FACT_STAGES, /* vf_stages */
    FACT_BEGIN,  /* an object: the facts up to its end */
    FACT_END
} fact_kind;
typedef struct fact {
    fact_kind kind;
    char *key;
    void *value;
    int count;
    int line; /* of the terminal; 0: none */
    char *words;
} fact;

/* Begins as {0}. */
typedef struct facts {
    fact *row;
    int count, room;
    bool failed; /* no memory */
} facts;

/* Without a key (NULL), only the terminal has the fact. */
void fact_text(facts *f, const char *key, const char *value);
void fact_number(facts *f, const char *key, double value);
void fact_integer(facts *f, const char *key, int64_t value);
void fact_bool(facts *f, const char *key, bool value);
void fact_numbers(facts *f, const char *key, const double *values, int count);
void fact_integers(facts *f, const char *key, const int64_t *values, int count);
void fact_texts(facts *f, const char *key, const char *const *values, int count);
void fact_begin(facts *f, const char *key);
void fact_end(facts *f);
/* "seconds" and "processor_seconds", as vf_report_stages. */
void fact_stages(facts *f, const vf_stages *stages);

/* The words of the fact before, for a line of the terminal. A line is the words of its facts, in the list's order; they
 * may have line breaks. */
void fact_say(facts *f, int line, const char *format, ...) VF_PRINTF(3, 4);
/* Words that belong to no key of the report. */
void fact_only_say(facts *f, int line, const char *format, ...) VF_PRINTF(3, 4);

/* A text with a line of its own, "head       value". Nothing if it is "". */
void fact_line(facts *f, int line, const char *head, const char *key, const char *value);

/* Lines `first` to `last`, those that have words, as notes of the context. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status facts_print(vf_context *ctx, const facts *f, int first, int last);
/* Writes all facts that have keys; a report of NULL gets none. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status facts_report(vf_context *ctx, const facts *f, vf_report *report);
void facts_free(facts *f);

#endif
