/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/abi.h"

#include <stdlib.h>

static const char magics[][5] = { "", "opnd", "opsd", "ophd", "opdb" };

const char *abi_kind_name(enum abi_kind kind)
{
	return magics[kind];
}

/* Whether order[0 … width-1] is a permutation, and which way it may be gone through fast. */
static bool find_layout(struct abi_format *f)
{
	bool seen[ABI_MAX_WIDTH] = { false };
	bool little = true, big = true;

	for (unsigned int i = 0; i < f->width; i++) {
		uint8_t b = f->order[i];
		if (b >= f->width || seen[b])
			return false;
		seen[b] = true;
		little &= b == i;
		big &= b == f->width - 1 - i;
	}
	f->layout = little ? ABI_LITTLE : big ? ABI_BIG : ABI_ANY_ORDER;
	return true;
}

int abi_format_init(struct abi_format *f, enum abi_kind kind, unsigned int width, const uint8_t *order)
{
	if (width < 1 || width > ABI_MAX_WIDTH)
		return -EINVAL;
	*f = (struct abi_format){ .kind = kind, .major = ABI_MAJOR, .minor = ABI_MINOR, .width = (uint8_t)width };
	for (unsigned int i = 0; i < width; i++)
		f->order[i] = order ? order[i] : (uint8_t)i;
	return find_layout(f) ? 0 : -EINVAL;
}

int abi_format_parse_order(struct abi_format *f, enum abi_kind kind, unsigned int width, const char *order)
{
	uint8_t list[ABI_MAX_WIDTH];
	const char *p = order;

	if (width < 1 || width > ABI_MAX_WIDTH)
		return -EINVAL;
	if (!strcmp(order, "le"))
		return abi_format_init(f, kind, width, NULL);
	for (unsigned int i = 0; i < width; i++) {
		char *end;
		unsigned long v;
		if (!strcmp(order, "be")) {
			list[i] = (uint8_t)(width - 1 - i);
			continue;
		}
		if (*p < '0' || *p > '9')
			return -EINVAL;
		v = strtoul(p, &end, 10);
		if (v >= width || *end != (i + 1 < width ? ',' : '\0'))
			return -EINVAL;
		list[i] = (uint8_t)v;
		p = end + 1;
	}
	return abi_format_init(f, kind, width, list);
}

void abi_prefix_write(const struct abi_format *f, uint8_t *out)
{
	memcpy(out, magics[f->kind], 4);
	out[4] = f->major;
	out[5] = f->minor;
	out[6] = f->width;
	out[7] = 0;
	memcpy(out + 8, f->order, f->width);
}

int abi_prefix_read(struct abi_format *f, enum abi_kind kind, const void *data, size_t len, struct abi_fault *fault)
{
	const uint8_t *p = data;
	struct abi_format got = { 0 };

	if (len < 8)
		return ABI_FAULT(fault, len, "prefix-short: the file ends inside the 8 bytes of the prefix");
	for (unsigned int k = ABI_OPND; k <= ABI_OPDB; k++)
		if (!memcmp(p, magics[k], 4))
			got.kind = (uint8_t)k;
	if (!got.kind || (kind && got.kind != kind))
		return ABI_FAULT(fault, 0, "magic: not a file of this kind");
	got.major = p[4];
	got.minor = p[5];
	got.width = p[6];
	if (got.major != ABI_MAJOR) {
		(void)ABI_FAULT(fault, 4, "version: major version is not 1");
		return -EPROTONOSUPPORT;
	}
	if (!got.width)
		return ABI_FAULT(fault, 6, "width: a word has no bytes");
	if (len < 8u + got.width)
		return ABI_FAULT(fault, len, "order-short: the file ends inside the byte order");
	memcpy(got.order, p + 8, got.width);
	for (unsigned int i = 0; i < got.width; i++) {
		if (got.order[i] >= got.width)
			return ABI_FAULT(fault, 8 + i, "order-range: an entry of the byte order is not below the width");
		for (unsigned int j = 0; j < i; j++)
			if (got.order[i] == got.order[j])
				return ABI_FAULT(fault, 8 + i, "order-repeat: the byte order names a byte twice");
	}
	find_layout(&got);
	*f = got;
	return 8 + got.width;
}

int abi_word_get_slow(const struct abi_format *f, const uint8_t *p, uint64_t *v)
{
	unsigned int w = f->width;
	uint64_t x = 0;
	bool ones = true, high = false;

	if (w <= 8 && f->layout == ABI_LITTLE) {
		for (unsigned int i = w; i-- > 0;)
			x = x << 8 | p[i];
	} else if (w <= 8 && f->layout == ABI_BIG) {
		for (unsigned int i = 0; i < w; i++)
			x = x << 8 | p[i];
	} else {
		for (unsigned int i = 0; i < w; i++) {
			ones &= p[i] == 0xff;
			if (f->order[i] < 8)
				x |= (uint64_t)p[i] << 8 * f->order[i];
			else
				high |= p[i] != 0;
		}
		if (high && !ones)
			return -ERANGE;
	}
	*v = x;
	return x == abi_max(f) && (w <= 8 || high) ? ABI_ONES : 0;
}

int abi_word_put_slow(const struct abi_format *f, uint8_t *p, uint64_t v)
{
	unsigned int w = f->width;

	if (v > abi_max(f))
		return -ERANGE;
	for (unsigned int i = 0; i < w; i++)
		p[i] = f->order[i] < 8 ? (uint8_t)(v >> 8 * f->order[i]) : 0;
	return 0;
}
