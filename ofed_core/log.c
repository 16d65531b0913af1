/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * log: messages of the core, to standard error or to syslog.
 */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>

static atomic_long highest = LOG_LEVEL_WARNING;
static atomic_bool use_syslog;

void log_to_syslog(bool yes)
{
	if (yes)
		openlog("ofed_core", LOG_PID, LOG_DAEMON);
	atomic_store(&use_syslog, yes);
}

void log_level_set(long level)
{
	atomic_store(&highest, level);
}

void log_write(enum log_level level, const char *format, ...)
{
	static const int priority[] = {LOG_ERR, LOG_WARNING, LOG_INFO,
				       LOG_DEBUG};
	char text[512];
	va_list a;

	if ((long)level > atomic_load_explicit(&highest, memory_order_relaxed))
		return;
	va_start(a, format);
	vsnprintf(text, sizeof(text), format, a);
	va_end(a);
	if (atomic_load(&use_syslog))
		syslog(priority[level], "%s", text);
	else
		fprintf(stderr, "ofed_core: %s\n", text);
}
