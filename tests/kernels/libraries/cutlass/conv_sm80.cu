// CUTLASS 2 on sm_80: an implicit GEMM convolution, forward and by the weights.
#include <cutlass/conv/conv2d_problem_size.h>
#include <cutlass/conv/device/implicit_gemm_convolution.h>
#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/conv/kernel/default_conv2d_wgrad.h>

using namespace cutlass;
using Tile = gemm::GemmShape<128, 128, 32>;
using Warp = gemm::GemmShape<64, 64, 32>;
using Instruction = gemm::GemmShape<16, 8, 16>;
using Nhwc = layout::TensorNHWC;
using Ending = epilogue::thread::LinearCombination<half_t, 8, float, float>;
using Swizzle = gemm::threadblock::GemmIdentityThreadblockSwizzle<4>;

using Forward = conv::device::ImplicitGemmConvolution<conv::kernel::DefaultConv2dFprop<
    half_t, Nhwc, half_t, Nhwc, half_t, Nhwc, float, arch::OpClassTensorOp, arch::Sm80, Tile, Warp, Instruction, Ending, Swizzle, 3,
    arch::OpMultiplyAdd, conv::IteratorAlgorithm::kOptimized>::Kernel>;
using Weights = conv::device::ImplicitGemmConvolution<conv::kernel::DefaultConv2dWgrad<
    half_t, Nhwc, half_t, Nhwc, half_t, Nhwc, float, arch::OpClassTensorOp, arch::Sm80, Tile, Warp, Instruction, Ending, Swizzle, 3,
    arch::OpMultiplyAdd, conv::IteratorAlgorithm::kAnalytic>::Kernel>;

template <class Conv>
Status run(typename Conv::Arguments const &args, void *room) {
    Conv conv;
    conv.initialize(args, room);
    return conv();
}

template Status run<Forward>(Forward::Arguments const &, void *);
template Status run<Weights>(Weights::Arguments const &, void *);
