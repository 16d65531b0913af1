/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * log: messages of the core, to standard error or to syslog.
 */
#include "ofed_core/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>

#define PER_SECOND 50 /* what anybody can cause must not fill a disk */

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

static atomic_long second;
static atomic_uint said;     /* in that second */
static atomic_uint unspoken; /* since the last that was not */

static void put(int priority, const char *text)
{
	if (atomic_load(&use_syslog))
		syslog(priority, "%s", text);
	else
		fprintf(stderr, "ofed_core: %s\n", text);
}

static bool may_speak(void)
{
	struct timespec now;
	char text[64];
	unsigned n;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (atomic_exchange(&second, now.tv_sec) != now.tv_sec)
		atomic_store(&said, 0);
	if (atomic_fetch_add(&said, 1) >= PER_SECOND) {
		atomic_fetch_add(&unspoken, 1);
		return false;
	}
	n = atomic_exchange(&unspoken, 0);
	if (n) {
		snprintf(text, sizeof(text), "%u more messages left out", n);
		put(LOG_WARNING, text);
	}
	return true;
}

void log_write(enum log_level level, const char *format, ...)
{
	static const int priority[] = {LOG_ERR, LOG_WARNING, LOG_INFO,
				       LOG_DEBUG};
	char text[512];
	va_list a;

	if ((long)level > atomic_load_explicit(&highest, memory_order_relaxed))
		return;
	/* Messages for debugging are not limited. */
	if (level != LOG_LEVEL_DEBUG && !may_speak())
		return;
	va_start(a, format);
	vsnprintf(text, sizeof(text), format, a);
	va_end(a);
	put(priority[level], text);
}
