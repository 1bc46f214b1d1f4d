/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_CHECK_H
#define OPJIT_RST_CHECK_H
/*
 * The rules of a well-made trace, one record at a time. A finding has a rule number (doc/format-rst.md, "Rules"), a
 * severity, the number of the record it is about and a text.
 */
#include "format/rst/rst.h"

enum check_severity { CHECK_NOTE, CHECK_WARNING, CHECK_ERROR };
#define CHECK_RULES 48
#define CHECK_ALL UINT64_MAX
/* What trconv looks at while it prints: pc continuity, branch targets, PA-VA. */
#define CHECK_PC (1ULL << 18)
#define CHECK_BRANCH (1ULL << 16)
#define CHECK_PC_PAVA (1ULL << 10)
#define CHECK_EA_PAVA (1ULL << 13)

/* The text is valid during the call. */
typedef void check_report_fn(void *arg, unsigned int rule, enum check_severity sev, uint64_t recno, const char *text);

struct check; /* opaque */
int check_new(struct check **ret, uint64_t rules, check_report_fn *report, void *arg);
void check_free(struct check *c);
/* Starting value of PSTATE.AM, for traces that begin without a PREG. */
void check_set_am(struct check *c, bool am);
void check_record(struct check *c, const uint8_t rec[RST_REC_SIZE]);
/* The end: n_fragment bytes were left over. */
void check_end(struct check *c, size_t n_fragment);
const char *check_rule_name(unsigned int rule);

#endif
