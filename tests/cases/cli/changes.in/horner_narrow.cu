__device__ double poly(const double* c, double x, int degree)
{
    double r = c[degree];
    for (int i = degree - 1; i >= 0; i--)
        r = (float)r * x + c[i];
    return r;
}
extern "C" __global__ void k(const double* c, const double* x, double* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double a = poly(c, x[i], 6);
        double b = 1.0 + x[i] * x[i];
        y[i] = fabs(a) > 1.5 ? a / b : a - b;
    }
}
