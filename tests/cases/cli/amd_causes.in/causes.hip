// What causes name in AMD's code. With WRONG, one weight differs, or a barrier is missing.

__constant__ float weight[4] = {0.25f, 0.5f, WRONG ? 1.5f : 1.0f, 2.0f};

extern "C" __global__ void weigh(const float *x, float *y, float scale)
{
    int i = threadIdx.x;
    y[i] = x[i] * weight[i & 3] * scale;
}

extern "C" __global__ void add_locked(int *lock, int *total, const int *x)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *total += x[blockIdx.x];
        __threadfence();
        atomicExch(lock, 0);
    }
}

static __device__ __noinline__ float sum(float v, float *s)
{
    s[threadIdx.x] = v;
    __syncthreads();
    float other = s[127 - threadIdx.x];
    if (!WRONG) {
        __syncthreads();
    }
    return v + other;
}

extern "C" __global__ void moments(const float *x, float *y)
{
    __shared__ float s[128];
    float v = x[threadIdx.x];
    float mean = sum(v, s) / 2;
    y[threadIdx.x] = sum((v - mean) * (v - mean), s);
}
