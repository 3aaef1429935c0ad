// flashinfer's sampling and its softmax.
#include <flashinfer/sampling.cuh>

namespace flashinfer::sampling {

template cudaError_t TopKTopPSamplingFromProb<float, int>(float *, int *, float *, int *, bool *, int *, uint32_t, int, float,
                                                          uint32_t, bool, uint64_t *, uint64_t, uint64_t *, uint64_t,
                                                          cudaStream_t, uint32_t, uint32_t);
template cudaError_t OnlineSoftmax<float>(float *, float *, uint32_t, uint32_t, float *, float, void *, size_t, bool, cudaStream_t);

} // namespace flashinfer::sampling
