// Memory from `malloc` is read before it is written.
#include <cstdlib>

extern "C" __global__ void malloc_(int *out)
{
    volatile int *word = (volatile int *)malloc(4);
#ifdef FIXED
    *word = 7;
#endif
    out[0] = *word; // FAULT
    free((void *)word);
}
