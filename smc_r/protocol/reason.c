/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * reason: why a connection is not on SMC, as a number and in words.
 */
#include "smc_r/protocol/reason.h"

#include <stddef.h>

struct reason {
	uint32_t code;
	const char *name;
	const char *text;
	const char *cure;
};

/* In the order of the codes, because reason_find() halves it. */
static const struct reason reasons[] = {
    {REASON_NONE, "NONE", "the connection is on SMC", "nothing"},
    {REASON_MEMORY, "MEMORY", "no memory for another buffer",
     "raise max_memory of the smc_r device, or the memory limit of the "
     "program's control group, or lower the number of connections"},
    {REASON_TIMEOUT_CONFIRM_LINK, "TIMEOUT_CL",
     "the Confirm Link message did not arrive in time",
     "check that the two RDMA ports reach each other: MTU, GIDs, VLAN, "
     "pause frames"},
    {REASON_TIMEOUT_ADD_LINK, "TIMEOUT_AL",
     "the Add Link message did not arrive in time",
     "check the second RDMA port of the peer, or update the peer"},
    {REASON_CONFIG, "CNF_ERR",
     "the address of the connection belongs to no configured prefix",
     "check the address and the netmask of the interface"},
    {REASON_PEER_NO_SMC, "PEER_NO_SMC", "peer does not offer SMC",
     "enable SMC-R on the peer, put the port of the server into its "
     "port_range_list, and let no middlebox remove TCP option 254"},
    {REASON_IPSEC, "IPSEC", "the connection is protected by IPsec",
     "take the connection out of the IPsec policy"},
    {REASON_NO_DEVICE, "NOSMCDEV", "no device that can carry SMC",
     "install or start an RDMA device on the interface of the "
     "connection"},
    {REASON_NO_SMCD_DEVICE, "NOSMCDDEV", "no device that can carry SMC-D",
     "use SMC-R; SMC-D needs an ISM device"},
    {REASON_NO_SMCR_DEVICE, "NOSMCRDEV", "no device that can carry SMC-R",
     "install or start an RDMA device on the interface of the "
     "connection"},
    {REASON_NO_ISM2_SUPPORT, "NOISM2SUPP", "no support of version 2 of ISM",
     "offer SMC-R as well"},
    {REASON_NO_V2_EXTENSION, "NOV2EXT", "the proposal has no version 2 part",
     "let the client offer version 2, or both versions"},
    {REASON_NO_SMCD2_EXTENSION, "NOV2DEXT",
     "the proposal has no SMC-D version 2 part",
     "let the client offer SMC-R as well"},
    {REASON_NO_SEID, "NOSEID", "the proposal names no system EID",
     "let the client offer SMC-R as well"},
    {REASON_NO_SMCD2_DEVICE, "NOSMCD2DEV",
     "no device that can carry SMC-D version 2", "offer SMC-R as well"},
    {REASON_NO_COMMON_EID, "NOUEID", "the two hosts share no user EID",
     "define the same user EID on both hosts"},
    {REASON_RELEASE, "RELEASEERR",
     "the two hosts named different releases of version 2",
     "update the older of the two hosts"},
    {REASON_MAX_CONNECTIONS, "MAXCONNERR",
     "the limit of connections in a link group was not agreed on",
     "set a limit between 16 and 255 on both hosts"},
    {REASON_MAX_LINKS, "MAXLINKERR",
     "the limit of links in a link group was not agreed on",
     "set a limit of 1 or 2 on both hosts"},
    {REASON_MODE_UNSUPPORTED, "MODEUNSUPP",
     "the server chose a kind of SMC that was not offered",
     "update the server; its answer breaks the protocol"},
    {REASON_RMBE_EYECATCHER, "RMBE_EC",
     "peer insists on eyecatchers in its buffers",
     "update the peer, or switch eyecatchers off there"},
    {REASON_OPTION_UNSUPPORTED, "OPTUNSUPP",
     "the program set a socket option that SMC cannot keep",
     "let the program connect without TCP Fast Open and other options "
     "that only TCP has"},
    {REASON_PREFIX, "DIFFPREFIX", "the two hosts are in different subnets",
     "put both hosts into one subnet, or use version 2"},
    {REASON_VLAN, "GETVLANERR",
     "the VLAN of the connection cannot be determined",
     "check the VLAN interface and its lower device"},
    {REASON_ISM_VLAN, "ISMVLANERR",
     "the ISM device refused the VLAN of the connection",
     "check the VLAN interface and its lower device"},
    {REASON_NO_ACTIVE_LINK, "NOACTLINK", "the link group has no active link",
     "check the RDMA ports of both hosts; a new connection makes a new "
     "link group"},
    {REASON_NO_SERVER_LINK, "NOSRVLINK",
     "the server named a link that is not known here",
     "none if it is rare; links may end while a connection begins"},
    {REASON_VERSION, "VERSMISMAT",
     "the two hosts use different versions of SMC",
     "update the older of the two hosts"},
    {REASON_MAX_DMB, "MAX_DMB", "the ISM device has no free buffer",
     "lower the number of connections"},
    {REASON_NO_ROUTE, "NOROUTE", "no route to the RDMA port of the peer",
     "add a route to the peer's RoCE address"},
    {REASON_INDIRECT, "NOINDIRECT",
     "peer wants to be reached through a gateway, but is in the same "
     "subnet",
     "make the netmasks of both hosts equal"},
    {REASON_SYNC, "SYNCERR", "the server reused a link group that is gone here",
     "none if it is rare; it follows the restart of a program"},
    {REASON_PEER_DECLINED, "PEERDECL", "peer declined",
     "look up the code that the peer sent, on the peer"},
    {REASON_INTERNAL, "INTERR", "internal error",
     "report it, with the output of smc_run -v"},
    {REASON_RTOKEN, "ERR_RTOK",
     "the table of the peer's memory keys is full or wrong",
     "lower the number of connections between the two hosts"},
    {REASON_READY_LINK, "ERR_RDYLNK", "the queue pair could not be made ready",
     "check the state of the RDMA port and the GID it uses"},
    {REASON_REGISTER, "ERR_REGBUF",
     "the buffer could not be registered with the RDMA device",
     "raise the limit of locked memory (ulimit -l)"},
    {REASON_UNAVAILABLE, "UNAVAILABLE",
     "no smc_r device is available on this host",
     "make or configure it: mkdev -c tcpip -t smc_r"},
    {REASON_DISABLED, "DISABLED", "SMC-R is switched off on this host",
     "switch it on: chdev -l smc_r0 -a enabled=1"},
    {REASON_PORT, "PORT",
     "the port of the server is in no range of port_range_list",
     "add it: chdev -l smc_r0 -a port_range_list=..."},
    {REASON_ADDRESS, "ADDRESS", "the local address is not in ip_addr_list",
     "add it: chdev -l smc_r0 -a ip_addr_list=..."},
    {REASON_PROGRAM, "PROGRAM", "the program is excluded from SMC",
     "take it off the list: chdev -l smc_r0 -a exclude_list=..."},
    {REASON_ENVIRONMENT, "ENVIRONMENT",
     "the environment of the program switches SMC off",
     "start the program without SMC_R=0 in its environment"},
    {REASON_OTHER_HOST, "OTHER_HOST",
     "peer is on another host, and not both ends have a link service",
     "load the RDMA core or install an RNIC on both hosts, and let mkdev load "
     "smc_rc"},
    {REASON_DESCRIPTORS, "DESCRIPTORS",
     "the program has no file descriptor left for SMC",
     "raise the limit of open files (ulimit -n)"},
    {REASON_SAME_PROCESS, "SAME_PROCESS",
     "both ends of the connection are in one process",
     "connect from another process"},
    {REASON_CHILDREN, "CHILDREN",
     "the program has more forked processes than can share its connections",
     "none; it is served again when some of them have ended"},
    {REASON_RAW_CALLS, "RAW_CALLS",
     "the program enters the kernel past the C library",
     "let the program use the C library"},
    {REASON_NOT_WORTH_IT, "NOT_WORTH_IT",
     "connections to the server were short, and would be slower on SMC-R",
     "none; long ones come back to SMC-R by themselves; or switch this off: "
     "chdev -l smc_r0 -a autosmc=no"},
    {REASON_TIMEOUT, "TIMEOUT", "peer did not answer the handshake in time",
     "see whether the peer hangs or is overloaded"},
    {REASON_MESSAGE, "MESSAGE",
     "peer sent a handshake message that breaks the protocol",
     "trace the connection; update the peer, or a middlebox that echoes "
     "TCP options"},
    {REASON_RENDEZVOUS, "RENDEZVOUS",
     "the two processes did not find each other's shared memory",
     "give both the same run directory (SMC_R_RUNDIR), access to it, and "
     "/proc"},
    {REASON_FORK, "FORK", "the program forked before the handshake was over",
     "none; both processes go on over TCP"},
    {REASON_CLOSED, "CLOSED",
     "the connection was closed before the handshake was over",
     "see why one side closed"},
    {REASON_DEMOTED_EXEC, "DEMOTED_EXEC",
     "the program passed the connection on through exec",
     "mark the socket close-on-exec if the new program does not need "
     "it"},
    {REASON_DEMOTED_PASSING, "DEMOTED_PASSING",
     "the program passed the connection to another process",
     "pass the listening socket instead"},
    {REASON_DEMOTED_STDIO, "DEMOTED_STDIO",
     "the program uses the connection as a stdio stream or as its standard"
     " input or output",
     "let the program use read and write, on another descriptor"},
    {REASON_DEMOTED_AIO, "DEMOTED_AIO",
     "the program uses asynchronous I/O on the connection",
     "let the program use non-blocking calls and epoll"},
    {REASON_DEMOTED_URGENT, "DEMOTED_URGENT",
     "the program uses out-of-band data", "none; SMC cannot carry it"},
    {REASON_DEMOTED_IO_URING, "DEMOTED_IO_URING",
     "the program uses the connection through io_uring",
     "switch the program to epoll"},
    {REASON_DEMOTED_OPTION, "DEMOTED_OPTION",
     "the program set a socket option that SMC cannot keep",
     "let the program work without that option"},
    {REASON_DEMOTED_CALL, "DEMOTED_CALL",
     "the program used a call that SMC cannot carry",
     "none; the connection goes on over TCP"},
    {REASON_DEMOTED_FORK, "DEMOTED_FORK",
     "the program forked with an RDMA connection open",
     "let the program connect after it forks"},
    {REASON_DEMOTED_PEER, "DEMOTED_PEER",
     "peer moved the connection back to TCP", "look up the reason on the peer"},
    {REASON_DEMOTED_SANDBOX, "DEMOTED_SANDBOX",
     "the program confined itself to few system calls (seccomp)",
     "none; its connections go on over TCP"},
    {REASON_DEMOTED_STALLED, "DEMOTED_STALLED",
     "the peer read nothing for a while and the memory was full",
     "see why the peer does not read; the rest waits for it in TCP"},
    {REASON_DEMOTED_EPOLL, "DEMOTED_EPOLL",
     "several processes use the epoll instance that it is in",
     "let each process make an instance of its own, after fork"},
    {REASON_DEMOTED_NESTED, "DEMOTED_NESTED",
     "the epoll instance that it is in was registered in another one",
     "let the program register connections in the outer instance, or wait "
     "for the inner one with poll"},
    {REASON_PEER_MEMORY, "PEER_MEMORY",
     "peer wrote values into shared memory that cannot be",
     "see whether the peer's memory is damaged; the connection was "
     "reset"},
};

