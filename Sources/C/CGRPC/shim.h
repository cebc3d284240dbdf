#pragma once
// Before gRPC's headers: they define _GNU_SOURCE, under which these would differ from what Swift's Glibc module holds.
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>

// A call takes its operations as an array of unions, and slices keep their bytes inline or behind a pointer; both are
// readable in C and not in Swift.

/// Operations to be started together on one call under one tag.
typedef struct {
    grpc_op operations[8];
    size_t count;
} cgrpc_batch;

static inline grpc_op *cgrpc_next_operation(cgrpc_batch *batch, grpc_op_type type) {
    grpc_op *operation = &batch->operations[batch->count++];
    memset(operation, 0, sizeof *operation);
    operation->op = type;
    return operation;
}

static inline void cgrpc_send_headers(cgrpc_batch *batch, grpc_metadata *entries, size_t count, uint32_t flags) {
    grpc_op *operation = cgrpc_next_operation(batch, GRPC_OP_SEND_INITIAL_METADATA);
    operation->flags = flags;
    operation->data.send_initial_metadata.metadata = entries;
    operation->data.send_initial_metadata.count = count;
}

static inline void cgrpc_send_message(cgrpc_batch *batch, grpc_byte_buffer *message, uint32_t flags) {
    grpc_op *operation = cgrpc_next_operation(batch, GRPC_OP_SEND_MESSAGE);
    operation->flags = flags;
    operation->data.send_message.send_message = message;
}

static inline void cgrpc_send_half_close(cgrpc_batch *batch) {
    cgrpc_next_operation(batch, GRPC_OP_SEND_CLOSE_FROM_CLIENT);
}

/// What a call's receiving operations write to; lives as long as the call.
typedef struct {
    grpc_metadata_array headers;
    grpc_metadata_array trailers;
    grpc_byte_buffer *message;
    grpc_status_code status;
    grpc_slice status_message;
} cgrpc_results;

static inline cgrpc_results *cgrpc_results_create(void) {
    cgrpc_results *results = gpr_zalloc(sizeof *results);
    results->status_message = grpc_empty_slice();
    return results;
}

static inline void cgrpc_results_destroy(cgrpc_results *results) {
    grpc_metadata_array_destroy(&results->headers);
    grpc_metadata_array_destroy(&results->trailers);
    if (results->message) grpc_byte_buffer_destroy(results->message);
    grpc_slice_unref(results->status_message);
    gpr_free(results);
}

static inline void cgrpc_receive_headers(cgrpc_batch *batch, cgrpc_results *results) {
    cgrpc_next_operation(batch, GRPC_OP_RECV_INITIAL_METADATA)->data.recv_initial_metadata.recv_initial_metadata =
        &results->headers;
}

static inline void cgrpc_receive_message(cgrpc_batch *batch, cgrpc_results *results) {
    cgrpc_next_operation(batch, GRPC_OP_RECV_MESSAGE)->data.recv_message.recv_message = &results->message;
}

static inline void cgrpc_receive_status(cgrpc_batch *batch, cgrpc_results *results) {
    grpc_op *operation = cgrpc_next_operation(batch, GRPC_OP_RECV_STATUS_ON_CLIENT);
    operation->data.recv_status_on_client.trailing_metadata = &results->trailers;
    operation->data.recv_status_on_client.status = &results->status;
    operation->data.recv_status_on_client.status_details = &results->status_message;
}

static inline grpc_call_error cgrpc_start(grpc_call *call, const cgrpc_batch *batch, void *tag) {
    return grpc_call_start_batch(call, batch->operations, batch->count, tag, NULL);
}

// The slice macros are not visible to Swift.

static inline const uint8_t *cgrpc_slice_bytes(const grpc_slice *slice) { return GRPC_SLICE_START_PTR(*slice); }
static inline size_t cgrpc_slice_length(const grpc_slice *slice) { return GRPC_SLICE_LENGTH(*slice); }

/// A buffer of one slice with a copy of the bytes.
static inline grpc_byte_buffer *cgrpc_buffer_create(const uint8_t *bytes, size_t count) {
    grpc_slice slice = grpc_slice_malloc(count);
    if (count) memcpy(GRPC_SLICE_START_PTR(slice), bytes, count);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/// Copies up to `capacity` bytes out of the buffer's slices; returns how many were copied.
static inline size_t cgrpc_buffer_copy(grpc_byte_buffer *buffer, uint8_t *bytes, size_t capacity) {
    grpc_byte_buffer_reader reader;
    if (!grpc_byte_buffer_reader_init(&reader, buffer)) return 0;
    size_t copied = 0;
    grpc_slice *slice;
    while (copied < capacity && grpc_byte_buffer_reader_peek(&reader, &slice)) {
        size_t length = GRPC_SLICE_LENGTH(*slice);
        if (length > capacity - copied) length = capacity - copied;
        memcpy(bytes + copied, GRPC_SLICE_START_PTR(*slice), length);
        copied += length;
    }
    grpc_byte_buffer_reader_destroy(&reader);
    return copied;
}

// `grpc_arg` holds a union too.

static inline grpc_arg cgrpc_integer_argument(char *key, int value) {
    grpc_arg argument = {.type = GRPC_ARG_INTEGER, .key = key, .value.integer = value};
    return argument;
}

static inline grpc_arg cgrpc_string_argument(char *key, char *value) {
    grpc_arg argument = {.type = GRPC_ARG_STRING, .key = key, .value.string = value};
    return argument;
}

// Declared without a prototype, which Swift does not import.

static inline grpc_channel_credentials *cgrpc_insecure_credentials(void) {
    return grpc_insecure_credentials_create();
}

// Variadic.

static inline void cgrpc_name_this_thread(const char *name) { prctl(PR_SET_NAME, name); }
