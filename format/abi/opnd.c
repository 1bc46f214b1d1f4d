/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/opnd.h"

int opnd_next(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, struct opnd_note *ret,
	      struct abi_fault *fault)
{
	struct opnd_note n;
	uint64_t *const words[OPND_WORDS] = { &n.address, &n.length, &n.offset, &n.hash, &n.pid, &n.type };
	size_t at = *pos;

	if (at == len)
		return 0;
	if (len - at < OPND_WORDS * (size_t)f->width)
		return -EAGAIN;
	for (unsigned int i = 0; i < OPND_WORDS; i++, at += f->width) {
		int r = i == 3 ? abi_word_nil(f, data + at, words[i]) : abi_word_num(f, data + at, words[i]);
		if (r < 0) {
			(void)ABI_FAULT(fault, at, "word-range: a word does not fit 64 bits");
			return r;
		}
	}
	*ret = n;
	*pos = at;
	return 1;
}

int opnd_write(const struct abi_format *f, uint8_t *out, const struct opnd_note *n)
{
	const uint64_t words[OPND_WORDS] = { n->address, n->length, n->offset, n->hash, n->pid, n->type };

	for (unsigned int i = 0; i < OPND_WORDS; i++, out += f->width) {
		int r = i == 3 ? abi_word_put_nil(f, out, words[i]) : abi_word_put(f, out, words[i]);
		if (r < 0)
			return r;
	}
	return 0;
}
