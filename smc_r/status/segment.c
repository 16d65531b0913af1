/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* segment: this process's own status segment. */
#include "smc_r/status/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/text.h"
#include "smc_r/status/home.h"
#include "smc_r/status/segment_table.h"
#include "smc_r/status/totals.h"

#define SLOTS_FIRST 10u /* slots of a new segment: a page of them */
#define SLOTS_STEP  32u /* slots that get memory at once later */
#define SEGMENT_BYTES                                                          \
	(STATUS_SLOTS_AT +                                                     \
	 (size_t)STATUS_SLOTS_MAX * sizeof(struct status_slot))

struct status_counters segment_nowhere;
struct status_counters *segment_counters = &segment_nowhere;

bool segment_counts(void)
{
	return segment_counters != &segment_nowhere;
}

struct segment segments[SEGMENTS_MAX];
struct status_header *_Atomic segment_own;
FORK_PAGE static int status_dir = -1;
FORK_PAGE static int own_fd = -1;
static int proc = -1; /* /proc */
static char own_name[48];
static bool sweeping = true;

uint64_t segment_wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- making the segment ---- */

/* A file that is mapped beyond what its file system holds kills with SIGBUS,
 * so every page has its memory before it is touched. */
static int give_memory(int fd, size_t from, size_t bytes)
{
	return (int)SYS_CALL4(SYS_fallocate, fd, 0, from, bytes);
}

static int size_file(int fd)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	    limit.rlim_cur < SEGMENT_BYTES)
		return -EFBIG;
	if (SYS_CALL3(SYS_ftruncate, fd, SEGMENT_BYTES, 0) < 0)
		return -ENOSPC;
	return give_memory(
	    fd, 0, STATUS_SLOTS_AT + SLOTS_FIRST * sizeof(struct status_slot));
}

static void fill_header(struct status_header *h)
{
	h->version = STATUS_VERSION;
	h->slot_size = sizeof(struct status_slot);
	h->slot_count = SLOTS_FIRST;
	h->pid = process.pid;
	h->uid = sys_geteuid();
	h->start = process.start;
	h->started_ms = segment_wall_ms();
	memcpy(h->program, process.program, sizeof(h->program));
	h->reporter = process.reporter;
	h->reason_table = STATUS_REASON_TABLE;
	atomic_store(&h->holders[OWN_HOLDER].start, process.start);
	atomic_store(&h->holders[OWN_HOLDER].pid, process.pid);
	h->magic = STATUS_MAGIC;
}

static int map_own(int fd)
{
	struct segment *s = &segments[0];
	void *map;
	int result = size_file(fd);

	if (result < 0)
		return result;
	map = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	if (map == MAP_FAILED)
		return -errno;
	/* On a disk the kernel would read ahead, and fill memory with zeros of
	 * slots that nobody uses: megabytes, which a control group counts. */
	SYS_CALL3(SYS_madvise, map, SEGMENT_BYTES, MADV_RANDOM);
	s->header = map;
	s->slots = slots_of(s->header);
	s->self = OWN_HOLDER;
	s->child = -1;
	fill_header(s->header);
	segment_counters = &s->header->counters;
	segment_slots_init();
	atomic_store(&segment_own, s->header);
	return 0;
}

