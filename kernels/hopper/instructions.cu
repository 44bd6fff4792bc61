// The instructions of sm_90a that the GEMM is made of, a function each. Shared memory is addressed by
// 32-bit offsets. tests/kernels/hopper_emulator has the same functions for a CPU.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct __align__(64) TensorMap { u64 words[16]; };

//------------------------------------------------------------------------- barriers and order

__device__ __forceinline__ u32 shared_offset(const void* memory) {
    return (u32)__cvta_generic_to_shared(memory);
}
__device__ __forceinline__ void barrier_init(u32 bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals));
}
__device__ __forceinline__ void barrier_init_done() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
// Arrives, and the phase does not end before so many bytes have come.
__device__ __forceinline__ void barrier_expect(u32 bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(bar), "r"(bytes) : "memory");
}
// Waits for the end of the phase of this parity; the phase before the first one has ended.
__device__ __forceinline__ void barrier_wait(u32 bar, u32 parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(bar), "r"(parity) : "memory");
}
__device__ __forceinline__ void sync_threads(int name, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
// Orders this thread's stores to shared memory before copies that come after.
__device__ __forceinline__ void order_stores_before_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// The next kernel of the stream may start once every block has said so or ended.
__device__ __forceinline__ void let_next_kernel_start() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void wait_for_kernel_before() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
template <int COUNT>
__device__ __forceinline__ void give_registers_back() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
__device__ __forceinline__ void raise_flag(u32* flag) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
}
__device__ __forceinline__ void await_flag(const u32* flag) {
    u32 raised;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
    while (!raised);
}

//------------------------------------------------------------------------- copies

// A box of a tensor; what lies outside the tensor is zero. Bytes arrive at `bar`.
__device__ __forceinline__ void copy_box(u32 to, const TensorMap* map, int byte, int row, u32 bar) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        ::"r"(to), "l"(map), "r"(byte), "r"(row), "r"(bar) : "memory");
}
__device__ __forceinline__ void copy_bytes(u32 to, const u8* from, int bytes, u32 bar) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
__device__ __forceinline__ uint4 load16(u32 from) {
    uint4 r;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"(from) : "memory");
    return r;
}
__device__ __forceinline__ u32 load4(u32 from) {
    u32 r;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(from));
    return r;
}
__device__ __forceinline__ u16 load2(u32 from) {
    u16 r;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(r) : "r"(from) : "memory");
    return r;
}
__device__ __forceinline__ void store16(u32 to, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ void store_zeros16(u32 to) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(0) : "memory");
}
// Four matrices of 8 x 8 halves, transposed; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(u32 to, const u32 (&halves)[4]) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
        ::"r"(to), "r"(halves[0]), "r"(halves[1]), "r"(halves[2]), "r"(halves[3]) : "memory");
}

//------------------------------------------------------------------------- arithmetic

__device__ __forceinline__ u32 multiply_halves(u32 a, u32 b) {
    u32 r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
// Two E4M3 bytes as halves; 0x7F is NaN.
__device__ __forceinline__ u32 widen_e4m3(u32 bytes) {
    u32 r;
    asm("{.reg .b16 t; cvt.u16.u32 t, %1; cvt.rn.f16x2.e4m3x2 %0, t;}" : "=r"(r) : "r"(bytes));
    return r;
}
__device__ __forceinline__ u32 round_to_halves(float low, float high) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
// The signs of the nibbles of `signs`, everything else of `rest`.
__device__ __forceinline__ u32 take_signs(u32 signs, u32 rest) {
    u32 r;
    asm("lop3.b32 %0, %1, %2, 0x80808080, 0xE4;" : "=r"(r) : "r"(signs), "r"(rest));
    return r;
}
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int GROUPS_LEFT>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS_LEFT) : "memory");
}
// sums += left (64 x 16 halves, registers) * right (16 x N halves, shared memory), not before a wait.
template <int N>
__device__ __forceinline__ void wgmma(float (&sums)[N / 2], const u32* left, u64 right);
