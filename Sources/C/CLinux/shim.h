#pragma once
// Only what Swift's Glibc module lacks. _GNU_SOURCE is not defined, because the headers shared with
// that module must have the same meaning in both; the calls that need it use syscall(2).
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

long syscall(long number, ...);

// open(2), openat(2) and fcntl(2) are variadic.
static inline int ferry_open(const char *path, int flags, unsigned int mode) { return open(path, flags, mode); }

static inline int ferry_open_at(int directory, const char *path, int flags, unsigned int mode) {
    return openat(directory, path, flags, mode);
}

static inline int ferry_duplicate(int descriptor) { return fcntl(descriptor, 1030 /* F_DUPFD_CLOEXEC */, 3); }

static inline int ferry_set_nonblocking(int descriptor, int on) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0) return -1;
    return fcntl(descriptor, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

static inline int ferry_set_close_on_exec(int descriptor) { return fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

// openat2(2): the path cannot leave `directory`, and no component of it may be a link.
static inline int ferry_open_beneath(int directory, const char *path, int flags, unsigned int mode) {
    struct open_how how = {
        .flags = (unsigned long long)(unsigned int)flags,
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static inline long ferry_list(int directory, void *buffer, unsigned long length) {
    return syscall(SYS_getdents64, directory, buffer, length);
}

static inline int ferry_rename(int from, const char *old, int to, const char *name, unsigned int flags) {
    return (int)syscall(SYS_renameat2, from, old, to, name, flags);
}

// Sets the time of the last change of the content; that of the last access stays.
static inline int ferry_set_modified(int descriptor, time_t seconds, long nanoseconds) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    return futimens(descriptor, times);
}

static inline int ferry_sync_file_system(int descriptor) { return (int)syscall(SYS_syncfs, descriptor); }

// sync_file_range(2): starts to write dirty pages to disk, and waits for it if `wait` is set.
static inline int ferry_write_out(int descriptor, long long offset, long long length, int wait) {
    unsigned int flags = wait ? 1 | 2 | 4 /* WAIT_BEFORE, WRITE, WAIT_AFTER */ : 2 /* WRITE */;
    return (int)syscall(SYS_sync_file_range, descriptor, offset, length, flags);
}

// lseek(2) with SEEK_DATA.
static inline long long ferry_next_data(int descriptor, long long offset) { return lseek(descriptor, offset, 3); }

static inline int ferry_memory_file(const char *name) {
    return (int)syscall(SYS_memfd_create, name, 1 /* MFD_CLOEXEC */);
}

// fallocate(2) with FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE: frees the blocks of a range.
static inline int ferry_punch(int descriptor, long long offset, long long length) {
    return (int)syscall(SYS_fallocate, descriptor, 1 | 2, offset, length);
}

static inline int ferry_clone(int to, int from) { return ioctl(to, FICLONE, from); }

static inline void ferry_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

static inline void ferry_map_allocations(int bytes) { mallopt(M_MMAP_THRESHOLD, bytes); }

static inline void ferry_keep_free(int bytes) { mallopt(M_TRIM_THRESHOLD, bytes); }

// The number of bytes that a TCP peer has acknowledged, and the number of bytes that are sent but
// not acknowledged or not sent yet. From tcp_info of linux/tcp.h, which cannot be included together
// with netinet/tcp.h.
static inline int ferry_tcp_progress(int socket, uint64_t *acknowledged, int *unsent) {
    unsigned char info[128];
    socklen_t size = sizeof info;
    if (getsockopt(socket, 6 /* IPPROTO_TCP */, 11 /* TCP_INFO */, info, &size) != 0 || size < 128) return -1;
    __builtin_memcpy(acknowledged, info + 120, sizeof *acknowledged);
    return ioctl(socket, SIOCOUTQ, unsent);
}
// The number of allocated bytes, in the heap and in pages of their own.
static inline size_t ferry_memory_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static inline void ferry_trim_heap(void) { malloc_trim(0); }

// posix_madvise(3) ignores its own DONTNEED, and madvise(2) is visible under _DEFAULT_SOURCE only.
static inline int ferry_drop_pages(uintptr_t start, uintptr_t end) {
    return (int)syscall(SYS_madvise, start, end - start, 4 /* MADV_DONTNEED */);
}

// ioctl(2) is variadic. Gives the columns and rows of a terminal, or returns -1.
static inline int ferry_terminal_size(int descriptor, int *columns, int *rows) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return -1;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

// f_fsid's members have reserved names that Swift does not import.
static inline int ferry_file_system_id(int descriptor, uint64_t *identity) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return -1;
    *identity = ((uint64_t)(uint32_t)status.f_fsid.__val[0] << 32) | (uint32_t)status.f_fsid.__val[1];
    return 0;
}

// struct ucred is visible under _GNU_SOURCE only; its layout is fixed by the kernel, unix(7).
static inline int ferry_peer_credentials(int descriptor, int *process, unsigned int *user, unsigned int *group) {
    struct { int process; unsigned int user; unsigned int group; } peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *process = peer.process;
    *user = peer.user;
    *group = peer.group;
    return 0;
}

// prctl is variadic.
static inline void ferry_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// epoll_data is a union.
static inline int ferry_watch(int poll, int operation, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    return epoll_ctl(poll, operation, descriptor, &event);
}
static inline int ferry_watched(const struct epoll_event *event) { return event->data.fd; }
