struct Shape { int n, h, w, c; };
struct Params {
    Shape in, out;
    int kh, kw;
    int stride, pad;
    float alpha;
};

__device__ int offset(const Shape &s, int n, int y, int x, int c)
{
    return ((n * s.h + y) * s.w + x) * s.c + c;
}

__global__ void conv2d(const float *__restrict__ in,
                       const float *__restrict__ weight,
                       const float *__restrict__ bias,
                       float *__restrict__ out, Params p)
{
    const int total = p.out.n * p.out.h * p.out.w * p.out.c;
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < total; idx += gridDim.x * blockDim.x) {
        int t = idx;
        const int oc = t % p.out.c; t /= p.out.c;
        const int ox = t % p.out.w; t /= p.out.w;
        const int oy = t % p.out.h; t /= p.out.h;
        const int n = t;
        float acc = bias[oc];
        for (int ky = 0; ky < p.kh; ky++) {
            const int iy = oy * p.stride + ky - p.pad;
            if (iy < 0 || iy >= p.in.h)
                continue;
            for (int kx = 0; kx < p.kw; kx++) {
                const int ix = ox * p.stride + kx - p.pad;
                if (ix < 0 || ix >= p.in.w)
                    break;
                for (int ic = 0; ic < p.in.c; ic++)
                    acc += in[offset(p.in, n, iy, ix, ic)] *
                           weight[((oc * p.kh + ky) * p.kw + kx) * p.in.c + ic];
            }
        }
        out[offset(p.out, n, oy, ox, oc)] = acc > 0 ? acc : p.alpha * acc;
    }
}
