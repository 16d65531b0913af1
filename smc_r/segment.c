/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* segment: this process's own status segment, and its slots. */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "process.h"
#include "sys.h"
#include "totals.h"

#define SLOTS_STEP   32u /* slots that get memory at once */
#define UNCOUNTED    (STATUS_HOLDERS_MAX - 1) /* children without an entry */
#define OWN_HOLDER   0 /* our entry in the segment that we made */
#define SEGMENTS_MAX 8 /* own one, and those of forefathers */
#define SEGMENT_BYTES                                                          \
	(STATUS_SLOTS_AT +                                                     \
	 (size_t)STATUS_SLOTS_MAX * sizeof(struct status_slot))

struct segment {
	struct status_header *header;
	struct status_slot *slots;
	int self;  /* our entry in header->holders */
	int child; /* entry of the child that is being forked, -1 none */
};

static struct status_counters nowhere;
struct status_counters *segment_counters = &nowhere;

static struct segment segments[SEGMENTS_MAX]; /* [0] is our own */
/* That of [0], for who has no lock. It stays mapped. */
static struct status_header *_Atomic own;
static int status_dir = -1;
static int own_fd = -1;
static char own_name[48];
static _Atomic uint32_t next_slot;
static _Atomic uint32_t last_ended; /* the last one freed without the lock */
/* A bit for each slot of our own segment: somebody fills or frees it. */
static _Atomic uint64_t seized[STATUS_SLOTS_MAX / 64];
static bool sweeping = true;
static bool crowded; /* the last child found no entry */

static struct status_slot *slots_of(struct status_header *h)
{
	return (struct status_slot *)(void *)((char *)h + STATUS_SLOTS_AT);
}

