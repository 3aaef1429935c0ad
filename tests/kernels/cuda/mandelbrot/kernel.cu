// Escape times on a 64 x 32 raster, with the rounding of every operation fixed so that any device agrees.
extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    float cx = __fsub_rn(__fmul_rn((float)px, 3.0f / 64.0f), 2.25f);
    float cy = __fsub_rn(__fmul_rn((float)py, 2.0f / 32.0f), 1.0f);
    float x = 0.0f, y = 0.0f;
    int k = 0;
    for (; k < limit; ++k) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f)
            break;
        y = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, x), y), cy);
        x = __fadd_rn(__fsub_rn(xx, yy), cx);
    }
    out[py * width + px] = k;
}
