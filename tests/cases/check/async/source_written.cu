// The source of a copy is written while it is under way.
extern "C" __global__ void source_written(int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
#ifndef FIXED
    in[t] = 0; // FAULT
#endif
    asm volatile("cp.async.wait_all;" ::: "memory");
#ifdef FIXED
    in[t] = 0;
#endif
    out[t] = tile[t];
}
