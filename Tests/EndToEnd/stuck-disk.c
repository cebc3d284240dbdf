/* Delays every sync to the disk as long as the file in FERRY_STUCK_DISK exists, and fails the syncs of files below
 * a directory called `segments` as long as the file named by FERRY_FAILING_DISK exists. Preloaded into a program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void wait_as_long(void) {
    const char *file = getenv("FERRY_STUCK_DISK");
    struct timespec pause = {0, 20000000};
    while (file && access(file, F_OK) == 0) nanosleep(&pause, NULL);
}

static int fails(int descriptor) {
    const char *file = getenv("FERRY_FAILING_DISK");
    char link[64], path[4096];
    if (!file || access(file, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, "/segments/")) return 0;
    errno = EIO;
    return 1;
}

int fsync(int descriptor) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_as_long();
    return original(descriptor);
}

int fdatasync(int descriptor) {
    int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_as_long();
    return fails(descriptor) ? -1 : original(descriptor);
}
