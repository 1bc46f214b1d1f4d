/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/operf.h"
#include "lib/msg.h"

#define SAID_WITHOUT_NAMES 10 /* per cent: from there on it is no start of a runtime any more, but somebody does not speak */

uint64_t totals_samples(const struct session_totals *t)
{
	return t->kernel + t->native + t->jit_method + t->jit_stub + t->jit_interpreter + t->gap + t->anon + t->unknown;
}

uint64_t totals_named(const struct session_totals *t)
{
	return t->kernel + t->native + t->jit_method + t->jit_stub + t->jit_interpreter;
}

static double share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

void operf_progress(const struct session_totals *t, double seconds)
{
	uint64_t n = totals_samples(t);

	fprintf(stderr, "\r%6.1f s  %" PRIu64 " samples  %" PRIu64 " lost  %.1f %% named\033[K", seconds, n, t->lost,
		share(totals_named(t), n));
	fflush(stderr);
}

void operf_progress_end(void)
{
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
}

void operf_summary(const struct operf *o, const struct session_totals *t, const struct pipeline_stats *st, bool user_only)
{
	uint64_t n = totals_samples(t);
	const struct {
		const char *name;
		uint64_t n;
	} kinds[] = {
		{ "kernel", t->kernel }, { "native", t->native }, { "JIT method", t->jit_method }, { "stub", t->jit_stub },
		{ "interpreter", t->jit_interpreter }, { "gap", t->gap }, { "anon", t->anon }, { "unknown", t->unknown },
	};
	AUTO_STRBUF sb = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].n)
			strbuf_addf(&sb, "%s%s %.2f %%", sb.len ? ", " : "", kinds[i].name, share(kinds[i].n, n));
	msg_info("%" PRIu64 " samples, %.2f %% named, %" PRIu64 " lost", n, share(totals_named(t), n), t->lost);
	msg_info("%s%s", strbuf_str(&sb), user_only ? " (user space only)" : "");
	if (t->ambiguous || t->backdated)
		msg_info("of the JIT samples %" PRIu64 " were given by a late stamp, %" PRIu64 " are ambiguous", t->backdated, t->ambiguous);
	if (share(t->anon + t->gap, n) >= SAID_WITHOUT_NAMES)
		msg_info("%.0f %% ran in code made at run time that nothing told the names of: opcontrol --doctor=PID, while the program runs, says why "
			 "and what mends it", share(t->anon + t->gap, n));
	if (st->resolver.bad_events)
		msg_info("%" PRIu64 " records contradicted each other and were refused", st->resolver.bad_events);
	if (!strcmp(o->session_dir, "oprofile_data"))
		msg_info("session in ./oprofile_data; next: opreport -l");
	else
		msg_info("session in %s; next: opreport --session-dir='%s' -l", o->session_dir, o->session_dir);
}
