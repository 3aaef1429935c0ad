extern "C" __global__ void load(const unsigned short *q, unsigned *out)
{
    __shared__ unsigned short tile[8][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 64; i += 32)
        tile[i / 8][i % 8] = q[i];
    __syncwarp();
    unsigned s = (unsigned)__cvta_generic_to_shared(&tile[lane & 7][0]), r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(s));
    out[lane] = r;
}
