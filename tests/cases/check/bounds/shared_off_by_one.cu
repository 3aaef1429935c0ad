// The last thread reads the right neighbour's element, behind the array.
extern "C" __global__ void shared_off_by_one(int *out)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = 3 * t;
    __syncthreads();
#ifdef FIXED
    int right = min(t + 1, 127);
#else
    int right = t + 1;
#endif
    out[t] = tile[right]; // FAULT
}
