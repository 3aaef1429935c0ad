// CUTLASS 2 on sm_80: GEMM with cp.async and tensor cores of several types, a batch, split K and SIMT.
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/gemm/device/gemm_splitk_parallel.h>
#include <cutlass/gemm/device/gemm_universal.h>
#include <cutlass/layout/matrix.h>

using namespace cutlass;
using Row = layout::RowMajor;
using Column = layout::ColumnMajor;
template <int M, int N, int K>
using Dims = gemm::GemmShape<M, N, K>;

template <class In, class Out, class Accumulator, class Warp, class Instruction, class Block, int Stages>
using Ampere = gemm::device::Gemm<
    In, Row, In, Column, Out, Row, Accumulator, arch::OpClassTensorOp, arch::Sm80, Block, Warp, Instruction,
    epilogue::thread::LinearCombination<Out, 128 / cutlass::sizeof_bits<Out>::value, Accumulator, Accumulator>,
    gemm::threadblock::GemmIdentityThreadblockSwizzle<>, Stages>;

using Half = Ampere<half_t, half_t, float, Dims<64, 64, 32>, Dims<16, 8, 16>, Dims<128, 128, 32>, 3>;
using Brain = Ampere<bfloat16_t, float, float, Dims<32, 64, 32>, Dims<16, 8, 16>, Dims<64, 128, 32>, 4>;
using Tf32 = Ampere<float, float, float, Dims<32, 32, 16>, Dims<16, 8, 8>, Dims<64, 64, 16>, 3>;
using Bytes = gemm::device::Gemm<
    int8_t, Row, int8_t, Column, int32_t, Row, int32_t, arch::OpClassTensorOp, arch::Sm80, Dims<128, 128, 64>,
    Dims<64, 64, 64>, Dims<16, 8, 32>, epilogue::thread::LinearCombination<int32_t, 4, int32_t, int32_t>,
    gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;
using Single = gemm::device::Gemm<float, Column, float, Row, float, Column>;
using Split = gemm::device::GemmSplitKParallel<half_t, Row, half_t, Column, float, Row, float, arch::OpClassTensorOp, arch::Sm80,
                                               Dims<64, 64, 32>, Dims<32, 32, 32>, Dims<16, 8, 16>>;
using Streams = gemm::device::GemmUniversal<
    half_t, Row, half_t, Row, half_t, Row, float, arch::OpClassTensorOp, arch::Sm80, Dims<128, 64, 32>, Dims<64, 32, 32>,
    Dims<16, 8, 16>, epilogue::thread::LinearCombination<half_t, 8, float, float>,
    gemm::threadblock::ThreadblockSwizzleStreamK, 4>;

template <class Gemm>
Status run(const typename Gemm::Arguments &args, void *room) {
    Gemm gemm;
    gemm.initialize(args, room);
    return gemm();
}

template Status run<Half>(const Half::Arguments &, void *);
template Status run<Brain>(const Brain::Arguments &, void *);
template Status run<Tf32>(const Tf32::Arguments &, void *);
template Status run<Bytes>(const Bytes::Arguments &, void *);
template Status run<Single>(const Single::Arguments &, void *);
template Status run<Split>(const Split::Arguments &, void *);
template Status run<Streams>(const Streams::Arguments &, void *);
