/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gid_table: the GIDs of the RDMA devices.
 */
#include "gid_table.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ofed_core/base/ofed_rundir.h"

/* ---- Small files -------------------------------------------------------- */

/* The core's tree links to the kernel's devices, so one of both is enough. */
static void find_root(char *out, size_t size)
{
	if (ofed_rundir_path(out, size, "sysfs/class/infiniband") < 0 ||
	    access(out, F_OK) < 0)
		snprintf(out, size, "/sys/class/infiniband");
}

/* The first line of a file, without its end; false when there is none. */
static bool read_line(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool read_line(char *out, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list a;
	ssize_t n;
	int fd;

	va_start(a, format);
	n = vsnprintf(path, sizeof(path), format, a);
	va_end(a);
	fd = n < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return n > 0;
}

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* ---- The table ---------------------------------------------------------- */

static int add_row(struct gid_table *t, const struct gid_row *row)
{
	struct gid_row *more =
	    reallocarray(t->rows, t->row_count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	t->rows = more;
	t->rows[t->row_count++] = *row;
	return 0;
}

static enum gid_kind kind_of(const char *port, unsigned index)
{
	char text[64];

	if (read_line(text, sizeof(text), "%s/gid_attrs/types/%u", port,
		      index) &&
	    strcmp(text, "RoCE v2") == 0)
		return GID_ROCE_V2;
	if (read_line(text, sizeof(text), "%s/link_layer", port) &&
	    strcmp(text, "InfiniBand") == 0)
		return GID_IB;
	return GID_ROCE_V1;
}

static int read_gid(struct gid_table *t, const char *port, struct gid_row *row)
{
	static const uint8_t unused[16];
	char text[64];

	if (!read_line(text, sizeof(text), "%s/gids/%u", port, row->index) ||
	    inet_pton(AF_INET6, text, row->gid) != 1 ||
	    memcmp(row->gid, unused, sizeof(unused)) == 0)
		return 0;
	row->kind = kind_of(port, row->index);
	if (!read_line(row->netdev, sizeof(row->netdev),
		       "%s/gid_attrs/ndevs/%u", port, row->index))
		row->netdev[0] = '\0';
	return add_row(t, row);
}

static int read_port(struct gid_table *t, const char *ports, const char *name,
		     struct gid_row *row)
{
	char port[PATH_MAX], gids[PATH_MAX + 8];
	struct dirent **list;
	int count, error = 0;

	if (snprintf(port, sizeof(port), "%s/%s", ports, name) >=
	    (int)sizeof(port))
		return -ENAMETOOLONG;
	snprintf(gids, sizeof(gids), "%s/gids", port);
	count = scandir(gids, &list, is_visible, versionsort);
	row->port = (unsigned)strtoul(name, NULL, 10);
	for (int i = 0; i < count; i++) {
		row->index = (unsigned)strtoul(list[i]->d_name, NULL, 10);
		if (!error)
			error = read_gid(t, port, row);
		free(list[i]);
	}
	if (count >= 0)
		free(list);
	return error;
}

static int read_device(struct gid_table *t, const char *root, const char *name)
{
	struct gid_row row = {.port = 0};
	char(*more)[GID_DEVICE_SIZE];
	char ports[PATH_MAX], text[64];
	struct dirent **list;
	int count, error = 0;

	more = reallocarray(t->devices, t->device_count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->devices = more;
	snprintf(row.device, sizeof(row.device), "%.63s", name);
	memcpy(t->devices[t->device_count++], row.device, sizeof(row.device));
	row.is_core =
	    read_line(text, sizeof(text), "%s/%s/hca_type", root, name) &&
	    strcmp(text, "ofed_core") == 0;
	if (snprintf(ports, sizeof(ports), "%s/%s/ports", root, name) >=
	    (int)sizeof(ports))
		return -ENAMETOOLONG;
	count = scandir(ports, &list, is_visible, versionsort);
	for (int i = 0; i < count; i++) {
		if (!error)
			error = read_port(t, ports, list[i]->d_name, &row);
		free(list[i]);
	}
	if (count >= 0)
		free(list);
	return error;
}

int gid_table_read(struct gid_table *out)
{
	char root[PATH_MAX];
	struct dirent **list;
	int count, error = 0;

	*out = (struct gid_table){.device_count = 0};
	find_root(root, sizeof(root));
	count = scandir(root, &list, is_visible, versionsort);
	if (count < 0)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		if (!error)
			error = read_device(out, root, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	if (error)
		gid_table_fini(out);
	return error;
}

void gid_table_fini(struct gid_table *table)
{
	free(table->devices);
	free(table->rows);
	*table = (struct gid_table){.device_count = 0};
}
