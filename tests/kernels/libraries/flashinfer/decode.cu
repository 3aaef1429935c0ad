// flashinfer's decoding of one sequence and of pages, the merge of states, and the append to pages.
#include <flashinfer/attention/cascade.cuh>
#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/variants.cuh>
#include <flashinfer/page.cuh>

namespace flashinfer {

using Plain = DefaultAttention<false, false, false, false>;
using Single = SingleDecodeParams<half, half, half>;
using Paged = BatchDecodeParams<half, half, half, int32_t>;

template cudaError_t SingleDecodeWithKVCacheDispatched<128, PosEncodingMode::kRoPELlama, Plain>(Single, half *, cudaStream_t);
template cudaError_t BatchDecodeWithPagedKVCacheDispatched<128, PosEncodingMode::kNone, Plain>(Paged, half *, float *, bool,
                                                                                              cudaStream_t);
template cudaError_t MergeStates<half, half>(half *, float *, half *, float *, uint32_t, uint32_t, uint32_t, uint32_t, cudaStream_t);
template cudaError_t AppendPagedKVCache<half, int32_t>(paged_kv_t<half, int32_t>, half *, half *, int32_t *, int32_t *, uint32_t,
                                                       size_t, size_t, size_t, size_t, cudaStream_t);

} // namespace flashinfer
