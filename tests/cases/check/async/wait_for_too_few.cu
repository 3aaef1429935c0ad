// Two groups under way; the wait leaves one, and it is that one which is read.
#ifdef FIXED
#define LEFT "0"
#else
#define LEFT "1"
#endif

extern "C" __global__ void wait_for_too_few(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 128), "l"(in + t + 32) : "memory"); // OTHER
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group " LEFT ";" ::: "memory");
    int first = tile[t];
    out[t] = first + tile[t + 32]; // FAULT
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}
