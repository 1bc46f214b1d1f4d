/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_TAP_H
#define OPJIT_LIB_TAP_H
/*
 * TAP for the unit tests: one line a check, the plan at the end. A failed check prints where it stands.
 *
 *	int main(void)
 *	{
 *		ok(1 + 1 == 2, "sums");
 *		is_int(-EINVAL, util_parse_u64("x", 10, 9, &v), "refuses letters");
 *		if (!have_it()) skip("no JDK here");
 *		return done_testing();
 *	}
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/util.h"

static unsigned int tap_n, tap_failed;

#define ok(cond, ...) tap_ok_(!!(cond), __FILE__, __LINE__, #cond, __VA_ARGS__)
static inline PRINTF_LIKE(5, 6) bool tap_ok_(bool good, const char *file, int line, const char *text, const char *fmt, ...)
{
	va_list ap;
	printf("%sok %u - ", good ? "" : "not ", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (!good) {
		tap_failed++;
		printf("# %s:%d: %s\n", file, line, text);
	}
	fflush(stdout);
	return good;
}
#define is_int(want, got, ...) \
	do { \
		long long w_ = (long long)(want), g_ = (long long)(got); \
		if (!ok(w_ == g_, __VA_ARGS__)) \
			printf("# want %lld, got %lld\n", w_, g_); \
	} while (0)
#define is_str(want, got, ...) \
	do { \
		const char *w_ = (want), *g_ = (got); \
		if (!ok(w_ && g_ && !strcmp(w_, g_), __VA_ARGS__)) \
			printf("# want «%s», got «%s»\n", w_ ? w_ : "(null)", g_ ? g_ : "(null)"); \
	} while (0)
#define skip(...) \
	do { \
		printf("ok %u # SKIP ", ++tap_n); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} while (0)
static inline int done_testing(void)
{
	printf("1..%u\n", tap_n);
	return tap_failed ? 1 : 0;
}

#endif
