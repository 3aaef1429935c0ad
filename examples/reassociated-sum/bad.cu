// Each thread finds the point nearest to four measurements, by gradient descent until the gradient is below a tolerance.

__device__ __forceinline__ float gradient(float x, float4 m)
{
    return ((m.x - x) + (m.y - x)) + ((m.z - x) + (m.w - x));
}

extern "C" __global__ void descend(const float4 *measured, int n, float rate, float tolerance, float *point, int *steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float4 m = measured[i];
    float x = 0.0f;
    int step = 0;
    float g = gradient(x, m);
#pragma unroll 1
    while (fabsf(g) > tolerance) {
        x += rate * g;
        g = gradient(x, m);
        ++step;
    }
    point[i] = x;
    steps[i] = step;
}
