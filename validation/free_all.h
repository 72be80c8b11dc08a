/* Frees several pointers, for the ends of tests and benchmarks. */
#ifndef FREE_ALL_H
#define FREE_ALL_H

#include <stdlib.h>

#define FREE_ALL(...)                                                                                                  \
    do {                                                                                                               \
        void *const all_[] = {__VA_ARGS__};                                                                            \
        for (size_t i_ = 0; i_ < sizeof all_ / sizeof *all_; i_++)                                                     \
            free(all_[i_]);                                                                                            \
    } while (0)

#endif
