/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * check_ofed_verbs_support: can this host be reached by verbs, that is, does
 * the way to it leave through an RDMA device?
 *
 * build:	cc -o check_ofed_verbs_support check_ofed_verbs_support.c \
 *		    -lrdmacm -libverbs
 * usage:	check_ofed_verbs_support HOST
 */
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#define RESOLVE_TIMEOUT_MS 5000
#define NAME_SIZE          64

/*
 * 0 when it does; device[NAME_SIZE] is then its name. A negative errno when it
 * does not, or when nobody can tell.
 */
static int check_ofed_verbs_support(struct sockaddr *remote, char *device)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int result;

	if (!channel)
		return -errno;
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) {
		result = -errno;
		rdma_destroy_event_channel(channel);
		return result;
	}
	if (rdma_resolve_addr(id, NULL, remote, RESOLVE_TIMEOUT_MS) != 0 ||
	    rdma_get_cm_event(channel, &event) != 0) {
		result = -errno;
	} else {
		result = event->status;
		if (!result && event->event != RDMA_CM_EVENT_ADDR_RESOLVED)
			result = -EPROTO;
		rdma_ack_cm_event(event);
	}
	if (result == 0 && id->verbs)
		snprintf(device, NAME_SIZE, "%s",
			 ibv_get_device_name(id->verbs->device));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return result;
}

int main(int argc, char **argv)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	char device[NAME_SIZE] = "no device";
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: check_ofed_verbs_support HOST\n");
		return 2;
	}
	/* The port is of no importance; without one there is no address. */
	error = getaddrinfo(argv[1], "9", &hints, &list);
	if (error) {
		fprintf(stderr, "check_ofed_verbs_support: %s: %s\n", argv[1],
			gai_strerror(error));
		return 2;
	}
	error = check_ofed_verbs_support(list->ai_addr, device);
	freeaddrinfo(list);
	if (error)
		printf("%s: no OFED verbs: %s\n", argv[1], strerror(-error));
	else
		printf("%s: OFED verbs by %s\n", argv[1], device);
	return error ? 1 : 0;
}
