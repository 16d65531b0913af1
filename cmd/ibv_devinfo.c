/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ibv_devinfo: AIX's -e, the extended GID tables, in front of the ibv_devinfo
 * of rdma-core, which gets everything else.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gid_table.h"
#include "ofed_core/base/ofed_rundir.h"
#include "output.h"
#include "pass_on.h"
#include "version.h"

#define SHIM_NAME   "libofed_core.so"
#define ROW_FORMAT  "%-8s %-39s %-8s %-8s %-17s%s%s%s\n"
#define NO_DEVICE   255 /* as the stock tool's exit status */
#define PORT_NUMBER 255 /* the largest */

static const char usage[] =
    "Usage: ibv_devinfo [-v] { [-d <dev>] [-i <port>] } | [-l] [-e]\n"
    "\n"
    "  -d, --ib-dev=<dev>    only this RDMA device\n"
    "  -i, --ib-port=<port>  only this port\n"
    "  -l, --list            the names of the devices\n"
    "  -v, --verbose         all attributes of the devices\n"
    "  -e                    the extended GID tables of the devices\n";

struct request {
	const char *device; /* NULL: all */
	unsigned port;      /* 0: all */
	bool wants_names;
	bool wants_table;
	bool wants_all; /* -v */
	bool wants_help;
	bool is_wrong; /* somebody must print a usage */
};

static void parse(int argc, char **argv, struct request *r)
{
	static const struct option longs[] = {
	    {.name = "ib-dev", .has_arg = 1, .val = 'd'},
	    {.name = "ib-port", .has_arg = 1, .val = 'i'},
	    {.name = "list", .val = 'l'},
	    {.name = "verbose", .val = 'v'},
	    {.name = NULL}};
	char *end;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "d:i:lveh", longs, NULL)) !=
	       -1) {
		switch (option) {
		case 'd':
			r->device = optarg;
			break;
		case 'i':
			r->port = (unsigned)strtoul(optarg, &end, 10);
			r->is_wrong |=
			    *end || !r->port || r->port > PORT_NUMBER;
			break;
		case 'l':
			r->wants_names = true;
			break;
		case 'v':
			r->wants_all = true;
			break;
		case 'e':
			r->wants_table = true;
			break;
		case 'h':
			r->wants_help = true;
			break;
		default:
			r->is_wrong = true;
		}
	}
	r->is_wrong |= optind < argc;
}

/* ---- The table ---------------------------------------------------------- */

static void format_mac(char out[18], const char *netdev, int fd)
{
	const unsigned char *mac;
	struct ifreq r = {.ifr_flags = 0};

	strcpy(r.ifr_name, netdev);
	if (!*netdev || fd < 0 || ioctl(fd, SIOCGIFHWADDR, &r) < 0) {
		strcpy(out, "-");
		return;
	}
	mac = (const unsigned char *)r.ifr_hwaddr.sa_data;
	snprintf(out, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
		 mac[2], mac[3], mac[4], mac[5]);
}

static void format_gid(char out[40], const uint8_t gid[16])
{
	for (int i = 0; i < 8; i++)
		sprintf(out + 5 * i, "%02x%02x%s", gid[2 * i], gid[2 * i + 1],
			i < 7 ? ":" : "");
}

/*
 * The network header under the packets of a GID: none but Ethernet's in RoCE
 * version 1. AIX pads the octets of an address with zeros.
 */
static const char *format_net(char out[INET6_ADDRSTRLEN],
			      const struct gid_row *row)
{
	const uint8_t *gid = row->gid;

	*out = '\0';
	if (row->kind == GID_IB)
		return "IB";
	if (row->kind == GID_ROCE_V1)
		return "ETHER";
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid)) {
		snprintf(out, INET6_ADDRSTRLEN, "%03u.%03u.%03u.%03u", gid[12],
			 gid[13], gid[14], gid[15]);
		return "IPv4";
	}
	inet_ntop(AF_INET6, gid, out, INET6_ADDRSTRLEN);
	return "IPv6";
}

static void print_row(const struct gid_row *row, bool is_off, int fd)
{
	static const char *const types[] = {[GID_IB] = "IB",
					    [GID_ROCE_V1] = "RoCEv1",
					    [GID_ROCE_V2] = "RoCEv2"};
	char gid[40], mac[18], address[INET6_ADDRSTRLEN];
	const char *net = format_net(address, row);

	format_gid(gid, row->gid);
	format_mac(mac, row->netdev, fd);
	printf(ROW_FORMAT, row->device, gid, types[row->kind], net, mac,
	       *address ? " " : "", address, is_off ? " (off)" : "");
}

static bool is_same_gid(const struct gid_row *a, const struct gid_row *b)
{
	return a->port == b->port && strcmp(a->device, b->device) == 0 &&
	       memcmp(a->gid, b->gid, sizeof(a->gid)) == 0;
}

/*
 * AIX shows a GID for both versions of RoCE. The core has it for those that
 * roce_v2_mode allows, so the other one's row says that it is off.
 */
