// 2D convolution, 5 x 5, three channels in, two filters out; the filters in dynamic shared memory.
extern "C" __global__ void convolution(const float *image, const float *filters, const float *bias, float *out,
                                       int width, int height)
{
    extern __shared__ float f[];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = t; i < 2 * 3 * 25; i += blockDim.x * blockDim.y)
        f[i] = filters[i];
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    int ow = width - 4, oh = height - 4;
    if (x >= ow || y >= oh)
        return;
    float sum = bias[k];
    for (int c = 0; c < 3; ++c)
        for (int j = 0; j < 5; ++j)
            for (int i = 0; i < 5; ++i)
                sum += f[(k * 3 + c) * 25 + j * 5 + i] * image[(c * height + y + j) * width + x + i];
    out[(k * oh + y) * ow + x] = fmaxf(sum, 0.0f);
}
