// The next tile is copied over one that other warps may still be reading.
extern "C" __global__ void copy_into_read(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    tile[t] = in[t];
    __syncthreads();
    int first = tile[t ^ 32]; // OTHER
#ifdef FIXED
    __syncthreads();
#endif
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + 64 + t) : "memory"); // FAULT
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = first + tile[t];
}
