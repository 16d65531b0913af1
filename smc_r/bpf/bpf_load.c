/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bpf_load: attaches the BPF program of the SMC option. */
#include "smc_r/bpf/bpf_load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "conf/found.h"
#include "conf/rundir.h"
#include "smc_r/bpf/bpf_object.h"
#include "smc_r/bpf/bpf_pins.h"
#include "smc_r/os/option.h"
#include "smc_r/os/option_instance.h"
#include "smc_r/status/user_directory.h"

#define SETTINGS "settings"
#define ACCOUNTS "accounts"
#define PLACES   "listeners"
#define INSTANCE ".rodata.instance"

_Static_assert(SNAPSHOT_ADDRESSES_MAX == OPTION_ADDRESSES_MAX,
	       "the BPF program holds every address of a snapshot");

struct loader {
	struct bpf_pins pins;
	char cgroup[PATH_MAX];
	struct bpf_object *object;
};

/* libbpf's first complaint of a load: it is the one nearest to the cause. */
static char complaint[256];

static int keep_complaint(enum libbpf_print_level level, const char *format,
			  va_list arguments)
    __attribute__((format(printf, 2, 0)));

static int keep_complaint(enum libbpf_print_level level, const char *format,
			  va_list arguments)
{
	if (level == LIBBPF_WARN && complaint[0] == '\0') {
		vsnprintf(complaint, sizeof(complaint), format, arguments);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

/* ---- The cgroup --------------------------------------------------------- */

/* Where the cgroup v2 hierarchy is mounted; its usual place if it is there. */
static int cgroup_find(char *out, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[2 * PATH_MAX];
	bool found = false;

	if (!mounts)
		return -errno;
	while (getmntent_r(mounts, &entry, line, sizeof(line))) {
		if (strcmp(entry.mnt_type, "cgroup2") != 0 ||
		    strlen(entry.mnt_dir) >= size)
			continue;
		if (!found || strcmp(entry.mnt_dir, "/sys/fs/cgroup") == 0)
			strcpy(out, entry.mnt_dir);
		found = true;
	}
	endmntent(mounts);
	return found ? 0 : -ENOENT;
}

/* ---- Settings ----------------------------------------------------------- */

/* One user has half of the memory where others may come. */
static uint32_t share_of(const char *rundir)
{
	struct stat st;
	int users = found_users(rundir);
	bool shared =
	    users >= 0 && fstat(users, &st) == 0 && (st.st_mode & S_IWOTH);

	if (users >= 0)
		close(users);
	return shared ? 2 : 1;
}

static void settings_of(struct option_settings *out, const char *rundir,
			const struct snapshot *s)
{
	memset(out, 0, sizeof(*out));
	out->share = share_of(rundir);
	out->max_memory = s->max_memory_bytes;
	out->learns = s->autosmc;
	out->build = bpf_object_build;
	out->enabled = s->enabled;
	out->address_count = s->address_count;
	memcpy(out->addresses, s->addresses, sizeof(out->addresses));
	for (unsigned i = 0; i < s->range_count; i++) {
		unsigned port = s->ranges[i].low;

		for (; port <= s->ranges[i].high; port++)
			out->ports[port / 64] |= 1ull << (port % 64);
	}
}

static int settings_write(const struct loader *l, int map,
			  const struct snapshot *s)
{
	struct option_settings settings;
	uint32_t key = 0;

	settings_of(&settings, l->pins.rundir, s);
	return bpf_map_update_elem(map, &key, &settings, BPF_ANY) ? -errno : 0;
}

/* The map of settings, if a program of this build stands behind it. */
static int settings_open(const struct loader *l)
{
	struct option_settings settings;
	struct bpf_map_info info = {0};
	uint32_t key = 0, length = sizeof(info);
	int map = bpf_pins_open(&l->pins, SETTINGS);

	if (map < 0)
		return map;
	if (bpf_obj_get_info_by_fd(map, &info, &length) == 0 &&
	    info.value_size == sizeof(settings) &&
	    bpf_map_lookup_elem(map, &key, &settings) == 0 &&
	    settings.build == bpf_object_build)
		return map;
	close(map);
	return -ESTALE;
}

/* ---- Accounts ----------------------------------------------------------- */

static int account_put(void *owner, const struct user_directory *u)
{
	struct option_account_kept a = {.directory = u->number};
	uint32_t user = u->uid;
	int *map = owner;

	/* The first of several will do. */
	if (u->number != RUNDIR_OWNER)
		bpf_map_update_elem(*map, &user, &a, BPF_NOEXIST);
	return 0;
}

/* Users who have a directory keep it. Their processes say what they hold when
 * that changes next. */
static int accounts_write(struct loader *l)
{
	struct bpf_map *map = bpf_object__find_map_by_name(l->object, ACCOUNTS);
	int fd = map ? bpf_map__fd(map) : -1;

	if (fd < 0)
		return bpf_pins_fail(&l->pins, -ENOEXEC,
				     "the BPF object has no accounts");
	user_directory_each(l->pins.rundir, account_put, &fd);
	return 0;
}

int bpf_load_accounts(const char *rundir,
		      int (*each)(void *owner, uid_t user, uint64_t bytes),
		      void *owner)
{
	uint32_t user, *before = NULL;
	char unused[1];
	struct loader l = {0};
	struct option_account_kept a;
	int map, result;

	result = bpf_pins_init(&l.pins, rundir, unused, sizeof(unused));
	if (result)
		return result;
	map = bpf_pins_open(&l.pins, ACCOUNTS);
	if (map < 0)
		return map;
	while (!result && bpf_map_get_next_key(map, before, &user) == 0) {
		if (bpf_map_lookup_elem(map, &user, &a) == 0)
			result = each(owner, user, a.bytes);
		before = &user;
	}
	close(map);
	return result;
}

/* ---- Places ------------------------------------------------------------- */

int bpf_load_places(const char *rundir,
		    int (*each)(void *owner, const struct option_place *place,
				const struct worth *worth),
		    void *owner)
{
	struct option_place place, *before = NULL;
	struct option_listening l;
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	struct bpf_pins pins;
	char unused[1];
	int map, result;

	result = bpf_pins_init(&pins, rundir, unused, sizeof(unused));
	if (result)
		return result;
	map = bpf_pins_open(&pins, PLACES);
	if (map < 0)
		return map;
	/* An older build's has other elements. */
	if (bpf_obj_get_info_by_fd(map, &info, &length) != 0 ||
	    info.key_size != sizeof(place) || info.value_size != sizeof(l))
		result = -ESTALE;
	while (!result && bpf_map_get_next_key(map, before, &place) == 0) {
		if (bpf_map_lookup_elem(map, &place, &l) == 0 && l.count > 0)
			result = each(owner, &place, &l.worth);
		before = &place;
	}
	close(map);
	return result;
}

/* ---- Links -------------------------------------------------------------- */

/* Is the link still on its cgroup? */
static bool link_is_attached(const struct loader *l, const char *name)
{
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	int link = bpf_pins_open(&l->pins, name);
	bool attached;

	if (link < 0)
		return false;
	attached = bpf_obj_get_info_by_fd(link, &info, &length) == 0 &&
		   info.type == BPF_LINK_TYPE_CGROUP &&
		   info.cgroup.cgroup_id != 0;
	close(link);
	return attached;
}

static bool links_are_attached(const struct loader *l)
{
	for (size_t i = 0; i < BPF_PROGRAMS; i++)
		if (!link_is_attached(l, bpf_programs[i]))
			return false;
	return true;
}

static int link_make(const struct loader *l, const char *name, int cgroup)
{
	struct bpf_program *program;
	struct bpf_link *link;
	char path[PATH_MAX];
	int error;

	program = bpf_object__find_program_by_name(l->object, name);
	if (!program)
		return bpf_pins_fail(&l->pins, -ENOEXEC,
				     "the BPF object has no program %s", name);
	link = bpf_program__attach_cgroup(program, cgroup);
	if (!link && errno == EPERM)
		return bpf_pins_fail(
		    &l->pins, -EPERM,
		    "%s cannot be attached to %s: another program that "
		    "allows no second one is there, or CAP_NET_ADMIN "
		    "is missing",
		    name, l->cgroup);
	if (!link)
		return bpf_pins_fail(&l->pins, -errno,
				     "%s cannot be attached to %s: %s", name,
				     l->cgroup, strerror(errno));
	snprintf(path, sizeof(path), "%s/%s", l->pins.path, name);
	error = bpf_link__pin(link, path);
	/* A link that is pinned stays; one that is not goes with this. */
	bpf_link__destroy(link);
	if (error)
		return bpf_pins_fail(&l->pins, error, "%s: %s", path,
				     strerror(-error));
	return 0;
}

static int links_make(struct loader *l)
{
	int cgroup = open(l->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = 0;

	if (cgroup < 0)
		return bpf_pins_fail(&l->pins, -errno, "%s: %s", l->cgroup,
				     strerror(errno));
	for (size_t i = 0; i < BPF_PROGRAMS && !error; i++)
		error = link_make(l, bpf_programs[i], cgroup);
	close(cgroup);
	return error;
}

/* ---- Attach and detach -------------------------------------------------- */

static int refused(const struct loader *l, int error)
{
	struct utsname kernel = {0};

	uname(&kernel);
	if (error == -EPERM)
		return bpf_pins_fail(
		    &l->pins, -EPERM,
		    "the kernel takes BPF programs from root, or with "
		    "CAP_BPF and CAP_NET_ADMIN, only");
	if (error == -ENOSYS)
		return bpf_pins_fail(&l->pins, -ENOSYS,
				     "Linux %s is built without bpf(2)",
				     kernel.release);
	if (error == -ENOMEM)
		return bpf_pins_fail(&l->pins, error,
				     "no memory for the BPF program");
	return bpf_pins_fail(
	    &l->pins, -EOPNOTSUPP,
	    "Linux %s does not take the BPF program, which needs 6.1 "
	    "and CONFIG_CGROUP_BPF (%s; %s)",
	    kernel.release, strerror(-error), complaint);
}

/* Loads the programs into the kernel; nothing uses them yet. */
static int object_load(struct loader *l)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "smc_option");
	struct bpf_map *constants;
	int error;

	complaint[0] = '\0';
	l->object = bpf_object__open_mem(bpf_object, bpf_object_size, &options);
	if (!l->object)
		return refused(l, -errno);
	/* The one constant: which instance this is. */
	constants = bpf_object__find_map_by_name(l->object, INSTANCE);
	if (!constants ||
	    bpf_map__set_initial_value(constants, &l->pins.instance,
				       sizeof(l->pins.instance)))
		return bpf_pins_fail(&l->pins, -ENOEXEC,
				     "the BPF object has no instance");
	error = bpf_object__load(l->object);
	return error ? refused(l, error) : 0;
}

static int attach(struct loader *l, const struct snapshot *s)
{
	struct bpf_map *map;
	int error;

	if (cgroup_find(l->cgroup, sizeof(l->cgroup)) != 0)
		return bpf_pins_fail(
		    &l->pins, -EOPNOTSUPP,
		    "no cgroup v2 hierarchy is mounted to attach to");
	error = object_load(l);
	if (!error)
		error = bpf_pins_mount(&l->pins);
	if (error)
		return error;
	/* What a crash or an older build has left. */
	error = bpf_pins_remove(&l->pins);
	if (error)
		return bpf_pins_fail(&l->pins,
				     error == -EACCES ? -EPERM : error,
				     "%s: %s", l->pins.path, strerror(-error));
	if (bpf_load_attached(l->pins.rundir))
		return bpf_pins_fail(
		    &l->pins, -EBUSY,
		    "programs of %s are attached already, and pinned "
		    "in the " BPF_PINS_BPFFS " of another mount namespace; "
		    "detach them there",
		    l->pins.rundir);
	error = bpf_pins_make(&l->pins);
	if (error)
		return error;
	map = bpf_object__find_map_by_name(l->object, SETTINGS);
	if (!map)
		error = bpf_pins_fail(&l->pins, -ENOEXEC,
				      "the BPF object has no settings");
	else
		error = settings_write(l, bpf_map__fd(map), s);
	if (!error)
		error = accounts_write(l);
	if (!error)
		error = bpf_object__pin_maps(l->object, l->pins.path);
	if (!error)
		error = links_make(l);
	else if (map)
		bpf_pins_fail(&l->pins, error, "%s: %s", l->pins.path,
			      strerror(-error));
	if (error)
		bpf_pins_remove(&l->pins);
	else
		bpf_pins_sweep();
	return error;
}

int bpf_load_attach(const char *rundir, const struct snapshot *s, char *why,
		    size_t size)
{
	libbpf_print_fn_t before;
	struct loader l = {0};
	int error, map;

	error = bpf_pins_init(&l.pins, rundir, why, size);
	if (error)
		return error;
	if (bpf_object_size == 0)
		return bpf_pins_fail(
		    &l.pins, -EOPNOTSUPP,
		    "this build has no BPF program in it, because clang "
		    "was missing when it was made");
	before = libbpf_set_print(keep_complaint);
	map = settings_open(&l);
	if (map >= 0 && links_are_attached(&l)) {
		error = settings_write(&l, map, s);
		if (error)
			bpf_pins_fail(&l.pins, error, "%s/" SETTINGS ": %s",
				      l.pins.path, strerror(-error));
	} else {
		error = attach(&l, s);
	}
	if (map >= 0)
		close(map);
	bpf_object__close(l.object);
	libbpf_set_print(before);
	return error;
}

int bpf_load_update(const char *rundir, const struct snapshot *s, char *why,
		    size_t size)
{
	struct loader l = {0};
	int error;

	error = bpf_pins_init(&l.pins, rundir, why, size);
	if (error)
		return error;
	if (access(l.pins.path, F_OK) == 0)
		return bpf_load_attach(rundir, s, why, size);
	if (errno == ENOENT)
		return bpf_pins_fail(
		    &l.pins, -ENOENT,
		    "no BPF program of %s is attached; mkdev attaches it",
		    rundir);
	if (errno == EACCES || errno == EPERM)
		return bpf_pins_fail(&l.pins, -EPERM,
				     BPF_PINS_TOP " is closed to this user");
	return bpf_pins_fail(&l.pins, -errno, "%s: %s", l.pins.path,
			     strerror(errno));
}

int bpf_load_detach(const char *rundir)
{
	char unused[1];
	struct loader l = {0};
	int error;

	error = bpf_pins_init(&l.pins, rundir, unused, sizeof(unused));
	if (error)
		return error;
	error = bpf_pins_remove(&l.pins);
	bpf_pins_sweep();
	/* A user who may not look has nothing there unless it answers. */
	if (error == -EACCES || error == -EPERM)
		error = bpf_load_attached(rundir) ? -EPERM : 0;
	return error;
}

bool bpf_load_attached(const char *rundir)
{
	uint32_t instance, answer = 0;
	socklen_t length = sizeof(answer);
	bool attached;
	int fd;

	if (option_instance(rundir, &instance) != 0)
		return false;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		return false;
	attached = getsockopt(fd, OPTION_LEVEL, (int)instance, &answer,
			      &length) == 0 &&
		   length == sizeof(answer) &&
		   (answer & OPTION_ANSWER_MASK) == OPTION_ANSWER;
	close(fd);
	return attached;
}