static uint64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static char *put_number(char *out, uint64_t n)
{
	char digits[24];
	int k = 0;

	do {
		digits[k++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (k > 0)
		*out++ = digits[--k];
	*out = '\0';
	return out;
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
	return give_memory(fd, 0, STATUS_SLOTS_AT);
}

static void fill_header(struct status_header *h)
{
	h->version = STATUS_VERSION;
	h->slot_size = sizeof(struct status_slot);
	h->pid = process.pid;
	h->uid = (uint32_t)geteuid();
	h->start = process.start;
	h->started_ms = wall_ms();
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
	s->header = map;
	s->slots = slots_of(s->header);
	s->self = OWN_HOLDER;
	s->child = -1;
	fill_header(s->header);
	segment_counters = &s->header->counters;
	atomic_store(&next_slot, 0);
	atomic_store(&last_ended, 0);
	for (unsigned i = 0; i < STATUS_SLOTS_MAX / 64; i++)
		atomic_store_explicit(&seized[i], 0, memory_order_relaxed);
	atomic_store(&own, s->header);
	return 0;
}

static int create_own(void)
{
	return (int)SYS_CALL4(
	    SYS_openat, status_dir, own_name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
}

static int make_own(void)
{
	int fd;
	int result;

	*put_number(own_name, (uint64_t)process.pid) = '.';
	put_number(strchr(own_name, '.') + 1, process.start);
	fd = create_own();
	if (fd == -EEXIST) {
		/* Left by the program that executed this one. */
		totals_merge_file(status_dir, own_name);
		fd = create_own();
	}
	if (fd < 0)
		return fd;
	fd = hidden_fd(fd);
	/* In another pid namespace nothing else says that we live. */
	SYS_CALL3(SYS_flock, fd, LOCK_SH | LOCK_NB, 0);
	result = fd < 0 ? fd : map_own(fd);
	if (result < 0) {
		SYS_CALL3(SYS_unlinkat, status_dir, own_name, 0);
		hidden_close(fd);
		return result;
	}
	own_fd = fd;
	return 0;
}

/* Without it all that is asked later is answered more carefully. */
static void keep_proc(void)
{
	int fd = (int)SYS_CALL4(SYS_openat, AT_FDCWD, "/proc",
				O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	process_keep_proc(fd < 0 ? -1 : hidden_fd(fd));
}

int segment_open(void)
{
	int result;

	if (segments[0].header)
		return 0;
	if (status_dir < 0)
		keep_proc();
	result = hidden_directory(RUNDIR_STATUS, &status_dir);
	if (result == 0)
		result = totals_open(status_dir);
	if (result == 0)
		result = make_own();
	if (result == 0 && sweeping)
		totals_sweep(status_dir);
	sweeping = false;
	return result;
}

struct status_header *segment_header(void)
{
	return segments[0].header;
}

/* ---- slots ---- */

static bool grow(struct status_header *h)
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

static struct segment *segment_of(const struct status_slot *slot)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		if (segments[i].header && slot >= segments[i].slots &&
		    slot < segments[i].slots + STATUS_SLOTS_MAX)
			return &segments[i];
	return NULL;
}

static uint64_t living(struct segment *s, uint64_t holders)
{
	for (int i = 0; i < UNCOUNTED; i++) {
		struct status_holder *h = &s->header->holders[i];
		int32_t seen;

		if (i == s->self || !(holders >> i & 1))
			continue;
		if (totals_holder_lives(h, &seen))
			continue;
		holders &= ~(1ull << i);
		atomic_compare_exchange_strong(&h->pid, &seen, 0);
	}
	return holders;
}

/* ---- who has a slot of our own segment at hand ---- */

static bool seize(uint32_t i)
{
	uint64_t bit = 1ull << (i % 64);

	return !(atomic_fetch_or(&seized[i / 64], bit) & bit);
}

static void let_go(uint32_t i)
{
	atomic_fetch_and(&seized[i / 64], ~(1ull << (i % 64)));
}

/* A slot that only children held, which ended without a close. */
static bool is_left(struct segment *s, const struct status_slot *slot)
{
	uint64_t holders = atomic_load(&slot->holders);

	return atomic_load(&slot->state) != STATUS_FREE &&
	       !(holders >> s->self & 1) && !living(s, holders);
}

static bool reclaim(struct segment *s)
{
	uint32_t n = s->slots ? atomic_load(&s->header->slot_count) : 0;
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		struct status_slot *slot = &s->slots[i];

		if (!is_left(s, slot) || !seize(i))
			continue;
		if (is_left(s, slot)) {
			segment_slot_free(slot);
			any = true;
		}
		let_go(i);
	}
	return any;
}

/* True: it is ours to fill. */
static bool seize_free(struct status_slot *slots, uint32_t i)
{
	if (atomic_load(&slots[i].state) != STATUS_FREE || !seize(i))
		return false;
	if (atomic_load(&slots[i].state) == STATUS_FREE)
		return true;
	let_go(i);
	return false;
}

static struct status_slot *find_free(struct status_header *h)
{
	struct status_slot *slots = slots_of(h);
	uint32_t n = atomic_load(&h->slot_count);
	uint32_t from = atomic_load(&next_slot);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (from + i) % n;

		if (!seize_free(slots, at))
			continue;
		atomic_store(&next_slot, at + 1);
		return &slots[at];
	}
	atomic_store(&next_slot, n);
	return NULL;
}

/* All but `state`, by which others see whether it is in use. */
static void clean(struct status_slot *slot)
{
	memset((char *)slot + sizeof(slot->state), 0,
	       sizeof(*slot) - sizeof(slot->state));
	slot->pid = process.pid;
	slot->started_ms = wall_ms();
	atomic_store_explicit(&slot->holders, 1ull << OWN_HOLDER,
			      memory_order_relaxed);
}

void segment_slot_publish(struct status_slot *slot, uint32_t state)
{
	atomic_store_explicit(&slot->state, state, memory_order_release);
	let_go((uint32_t)(slot - segments[0].slots));
}

struct status_slot *segment_slot_get(void)
{
	struct segment *s = &segments[0];
	struct status_slot *slot;

	if (segment_open() < 0)
		return NULL;
	slot = find_free(s->header);
	if (!slot && (reclaim(s) || grow(s->header)))
		slot = find_free(s->header);
	if (!slot)
		return NULL;
	clean(slot);
	segment_slot_publish(slot, STATUS_INIT);
	return slot;
}

/* The same one time after time: its lines are in the cache. */
struct status_slot *segment_slot_begin(void)
{
	struct status_header *h = atomic_load(&own);
	uint32_t last = atomic_load(&last_ended);
	struct status_slot *slot;

	if (!h)
		return NULL;
	if (last < atomic_load(&h->slot_count) && seize_free(slots_of(h), last))
		slot = &slots_of(h)[last];
	else
		slot = find_free(h);
	if (slot)
		clean(slot);
	return slot;
}

bool segment_slot_end(struct status_slot *slot)
{
	struct status_header *h = atomic_load(&own);
	uint64_t self = 1ull << OWN_HOLDER;
	bool ended;
	uint32_t i;

	if (!h || slot < slots_of(h) || slot >= slots_of(h) + STATUS_SLOTS_MAX)
		return false;
	i = (uint32_t)(slot - slots_of(h));
	if (!seize(i))
		return false;
	ended = atomic_compare_exchange_strong(&slot->holders, &self, 0);
	if (ended) {
		atomic_store_explicit(&slot->state, STATUS_FREE,
				      memory_order_release);
		atomic_store_explicit(&last_ended, i, memory_order_relaxed);
	}
	let_go(i);
	return ended;
}

bool segment_slot_is_mine(struct status_slot *slot)
{
	struct segment *s = segment_of(slot);
	uint64_t self;

	if (!s)
		return false;
	self = 1ull << s->self;
	if (atomic_load(&slot->holders) == self)
		return true;
	return living(s, atomic_load(&slot->holders)) == self;
}

const struct status_holder *segment_holders(const struct status_slot *slot,
					    uint64_t *others)
{
	struct segment *s = segment_of(slot);

	if (!s)
		return NULL;
	*others = atomic_load(&slot->holders) & ~(1ull << s->self);
	return s->header->holders;
}

bool segment_slot_leave(struct status_slot *slot)
{
	struct segment *s = segment_of(slot);
	uint64_t self;
	uint64_t before;

	if (!s)
		return false;
	self = 1ull << s->self;
	before = atomic_fetch_and(&slot->holders, ~self);
	if (before == self)
		return true;
	return (before & self) && living(s, before & ~self) == 0;
}

/* Into the segment that the slot is of: a forked child may be the last. */
void segment_slot_free(struct status_slot *slot)
{
	struct segment *s = segment_of(slot);

	status_add_ended(s ? &s->header->counters : &nowhere, slot);
	atomic_store(&slot->state, STATUS_FREE);
}

/* ---- fork ---- */

static bool holds_any(const struct segment *s)
{
	uint32_t n = atomic_load(&s->header->slot_count);

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&s->slots[i].state) != STATUS_FREE &&
		    atomic_load(&s->slots[i].holders) >> s->self & 1)
			return true;
	return false;
}

