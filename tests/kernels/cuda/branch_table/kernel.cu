// An indexed branch (brx.idx) in a loop: a walk through a table of states, the next one from memory.
extern "C" __global__ void branch_table(const unsigned *next, const unsigned *start, unsigned *out, int steps)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, state = start[i], v = i;
    for (int k = 0; k < steps; ++k) {
        asm volatile("{\n\t"
                     "TABLE: .branchtargets ADD, TRIPLE, FLIP, ADD, HALVE;\n\t"
                     "brx.idx %1, TABLE;\n\t"
                     "ADD: add.u32 %0, %0, 17;\n\t"
                     "bra.uni DONE;\n\t"
                     "TRIPLE: mul.lo.u32 %0, %0, 3;\n\t"
                     "bra.uni DONE;\n\t"
                     "FLIP: not.b32 %0, %0;\n\t"
                     "HALVE: shr.u32 %0, %0, 1;\n\t"
                     "DONE:\n\t"
                     "}"
                     : "+r"(v) : "r"(state));
        state = next[state * 4 + (v & 3)];
    }
    out[i] = v;
}
