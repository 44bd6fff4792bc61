// Runs both kernels on a CPU, block by block in order; appended to kernels/hopper/gemm.cu.

extern "C" const char* run(
    const Problem* problem, int groups, int units, int chunks, int blocks, float* partials,
    u32* flags, u32 seed) {
    machine.random.seed(seed);
    machine.fault.clear();
    for (u32 y = 0; y < (u32)chunks; ++y)
        for (u32 x = 0; x < (u32)units; ++x)
            if (!run_block({x, y}, DECODE_THREADS, [&] { decode_a(problem->groups, groups); }))
                return machine.fault.c_str();
    for (u32 x = 0; x < (u32)blocks; ++x)
        if (!run_block({x}, THREADS, [&] { grouped_gemm(*problem, partials, flags); }))
            return machine.fault.c_str();
    return nullptr;
}

extern "C" int problem_bytes() { return sizeof(Problem); }
extern "C" int groups_bytes() { return sizeof(Groups); }
extern "C" int shared_bytes() { return SHARED_BYTES; }
extern "C" int threads() { return THREADS; }
extern "C" int decode_threads() { return DECODE_THREADS; }
extern "C" int decode_shared_bytes() { return DECODE_SHARED_BYTES; }
