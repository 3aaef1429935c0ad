// A constant that is negative in the bad build.
extern "C" __global__ void steps(const int *x, int *y, int low)
{
    int v = x[threadIdx.x];
    int step = v > low ? (WRONG ? -1 : 1) : 3;
    y[threadIdx.x] = v + step;
}
