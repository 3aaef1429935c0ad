extern "C" __global__ void d(const double* in, double* out, float* f) { int i = threadIdx.x; double v = in[i] * 1e300; out[i] = v * 1e10; f[i] = (float)(in[i] + 2.5) ; }
