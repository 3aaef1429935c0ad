// Thrust's transformations, reductions, scans, selections and searches.
#define THRUST_FORCE_32_BIT_OFFSET_TYPE
#include <thrust/adjacent_difference.h>
#include <thrust/count.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/logical.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/unique.h>

struct Even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

struct Square {
    __host__ __device__ float operator()(float x) const { return x * x; }
};

struct Collatz {
    __host__ __device__ int operator()(int n) const {
        int steps = 0;
        for (unsigned x = n + 1; x != 1; ++steps) {
            x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        }
        return steps;
    }
};

void all(int *i, float *f, double *d, int n) {
    auto on = thrust::device;
    thrust::sequence(on, i, i + n);
    thrust::tabulate(on, i, i + n, Collatz());
    thrust::transform(on, f, f + n, f, Square());
    thrust::gather(on, i, i + n, f, f + n);
    thrust::scatter_if(on, f, f + n, i, i, f + n);
    thrust::reverse(on, d, d + n);
    thrust::remove_if(on, i, i + n, Even());
    thrust::stable_partition(on, i, i + n, Even());
    thrust::unique(on, i, i + n);
    thrust::adjacent_difference(on, f, f + n, f + n);
    thrust::transform_inclusive_scan(on, f, f + n, f, Square(), thrust::plus<float>());
    thrust::exclusive_scan_by_key(on, i, i + n, f, f);
    d[0] = thrust::transform_reduce(on, f, f + n, Square(), 0.0f, thrust::plus<float>());
    d[1] = thrust::inner_product(on, f, f + n, f + n, 0.0f);
    d[2] = *thrust::minmax_element(on, f, f + n).second;
    thrust::reduce_by_key(on, i, i + n, f, i + n, f + n);
    i[0] = thrust::count_if(on, i, i + n, Even()) + thrust::all_of(on, i, i + n, Even());
    i[1] = thrust::find(on, i, i + n, 7) - i;
}
