namespace ns {

template <typename T> __device__ __noinline__ T twice(T a) { return a * T(2); }

template <typename T> __global__ void scale(T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = twice(x[i]);
}

template __global__ void scale<float>(float*, int);
template __global__ void scale<double>(double*, int);

}
