/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_limits: the program changes its limits,
 * confines itself to some calls, or sets up io_uring, whose calls nobody can
 * see.
 */
#include "smc_r/preload/preload_limits.h"
#include "smc_r/preload/preload.h"

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "smc_r/os/engines.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/preload/engine.h"
#include "smc_r/protocol/reason.h"

/* ---- limits ---- */

#define UNKNOWN UINT64_MAX

static _Atomic uint64_t soft_limit = UNKNOWN;

static long kernel_limit(pid_t pid, int resource, const struct rlimit *new,
			 struct rlimit *old)
{
	return SYS_CALL4(SYS_prlimit64, pid, resource, new, old);
}

uint64_t descriptor_limit(void)
{
	uint64_t limit = relaxed_load(&soft_limit);
	struct rlimit l;

	if (__builtin_expect(limit != UNKNOWN, 1))
		return limit;
	if (process_is_foreign())
		return UNKNOWN;
	engine_lock();
	if (kernel_limit(0, RLIMIT_NOFILE, NULL, &l) == 0) {
		limit = l.rlim_cur;
		atomic_store(&soft_limit, limit);
	}
	engine_unlock();
	return limit;
}

/* What the engine raises it puts back only if it is as it was left:
 * private_fd.c. What poll() may have is asked anew. */
static int limit_change(pid_t pid, int resource, const struct rlimit *new,
			struct rlimit *old)
{
	long result = kernel_limit(pid, resource, new, old);

	if (resource == RLIMIT_NOFILE && new)
		atomic_store(&soft_limit, UNKNOWN);
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return 0;
}

PRELOAD int setrlimit(__rlimit_resource_t resource, const struct rlimit *new)
{
	return limit_change(0, (int)resource, new, NULL);
}

_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "one width");

PRELOAD int setrlimit64(__rlimit_resource_t resource,
			const struct rlimit64 *new)
{
	return limit_change(0, (int)resource, (const void *)new, NULL);
}

PRELOAD int prlimit(pid_t pid, enum __rlimit_resource resource,
		    const struct rlimit *new, struct rlimit *old)
{
	return limit_change(pid, (int)resource, new, old);
}

PRELOAD int prlimit64(pid_t pid, enum __rlimit_resource resource,
		      const struct rlimit64 *new, struct rlimit64 *old)
{
	return limit_change(pid, (int)resource, (const void *)new, (void *)old);
}

/* ---- sandboxes ---- */

/* Nobody knows which calls are left; ours on a connection are not only those
 * that the program makes. With no filter the kernel refuses: programs ask so
 * which modes it has, and nothing begins. */
void sandbox_begins(unsigned long mode, unsigned long filter)
{
	if (mode == SECCOMP_MODE_FILTER && !filter)
		return;
	if (fdtable && !process.confined && !process_may_be_foreign())
		engine_confine();
}

PRELOAD int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		sandbox_begins(a[0], a[1]);
	return real.prctl(option, a[0], a[1], a[2], a[3]);
}

/* ---- liburing ---- */

struct io_uring;
struct io_uring_params;

/* liburing enters the kernel by itself. A plugin's liburing is not among the
 * libraries that follow us, but it is loaded, or nobody could call. */
static void *liburing(const char *name)
{
	static const char *const files[] = {"liburing.so.2", "liburing.so.1"};
	void *found = engines_next(name);

	engine_retire(REASON_DEMOTED_IO_URING);
	for (size_t i = 0; !found && i < sizeof(files) / sizeof(*files); i++) {
		void *library = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			found = dlsym(library, name);
	}
	return found;
}

#define QUEUE_INIT(name, parameters, ...)                                      \
	PRELOAD int name parameters;                                           \
	PRELOAD int name parameters                                            \
	{                                                                      \
		int(*next) parameters = (int(*) parameters)liburing(#name);    \
                                                                               \
		return next ? next(__VA_ARGS__) : -ENOSYS;                     \
	}

QUEUE_INIT(io_uring_queue_init,
	   (unsigned entries, struct io_uring *ring, unsigned flags), entries,
	   ring, flags)
QUEUE_INIT(io_uring_queue_init_params,
	   (unsigned entries, struct io_uring *ring, struct io_uring_params *p),
	   entries, ring, p)
QUEUE_INIT(io_uring_queue_init_mem,
	   (unsigned entries, struct io_uring *ring, struct io_uring_params *p,
	    void *memory, size_t bytes),
	   entries, ring, p, memory, bytes)
