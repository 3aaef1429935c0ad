// corpus: keep sm_90a
// libcu++ atomics: message passing with release and acquire between CTAs, a relaxed counter, fences.
#include <cuda/atomic>

extern "C" __global__ void memory_order(int *payload, int *flags, int *received, int *counter, int n)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(flags[threadIdx.x]);
    cuda::atomic_ref<int, cuda::thread_scope_device> count(*counter);
    if (blockIdx.x == 0) {
        payload[threadIdx.x] = threadIdx.x * 7 + n;
        flag.store(1, cuda::memory_order_release);
        count.fetch_add(1, cuda::memory_order_relaxed);
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) {
        }
        received[threadIdx.x] = payload[threadIdx.x] + 1;
        cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
        count.fetch_add(2, cuda::memory_order_acq_rel);
    }
}
