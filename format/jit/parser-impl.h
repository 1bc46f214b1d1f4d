/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_PARSER_IMPL_H
#define OPJIT_FORMAT_JIT_PARSER_IMPL_H
/* What the readers of the foreign formats share; see parser.h. */
#include "format/jit/parser.h"
#include "lib/map.h"
#include "lib/reader.h"
#include "lib/strbuf.h"

struct jit_parser {
	struct jit_parser_opts o;
	const struct jit_format_ops *ops;
	struct jit_parser_stats st;
	struct strbuf pending;   /* the unfinished record or line */
	uint64_t pending_at;     /* its offset in the file */
	uint64_t skip;           /* bytes of a record that are passed over */
	uint64_t now_ns;
	uint64_t next_id;
	struct u64map by_addr;   /* address -> id of the newest load */
	bool swap, have_header;
	/* jitdump: what came before the load that it belongs to */
	struct strbuf lines, strings, unwind;
	uint64_t lines_addr;
	bool lost;               /* behind a record whose length cannot be trusted, until the next that can */
	const char *lost_why;    /* not counted yet */
	bool low_offset_seen;    /* a line within 0x40 of its code: not V8's addresses */
	/* PyPy's log: the loop that is being told of; its name is in strings */
	uint64_t log_start, log_end;
	/* OProfile's dump */
	bool wide_header;
	uint64_t base_seconds;
};

struct jit_format_ops {
	/*
	 * Looks at the bytes from the start of a record. > 0: its length, all there; 0: more bytes are needed (at least
	 * *need in all); -EBADMSG: nothing can be trusted from here on (what/at were set with jit_parser_bad).
	 */
	int64_t (*frame)(struct jit_parser *p, const uint8_t *data, size_t len, size_t *need);
	/* One whole record. 0 or what fn returned; damage is counted with jit_parser_bad and is no error. */
	int (*record)(struct jit_parser *p, const uint8_t *data, size_t len, uint64_t at);
	bool lines; /* text: a rest without newline counts as a record at the end */
};

extern const struct jit_format_ops jit_jitdump_ops, jit_perfmap_ops, jit_opdump_ops, jit_pypylog_ops;

void jit_parser_bad(struct jit_parser *p, const char *what, uint64_t at);
int jit_parser_emit(struct jit_parser *p, struct jit_event *e);
/* Fills id: a new one for a LOAD, the newest one at the address otherwise (0 = none). */
void jit_parser_id(struct jit_parser *p, struct jit_event *e);

#endif
