// flashinfer's prefill of sm_90: warp-specialised, with TMA and wgmma, and of pages.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>

namespace flashinfer {

using Single = SinglePrefillParams<cutlass::half_t, cutlass::half_t, cutlass::half_t>;
using Paged = BatchPrefillPagedParams<cutlass::half_t, cutlass::half_t, cutlass::half_t, int32_t>;

template cudaError_t SinglePrefillWithKVCacheDispatched<128, 128, MaskMode::kCausal, false, StandardAttention>(Single &, cudaStream_t);
template cudaError_t BatchPrefillWithPagedKVCacheDispatched<128, 128, MaskMode::kNone, false, true, StandardAttention>(Paged &, bool,
                                                                                                                     cudaStream_t);

} // namespace flashinfer
