#pragma once
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Variadic functions and cast macros that Swift cannot import. */

/* Disables the global memory statistics, whose lock every allocation of every connection takes.
   Only before the first use of SQLite. */
static inline int csqlite_disable_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* sqlite3_db_config with an on/off argument, as the SQLITE_DBCONFIG_* verbs from 1002 on take
   it. */
static inline int csqlite_set_option(sqlite3 *db, int option, int on) {
    return sqlite3_db_config(db, option, on, (int *)0);
}

/* Macros that consist of other macros. */
static const int csqlite_corrupt_index = SQLITE_CORRUPT_INDEX;
static const int csqlite_shm_size = SQLITE_IOERR_SHMSIZE;

/* SQLITE_TRANSIENT: SQLite copies the bytes before the call returns. */
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* Checksums of rows: CRC-32C (RFC 3720) over the type and content of each value. The initial and
   final inversions are left out, because the first byte is never zero. */

static inline uint32_t csqlite_crc_portable(uint32_t crc, const unsigned char *bytes, size_t count) {
    static const uint32_t table[16] = {
        0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
        0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75};
    for (; count > 0; count--, bytes++) {
        crc ^= *bytes;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static inline uint32_t csqlite_crc_fast(
    uint32_t crc, const unsigned char *bytes, size_t count) {
    uint64_t sum = crc;
    for (; count >= 8; count -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    crc = (uint32_t)sum;
    for (; count > 0; count--, bytes++) crc = __builtin_ia32_crc32qi(crc, *bytes);
    return crc;
}
#endif

static inline uint32_t csqlite_crc(uint32_t crc, const void *bytes, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return csqlite_crc_fast(crc, (const unsigned char *)bytes, count);
#endif
    return csqlite_crc_portable(crc, (const unsigned char *)bytes, count);
}

/* Adds the type of a value, its length or the value itself, and its bytes. */
static inline uint32_t csqlite_crc_value(uint32_t crc, int type, uint64_t number, const void *bytes) {
    unsigned char head[9] = {(unsigned char)type};
    for (int i = 0; i < 8; i++) head[i + 1] = (unsigned char)(number >> 8 * i);
    crc = csqlite_crc(crc, head, sizeof head);
    return bytes ? csqlite_crc(crc, bytes, (size_t)number) : crc;
}

static inline uint64_t csqlite_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* row_sum(…): the checksum of its arguments, for INSERT and UPDATE. */
static inline void csqlite_row_sum(sqlite3_context *context, int count, sqlite3_value **values) {
    uint32_t crc = 0;
    for (int i = 0; i < count; i++) {
        sqlite3_value *value = values[i];
        int type = sqlite3_value_type(value);
        switch (type) {
        case SQLITE_INTEGER: crc = csqlite_crc_value(crc, type, (uint64_t)sqlite3_value_int64(value), NULL); break;
        case SQLITE_FLOAT:
            crc = csqlite_crc_value(crc, type, csqlite_double_bits(sqlite3_value_double(value)), NULL);
            break;
        case SQLITE_NULL: crc = csqlite_crc_value(crc, type, 0, NULL); break;
        default: {
            const void *bytes = sqlite3_value_blob(value);
            crc = csqlite_crc_value(crc, type, (uint64_t)sqlite3_value_bytes(value), bytes);
        }
        }
    }
    sqlite3_result_int64(context, (sqlite3_int64)crc);
}

/* The checksum of columns of the current row, without copying them. */
static inline uint32_t csqlite_column_sum(sqlite3_stmt *statement, int first, int end) {
    uint32_t crc = 0;
    for (int i = first; i < end; i++) {
        int type = sqlite3_column_type(statement, i);
        switch (type) {
        case SQLITE_INTEGER:
            crc = csqlite_crc_value(crc, type, (uint64_t)sqlite3_column_int64(statement, i), NULL);
            break;
        case SQLITE_FLOAT:
            crc = csqlite_crc_value(crc, type, csqlite_double_bits(sqlite3_column_double(statement, i)), NULL);
            break;
        case SQLITE_NULL: crc = csqlite_crc_value(crc, type, 0, NULL); break;
        default: {
            const void *bytes = sqlite3_column_blob(statement, i);
            crc = csqlite_crc_value(crc, type, (uint64_t)sqlite3_column_bytes(statement, i), bytes);
        }
        }
    }
    return crc;
}

static inline int csqlite_add_row_sum(sqlite3 *db) {
    return sqlite3_create_function_v2(
        db, "row_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, csqlite_row_sum, NULL, NULL,
        NULL);
}
