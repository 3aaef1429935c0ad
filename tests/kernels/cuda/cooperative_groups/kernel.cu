// corpus: keep sm_90a
// Cooperative groups: tiles of 16 that reduce and scan, and coalesced groups that aggregate atomics.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void cooperative_groups_kernel(const int *x, int *sums, int *scan, int *positives, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int v = i < n ? x[i] : 0;
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int before = cg::exclusive_scan(tile, v);
    if (i < n)
        scan[i] = before;
    if (tile.thread_rank() == 0)
        sums[i / 16] = sum;
    if (v > 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0)
            atomicAdd(positives, (int)active.size());
    }
}
