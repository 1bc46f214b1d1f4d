/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_PMCLOG_PRIVATE_H
#define OPJIT_FORMAT_EVLOG_PMCLOG_PRIVATE_H
#include "format/evlog/cursor.h"
#include "format/evlog/merge.h"
#include "format/evlog/pmclog.h"

enum pmc_format { PMC_UNKNOWN, PMC_HDR12, PMC_HDR16, PMC_OPEL };

#define PMC_SCRATCH 65536u

struct opel_parser;

struct pmc_parser {
	int fd;
	struct pmclog_options o;
	const uint8_t *feed;      /* bytes not taken in yet */
	size_t feed_len;
	uint8_t *iobuf;           /* fd parsers: where feed points into */
	uint8_t *scratch;         /* one record (opel: one block), being assembled */
	size_t have;
	size_t used;              /* of scratch, by the record given last: dropped at the next read */
	uint64_t offset;          /* stream offset of scratch[0] */
	uint64_t count;
	int error;                /* errno of the permanent fault */
	uint64_t error_at;
	enum pmc_format format;
	bool big, closed;
	bool v1;                  /* 12-byte header: the 2005 layouts */
	unsigned int ptr;         /* bytes of an address, 0 not known */
	bool ptr_sure;            /* known from a length that allows nothing else */
	uint64_t tsc_freq, tsc_start;
	struct timespec ts_start;
	struct opel_parser *opel;
};

/* Sees to it that scratch has n bytes. 0, or the state to return. */
int pmc_want(struct pmc_parser *p, size_t n);
/* Takes in what is there already, up to n bytes in all, without waiting. */
void pmc_want_some(struct pmc_parser *p, size_t n);
/* What the first four bytes of a record say is checked: 0 and the length, or an errno. */
int pmc_hwpmc_head(struct pmc_parser *p, const uint8_t *h, size_t *len);
/* Decodes the whole record in scratch. 0 or an errno. */
int pmc_hwpmc_decode(struct pmc_parser *p, size_t len, struct pmclog_ev *ev);

struct opel_parser *pmc_opel_new(void);
void pmc_opel_free(struct opel_parser *o);
/* The next event: 0 (ev filled but for count), 1 and ev->pl_state (end or need of data), or -errno: permanent. */
int pmc_opel_read(struct pmc_parser *p, struct pmclog_ev *ev);

#endif
