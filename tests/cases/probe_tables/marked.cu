#include "prlx.cuh"
extern "C" __global__ void marked(const float* in, float* out, int tiles)
{
    __shared__ float s[128];
    float acc = 0;
    PRLX_BEGIN(all);
    for (int t = 0; t < tiles; t++) {
        PRLX_BEGIN_1(load, t);
        s[threadIdx.x] = in[(blockIdx.x * tiles + t) * 128 + threadIdx.x];
        PRLX_SWITCH(sync);
        __syncthreads();
        PRLX_SWITCH(compute);
        int n = threadIdx.x < 32 ? 40 : 8;
        for (int k = 0; k < n; k++) acc += s[(threadIdx.x + k) % 128];
        PRLX_END(compute);
        __syncthreads();
    }
    PRLX_END(all);
    PRLX_INSTANT(done);
    { PRLX_REGION(epilogue); out[blockIdx.x * 128 + threadIdx.x] = acc; }
}
