// The slow paths of Synchronization.Mutex on Linux, in a form that the thread sanitizer sees.
//
// A mutex that is free is taken and left by code that is compiled into the program. One that is contended is taken and left
// by the functions below, which are part of libswiftSynchronization. That library is not instrumented, so the sanitizer
// reports races between accesses that the mutex orders. Loaded with LD_PRELOAD, these functions replace the library's. They
// leave out the priority inheritance of the original: the word is the id of the thread that has the mutex, or zero.
#include <sched.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef _Atomic uint32_t Word;

#define SELF __attribute__((swift_context)) Word *word

__attribute__((swiftcall)) void lock_slow(uint32_t, SELF) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) _Bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t self, SELF) {
    for (;;) {
        uint32_t owner = 0;
        if (__c11_atomic_compare_exchange_strong(word, &owner, self, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
        if (owner == self) __builtin_trap();
        sched_yield();
    }
}

__attribute__((swiftcall)) _Bool try_lock_slow(SELF) {
    (void)word;
    return 0;
}

__attribute__((swiftcall)) void unlock_slow(SELF) { __c11_atomic_store(word, 0, __ATOMIC_RELEASE); }
