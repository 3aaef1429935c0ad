// CTA 20 works longer than the others, then writes behind the end of `y`.
extern "C" __global__ void late(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < (blockIdx.x == 20 ? 37 * n : n); ++k) s += y[(i + k) % 4096];
    y[i] = s;
    if (blockIdx.x == 20) y[i + (1 << 24)] = s;
}
