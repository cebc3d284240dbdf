/* Makes every sync to the disk take FERRY_SYNC_MS longer; preloaded into a server by ferry-bench. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_as_long(void) {
    const char *text = getenv("FERRY_SYNC_MS");
    long ms = text ? atol(text) : 0;
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

int fsync(int descriptor) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_as_long();
    return original(descriptor);
}

int fdatasync(int descriptor) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_as_long();
    return original(descriptor);
}
