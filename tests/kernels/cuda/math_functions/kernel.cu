// The math library, single precision: accurate and fast versions, with the slow path of sin for huge arguments.
extern "C" __global__ void math_functions(const float *x, float *sines, float *exps, float *roots, float *fast, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i], p = fabsf(v) + 0.5f;
    sines[i] = sinf(v) + tanhf(v) + atanf(v);
    exps[i] = expf(-p) + logf(p) + powf(p, 0.3f) + erff(v) + log1pf(p);
    roots[i] = sqrtf(p) + rsqrtf(p) + cbrtf(v) + 1.0f / p + fmodf(v, 3.0f) + floorf(v) + rintf(v) + truncf(v);
    float q = fminf(p, 9.0f);
    fast[i] = __sinf(q) + __expf(-q) + __logf(q) + __fdividef(1.0f, q);
}
