/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_ABI_OPSD_H
#define OPJIT_FORMAT_ABI_OPSD_H
/* opsd: a stream of buffers without end: a head of three words, then that many samples of four words each. */
#include "format/abi/abi.h"

enum opsd_state { OPSD_STOPPED = 0, OPSD_STOPPING = 1, OPSD_RUNNING = 2 };
#define OPSD_HEAD_WORDS 3u
#define OPSD_SAMPLE_WORDS 4u

struct opsd_head {
	uint64_t cpu;
	uint64_t n;         /* samples that follow; 0 is legal */
	uint64_t state;     /* enum opsd_state */
};
struct opsd_sample {
	uint64_t eip;
	uint64_t count;     /* hits of this address */
	uint64_t counter;
	uint64_t pid;
};

/*
 * As opnd_next. whole: the bytes are all there will ever be, so a count above what they can hold is refused at once
 * (-EBADMSG) and nothing is sized by it; else the samples are simply waited for.
 */
int opsd_head_next(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, bool whole,
		   struct opsd_head *ret, struct abi_fault *fault);
int opsd_sample_next(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, struct opsd_sample *ret,
		     struct abi_fault *fault);
/* Write OPSD_HEAD_WORDS, OPSD_SAMPLE_WORDS words. -ERANGE: something does not fit. */
int opsd_head_write(const struct abi_format *f, uint8_t *out, const struct opsd_head *h);
int opsd_sample_write(const struct abi_format *f, uint8_t *out, const struct opsd_sample *s);

#endif
