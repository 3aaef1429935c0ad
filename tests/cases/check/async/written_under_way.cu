// A buffer is cleared while a copy into it is under way.
extern "C" __global__ void written_under_way(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
#ifdef FIXED
    tile[t] = 0;
#endif
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
#ifndef FIXED
    tile[t] = 0; // FAULT
#endif
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = tile[t];
}
