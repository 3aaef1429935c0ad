#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void mm(const half *a, const half *b, float *c)
{
    __shared__ half s[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = a[255 - i];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, s, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c + 256 * (threadIdx.x / 32), fc, 16, wmma::mem_row_major);
}
