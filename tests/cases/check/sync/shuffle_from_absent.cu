// Lanes 0 to 15 take values from lanes 16 to 31, which do not take part.
extern "C" __global__ void shuffle_from_absent(int *out)
{
    int t = threadIdx.x;
    if (t < 16)
#ifdef FIXED
        out[t] = __shfl_sync(0x0000ffff, 3 * t, t ^ 1);
#else
        out[t] = __shfl_sync(0x0000ffff, 3 * t, t + 16); // FAULT
#endif
}
