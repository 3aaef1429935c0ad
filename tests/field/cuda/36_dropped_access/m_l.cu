#define RADIUS 4
__constant__ float taps[2 * RADIUS + 1];

template <int BLOCK>
__global__ void conv(const float *in, float *out, int n)
{
    __shared__ float buf[BLOCK + 2 * RADIUS];
    const int g = blockIdx.x * BLOCK + threadIdx.x;
    const int l = threadIdx.x;
    buf[l] = g < n ? in[g] : 0.0f;
    if (threadIdx.x < RADIUS) {
        buf[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0.0f;
        buf[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += taps[k + RADIUS] * buf[l + k];
    if (g < n)
        out[g] = sum;
}

template __global__ void conv<64>(const float *, float *, int);
