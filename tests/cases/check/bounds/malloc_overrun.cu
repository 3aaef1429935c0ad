// Four words from `malloc`, and the fifth is written.
#include <cstdlib>

extern "C" __global__ void malloc_overrun(const int *index, int *out)
{
    volatile int *words = (volatile int *)malloc(16); // OTHER
#ifdef FIXED
    words[index[0]] = 7;
#else
    words[index[1]] = 7; // FAULT
#endif
    out[0] = 1;
    free((void *)words);
}
