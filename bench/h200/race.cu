// What racecheck does not follow: a ring of bulk copies and mbarriers that is correct in both forms.
//
//     nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a bench/h200/race.cu -o race
//     compute-sanitizer --tool racecheck ./race all     # every lane says that it has read: no hazard
//     compute-sanitizer --tool racecheck ./race one     # lane 0 does so behind __syncwarp: hazards
//
// Seen with compute-sanitizer 2025.3.1 on an H200: 0 hazards and 6.
#include <cstdio>
#include <cstring>

constexpr int N = 128, STAGES = 2, STEPS = 8;
__device__ __forceinline__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait(unsigned bar, unsigned parity) {
    asm volatile("{\n.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(bar), "r"(parity) : "memory");
}
__device__ __forceinline__ void arrive(unsigned bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); }
template <bool ALL>
__global__ void ring(const int* in, int* out) {
    __shared__ alignas(128) int buffer[STAGES][N];
    __shared__ alignas(8) unsigned long long bars[2 * STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bars + i)), "r"(1));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bars + STAGES + i)), "r"(ALL ? N : N / 32));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= N) {
        if (threadIdx.x == N)
            for (int s = 0; s < STEPS; ++s) {
                wait(at(bars + STAGES + s % STAGES), s / STAGES % 2 ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bars + s % STAGES)), "r"(N * 4) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                    ::"r"(at(buffer[s % STAGES])), "l"(in + s * N), "r"(N * 4), "r"(at(bars + s % STAGES)) : "memory");
            }
    } else {
        int sum = 0;
        for (int s = 0; s < STEPS; ++s) {
            wait(at(bars + s % STAGES), s / STAGES % 2);
            sum += ((volatile int*)buffer[s % STAGES])[threadIdx.x];
            if (ALL) arrive(at(bars + STAGES + s % STAGES));
            else { __syncwarp(); if (threadIdx.x % 32 == 0) arrive(at(bars + STAGES + s % STAGES)); }
        }
        out[threadIdx.x] = sum;
    }
}
int main(int, char** arguments) {
    int *in, *out, host[N];
    cudaMalloc(&in, N * STEPS * 4);
    cudaMalloc(&out, N * 4);
    cudaMemset(in, 1, N * STEPS * 4);
    if (strcmp(arguments[1], "all"))
        ring<false><<<1, N + 32>>>(in, out);
    else
        ring<true><<<1, N + 32>>>(in, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int sum : host)
        if (sum != STEPS * 0x01010101) return 1;
    puts(cudaGetErrorString(cudaGetLastError()));
}
