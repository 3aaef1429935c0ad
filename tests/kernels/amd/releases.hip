// A workgroup hands data to the next one through a flag.

static __device__ void take(unsigned *flag, unsigned *data, unsigned *out)
{
    if (threadIdx.x == 0)
        while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
            ;
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];
}

extern "C" __global__ void release(unsigned *flag, unsigned *data, unsigned *out)
{
    if (blockIdx.x == 1)
        return take(flag, data, out);
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ void fence(unsigned *flag, unsigned *data, unsigned *out)
{
    if (blockIdx.x == 1)
        return take(flag, data, out);
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        __hip_atomic_store(flag, threadIdx.x + data[7], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}

// Flag and number are one word of 64 bits, which the CPU device reads in two steps.
extern "C" __global__ void wide(unsigned *, unsigned *data, unsigned *out)
{
    volatile unsigned long long *word = (unsigned long long *)data + threadIdx.x;
    if (blockIdx.x == 0) {
        *word = 1ull << 32 | threadIdx.x * 3;
        return;
    }
    unsigned long long seen;
    while (!((seen = *word) >> 32))
        ;
    out[threadIdx.x] = seen;
}

// The others are races: nothing orders the data behind the flag,
extern "C" __global__ void early(unsigned *flag, unsigned *data, unsigned *out)
{
    if (blockIdx.x == 1)
        return take(flag, data, out);
    if (threadIdx.x == 0)
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    data[threadIdx.x] = threadIdx.x * 3;
}

// the flag is not waited for,
extern "C" __global__ void hasty(unsigned *flag, unsigned *data, unsigned *out)
{
    if (blockIdx.x == 1) {
        out[threadIdx.x] = data[threadIdx.x];
        return;
    }
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// and the reader does not acquire.
extern "C" __global__ void relaxed(unsigned *flag, unsigned *data, unsigned *out)
{
    if (blockIdx.x == 1) {
        while (!__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
            ;
        out[threadIdx.x] = data[threadIdx.x];
        return;
    }
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