/* Counters in files go by the place in this list, so it only grows at its end,
 * and no place gets a second meaning: STATUS_REASON_TABLE in status.h. */
static const uint32_t places[] = {
    REASON_NONE,
    REASON_MEMORY,
    REASON_TIMEOUT_CONFIRM_LINK,
    REASON_TIMEOUT_ADD_LINK,
    REASON_CONFIG,
    REASON_PEER_NO_SMC,
    REASON_IPSEC,
    REASON_NO_DEVICE,
    REASON_NO_SMCD_DEVICE,
    REASON_NO_SMCR_DEVICE,
    REASON_NO_ISM2_SUPPORT,
    REASON_NO_V2_EXTENSION,
    REASON_NO_SMCD2_EXTENSION,
    REASON_NO_SEID,
    REASON_NO_SMCD2_DEVICE,
    REASON_NO_COMMON_EID,
    REASON_RELEASE,
    REASON_MAX_CONNECTIONS,
    REASON_MAX_LINKS,
    REASON_MODE_UNSUPPORTED,
    REASON_RMBE_EYECATCHER,
    REASON_OPTION_UNSUPPORTED,
    REASON_PREFIX,
    REASON_VLAN,
    REASON_ISM_VLAN,
    REASON_NO_ACTIVE_LINK,
    REASON_NO_SERVER_LINK,
    REASON_VERSION,
    REASON_MAX_DMB,
    REASON_NO_ROUTE,
    REASON_INDIRECT,
    REASON_SYNC,
    REASON_PEER_DECLINED,
    REASON_INTERNAL,
    REASON_RTOKEN,
    REASON_READY_LINK,
    REASON_REGISTER,
    REASON_UNAVAILABLE,
    REASON_DISABLED,
    REASON_PORT,
    REASON_ADDRESS,
    REASON_PROGRAM,
    REASON_ENVIRONMENT,
    REASON_OTHER_HOST,
    REASON_DESCRIPTORS,
    REASON_SAME_PROCESS,
    REASON_CHILDREN,
    REASON_TIMEOUT,
    REASON_MESSAGE,
    REASON_RENDEZVOUS,
    REASON_FORK,
    REASON_CLOSED,
    REASON_DEMOTED_EXEC,
    REASON_DEMOTED_PASSING,
    REASON_DEMOTED_STDIO,
    REASON_DEMOTED_AIO,
    REASON_DEMOTED_URGENT,
    REASON_DEMOTED_IO_URING,
    REASON_DEMOTED_OPTION,
    REASON_DEMOTED_CALL,
    REASON_DEMOTED_FORK,
    REASON_DEMOTED_PEER,
    REASON_DEMOTED_SANDBOX,
    REASON_PEER_MEMORY,
    REASON_DEMOTED_STALLED,
    REASON_DEMOTED_EPOLL,
    REASON_RAW_CALLS,
    REASON_DEMOTED_NESTED,
    REASON_NOT_WORTH_IT,
};

