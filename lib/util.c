/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/util.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

uint64_t util_hash_bytes(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ len;

	for (; len >= 8; len -= 8, p += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		h = util_hash_u64(h ^ w);
	}
	if (len) {
		uint64_t w = 0;
		memcpy(&w, p, len);
		h = util_hash_u64(h ^ w);
	}
	return h;
}

static int parse_prefix(const char *s, int base, uint64_t *ret, const char **end)
{
	char *stop;
	unsigned long long v;

	if (!isdigit((unsigned char)s[0]) && !(base == 16 && isxdigit((unsigned char)s[0])))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &stop, base);
	if (errno == ERANGE)
		return -ERANGE;
	if (stop == s)
		return -EINVAL;
	*end = stop;
	*ret = v;
	return 0;
}

int util_parse_u64(const char *s, int base, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t v;
	int r = parse_prefix(s, base, &v, &end);

	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int util_parse_size(const char *s, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t v;
	unsigned int shift = 0;
	int r = parse_prefix(s, 0, &v, &end);

	if (r < 0)
		return r;
	switch (tolower((unsigned char)*end)) {
	case 'k': shift = 10; end++; break;
	case 'm': shift = 20; end++; break;
	case 'g': shift = 30; end++; break;
	default: break;
	}
	if (*end)
		return -EINVAL;
	if (v > max >> shift)
		return -ERANGE;
	*ret = v << shift;
	return 0;
}
