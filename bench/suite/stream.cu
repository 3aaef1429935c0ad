// The triad a = b + s c: one decision a thread, and nothing but memory.
extern "C" __global__ void stream(float *__restrict__ a, const float *__restrict__ b,
                                  const float *__restrict__ c, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + s * c[i];
}