static int create_own(void)
{
	return (int)SYS_CALL4(
	    SYS_openat, status_dir, own_name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int make_own(void)
{
	char *at;
	int fd;
	int result;

	at = text_put_number(own_name, (uint64_t)process.pid);
	text_put_number(text_put(at, "."), process.start);
	fd = create_own();
	if (fd == -EEXIST) {
		/* Left by the program that executed this one. */
		totals_merge_file(status_dir, own_name);
		fd = create_own();
	}
	if (fd < 0)
		return fd;
	fd = private_fd(fd);
	/* In another pid namespace nothing else says that we live. */
	if (fd >= 0)
		totals_lock_within(fd, LOCK_SH);
	result = fd < 0 ? fd : map_own(fd);
	if (result < 0) {
		SYS_CALL3(SYS_unlinkat, status_dir, own_name, 0);
		private_fd_close(fd);
		return result;
	}
	own_fd = fd;
	return 0;
}

/* Without it all that is asked later is answered more carefully. The process
 * has it once, however often what follows fails. */
static void keep_proc(void)
{
	if (proc >= 0)
		return;
	proc = (int)SYS_CALL4(SYS_openat, AT_FDCWD, "/proc",
			      O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (proc >= 0)
		proc = private_fd(proc);
	process_keep_proc(proc < 0 ? -1 : proc);
}

void segment_give_back_descriptors(void)
{
	private_fd_close(proc);
	proc = -1;
	process_keep_proc(-1);
	totals_forget_lock();
	home_give_back();
}

/* A child may be another user's than its parent, whose totals it has. */
static int open_home(void)
{
	uint32_t parents = home_number();

	status_dir = home_open();
	if (status_dir >= 0 && home_number() != parents)
		totals_leave();
	return status_dir;
}

static int open_in_home(void)
{
	int result;

	if (status_dir < 0 && open_home() < 0)
		return status_dir;
	result = totals_open(status_dir);
	return result < 0 ? result : make_own();
}

/* For another user's, or for the one that this user has now. */
static void leave_home(void)
{
	totals_leave();
	private_fd_close(status_dir);
	status_dir = -1;
}

static int open_first(void)
{
	int result;

	ENGINE_LOCKED();
	keep_proc();
	result = open_in_home();
	if (result == 0 && sweeping)
		totals_sweep(status_dir);
	sweeping = false;
	return result;
}

int segment_open(void)
{
	int result;

	if (segments[0].header)
		return 0;
	private_fd_begin();
	result = open_first();
	private_fd_end();
	return result;
}

int segment_directory(void)
{
	return status_dir;
}

struct status_header *segment_header(void)
{
	return segments[0].header;
}

bool segment_grow(struct status_header *h)
{
	uint32_t have = atomic_load(&h->slot_count);

	if (have + SLOTS_STEP > STATUS_SLOTS_MAX)
		return false;
	if (give_memory(own_fd,
			STATUS_SLOTS_AT + have * sizeof(struct status_slot),
			SLOTS_STEP * sizeof(struct status_slot)) < 0)
		return false;
	atomic_store(&h->slot_count, have + SLOTS_STEP);
	return true;
}

/* The parent's open files have its locks, which must not outlive it. */
FORK_TEXT void segment_leave_files(void)
{
	if (own_fd >= 0)
		sys_close(own_fd);
	if (status_dir >= 0)
		sys_close(status_dir);
	totals_leave_lock();
}

/* That was done, and nobody knew. */
void segment_forget_files(void)
{
	private_fd_forget(own_fd);
	private_fd_forget(status_dir);
	own_fd = status_dir = -1;
	totals_forget_left();
}

void segment_shift(void)
{
	struct segment old[SEGMENTS_MAX];
	int kept = 1;

	atomic_store(&segment_own, NULL);
	memcpy(old, segments, sizeof(old));
	memset(segments, 0, sizeof(segments));
	for (int i = 0; i < SEGMENTS_MAX && kept < SEGMENTS_MAX; i++)
		if (old[i].header)
			segments[kept++] = old[i];
	private_fd_close(own_fd);
	own_fd = -1;
	own_name[0] = '\0';
	/* Most children of a server need none. */
	totals_forget_lock();
	private_fd_close(status_dir);
	status_dir = -1;
	/* Until it has a segment of its own, a child counts in its parent's. */
	segment_counters = segments[1].header ? &segments[1].header->counters
					      : &segment_nowhere;
}

/* ---- memory and the end ---- */

static int reserve(uint64_t bytes, uint64_t limit, uint64_t *used)
{
	int result = segment_open();

	if (result < 0)
		return result;
	return totals_reserve(status_dir, bytes, limit,
			      &segments[0].header->rmb_bytes, used);
}

int segment_reserve(uint64_t bytes, uint64_t limit, uint64_t *used)
{
	int result = reserve(bytes, limit, used);

	ENGINE_LOCKED();
	/* The process has another user now: what it does from now on is that
	 * one's, and what it has stays where it is. */
	if (result == -ESTALE) {
		segment_shift();
		leave_home();
		result = reserve(bytes, limit, used);
	}
	if (result == -ENOMEM) {
		totals_sweep(status_dir);
		result = reserve(bytes, limit, used);
	}
	return result;
}

void segment_give_back(uint64_t bytes)
{
	ENGINE_LOCKED();
	if (segments[0].header)
		totals_give_back(status_dir, bytes,
				 &segments[0].header->rmb_bytes);
}

static bool others_hold(struct segment *s)
{
	uint32_t n = atomic_load(&s->header->slot_count);

	for (uint32_t i = 0; i < n; i++) {
		struct status_slot *slot = &s->slots[i];

		if (atomic_load(&slot->state) == STATUS_FREE)
			continue;
		if (segment_is_held(s, atomic_load(&slot->holders)))
			return true;
	}
	return false;
}

bool segment_is_open(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		if (segments[i].header)
			return true;
	return false;
}

void segment_close(void)
{
	struct segment *s = &segments[0];

	for (int i = 1; i < SEGMENTS_MAX; i++)
		if (segments[i].header)
			atomic_store(
			    &segments[i].header->holders[segments[i].self].pid,
			    0);
	if (!s->header)
		return;
	/* Somebody else goes on using or reporting it: the sweep will do. */
	if (others_hold(s) || s->header->reporter ||
	    totals_merge(status_dir, own_name, s->header, s->slots,
			 atomic_load(&s->header->slot_count)) < 0) {
		atomic_store(&s->header->holders[s->self].pid, 0);
		return;
	}
	segment_counters = &segment_nowhere;
	atomic_store(&segment_own, NULL);
	s->header = NULL;
}
