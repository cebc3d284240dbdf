#pragma once
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <microhttpd.h>

// What MHD_start_daemon, which is variadic, is told.
struct ferry_mhd_configuration {
    int listen_descriptor;
    unsigned int connection_limit;
    unsigned int idle_timeout_seconds;
    size_t connection_memory;
    const char *certificate;  // PEM, or NULL for plain HTTP
    const char *key;
    MHD_AccessHandlerCallback access;
    void *(*open_request)(void *, const char *, struct MHD_Connection *);
    MHD_RequestCompletedCallback close_request;
    MHD_AcceptPolicyCallback admit;
    MHD_NotifyConnectionCallback connection;
    void *context;
};

// Targets are decoded in Swift, once and strictly.
static size_t ferry_mhd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static inline struct MHD_Daemon *ferry_mhd_start(const struct ferry_mhd_configuration *c) {
    struct MHD_OptionItem options[20];
    unsigned int n = 0;
    unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
#define FERRY_OPTION(option, number, pointer)                                    \
    options[n++] = (struct MHD_OptionItem) { option, (intptr_t)(number), (void *)(pointer) }
    FERRY_OPTION(MHD_OPTION_LISTEN_SOCKET, c->listen_descriptor, NULL);
    FERRY_OPTION(MHD_OPTION_CONNECTION_LIMIT, c->connection_limit, NULL);
    FERRY_OPTION(MHD_OPTION_CONNECTION_TIMEOUT, c->idle_timeout_seconds, NULL);
    FERRY_OPTION(MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->connection_memory, NULL);
    FERRY_OPTION(MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL);
    // The loop's thread takes no signals, so files can go by sendfile(2), which knows no MSG_NOSIGNAL.
    FERRY_OPTION(MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL);
    FERRY_OPTION(MHD_OPTION_URI_LOG_CALLBACK, c->open_request, c->context);
    FERRY_OPTION(MHD_OPTION_NOTIFY_COMPLETED, c->close_request, c->context);
    FERRY_OPTION(MHD_OPTION_NOTIFY_CONNECTION, c->connection, c->context);
    FERRY_OPTION(MHD_OPTION_UNESCAPE_CALLBACK, ferry_mhd_keep_escapes, NULL);
    if (c->certificate) {
        flags |= MHD_USE_TLS;
        FERRY_OPTION(MHD_OPTION_HTTPS_MEM_CERT, 0, c->certificate);
        FERRY_OPTION(MHD_OPTION_HTTPS_MEM_KEY, 0, c->key);
        // RFC 8996: nothing older than TLS 1.2.
        FERRY_OPTION(MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1");
    }
    FERRY_OPTION(MHD_OPTION_END, 0, NULL);
#undef FERRY_OPTION
    return MHD_start_daemon(
        flags, 0, c->admit, c->context, c->access, c->context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

// MHD_get_connection_info is variadic, too, and answers a union.
static inline int ferry_mhd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}
static inline void *ferry_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// MHD_get_daemon_info is variadic as well.
static inline int ferry_mhd_poll(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

// So is this: the bytes of a request's header, its line included.
static inline size_t ferry_mhd_header_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}
