/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sysfs: the tree of small files that the verbs libraries read about devices.
 *
 * rundir/sysfs is a link to rundir/sysfs-N; a new tree is made beside the old
 * one and the link renamed over, so that no reader finds it half written.
 */
#include "ofed_core/device/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <rdma/rdma_user_cm.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/ofed_rundir.h"
#include "ofed_core/base/shim_protocol.h"
#include "ofed_core/device/device.h"
#include "ofed_core/pure/bytes.h"

#define PATH_BYTES 256
#define NAMESPACES "/run/netns" /* of ip-netns(8) */

static unsigned generation;
static char name_link[PATH_BYTES * 2]; /* "": this namespace has no name */
static char root[PATH_BYTES];

/* 0, or the reason of the last one that cannot be made. */
static int make_parents(char *path)
{
	int rc = 0;

	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		rc = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
		*p = '/';
	}
	return rc;
}

/* Writes "root/NAME" with one line of text. */
static void put(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(const char *name, const char *format, ...)
{
	char path[PATH_BYTES * 2];
	char text[256];
	va_list a;
	int fd;
	int n;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		log_error("%s: error %d", path, errno);
		return;
	}
	va_start(a, format);
	n = vsnprintf(text, sizeof(text) - 1, format, a);
	va_end(a);
	text[n++] = '\n';
	if (write(fd, text, (size_t)n) != n)
		log_error("%s: not written", path);
	close(fd);
}

static const char *at(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static const char *at(const char *format, ...)
{
	static char name[PATH_BYTES];
	va_list a;

	va_start(a, format);
	vsnprintf(name, sizeof(name), format, a);
	va_end(a);
	return name;
}

static void format_guid(char out[20], uint64_t guid)
{
	uint64_t v = be64toh(guid);

	snprintf(out, 20, "%04x:%04x:%04x:%04x", (unsigned)(v >> 48) & 0xffff,
		 (unsigned)(v >> 32) & 0xffff, (unsigned)(v >> 16) & 0xffff,
		 (unsigned)v & 0xffff);
}

static void format_gid(char out[40], const uint8_t gid[16])
{
	for (int i = 0; i < 8; i++)
		sprintf(out + 5 * i, "%04x%s", get_be16(gid + 2 * i),
			i < 7 ? ":" : "");
}

static void write_gids(const struct device *d, const char *port)
{
	for (unsigned i = 0; i < GIDS_MAX; i++) {
		char text[40];

		/* Free places read as zeros, as in the kernel. */
		format_gid(text, d->gids[i].raw);
		put(at("%s/gids/%u", port, i), "%s", text);
		put(at("%s/gid_attrs/types/%u", port, i), "%s",
		    d->gids[i].is_v1 ? "IB/RoCE v1" : "RoCE v2");
		if (!d->gids[i].is_used)
			continue;
		put(at("%s/gid_attrs/ndevs/%u", port, i), "%s", d->netdev);
	}
}

static void write_port(const struct device *d)
{
	char port[96];
	bool is_up = d->is_up;

	snprintf(port, sizeof(port), "class/infiniband/%.31s/ports/1", d->name);
	put(at("%s/state", port), "%s", is_up ? "4: ACTIVE" : "1: DOWN");
	put(at("%s/phys_state", port), "%s",
	    is_up ? "5: LinkUp" : "3: Disabled");
	put(at("%s/rate", port), "%u Gb/sec (4X)",
	    d->speed_mbps ? d->speed_mbps / 1000 : 10);
	put(at("%s/link_layer", port), "Ethernet");
	put(at("%s/lid", port), "0x%x", device_lid(d));
	put(at("%s/sm_lid", port), "0x0");
	put(at("%s/sm_sl", port), "0");
	put(at("%s/lid_mask_count", port), "0");
	put(at("%s/cap_mask", port), "0x00010000");
	put(at("%s/pkeys/0", port), "0xffff");
	write_gids(d, port);
}

static void write_device(const struct device *d)
{
	char guid[20];

	format_guid(guid, d->node_guid);
	put(at("class/infiniband/%s/node_type", d->name), "1: CA");
	put(at("class/infiniband/%s/node_guid", d->name), "%s", guid);
	put(at("class/infiniband/%s/sys_image_guid", d->name), "%s", guid);
	put(at("class/infiniband/%s/node_desc", d->name), "%s", d->name);
	put(at("class/infiniband/%s/fw_ver", d->name), "0.0.0");
	put(at("class/infiniband/%s/hw_rev", d->name), "0");
	put(at("class/infiniband/%s/hca_type", d->name), "ofed_core");
	put(at("class/infiniband/%s/parent", d->name), "%s", d->netdev);
	put(at("class/infiniband/%s/device/net/%s/dev_port", d->name,
	       d->netdev),
	    "0");
	write_port(d);
	put(at("class/infiniband_verbs/uverbs%u/ibdev", d->uverbs), "%s",
	    d->name);
	put(at("class/infiniband_verbs/uverbs%u/abi_version", d->uverbs), "2");
	put(at("class/infiniband_verbs/uverbs%u/dev", d->uverbs), "%u:%u",
	    SHIM_UVERBS_MAJOR, SHIM_UVERBS_MINOR_BASE + d->uverbs);
}

/* Entries of real devices stay visible through links. */
static void link_real(const char *class)
{
	char from[PATH_BYTES];
	char to[PATH_BYTES * 2];
	struct dirent *e;
	DIR *dir;

	snprintf(from, sizeof(from), "/sys/class/%s", class);
	dir = opendir(from);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' ||
		    strcmp(e->d_name, "abi_version") == 0)
			continue;
		snprintf(from, sizeof(from), "/sys/class/%s/%.100s", class,
			 e->d_name);
		snprintf(to, sizeof(to), "%s/class/%s/%.100s", root, class,
			 e->d_name);
		if (symlink(from, to) < 0)
			log_debug("%s: error %d", to, errno);
	}
	if (dir)
		closedir(dir);
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void tree_name(char *out, size_t size, unsigned n)
{
	char leaf[32];

	snprintf(leaf, sizeof(leaf), "sysfs-%u", n);
	if (ofed_rundir_path(out, size, leaf) < 0)
		*out = '\0';
}

