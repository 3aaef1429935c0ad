struct Add {
    static __device__ float id() { return 0.0f; }
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
    static __device__ float id() { return -3.4e38f; }
    __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

template <class Op, int BLOCK>
__device__ float reduce(float v, Op op)
{
    __shared__ float s[BLOCK];
    s[threadIdx.x] = v;
    for (int h = BLOCK / 2; h > 0; h /= 2) {
        if (threadIdx.x < h)
            s[threadIdx.x] = op(s[threadIdx.x], s[threadIdx.x + h]);
        __syncthreads();
    }
    v = s[0];
    __syncthreads();
    return v;
}

template <int BLOCK>
__global__ void partial(const float *x, float2 *part, int n)
{
    float m = Max::id();
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        m = Max()(m, x[i]);
    m = reduce<Max, BLOCK>(m, Max());
    float s = Add::id();
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        s += expf(x[i] - m);
    s = reduce<Add, BLOCK>(s, Add());
    if (threadIdx.x == 0)
        part[blockIdx.x] = make_float2(m, s);
}

template <int BLOCK>
__global__ void finish(const float *x, const float2 *part, int parts, float *y, int n)
{
    float m = Max::id();
    for (int p = 0; p < parts; p++)
        m = fmaxf(m, part[p].x);
    float s = 0.0f;
    for (int p = 0; p < parts; p++)
        s += part[p].y * expf(part[p].x - m);
    const float inv = 1.0f / s;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[i] = expf(x[i] - m) * inv;
}

template __global__ void partial<64>(const float *, float2 *, int);
template __global__ void finish<128>(const float *, const float2 *, int, float *, int);
