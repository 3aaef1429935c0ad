// CUTLASS 3 on sm_90: TMA with warp roles that cooperate, that take turns, and stream K; an 8-bit type.
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using namespace cutlass;
using cute::_1, cute::_128, cute::_2, cute::_64, cute::Shape;

template <class In, class Out, class Schedule, class Epilogue, class Tile, class Cluster, class Scheduler = void>
struct Build {
    static constexpr int align = 128 / cutlass::sizeof_bits<In>::value, align_out = 128 / cutlass::sizeof_bits<Out>::value;
    using Ending = typename epilogue::collective::CollectiveBuilder<
        arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, epilogue::collective::EpilogueTileAuto, float, float, Out,
        layout::RowMajor, align_out, Out, layout::RowMajor, align_out, Epilogue>::CollectiveOp;
    using Loop = typename gemm::collective::CollectiveBuilder<
        arch::Sm90, arch::OpClassTensorOp, In, layout::RowMajor, align, In, layout::ColumnMajor, align, float, Tile, Cluster,
        gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Ending::SharedStorage))>,
        Schedule>::CollectiveOp;
    using Kernel = gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Loop, Ending, Scheduler>;
    using Gemm = gemm::device::GemmUniversalAdapter<Kernel>;
};

template <class Gemm>
Status run(typename Gemm::Arguments const &args) {
    Gemm gemm;
    gemm.initialize(args);
    return gemm.run();
}

using Cooperative = Build<half_t, half_t, gemm::KernelTmaWarpSpecializedCooperative, epilogue::TmaWarpSpecializedCooperative,
                          Shape<_128, _128, _64>, Shape<_2, _1, _1>>::Gemm;
using Pingpong = Build<bfloat16_t, float, gemm::KernelTmaWarpSpecializedPingpong, epilogue::TmaWarpSpecialized,
                       Shape<_64, _128, _64>, Shape<_1, _2, _1>>::Gemm;
using Roles = Build<half_t, half_t, gemm::KernelTmaWarpSpecialized, epilogue::NoSmemWarpSpecialized, Shape<_64, _64, _64>,
                    Shape<_1, _1, _1>>::Gemm;
using Copies = Build<half_t, half_t, gemm::KernelCpAsyncWarpSpecializedCooperative, epilogue::NoSmemWarpSpecialized,
                     Shape<_128, _64, _64>, Shape<_1, _1, _1>>::Gemm;
using Eight = Build<float_e4m3_t, half_t, gemm::KernelTmaWarpSpecializedPingpong, epilogue::TmaWarpSpecialized,
                    Shape<_64, _128, _128>, Shape<_2, _1, _1>>::Gemm;
using Streams = Build<half_t, half_t, gemm::KernelTmaWarpSpecializedCooperative, epilogue::TmaWarpSpecializedCooperative,
                      Shape<_128, _128, _64>, Shape<_1, _1, _1>, gemm::StreamKScheduler>::Gemm;

template Status run<Cooperative>(Cooperative::Arguments const &);
template Status run<Pingpong>(Pingpong::Arguments const &);
template Status run<Roles>(Roles::Arguments const &);
template Status run<Copies>(Copies::Arguments const &);
template Status run<Eight>(Eight::Arguments const &);
template Status run<Streams>(Streams::Arguments const &);