void sysfs_write(void)
{
	char link[PATH_BYTES];
	char fresh[PATH_BYTES];
	char old[PATH_BYTES];

	tree_name(old, sizeof(old), generation);
	tree_name(root, sizeof(root), ++generation);
	if (ofed_rundir_path(link, sizeof(link), "sysfs") < 0 ||
	    ofed_rundir_path(fresh, sizeof(fresh), "sysfs.new") < 0)
		return;
	remove_tree(root);
	put("class/infiniband_verbs/abi_version", "6");
	put("class/misc/rdma_cm/abi_version", "%d", RDMA_USER_CM_ABI_VERSION);
	mkdir(at("%s/class/infiniband", root), 0755);
	for (unsigned i = 0; i < device_count; i++)
		if (!devices[i].is_gone)
			write_device(&devices[i]);
	link_real("infiniband");
	link_real("infiniband_verbs");
	unlink(fresh);
	if (symlink(strrchr(root, '/') + 1, fresh) < 0 ||
	    rename(fresh, link) < 0)
		log_error("%s: error %d", link, errno);
	remove_tree(old);
}

/*
 * The name of this network namespace (ip-netns(8)) leads to the directory:
 * where the name is taken away, the core is still found by it.
 */
static void link_name(const char *directory)
{
	struct stat own;
	struct stat st;
	struct dirent *e;
	DIR *dir = opendir(NAMESPACES);

	if (dir && stat("/proc/self/ns/net", &own) < 0)
		own.st_ino = 0;
	while (dir && !*name_link && (e = readdir(dir))) {
		if (fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
		    st.st_ino == own.st_ino && st.st_dev == own.st_dev)
			snprintf(name_link, sizeof(name_link), "%s/%s",
				 ofed_rundir_base(), e->d_name);
	}
	if (dir)
		closedir(dir);
	if (!*name_link)
		return;
	unlink(name_link);
	if (symlink(strrchr(directory, '/') + 1, name_link) < 0)
		log_debug("%s: error %d", name_link, errno);
}

/* Another core may have the name by now. */
static void unlink_name(void)
{
	char directory[PATH_BYTES];
	struct stat own;
	struct stat st;

	if (*name_link &&
	    ofed_rundir_path(directory, sizeof(directory), "") == 0 &&
	    stat(directory, &own) == 0 && stat(name_link, &st) == 0 &&
	    st.st_ino == own.st_ino && st.st_dev == own.st_dev)
		unlink(name_link);
}

int sysfs_make_rundir(void)
{
	char path[PATH_BYTES];
	int rc = ofed_rundir_path(path, sizeof(path), "x");

	if (rc < 0)
		return rc;
	rc = make_parents(path);
	*strrchr(path, '/') = '\0';
	if (access(path, W_OK) < 0)
		return rc < 0 ? rc : -errno;
	link_name(path);
	return 0;
}

void sysfs_remove(void)
{
	char path[PATH_BYTES];

	unlink_name();
	if (ofed_rundir_path(path, sizeof(path), "sysfs") == 0)
		unlink(path);
	tree_name(path, sizeof(path), generation);
	remove_tree(path);
	if (ofed_rundir_path(path, sizeof(path), "verbs") == 0)
		unlink(path);
	if (ofed_rundir_path(path, sizeof(path), "control") == 0)
		unlink(path);
	if (ofed_rundir_path(path, sizeof(path), "") == 0)
		rmdir(path);
}
