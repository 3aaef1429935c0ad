// One wave of 64: lanes 0..31 end at once; lanes 32..63 do 1000 loop trips.
extern "C" __global__ void halfend(const int* in, int* out)
{
    if (threadIdx.x < 32) return;
    int v = 0;
    for (int i = 0; i < 1000; i++) { v = v * 3 + in[v & 63]; out[threadIdx.x] = v; }
}