static void print_rows(const struct gid_table *t, size_t i, int fd)
{
	struct gid_row other = t->rows[i];
	bool has_other = !other.is_core || other.kind == GID_IB;

	for (size_t k = 0; k < t->row_count; k++)
		has_other |= k != i && is_same_gid(&t->rows[k], &other);
	if (!has_other && other.kind == GID_ROCE_V2) {
		other.kind = GID_ROCE_V1;
		print_row(&other, true, fd);
	}
	print_row(&t->rows[i], false, fd);
	if (!has_other && t->rows[i].kind == GID_ROCE_V1) {
		other.kind = GID_ROCE_V2;
		print_row(&other, true, fd);
	}
}

static bool is_asked(const struct gid_row *row, const struct request *r)
{
	return (!r->device || strcmp(row->device, r->device) == 0) &&
	       (!r->port || row->port == r->port);
}

static void print_table(const struct gid_table *t, const struct request *r)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	printf(ROW_FORMAT, "Device", "GID", "GID Type", "Net Type",
	       "MAC Address", " ", "Net Address", "");
	for (size_t i = 0; i < t->row_count; i++)
		if (is_asked(&t->rows[i], r))
			print_rows(t, i, fd);
	if (fd >= 0)
		close(fd);
}

static int say_no_device(void)
{
	fprintf(stderr, "ibv_devinfo: there is no RDMA device; ofedctrl -l "
			"loads the RDMA core\n");
	return NO_DEVICE;
}

/* Is there what was asked for? If not, says so. */
static bool has_asked(const struct gid_table *t, const struct request *r)
{
	bool has_device = !r->device, has_port = !r->port;

	for (size_t i = 0; i < t->device_count; i++)
		has_device |= r->device && !strcmp(t->devices[i], r->device);
	for (size_t i = 0; i < t->row_count; i++)
		has_port |= is_asked(&t->rows[i], r);
	if (!t->device_count)
		say_no_device();
	else if (!has_device)
		fprintf(stderr, "ibv_devinfo: there is no RDMA device %s\n",
			r->device);
	else if (!has_port)
		fprintf(stderr, "ibv_devinfo: there is no port %u\n", r->port);
	return t->device_count && has_device && has_port;
}

/* As the stock tool prints them. */
static void print_names(const struct gid_table *t)
{
	printf("%zu HCA%s found:\n", t->device_count,
	       t->device_count == 1 ? "" : "s");
	for (size_t i = 0; i < t->device_count; i++)
		printf("\t%s\n", t->devices[i]);
	printf("\n");
}

static int show(const struct request *r)
{
	struct gid_table table;
	int error = gid_table_read(&table);
	int status = NO_DEVICE;

	if (error) {
		fprintf(stderr, "ibv_devinfo: cannot read the GID tables: %s\n",
			strerror(-error));
		return NO_DEVICE;
	}
	if (has_asked(&table, r)) {
		if (r->wants_names)
			print_names(&table);
		print_table(&table, r);
		status = 0;
	}
	gid_table_fini(&table);
	return output_end("ibv_devinfo", status, NO_DEVICE);
}

/* ---- The stock tool ----------------------------------------------------- */

static bool has_shim(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, SHIM_NAME);
}

/*
 * Becomes ofed_run, which runs us again with the shim: a loaded core's devices
 * then show without further ado. Returns when there is no core, or no
 * ofed_run, or the shim is there.
 */
static void take_shim(int argc, char **argv)
{
	char tree[PATH_MAX], own[PATH_MAX], run[PATH_MAX];
	char **words;
	ssize_t n;

	if (has_shim() || ofed_rundir_path(tree, sizeof(tree), "sysfs") < 0 ||
	    access(tree, F_OK) < 0)
		return;
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n > 0 ? n : 0] = '\0';
	if (!strrchr(own, '/') ||
	    snprintf(run, sizeof(run), "%.*s/ofed_run",
		     (int)(strrchr(own, '/') - own), own) >= (int)sizeof(run))
		return;
	words = calloc((size_t)argc + 2, sizeof(*words));
	if (!words)
		return;
	words[0] = run;
	words[1] = own;
	for (int i = 1; i < argc; i++)
		words[i + 1] = argv[i];
	execv(run, words);
	free(words);
}

int main(int argc, char **argv)
{
	struct request r = {.port = 0};
	int status;

	if (version_answer("ibv_devinfo", argc, argv, &status))
		return status;
	parse(argc, argv, &r);
	if (r.wants_help) {
		fputs(usage, stdout);
		return output_end("ibv_devinfo", 0, NO_DEVICE);
	}
	if (r.wants_table) {
		if (!r.is_wrong && !r.wants_all)
			return show(&r);
		fputs(usage, stderr);
		return 1;
	}
	take_shim(argc, argv);
	/* Its words would be that a function is not implemented. */
	if (!r.is_wrong && !has_shim() && access("/sys/class/infiniband", F_OK))
		return say_no_device();
	pass_on("ibv_devinfo", argv);
	fprintf(stderr,
		"ibv_devinfo: the ibv_devinfo of rdma-core is missing (on "
		"Debian: package ibverbs-utils); this one prints -e only\n");
	return NO_DEVICE;
}
