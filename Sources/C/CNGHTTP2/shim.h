#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <nghttp2/nghttp2.h>

// prctl is variadic.
static inline void ferry_name_loop(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// epoll_data is a union.
static inline int ferry_watch(int poll, int operation, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    return epoll_ctl(poll, operation, descriptor, &event);
}
static inline int ferry_watched(const struct epoll_event *event) { return event->data.fd; }

// accept4 of the C library asks for _GNU_SOURCE.
static inline int ferry_accept(int descriptor, struct sockaddr *peer, socklen_t *size) {
    return (int)syscall(SYS_accept4, descriptor, peer, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
