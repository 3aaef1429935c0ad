extern "C" __global__ void copy4(const float4* in, float4* out) { int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = in[i]; }