/* From `from` on, the first entry whose process is gone; UNCOUNTED: none. */
static int find_gone(struct segment *s, int from, int32_t *pid)
{
	while (from < UNCOUNTED &&
	       totals_holder_lives(&s->header->holders[from], pid))
		from++;
	return from;
}

/* Other processes that share the segment may fork at the same time. */
static int take_entry(struct segment *s)
{
	int32_t pid;

	for (int i = find_gone(s, 0, &pid); i < UNCOUNTED;
	     i = find_gone(s, i + 1, &pid)) {
		struct status_holder *h = &s->header->holders[i];

		if (!atomic_compare_exchange_strong(&h->pid, &pid,
						    -process.pid))
			continue;
		totals_holder_write(h, process.pid, process.start);
		/* The next child needs one, too. */
		crowded = find_gone(s, i + 1, &pid) == UNCOUNTED;
		return i;
	}
	crowded = true;
	return -1;
}

static void mark_slots(struct segment *s, int entry)
{
	uint32_t n = atomic_load(&s->header->slot_count);
	uint64_t bit = 1ull << entry;

	for (uint32_t i = 0; i < n; i++) {
		_Atomic uint64_t *holders = &s->slots[i].holders;

		if (atomic_load(&s->slots[i].state) != STATUS_FREE &&
		    atomic_load(holders) >> s->self & 1)
			atomic_fetch_or(holders, bit);
		else if (entry != UNCOUNTED)
			atomic_fetch_and(holders, ~bit);
	}
}

