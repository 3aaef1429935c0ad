// `__syncwarp` waits for lanes that wait at a barrier for it.
extern "C" __global__ void syncwarp_absent(int *out)
{
    int t = threadIdx.x;
#ifdef FIXED
    const unsigned mask = 0x000000ff;
#else
    const unsigned mask = 0x0000ffff;
#endif
    if (t < 8)
        __syncwarp(mask); // FAULT
    asm volatile("barrier.sync 0;" ::: "memory"); // OTHER
    out[t] = t;
}
