#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <nghttp2/nghttp2.h>

// accept4 of the C library asks for _GNU_SOURCE.
static inline int ferry_accept(int descriptor, struct sockaddr *peer, socklen_t *size) {
    return (int)syscall(SYS_accept4, descriptor, peer, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
