// flashinfer's prefill of sm_80: one sequence, ragged sequences, pages; causal, masked and with positions.
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>

namespace flashinfer {

using Single = SinglePrefillParams<half, half, half>;
using Ragged = BatchPrefillRaggedParams<nv_bfloat16, nv_bfloat16, nv_bfloat16, int32_t>;
using Paged = BatchPrefillPagedParams<half, half, half, int32_t>;
using Plain = DefaultAttention<false, false, false, false>;
using Masked = DefaultAttention<true, false, false, false>;
using Capped = DefaultAttention<false, true, true, false>;

template cudaError_t SinglePrefillWithKVCacheDispatched<128, 128, PosEncodingMode::kNone, false, MaskMode::kCausal, false, Plain>(
    Single, half *, cudaStream_t);
template cudaError_t SinglePrefillWithKVCacheDispatched<64, 64, PosEncodingMode::kRoPELlama, false, MaskMode::kCustom, false,
                                                        Masked>(Single, half *, cudaStream_t);
template cudaError_t BatchPrefillWithRaggedKVCacheDispatched<64, 128, 128, PosEncodingMode::kNone, false, MaskMode::kCausal, false,
                                                             Capped>(Ragged, nv_bfloat16 *, float *, bool, cudaStream_t);
template cudaError_t BatchPrefillWithPagedKVCacheDispatched<true, 16, 128, 128, PosEncodingMode::kNone, false, MaskMode::kNone,
                                                            false, Plain>(Paged, half *, float *, bool, cudaStream_t);

} // namespace flashinfer
