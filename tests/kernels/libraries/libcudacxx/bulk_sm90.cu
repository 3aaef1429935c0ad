// Barriers that count bytes, bulk copies and clusters of libcu++ and cooperative groups, for sm_90.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void copy(const int *in, int *out, int steps) {
    __shared__ alignas(128) int tile[1024];
    __shared__ barrier full;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cuda::memcpy_async(tile, in + 1024 * step, cuda::aligned_size_t<16>(sizeof tile), full);
            token = cuda::device::barrier_arrive_tx(full, 1, 0);
        } else {
            token = full.arrive();
        }
        full.wait(std::move(token));
        tile[threadIdx.x] += 1;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 1024 * step, tile, sizeof tile);
            ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, sizeof tile);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}

__global__ void __cluster_dims__(4, 1, 1) cluster(int *data) {
    __shared__ int mine;
    auto all = cg::this_cluster();
    if (threadIdx.x == 0) {
        mine = data[blockIdx.x];
    }
    all.sync();
    int *other = all.map_shared_rank(&mine, (all.block_rank() + 1) % all.num_blocks());
    int next = *other;
    auto token = all.barrier_arrive();
    data[blockIdx.x * blockDim.x + threadIdx.x] = next;
    all.barrier_wait(std::move(token));
}

__global__ void remote(int *out) {
    __shared__ uint64_t bar;
    __shared__ int word;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cg::this_cluster().sync();
    if (threadIdx.x == 0) {
        auto far_word = cg::this_cluster().map_shared_rank(&word, 0);
        auto far_bar = cg::this_cluster().map_shared_rank(&bar, 0);
        ptx::st_async(far_word, (int)threadIdx.x, far_bar);
        auto state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4);
        while (!ptx::mbarrier_try_wait(ptx::sem_acquire, ptx::scope_cluster, &bar, state)) {
        }
    }
    out[threadIdx.x] = word;
}
