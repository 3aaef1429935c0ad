// A load of four floats at once from an address that is a multiple of 4 bytes only.
extern "C" __global__ void misaligned_vector(const float *in, float *out)
{
    int i = threadIdx.x;
#ifdef FIXED
    const float *at = in + 4 * i;
#else
    const float *at = in + 4 * i + 1;
#endif
    float4 v = *(const float4 *)at; // FAULT
    out[i] = v.x + v.y + v.z + v.w;
}
