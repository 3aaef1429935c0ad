// How many steps each thread takes until its value is small. Made by nvcc 13.0 for sm_80, with -ptx -lineinfo -O3 and
//   halve-1.ptx  -DUNROLL=1
//   halve-4.ptx  -DUNROLL=4: every step tests, so the loop has five ways out
constexpr int unroll = UNROLL;
extern "C" __global__ void halve(const unsigned *x, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = x[i];
    int n = 0;
    #pragma unroll unroll
    while (v > 7) {
        v = v & 1 ? v - 5 : v / 2;
        n++;
    }
    out[i] = n;
}
