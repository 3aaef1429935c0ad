// The guard lets one thread too many through: thread 100 of 100.
extern "C" __global__ void global_off_by_one(int *out, int n)
{
    int i = threadIdx.x;
#ifdef FIXED
    if (i < n)
#else
    if (i <= n)
#endif
        out[i] = 2 * i; // FAULT
}
