/* Kills a program after one of its effects. The file named by FERRY_EFFECTS has two numbers of eight bytes, mapped: how
 * many effects are left until the program is killed (0: it is not), and how many there were. An effect is what others
 * can see after kill -9: a file that is renamed, removed, linked, or synced, and bytes that are sent. Preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static _Atomic int64_t nothing[2], *left = nothing;

__attribute__((constructor)) static void find_numbers(void) {
    const char *file = getenv("FERRY_EFFECTS");
    int descriptor = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof nothing, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) left = mapped;
    close(descriptor);
}

static void count(void) {
    if (left[0] <= 0) return;
    left[1] += 1;
    if (atomic_fetch_sub(&left[0], 1) == 1) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
}

#define EFFECT(type, name, parameters, arguments)                                     \
    type name parameters {                                                            \
        static type(*next) parameters;                                                \
        if (!next) next = (type(*) parameters)dlsym(RTLD_NEXT, #name);                \
        type result = next arguments;                                                 \
        if (result >= 0) count();                                                     \
        return result;                                                                \
    }

EFFECT(int, rename, (const char *a, const char *b), (a, b))
EFFECT(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
EFFECT(int, renameat2, (int a, const char *b, int c, const char *d, unsigned e), (a, b, c, d, e))
EFFECT(int, link, (const char *a, const char *b), (a, b))
EFFECT(int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
EFFECT(int, unlink, (const char *a), (a))
EFFECT(int, unlinkat, (int a, const char *b, int c), (a, b, c))
EFFECT(int, fsync, (int a), (a))
EFFECT(int, fdatasync, (int a), (a))
EFFECT(ssize_t, send, (int a, const void *b, size_t c, int d), (a, b, c, d))
EFFECT(ssize_t, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c))
