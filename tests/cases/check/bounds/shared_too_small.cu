// The launch gives 64 words of dynamic shared memory; the kernel takes one for each of its 128 threads.
extern "C" __global__ void shared_too_small(int *out)
{
    extern __shared__ int tile[];
    int t = threadIdx.x;
#ifdef FIXED
    if (t >= 64)
        return;
#endif
    tile[t] = t; // FAULT
    out[t] = t;
}