bool segment_is_crowded(void)
{
	return crowded;
}

/* The entry carries the parent's pid until the child has put in its own: a
 * slot never looks abandoned in between. */
bool segment_before_fork(void)
{
	bool counted = true;

	for (int i = 0; i < SEGMENTS_MAX; i++) {
		struct segment *s = &segments[i];

		s->child = -1;
		if (!s->header || !holds_any(s))
			continue;
		s->child = take_entry(s);
		if (s->child >= 0)
			mark_slots(s, s->child);
		else
			counted = false;
	}
	return counted;
}

void segment_before_uncounted_fork(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++)
		if (segments[i].header && segments[i].child < 0)
			mark_slots(&segments[i], UNCOUNTED);
}

/* The handlers ran, and there is no child. */
void segment_fork_failed(void)
{
	for (int i = 0; i < SEGMENTS_MAX; i++) {
		struct segment *s = &segments[i];
		uint32_t n;

		if (!s->header || s->child < 0)
			continue;
		n = atomic_load(&s->header->slot_count);
		for (uint32_t k = 0; k < n; k++)
			atomic_fetch_and(&s->slots[k].holders,
					 ~(1ull << s->child));
		atomic_store(&s->header->holders[s->child].pid, 0);
		s->child = -1;
	}
}

void segment_after_fork(bool child)
{
	int kept = 1;

	if (!child)
		return;
	for (int i = SEGMENTS_MAX - 1; i >= 0; i--) {
		struct segment *s = &segments[i];

		if (!s->header || s->child < 0) {
			s->header = NULL;
			continue;
		}
		totals_holder_write(&s->header->holders[s->child], process.pid,
				    process.start);
		s->self = s->child;
	}
	crowded = false;
	/* Make room at [0] for a segment of our own. */
	atomic_store(&own, NULL);
	struct segment old[SEGMENTS_MAX];

	memcpy(old, segments, sizeof(old));
	memset(segments, 0, sizeof(segments));
	for (int i = 0; i < SEGMENTS_MAX && kept < SEGMENTS_MAX; i++)
		if (old[i].header)
			segments[kept++] = old[i];
	hidden_close(own_fd);
	own_fd = -1;
	own_name[0] = '\0';
	status_dir = totals_forked(status_dir);
	/* Until it has a segment of its own, a child counts in its parent's. */
	segment_counters =
	    segments[1].header ? &segments[1].header->counters : &nowhere;
}

/* ---- memory and the end ---- */

int segment_reserve(uint64_t bytes, uint64_t limit, uint64_t *used)
{
	_Atomic uint64_t *mine;
	int result = segment_open();

	if (result < 0)
		return result;
	mine = &segments[0].header->rmb_bytes;
	result = totals_reserve(status_dir, bytes, limit, mine, used);
	if (result == -ENOMEM) {
		totals_sweep(status_dir);
		result = totals_reserve(status_dir, bytes, limit, mine, used);
	}
	return result;
}

void segment_give_back(uint64_t bytes)
{
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
		if (living(s, atomic_load(&slot->holders) & ~(1ull << s->self)))
			return true;
	}
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
	segment_counters = &nowhere;
	atomic_store(&own, NULL);
	s->header = NULL;
}
