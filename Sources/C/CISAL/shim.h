#pragma once
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

// Swift does not import macros that consist of other macros.
static const uint32_t ferry_isal_level_2_workspace = ISAL_DEF_LVL2_DEFAULT;

// Must be called after each call of ISA-L, which leaves the upper halves of vector registers in
// use. The following SSE instructions of the thread would wait for them: SHA-256 would take twice
// as long ("Avoiding AVX-SSE Transition Penalties", Intel).
#if defined(__x86_64__)
__attribute__((target("avx"))) static inline void ferry_isal_clear_upper(void) { __builtin_ia32_vzeroupper(); }

static inline void ferry_isal_end(void) {
    if (__builtin_cpu_supports("avx")) ferry_isal_clear_upper();
}
#else
static inline void ferry_isal_end(void) {}
#endif
