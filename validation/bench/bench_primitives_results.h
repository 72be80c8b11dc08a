/* The results of bench_primitives, which includes this file behind its operations: a table of all sizes, and shares of the
 * peers at the largest. */
#ifndef BENCH_PRIMITIVES_RESULTS_H
#define BENCH_PRIMITIVES_RESULTS_H

static void bar(const char *name, int log, double rate, double beside, const char *what, double least)
{
    const double share = rate / beside;
    char key[96];
    snprintf(key, sizeof key, "%s, 2^%d", name, log);
    printf("  %-36s %8.1f GB/s  %.3f of %s", key, 1e-9 * rate, share, what);
    if (least > 0)
        printf(": %s (%.2f)", share >= least ? "met" : "MISSED", least);
    printf("\n");
    vf_report_begin(report, key);
    vf_report_number(report, "bytes_per_second", rate);
    vf_report_text(report, "beside", what);
    vf_report_number(report, "share", share);
    if (least > 0) {
        vf_report_number(report, "bar", least);
        vf_report_bool(report, "met", share >= least);
    }
    vf_report_end(report);
}

static void note_bars(double ceiling)
{
    printf("\n");
    vf_report_begin(report, "shares");
    for (op *o = ops; o < ops + OPS; o++) {
        const int last = most_of(o) - LEAST;
        if (is_run(o))
            bar(o->name, last + LEAST, o->rate[last], has_peer(o) ? o->peer_rate[last] : ceiling,
                peer_name(has_peer(o) ? o : &ops[COPY]),
                on_gpu()                                                ? o->bar
                : o == &ops[FILL] || o == &ops[READ] || is_histogram(o) ? 0
                                                                        : 0.9);
        if (on_gpu() && o == &ops[SUM])
            bar(o->name, 20, o->rate[20 - LEAST], o->peer_rate[20 - LEAST], peer_name(o), o->bar);
    }
    if (on_gpu())
        bar("inclusive scan of the copy's", most_log, ops[SCAN].rate[most_log - LEAST], ceiling, peer_name(&ops[COPY]),
            0.85); /* the target */
    if (on_gpu())
        bar("histogram of bytes of the copy's", most_log, ops[HISTOGRAM].rate[most_log - LEAST], ceiling,
            peer_name(&ops[COPY]), 0.8);
    vf_report_end(report);
}

static void print_table(void)
{
    printf("\nGB/s%15s", "");
    for (const op *o = ops; o < ops + OPS; o++)
        if (is_run(o))
            printf(" %10.10s%s", o->name, on_gpu() && o->peer >= 0 ? "      peer" : "");
    printf("\n");
    for (int log = LEAST; log <= most_log; log++) {
        printf("2^%-2d = %-12lld", log, 1LL << log);
        for (const op *o = ops; o < ops + OPS; o++) {
            if (!is_run(o))
                continue;
            printf(" %10.1f", 1e-9 * o->rate[log - LEAST]);
            if (on_gpu() && o->peer >= 0)
                printf(" %9.1f", 1e-9 * o->peer_rate[log - LEAST]);
        }
        printf("\n");
    }
}

static void report_curves(void)
{
    int64_t sizes[MOST_SIZES];
    for (int log = LEAST; log <= most_log; log++)
        sizes[log - LEAST] = (int64_t)1 << log;
    vf_report_integers(report, "elements", sizes, most_log - LEAST + 1);
    vf_report_begin(report, "bytes_per_second");
    for (const op *o = ops; o < ops + OPS; o++) {
        if (is_run(o) && !o->large)
            vf_report_numbers(report, o->name, o->rate, most_of(o) - LEAST + 1);
        if (is_run(o) && !o->large && on_gpu() && o->peer >= 0)
            vf_report_numbers(report, peer_name(o), o->peer_rate, most_log - LEAST + 1);
    }
    vf_report_end(report);
}

#endif
