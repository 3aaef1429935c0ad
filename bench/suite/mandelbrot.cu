// Escape times of loaded points of the complex plane.
#include <cstdint>

extern "C" __global__ void mandelbrot(const float2 *points, uint32_t *escape, uint32_t n, uint32_t limit)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 c = points[i];
    float x = 0.0f, y = 0.0f;
    uint32_t k = 0;
    for (; k < limit; k++) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f)
            break;
        y = 2.0f * x * y + c.y;
        x = xx - yy + c.x;
    }
    escape[i] = k;
}
