/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/opsd.h"

/* n words at *pos. 1, 0 (end), -EAGAIN (end inside), -ERANGE. */
static int next_words(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, uint64_t *words,
		      unsigned int n, struct abi_fault *fault)
{
	size_t at = *pos;

	if (at == len)
		return 0;
	if (len - at < n * (size_t)f->width)
		return -EAGAIN;
	for (unsigned int i = 0; i < n; i++, at += f->width) {
		int r = abi_word_num(f, data + at, &words[i]);
		if (r < 0) {
			(void)ABI_FAULT(fault, at, "word-range: a word does not fit 64 bits");
			return r;
		}
	}
	*pos = at;
	return 1;
}

int opsd_head_next(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, bool whole,
		   struct opsd_head *ret, struct abi_fault *fault)
{
	uint64_t w[OPSD_HEAD_WORDS];
	size_t at = *pos;
	int r = next_words(f, data, len, &at, w, OPSD_HEAD_WORDS, fault);

	if (r <= 0)
		return r;
	if (whole && w[1] > (len - at) / (OPSD_SAMPLE_WORDS * (size_t)f->width))
		return ABI_FAULT(fault, *pos + f->width, "sample-count: more samples than the file has bytes for");
	*ret = (struct opsd_head){ .cpu = w[0], .n = w[1], .state = w[2] };
	*pos = at;
	return 1;
}

int opsd_sample_next(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, struct opsd_sample *ret,
		     struct abi_fault *fault)
{
	uint64_t w[OPSD_SAMPLE_WORDS];
	int r = next_words(f, data, len, pos, w, OPSD_SAMPLE_WORDS, fault);

	if (r > 0)
		*ret = (struct opsd_sample){ .eip = w[0], .count = w[1], .counter = w[2], .pid = w[3] };
	return r;
}

static int write_words(const struct abi_format *f, uint8_t *out, const uint64_t *words, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++, out += f->width) {
		int r = abi_word_put(f, out, words[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int opsd_head_write(const struct abi_format *f, uint8_t *out, const struct opsd_head *h)
{
	const uint64_t w[OPSD_HEAD_WORDS] = { h->cpu, h->n, h->state };

	return write_words(f, out, w, OPSD_HEAD_WORDS);
}

int opsd_sample_write(const struct abi_format *f, uint8_t *out, const struct opsd_sample *s)
{
	const uint64_t w[OPSD_SAMPLE_WORDS] = { s->eip, s->count, s->counter, s->pid };

	return write_words(f, out, w, OPSD_SAMPLE_WORDS);
}
