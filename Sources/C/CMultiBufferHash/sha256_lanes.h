#pragma once
// SHA-256 of eight messages in parallel, each in one lane of the vectors.
// This is less work than two at a time with the SHA instructions, see `sha256_pair.h`.
#include "sha256.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ferry_sha256_lanes = 8 };

#if defined(__x86_64__)
static inline int ferry_sha256_has_lanes(void) {
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

typedef uint32_t ferry_sha256_words __attribute__((vector_size(4 * ferry_sha256_lanes)));
typedef uint8_t ferry_sha256_bytes __attribute__((vector_size(4 * ferry_sha256_lanes)));

#define FERRY_SHA256_LANES __attribute__((target("avx512f,avx512vl,avx512bw"))) static inline
#define FERRY_ROTATED(word, count) ((word) >> (count) | (word) << (32 - (count)))

// Transposes eight words of each lane's message: the same word of all lanes, eight times.
FERRY_SHA256_LANES __attribute__((always_inline)) void ferry_sha256_turn(ferry_sha256_words rows[8]) {
    ferry_sha256_words pairs[8], fours[8];
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = __builtin_shufflevector(rows[i], rows[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pairs[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) {
        const int low = i / 4 * 4 + i % 4 / 2;
        fours[i] = i % 2 == 0 ? __builtin_shufflevector(pairs[low], pairs[low + 2], 0, 1, 8, 9, 4, 5, 12, 13)
                              : __builtin_shufflevector(pairs[low], pairs[low + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) {
        rows[i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        rows[i + 4] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

FERRY_SHA256_LANES __attribute__((always_inline)) ferry_sha256_words ferry_sha256_big_endian(const uint8_t *message) {
    ferry_sha256_bytes bytes;
    memcpy(&bytes, message, sizeof bytes);
    return (ferry_sha256_words)__builtin_shufflevector(
        bytes, bytes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 19, 18, 17, 16, 23, 22, 21, 20, 27, 26, 25,
        24, 31, 30, 29, 28);
}

// Hashes this number of blocks of each message. FIPS 180-4, 6.2.2. Requires `ferry_sha256_has_lanes`.
FERRY_SHA256_LANES void ferry_sha256_lanes_update(
    ferry_sha256_state states[ferry_sha256_lanes], const uint8_t *const messages[ferry_sha256_lanes], size_t blocks) {
    ferry_sha256_words state[8];
    for (int i = 0; i < 8; i++)
        for (int lane = 0; lane < ferry_sha256_lanes; lane++) state[i][lane] = states[lane].h[i];
    for (size_t offset = 0; offset < blocks * ferry_sha256_block; offset += ferry_sha256_block) {
        ferry_sha256_words words[16];
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) words[i] = ferry_sha256_big_endian(messages[i % 8] + offset + i / 8 * 32);
        ferry_sha256_turn(words), ferry_sha256_turn(words + 8);
        ferry_sha256_words a = state[0], b = state[1], c = state[2], d = state[3];
        ferry_sha256_words e = state[4], f = state[5], g = state[6], h = state[7];
#pragma clang loop unroll(full)
        for (int i = 0; i < 64; i++) {
            if (i >= 16) {
                const ferry_sha256_words early = words[(i + 1) % 16], late = words[(i + 14) % 16];
                words[i % 16] += (FERRY_ROTATED(early, 7) ^ FERRY_ROTATED(early, 18) ^ early >> 3) + words[(i + 9) % 16] +
                    (FERRY_ROTATED(late, 17) ^ FERRY_ROTATED(late, 19) ^ late >> 10);
            }
            const ferry_sha256_words first = h + (FERRY_ROTATED(e, 6) ^ FERRY_ROTATED(e, 11) ^ FERRY_ROTATED(e, 25)) +
                (g ^ (e & (f ^ g))) + (words[i % 16] + ferry_sha256_constants[i]);
            const ferry_sha256_words second = (FERRY_ROTATED(a, 2) ^ FERRY_ROTATED(a, 13) ^ FERRY_ROTATED(a, 22)) +
                ((a & b) | (c & (a | b)));
            h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
    for (int lane = 0; lane < ferry_sha256_lanes; lane++)
        for (int i = 0; i < 8; i++) states[lane].h[i] = state[i][lane];
}

#undef FERRY_SHA256_LANES
#undef FERRY_ROTATED
#else
static inline int ferry_sha256_has_lanes(void) { return 0; }
static inline void ferry_sha256_lanes_update(
    ferry_sha256_state states[ferry_sha256_lanes], const uint8_t *const messages[ferry_sha256_lanes], size_t blocks) {}
#endif
