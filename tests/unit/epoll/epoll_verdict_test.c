/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/epoll/epoll_verdict.h"

#include <criterion/criterion.h>

#define IN   EPOLLIN
#define OUT  EPOLLOUT
#define PRI  EPOLLPRI
#define ET   ((uint32_t)EPOLLET)
#define END  EPOLLRDHUP
#define HUP  EPOLLHUP
#define BOTH (IN | OUT)

/* The stream has come to this place, and these ends are there. */
#define AT(place, ends) ((uint64_t)(place) << EPOLL_PLACE_SHIFT | (ends))
#define PEER            EPOLL_END_PEER
#define OWN             EPOLL_END_OUT

#define NEVER                                                                  \
	{                                                                      \
		EPOLL_UNTOLD, UINT32_MAX, 0                                    \
	}
#define VIEW(input, out, bits)                                                 \
	{                                                                      \
		input, out, bits                                               \
	}

/* What is asked for, what was told, what there is, and what is reported. */
static const struct row {
	const char *what;
	uint32_t events;
	struct epoll_view seen, now;
	uint32_t report;
} rows[] = {
    /* Level-triggered: what is there and asked for, however often. */
    {"bytes", IN, NEVER, VIEW(AT(9, 0), 0, IN), IN},
    {"the same", IN, VIEW(AT(9, 0), 0, IN), VIEW(AT(9, 0), 0, IN), IN},
    {"nothing", IN, NEVER, VIEW(AT(9, 0), 0, 0), 0},

    /* Edge-triggered: bytes. */
    {"first bytes", IN | ET, NEVER, VIEW(AT(9, 0), 0, IN), IN},
    {"told bytes", IN | ET, VIEW(AT(9, 0), 0, IN), VIEW(AT(9, 0), 0, IN), 0},
    {"more bytes", IN | ET, VIEW(AT(9, 0), 0, IN), VIEW(AT(12, 0), 0, IN), IN},
    {"all is reported", BOTH | ET, VIEW(AT(9, 0), 0, BOTH),
     VIEW(AT(12, 0), 0, BOTH), BOTH},
    {"bytes nobody asks for", OUT | ET, VIEW(AT(9, 0), 0, OUT),
     VIEW(AT(12, 0), 0, OUT), 0},
    {"a wake that finds nothing", IN | ET, VIEW(AT(9, 0), 0, IN),
     VIEW(AT(12, 0), 0, 0), 0},

    /* Room: refusals count, and it must be there. */
    {"first room", OUT | ET, NEVER, VIEW(0, 0, OUT), OUT},
    {"told room", OUT | ET, VIEW(0, 4, OUT), VIEW(0, 4, OUT), 0},
    {"still refused", OUT | ET, VIEW(0, 4, OUT), VIEW(0, 5, 0), 0},
    {"room again", OUT | ET, VIEW(0, 4, OUT), VIEW(0, 5, OUT), OUT},
    {"room without a refusal", OUT | ET, VIEW(0, 4, 0), VIEW(0, 4, OUT), 0},

    /* Ends wake everybody. */
    {"the peer's end", OUT | ET, VIEW(AT(9, 0), 0, OUT),
     VIEW(AT(9, PEER), 0, OUT), OUT},
    {"an own end", IN | ET, VIEW(AT(9, 0), 0, IN), VIEW(AT(9, OWN), 0, IN), IN},
    {"a told end", IN | ET, VIEW(AT(9, PEER), 0, IN | END),
     VIEW(AT(9, PEER), 0, IN | END), 0},

    /* A bit without a mark: the kernel's half. */
    {"urgent", PRI | ET, VIEW(AT(9, 0), 0, 0), VIEW(AT(9, 0), 0, PRI), PRI},
    {"told urgent", PRI | ET, VIEW(AT(9, 0), 0, PRI), VIEW(AT(9, 0), 0, PRI),
     0},
    {"an error", IN | ET, VIEW(AT(9, 0), 0, IN), VIEW(AT(9, 0), 0, IN | HUP),
     IN | HUP},
};

Test(epoll_verdict, a_registration_is_told_what_the_table_says)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		uint32_t bits = epoll_verdict(r->events, r->seen, r->now);

		cr_assert_eq(bits, r->report, "%s: %x", r->what, bits);
		cr_assert_eq(epoll_verdict(r->events, r->now, r->now),
			     r->events & ET ? 0 : r->report, "%s, told",
			     r->what);
	}
}

/* What is asked for, what was told and what there is, with the peer's end. */
static const struct end {
	const char *what;
	uint32_t events;
	uint64_t seen;
	uint32_t bits;
	bool may_wait;
} ends[] = {
    {"a writer", OUT | END, EPOLL_UNTOLD, BOTH | END, true},
    {"no end", OUT | END, EPOLL_UNTOLD, BOTH, false},
    {"no writer", IN | END, EPOLL_UNTOLD, IN | END, false},
    {"an error", OUT | END, EPOLL_UNTOLD, BOTH | END | HUP, false},
    {"an edge", OUT | END | ET, AT(9, 0), BOTH | END, true},
    {"a told edge", OUT | END | ET, AT(9, PEER), BOTH | END, false},
    {"told by level", OUT | END, AT(9, PEER), BOTH | END, true},
};

Test(epoll_verdict, an_end_waits_for_room_of_those_who_write)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct end *r = &ends[i];
		struct epoll_view seen = {r->seen, 0, 0};
		struct epoll_view now = {AT(9, PEER), 1, r->bits};

		cr_assert_eq(epoll_end_may_wait(r->events, seen, now),
			     r->may_wait, "%s", r->what);
	}
}

Test(epoll_verdict, an_end_that_waits_is_news_later)
{
	uint32_t events = BOTH | END | ET;
	struct epoll_view seen = {AT(9, 0), 4, OUT};
	struct epoll_view there = {AT(9, PEER), 5, BOTH | END};
	struct epoll_view now = epoll_end_waits(there, false);

	cr_assert_eq(epoll_verdict(events, seen, now), OUT);
	cr_assert_eq(epoll_verdict(events, now, there), BOTH | END);
	now = epoll_end_waits(there, true);
	cr_assert_eq(epoll_verdict(events, seen, now), BOTH);
}
