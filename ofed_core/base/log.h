/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * log: messages of the core, to standard error or to syslog.
 *
 * Locking: callable from every thread.
 */
#ifndef OFED_CORE_LOG_H
#define OFED_CORE_LOG_H

#include <stdbool.h>

/* The numbers of the parameter ras_log_level. */
enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

void log_to_syslog(bool yes);
void log_level_set(long level);
void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
