// An atomic of CTA scope on a counter that two CTAs share.
extern "C" __global__ void narrow_atomic(int *count)
{
#ifdef FIXED
    atomicAdd(count, 1);
#else
    atomicAdd_block(count, 1); // FAULT OTHER
#endif
}
