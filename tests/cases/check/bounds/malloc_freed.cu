// A word from `malloc` is read after it was given back.
#include <cstdlib>

extern "C" __global__ void malloc_freed(int *out)
{
    volatile int *word = (volatile int *)malloc(4); // OTHER
    *word = 7;
#ifndef FIXED
    free((void *)word); // OTHER
#endif
    out[0] = *word; // FAULT
#ifdef FIXED
    free((void *)word);
#endif
}
