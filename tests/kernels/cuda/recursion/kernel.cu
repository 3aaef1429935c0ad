// corpus: keep sm_90a
// True recursion in device code: Ackermann's function, with a depth that differs between lanes and a real stack.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n, unsigned *calls)
{
    ++*calls;
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1, calls);
    return ackermann(m - 1, ackermann(m, n - 1, calls), calls);
}

extern "C" __global__ void recursion(unsigned *value, unsigned *calls)
{
    unsigned i = threadIdx.x, count = 0;
    value[i] = ackermann(i % 3, i / 4, &count);
    calls[i] = count;
}
