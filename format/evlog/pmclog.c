/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/pmclog-private.h"

#include <errno.h>

#define IOBUF (256u << 10)

void *pmclog_open_opts(int fd, const struct pmclog_options *o)
{
	struct pmc_parser *p;

	if (fd < -1 || (o && (o->size < sizeof(size_t) || o->size > 4096))) {
		errno = EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->fd = fd;
	if (o)
		memcpy(&p->o, o, MIN(o->size, sizeof(p->o)));
	if (p->o.byte_order < 0 || p->o.byte_order > 2 || (p->o.pointer_bytes && p->o.pointer_bytes != 4 &&
	    p->o.pointer_bytes != 8) || p->o.abi < 0 || p->o.abi > PMCLOG_ABI_V2) {
		free(p);
		errno = EINVAL;
		return NULL;
	}
	p->scratch = malloc(PMC_SCRATCH);
	if (fd >= 0)
		p->iobuf = malloc(IOBUF);
	if (!p->scratch || (fd >= 0 && !p->iobuf)) {
		pmclog_close(p);
		errno = ENOMEM;
		return NULL;
	}
	return p;
}

void *pmclog_open(int fd)
{
	return pmclog_open_opts(fd, NULL);
}

void pmclog_close(void *cookie)
{
	struct pmc_parser *p = cookie;

	if (!p)
		return;
	pmc_opel_free(p->opel);
	free(p->scratch);
	free(p->iobuf);
	free(p);
}

int pmclog_feed(void *cookie, const char *data, int len)
{
	struct pmc_parser *p = cookie;

	if (!p || len < 0 || p->fd >= 0 || (!data && len)) {
		errno = EINVAL;
		return -1;
	}
	if (p->feed_len) {
		errno = EBUSY;
		return -1;
	}
	p->feed = (const uint8_t *)data;
	p->feed_len = (size_t)len;
	return 0;
}

/* More bytes for an fd parser. 0, or the state to return. */
static int pmc_refill(struct pmc_parser *p)
{
	ssize_t n;

	if (p->fd < 0)
		return PMCLOG_REQUIRE_DATA;
	do
		n = read(p->fd, p->iobuf, IOBUF);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? PMCLOG_REQUIRE_DATA : PMCLOG_ERROR;
	if (!n)
		return PMCLOG_EOF;
	p->feed = p->iobuf;
	p->feed_len = (size_t)n;
	return 0;
}

int pmc_want(struct pmc_parser *p, size_t n)
{
	while (p->have < n) {
		size_t take = MIN(n - p->have, p->feed_len);
		int ret;
		if (take) {
			memcpy(p->scratch + p->have, p->feed, take);
			p->have += take;
			p->feed += take;
			p->feed_len -= take;
			continue;
		}
		ret = pmc_refill(p);
		if (ret)
			return ret;
	}
	return 0;
}

void pmc_want_some(struct pmc_parser *p, size_t n)
{
	size_t take = p->have < n ? MIN(n - p->have, p->feed_len) : 0;

	if (!take)
		return;
	memcpy(p->scratch + p->have, p->feed, take);
	p->have += take;
	p->feed += take;
	p->feed_len -= take;
}

static int state_end(struct pmc_parser *p, struct pmclog_ev *ev, int state, size_t partial)
{
	ev->pl_state = (enum pmclog_state)state;
	ev->pl_partial = state == PMCLOG_EOF ? partial : 0;
	ev->pl_offset = (off_t)(p->offset + p->have - MIN(partial, p->have)); /* of the record that is not whole */
	if (state == PMCLOG_EOF)
		errno = partial ? EBADMSG : 0;
	return -1; /* PMCLOG_ERROR: errno is read(2)'s */
}

static int fault(struct pmc_parser *p, struct pmclog_ev *ev, int err)
{
	if (err == ENOMEM) { /* not the log's fault: may be tried again */
		ev->pl_state = PMCLOG_ERROR;
		errno = err;
		return -1;
	}
	if (!p->error) {
		p->error = err;
		p->error_at = MAX(p->error_at, p->offset);
	}
	ev->pl_state = PMCLOG_ERROR;
	ev->pl_offset = (off_t)p->error_at;
	errno = p->error;
	return -1;
}

/* The start of a log: which format it is. 0, a state in *state (returns 1), or -errno. */
static int detect(struct pmc_parser *p, int *state)
{
	*state = pmc_want(p, 4);
	if (*state)
		return 1;
	if (!memcmp(p->scratch, "opel", 4)) {
		if (!p->opel)
			p->opel = pmc_opel_new();
		if (!p->opel)
			return -ENOMEM;
		p->format = PMC_OPEL;
		return 0;
	}
	if (p->o.byte_order)
		p->big = p->o.byte_order == 2;
	else if (p->scratch[3] == 0xee)
		p->big = false;
	else if (p->scratch[0] == 0xee)
		p->big = true;
	else
		return -EBADMSG;
	return 0;
}

static void record_drop(struct pmc_parser *p)
{
	p->offset += p->used;
	p->have -= p->used;
	if (p->have)
		memmove(p->scratch, p->scratch + p->used, p->have);
	p->used = 0;
}

static int read_hwpmc(struct pmc_parser *p, struct pmclog_ev *ev)
{
	size_t len;
	int ret = pmc_want(p, 4);

	if (ret)
		return state_end(p, ev, ret, p->have);
	ret = pmc_hwpmc_head(p, p->scratch, &len);
	if (ret)
		return fault(p, ev, ret);
	ret = pmc_want(p, len);
	if (ret)
		return state_end(p, ev, ret, p->have);
	ev->pl_offset = (off_t)p->offset;
	ev->pl_data = p->scratch;
	ev->pl_len = len;
	ret = pmc_hwpmc_decode(p, len, ev);
	if (ret)
		return fault(p, ev, ret);
	p->used = len;
	return 0;
}

/* After CLOSELOG: the end, or more bytes, which is another log or a fault. 0: go on. */
static int read_closed(struct pmc_parser *p, struct pmclog_ev *ev)
{
	int state;

	if (!p->have && !p->feed_len) {
		state = p->fd < 0 ? PMCLOG_EOF : pmc_refill(p);
		if (state)
			return state_end(p, ev, state, 0);
	}
	if (!p->o.lenient)
		return fault(p, ev, EBADMSG);
	p->closed = false;
	p->format = PMC_UNKNOWN;
	return 0;
}

int pmclog_read(void *cookie, struct pmclog_ev *ev)
{
	struct pmc_parser *p = cookie;
	int ret, state;

	if (!p || !ev) {
		errno = EINVAL;
		return -1;
	}
	memset(ev, 0, offsetof(struct pmclog_ev, pl_u));
	if (p->error)
		return fault(p, ev, p->error);
	record_drop(p);
	if (p->closed && read_closed(p, ev) < 0)
		return -1;
	if (p->format == PMC_UNKNOWN) {
		ret = detect(p, &state);
		if (ret > 0)
			return state_end(p, ev, state, p->have);
		if (ret < 0)
			return fault(p, ev, -ret);
	}
	if (p->format == PMC_OPEL) {
		ret = pmc_opel_read(p, ev);
		if (ret > 0)
			return state_end(p, ev, (int)ev->pl_state, ev->pl_partial);
		if (ret < 0)
			return fault(p, ev, -ret);
	} else if (read_hwpmc(p, ev) < 0) {
		return -1;
	}
	ev->pl_state = PMCLOG_OK;
	ev->pl_count = (size_t)++p->count;
	if (ev->pl_type == PMCLOG_TYPE_CLOSELOG)
		p->closed = true;
	return 0;
}
