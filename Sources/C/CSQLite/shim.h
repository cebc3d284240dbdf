#pragma once
#include <sqlite3.h>

/* Variadic functions and cast macros that Swift cannot import. */

/* Drops the global memory counters, whose lock every allocation of every connection takes. Before first use only. */
static inline int csqlite_disable_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* sqlite3_db_config with an on/off argument, as its SQLITE_DBCONFIG_* verbs from 1002 on take it. */
static inline int csqlite_set_option(sqlite3 *db, int option, int on) {
    return sqlite3_db_config(db, option, on, (int *)0);
}

/* SQLITE_TRANSIENT: SQLite copies the bytes before the call returns. */
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
