// Sums, minima and maxima of integers by global atomics, exact in any order; one counter gives tickets.
extern "C" __global__ void reduce_atomic(const int *x, int n, unsigned long long *sum, int *least, int *most,
                                         unsigned *count, unsigned *ticket_seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    atomicAdd(sum, (unsigned long long)(long long)x[i]);
    atomicMin(least, x[i]);
    atomicMax(most, x[i]);
    if (x[i] & 1) {
        unsigned ticket = atomicAdd(count, 1u);
        atomicOr(&ticket_seen[ticket / 32], 1u << (ticket % 32));
    }
}
