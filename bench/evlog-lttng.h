/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One tracepoint of LTTng-UST with 16 bytes, for bench/evlog.c; read several times by its headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER opjit_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/evlog-lttng.h"

#if !defined(OPJIT_BENCH_EVLOG_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define OPJIT_BENCH_EVLOG_LTTNG_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(opjit_bench, tick, LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a) lttng_ust_field_integer(uint64_t, b, b)))

#endif
#include <lttng/tracepoint-event.h>