_Static_assert(sizeof(reasons) / sizeof(reasons[0]) == REASON_COUNT,
	       "REASON_COUNT must be the length of the table");
_Static_assert(sizeof(places) / sizeof(places[0]) == REASON_COUNT,
	       "every reason has a place");

static const struct reason *reason_find(uint32_t code)
{
	int low = 0;
	int high = REASON_COUNT;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (reasons[middle].code == code)
			return &reasons[middle];
		if (reasons[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *reason_name(uint32_t code)
{
	const struct reason *r = reason_find(code);

	return r ? r->name : "UNKNOWN";
}

const char *reason_text(uint32_t code)
{
	const struct reason *r = reason_find(code);

	return r ? r->text : "peer declined with a code that is not known here";
}

const char *reason_cure(uint32_t code)
{
	const struct reason *r = reason_find(code);

	return r ? r->cure : "look up the code in the peer's documentation";
}

int reason_index(uint32_t code)
{
	if (!reason_find(code))
		code = REASON_PEER_DECLINED;
	for (int i = 0; i < REASON_COUNT; i++)
		if (places[i] == code)
			return i;
	return 0;
}

uint32_t reason_code(int index)
{
	if (index < 0 || index >= REASON_COUNT)
		return REASON_INTERNAL;
	return places[index];
}

bool reason_is_known(uint32_t code)
{
	return reason_find(code) != NULL;
}
