// Atomics of libcu++: sizes, scopes and orders, waits, references; mathematics and containers.
#include <cuda/atomic>
#include <cuda/cmath>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/variant>

__global__ void integers(cuda::atomic<int> *a, cuda::atomic<long long, cuda::thread_scope_device> *b,
                         cuda::atomic<unsigned char, cuda::thread_scope_block> *c, cuda::atomic<short> *d) {
    using namespace cuda::std;
    a->fetch_add(1, memory_order_relaxed);
    a->fetch_max(threadIdx.x, memory_order_acq_rel);
    b->fetch_xor(threadIdx.x, memory_order_release);
    c->fetch_or(1, memory_order_seq_cst);
    unsigned char old = c->load(memory_order_acquire);
    while (!c->compare_exchange_weak(old, old + 3)) {
    }
    short was = d->exchange(7);
    d->fetch_sub(was);
}

__global__ void floats(float *x, double *y, __int128 *z) {
    cuda::atomic_ref<float, cuda::thread_scope_device> a(*x);
    cuda::atomic_ref<double, cuda::thread_scope_system> b(*y);
    a.fetch_add(0.5f, cuda::memory_order_relaxed);
    a.fetch_min(threadIdx.x);
    b.fetch_add(0.25);
    z[threadIdx.x] = z[threadIdx.x] * 3;
}

__global__ void flag(cuda::atomic<int, cuda::thread_scope_system> *ready, cuda::std::atomic_flag *lock, int *data) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        ready->store(1, cuda::memory_order_release);
        ready->notify_all();
    } else {
        ready->wait(0, cuda::memory_order_acquire);
        cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
        if (threadIdx.x == 0) {
            while (lock->test_and_set(cuda::std::memory_order_acquire)) {
            }
            data[0] += data[blockIdx.x];
            lock->clear(cuda::std::memory_order_release);
        }
    }
}

__global__ void values(const float *in, float *out, long long *times, int n) {
    using namespace cuda::std;
    mdspan<const float, dextents<int, 2>> matrix(in, n, n);
    complex<float> z(matrix(threadIdx.x, 0), matrix(0, threadIdx.x)), sum(0.0f, 0.0f);
    for (int i = 0; i < n && norm(z) < 4.0f; ++i) {
        z = z * z + exp(z);
        sum += z / complex<float>(i + 1.0f, 1.0f);
    }
    optional<float> best;
    array<float, 4> four{sum.real(), sum.imag(), abs(z), arg(z)};
    for (float x : four) {
        if (!best || x > *best) {
            best = x;
        }
    }
    variant<int, float> either = best ? variant<int, float>(*best) : variant<int, float>(n);
    out[threadIdx.x] = visit([](auto x) { return (float)x; }, either) + popcount((unsigned)n) + countl_zero((unsigned)n);
    times[threadIdx.x] = chrono::system_clock::now().time_since_epoch().count() + cuda::ceil_div(n, 7);
}
