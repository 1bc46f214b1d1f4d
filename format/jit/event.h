/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_EVENT_H
#define OPJIT_FORMAT_JIT_EVENT_H
/*
 * What a source of JIT code says, decoded: the one record stream that every reader (our own instances, jitdump, perf map,
 * OProfile dump, GDB interface) gives and that the resolver and the image sealer take.
 */
#include <stdint.h>
#include <stddef.h>

enum jit_event_type {
	JIT_EVENT_LOAD = 1,   /* code is live at [addr, addr + size) from time_ns on */
	JIT_EVENT_UNLOAD = 2, /* region id at addr ended */
	JIT_EVENT_MOVE = 3,   /* region id went from old_addr to addr */
	JIT_EVENT_AMEND = 4,  /* lines/inlines of region id */
	JIT_EVENT_HEAP = 5,   /* [addr, addr + size) is a code heap, name = its name */
	JIT_EVENT_CLOSE = 6,  /* the source said goodbye */
};

enum jit_region_kind { /* same numbers as enum opagent_kind */
	JIT_METHOD = 0,
	JIT_STUB = 1,
	JIT_INTERPRETER = 2,
	JIT_TRAMPOLINE = 3,
};

enum jit_source_kind {
	JIT_SOURCE_HOTSPOT = 1,
	JIT_SOURCE_MONO = 2,
	JIT_SOURCE_OPAGENT2 = 3,
	JIT_SOURCE_OPAGENT1 = 4,
	JIT_SOURCE_JITDUMP = 5,
	JIT_SOURCE_PERFMAP = 6,
	JIT_SOURCE_OPDUMP = 7,
	JIT_SOURCE_GDB = 8,
	JIT_SOURCE_PYPYLOG = 9,
};

#define JIT_SINCE_UNKNOWN 1u     /* = OPAGENT_SINCE_UNKNOWN */
#define JIT_SAFEPOINT_LINES 2u
#define JIT_OSR 4u
#define JIT_NO_BYTES 0x100u      /* the image has no code bytes for it */
#define JIT_TIME_UNKNOWN 0x200u  /* time_ns is when it was read, not when it happened (perf map) */
/* The flags of an UNLOAD are a number: for how many µs before time_ns other code may have had the room already. 0: for none. */

struct jit_event {
	uint8_t type;          /* enum jit_event_type */
	uint8_t kind;          /* enum jit_region_kind */
	int8_t tier;           /* -1 unknown */
	uint32_t flags;
	int32_t osr_bci;
	uint64_t time_ns;      /* CLOCK_MONOTONIC of the host (time namespace already corrected) */
	uint64_t addr, size;
	uint64_t old_addr;     /* MOVE */
	uint64_t id;           /* region number, unique in its source, > 0 */
	uint32_t segment;      /* image of the source that has its text */
	uint64_t image_offset; /* st_value of its symbol in that image: the key of samples */
	/* Bytes that belong to the reader's buffer: valid during the call only, not NUL-terminated. NULL and 0 = none. */
	const char *name;
	size_t name_len;
	const char *source_file;
	size_t source_file_len;
	const char *descriptor; /* the method's signature as the VM writes it, "(ILjava/lang/String;)V"; own instances only */
	size_t descriptor_len;
	/* Encoded tables (format/jit/tables.h decodes). */
	const void *lines, *inlines, *unwind;
	size_t lines_len, inlines_len, unwind_len;
	/* The string section that the tables' offsets mean (jit_string()); may be NULL if there are no tables. */
	const char *strings;
	size_t strings_len;
	/* Sources that have no image of their own (jitdump, OProfile's dump) give the code itself, and .eh_frame bytes. */
	const void *code, *eh_frame;
	size_t code_len, eh_frame_len;
};

/* Called for each event in the source's order. Negative stops the reader, which returns it. */
typedef int jit_event_fn(void *arg, const struct jit_event *e);

#endif
