// Barriers, latches, semaphores and pipelines of libcu++ and cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;

__global__ void halo(const float *in, float *out, int steps) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ float tile[256];
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
    }
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        auto block = cg::this_thread_block();
        cuda::memcpy_async(block, tile, in + 256 * step, cuda::aligned_size_t<16>(sizeof tile), barrier);
        barrier.arrive_and_wait();
        out[256 * step + threadIdx.x] = tile[threadIdx.x ^ 1];
        auto token = barrier.arrive();
        barrier.wait(std::move(token));
    }
}

__global__ void stages(const float4 *in, float4 *out, int n) {
    constexpr int depth = 3;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, depth> state;
    extern __shared__ float4 ring[];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int ahead = 0;
    for (int i = 0; i < n; ++i) {
        for (; ahead < n && ahead < i + depth; ++ahead) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, ring + ahead % depth * 128, in + ahead * 128, sizeof(float4) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[i * 128 + threadIdx.x] = ring[i % depth * 128 + 127 - threadIdx.x];
        pipe.consumer_release();
    }
}

__global__ void roles(const int *in, int *out, int n) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int ring[2][64];
    auto block = cg::this_thread_block();
    auto role = block.thread_rank() < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    for (int i = 0; i < n; ++i) {
        if (role == cuda::pipeline_role::producer) {
            pipe.producer_acquire();
            cuda::memcpy_async(&ring[i % 2][threadIdx.x], in + i * 64 + threadIdx.x, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            out[i * 64 + threadIdx.x - 64] = 2 * ring[i % 2][threadIdx.x - 64];
            pipe.consumer_release();
        }
    }
    pipe.quit();
}

__global__ void turns(cuda::counting_semaphore<cuda::thread_scope_device, 4> *places, int *most, int *now) {
    if (threadIdx.x == 0) {
        places->acquire();
        atomicMax(most, atomicAdd(now, 1) + 1);
        atomicSub(now, 1);
        places->release();
    }
}

__global__ void gate(cuda::latch<cuda::thread_scope_device> *latch, int *data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        latch->arrive_and_wait();
    }
    __syncthreads();
    data[blockIdx.x * blockDim.x + threadIdx.x] += data[0];
}

__global__ void groups(int *in, int *out, float *sums) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(warp);
    int mine = in[block.thread_rank()];
    auto alike = cg::labeled_partition(warp, mine & 3);
    auto chosen = cg::binary_partition(warp, mine > 10);
    int sum = cg::reduce(tile, mine, cg::plus<int>()) + cg::reduce(alike, mine, cg::greater<int>());
    sum += cg::inclusive_scan(warp, mine) + cg::exclusive_scan(chosen, mine, cg::plus<int>());
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) {
        cg::reduce_update_async(active, *(cuda::atomic<int, cuda::thread_scope_device> *)out, sum, cg::plus<int>());
    }
    sums[block.thread_rank()] = cg::reduce(warp, (float)sum, cg::less<float>());
}

__global__ void everyone(int *data, int n) {
    auto grid = cg::this_grid();
    for (int step = 1; step < n; step *= 2) {
        int mine = data[grid.thread_rank()];
        int other = grid.thread_rank() >= step ? data[grid.thread_rank() - step] : 0;
        grid.sync();
        data[grid.thread_rank()] = mine + other;
        grid.sync();
    }
}
