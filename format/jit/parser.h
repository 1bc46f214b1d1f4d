/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_PARSER_H
#define OPJIT_FORMAT_JIT_PARSER_H
/*
 * Streaming readers of what other JITs write: perf's jitdump, perf maps, OProfile's own dump, PyPy's log. Bytes go in at any
 * split, in file order, also while the file grows; struct jit_event comes out, as from our own instances.
 *
 *	jit_parser_new(&p, JIT_FORMAT_JITDUMP, &opts);
 *	loop: n = pread(…); jit_parser_feed(p, buf, n, now);
 *	end:  jit_parser_finish(p, now); jit_parser_stats(p, &st);
 *
 * Formats: jitdump: tools/perf/Documentation/jitdump-specification.txt of Linux, version 1. Perf map:
 * jit-interface.txt there. OProfile's dump: doc/format-foreign.md.
 *
 * Whatever is wrong in the input costs the record that has it, or, where lengths cannot be trusted any more, what comes up to the
 * next load of a jitdump that can be believed, and of other formats the rest; everything before it is kept, and stats tell what was wrong and where. Memory: one record, at most
 * JIT_PARSER_RECORD_MAX; longer ones lose their code bytes, not their name. Not thread-safe per object.
 */
#include "format/jit/event.h"
#include "lib/util.h"

#define JIT_PARSER_RECORD_MAX ((size_t)16 << 20)
#define JIT_PARSER_NAME_MAX 65535u

enum jit_format { JIT_FORMAT_JITDUMP = 1, JIT_FORMAT_PERFMAP, JIT_FORMAT_OPDUMP, JIT_FORMAT_PYPYLOG };

struct jit_parser_opts {
	jit_event_fn *fn;       /* events have code/code_len; segment 0, image_offset 0: the caller places them */
	void *arg;
	/* jitdump with the flag for a machine's own clock: one stamp to CLOCK_MONOTONIC ns; NULL = times are unknown */
	uint64_t (*arch_time)(void *arg, uint64_t stamp);
	/* OProfile's dump has whole seconds of wall time: CLOCK_REALTIME - CLOCK_MONOTONIC in ns */
	uint64_t realtime_offset_ns;
};

struct jit_parser_stats {
	uint64_t bytes, events, loads;
	uint64_t bad;           /* records or lines refused */
	uint64_t skipped;       /* records of unknown kind, and long ones cut */
	uint64_t stubs;         /* loads that look like stubs: if all are, the runtime was told to hide methods */
	const char *first_bad;  /* static text, NULL = none */
	uint64_t first_bad_at;  /* offset in the file */
	uint64_t partial;       /* finish: bytes of an unfinished record at the end */
	bool stopped;           /* lengths could not be trusted: the rest was not read */
	bool arch_clock;        /* stamps are not CLOCK_MONOTONIC */
	uint32_t version;       /* of the file; 0 = none seen */
	uint32_t pid;           /* as the header says; 0 = none */
	uint16_t machine;       /* e_machine of the header; 0 = none */
};

struct jit_parser;

int jit_parser_new(struct jit_parser **ret, enum jit_format format, const struct jit_parser_opts *o);
void jit_parser_free(struct jit_parser *p);
/* 0; -EBADMSG when it has stopped (now or before); -ENOMEM; or what fn returned. now_ns stamps what has no time. */
int jit_parser_feed(struct jit_parser *p, const void *data, size_t len, uint64_t now_ns);
/* No more bytes will come: a last line without its newline is taken, a cut record is counted. As feed. */
int jit_parser_finish(struct jit_parser *p, uint64_t now_ns);
/* Bytes of a record or line whose end has not come yet. */
size_t jit_parser_unfinished(const struct jit_parser *p);
void jit_parser_stats(const struct jit_parser *p, struct jit_parser_stats *ret);

#endif
