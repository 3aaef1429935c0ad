// Thrust's sorts, merges, set operations and searches of sorted ranges.
#define THRUST_FORCE_32_BIT_OFFSET_TYPE
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>

void all(int *i, float *f, double *d, int n) {
    auto on = thrust::device;
    auto both = thrust::make_zip_iterator(i, f);
    thrust::sort(on, both, both + n);
    thrust::stable_sort_by_key(on, f, f + n, i, thrust::greater<float>());
    thrust::merge(on, d, d + n, d + n, d + 2 * n, d + 2 * n);
    thrust::set_union(on, i, i + n, i + n, i + 2 * n, i + 2 * n);
    thrust::set_intersection_by_key(on, i, i + n, i + n, i + 2 * n, f, i + 2 * n, f + n);
    thrust::set_symmetric_difference(on, i, i + n, i + n, i + 2 * n, i + 2 * n);
    thrust::lower_bound(on, f, f + n, f + n, f + 2 * n, i);
    thrust::binary_search(on, i, i + n, i + n, i + 2 * n, i);
}
