/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPEVLOG_PMCLOG_H
#define OPEVLOG_PMCLOG_H
/*
 * Reading event logs record by record, in the manner of FreeBSD's pmclog(3): the logs that hwpmc(4) writes (both
 * numberings of its records, either byte order, 32- and 64-bit addresses) and `opel`, the log of opjit. They are told
 * apart by their first bytes.
 *
 *	void *p = pmclog_open(fd);
 *	struct pmclog_ev ev;
 *	while (pmclog_read(p, &ev) == 0)
 *		…                                   // ev.pl_type, ev.pl_u
 *	if (ev.pl_state != PMCLOG_EOF || errno)     // a fault, or a record cut short
 *		…
 *	pmclog_close(p);
 *
 * or, with PMCLOG_FD_NONE, bytes as they come: pmclog_feed, then pmclog_read until it says PMCLOG_REQUIRE_DATA.
 *
 * Needs nothing beyond libc, prints nothing, starts no thread. A parser belongs to one thread at a time; different
 * parsers may run in different threads.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMCLOG_FD_NONE (-1)
#define PMCLOG_PATH_MAX 4096
#define PMCLOG_CHAIN_MAX 1024

enum pmclog_state {
	PMCLOG_OK = 0,
	PMCLOG_EOF = 1,          /* no more bytes for now; a later read tries again */
	PMCLOG_REQUIRE_DATA = 2, /* feed more (or, for a non-blocking descriptor, try later) */
	PMCLOG_ERROR = 3,        /* what the log says makes no sense (permanent), or read(2) failed (not permanent) */
};

/* The numbers of the current FreeBSD format whatever the log's own are; from 0x100 on what has no number there. */
enum pmclog_type {
	PMCLOG_TYPE_CLOSELOG = 1,
	PMCLOG_TYPE_DROPNOTIFY = 2,
	PMCLOG_TYPE_INITIALIZE = 3,
	PMCLOG_TYPE_PCSAMPLE = 4,
	PMCLOG_TYPE_PMCALLOCATE = 5,
	PMCLOG_TYPE_PMCATTACH = 6,
	PMCLOG_TYPE_PMCDETACH = 7,
	PMCLOG_TYPE_PROCCSW = 8,
	PMCLOG_TYPE_PROCEXEC = 9,
	PMCLOG_TYPE_PROCEXIT = 10,
	PMCLOG_TYPE_PROCFORK = 11,
	PMCLOG_TYPE_SYSEXIT = 12,
	PMCLOG_TYPE_USERDATA = 13,
	PMCLOG_TYPE_MAP_IN = 14,
	PMCLOG_TYPE_MAP_OUT = 15,
	PMCLOG_TYPE_CALLCHAIN = 16,
	PMCLOG_TYPE_PMCALLOCATEDYN = 17,
	PMCLOG_TYPE_THR_CREATE = 18,
	PMCLOG_TYPE_THR_EXIT = 19,
	PMCLOG_TYPE_PROC_CREATE = 20,
	PMCLOG_TYPE_UNKNOWN = 0x100,       /* lenient: skipped by its length; pl_data, pl_len */
	PMCLOG_TYPE_MAPPINGCHANGE = 0x103, /* 2005 format */
	PMCLOG_TYPE_JIT = 0x110,           /* opel */
	PMCLOG_TYPE_JITSRC = 0x111,
	PMCLOG_TYPE_KSYMBOL = 0x112,
	PMCLOG_TYPE_THROTTLE = 0x113,
	PMCLOG_TYPE_SYNC = 0x114,
	PMCLOG_TYPE_USER = 0x115,          /* an event that the writer registered; pl_user */
};

/* Which format a record came from. */
enum pmclog_abi {
	PMCLOG_ABI_NONE = 0, /* not known yet */
	PMCLOG_ABI_V1 = 1,   /* 12-byte header, 2005 */
	PMCLOG_ABI_V2 = 2,   /* 12-byte header, later */
	PMCLOG_ABI_V6 = 6,   /* 16-byte header, 2018 on */
	PMCLOG_ABI_OPEL = 100,
};

struct pmclog_ev_closelog { uint32_t pl_unused; };
struct pmclog_ev_dropnotify {
	uint64_t pl_lost;      /* opel: how many, at least; 0 = the log does not say */
};
struct pmclog_ev_initialize {
	uint32_t pl_version;   /* MMmmpppp */
	uint32_t pl_arch;      /* cpu type */
	uint64_t pl_tsc_freq;  /* 0 = the log does not say */
	struct timespec pl_start; /* wall-clock time at pl_tsc of this record */
	char pl_cpuid[72];     /* opel: the machine's name */
};
struct pmclog_ev_mappingchange {
	uint32_t pl_kind;      /* 1 insert, 2 delete */
	int32_t pl_pid;
	uint64_t pl_start, pl_end;
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_pcsample {
	int32_t pl_pid, pl_tid; /* tid -1 = the log does not say */
	uint32_t pl_pmcid;      /* opel: index of the event */
	uint32_t pl_usermode;
	uint32_t pl_cpu;        /* UINT32_MAX = the log does not say */
	uint64_t pl_pc;
	uint64_t pl_period;     /* opel */
};
struct pmclog_ev_pmcallocate {
	uint32_t pl_pmcid, pl_event, pl_flags;
	uint64_t pl_rate;
};
struct pmclog_ev_pmcallocatedyn {
	uint32_t pl_pmcid, pl_event, pl_flags;
	uint64_t pl_rate;       /* opel: period; pl_freq: samples a second */
	uint64_t pl_freq;
	char pl_evname[256];
};
struct pmclog_ev_pmcattach {
	uint32_t pl_pmcid;
	int32_t pl_pid;
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_pmcdetach {
	uint32_t pl_pmcid;
	int32_t pl_pid;
};
struct pmclog_ev_proccsw {
	uint32_t pl_pmcid;
	int32_t pl_pid, pl_tid;
	uint64_t pl_value;
};
struct pmclog_ev_procexec {
	int32_t pl_pid;
	uint32_t pl_pmcid;
	uint64_t pl_baseaddr;   /* entry address (12-byte header) or base */
	uint64_t pl_dynaddr;    /* base of a PIE; 0 = the log does not say */
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_procexit {
	uint32_t pl_pmcid;
	int32_t pl_pid;
	uint64_t pl_value;
};
struct pmclog_ev_procfork { int32_t pl_oldpid, pl_newpid; };
struct pmclog_ev_sysexit { int32_t pl_pid; };
struct pmclog_ev_userdata { uint32_t pl_userdata; };
struct pmclog_ev_map_in {
	int32_t pl_pid;
	uint64_t pl_start;
	uint64_t pl_size;       /* opel: bytes and file offset; 0 = the log does not say */
	uint64_t pl_pgoff;
	char pl_pathname[PMCLOG_PATH_MAX];
};
struct pmclog_ev_map_out {
	int32_t pl_pid;
	uint64_t pl_start, pl_end;
};
struct pmclog_part {
	uint8_t pl_type;        /* 1 call chain, 2 IBS fetch, 3 IBS op */
	uint8_t pl_words;
	uint16_t pl_first;      /* its first word in pl_pc */
};
struct pmclog_ev_callchain {
	int32_t pl_pid, pl_tid; /* tid -1 = the log does not say */
	uint32_t pl_pmcid;
	uint32_t pl_cpuflags;   /* CPU in the high half; bit 0 user mode, bit 1 multipart */
	uint32_t pl_npc;        /* the call chain proper: pl_pc[0 .. pl_npc), the leaf first */
	uint32_t pl_nparts;     /* multipart records: what there is, the chain included */
	struct pmclog_part pl_parts[4];
	uint64_t pl_period;     /* opel */
	uint64_t pl_pc[PMCLOG_CHAIN_MAX]; /* words of the other parts stand behind the chain */
};
struct pmclog_ev_thr_create {
	int32_t pl_tid, pl_pid;
	uint32_t pl_flags;
	char pl_tdname[64];
};
struct pmclog_ev_thr_exit { int32_t pl_tid; };
struct pmclog_ev_proc_create {
	int32_t pl_pid;
	uint32_t pl_flags;
	char pl_pcomm[64];
};
/* opel only. Strings are valid until the next read; NULL = none. */
struct pmclog_ev_jit {
	int32_t pl_pid;
	uint32_t pl_source, pl_what;  /* what: 1 load, 2 unload, 3 move, 4 amend, 5 heap, 6 close */
	uint32_t pl_kind, pl_flags, pl_segment;
	int32_t pl_tier, pl_osr_bci;
	uint64_t pl_time_ns, pl_addr, pl_size, pl_old_addr, pl_id, pl_image_offset;
	const char *pl_name, *pl_source_file;
};
struct pmclog_ev_jitsrc {
	int32_t pl_pid;
	uint32_t pl_source, pl_kind;
	uint64_t pl_lag_ns;
	const char *pl_instance;
};
struct pmclog_ev_ksymbol {
	uint64_t pl_addr, pl_size;
	uint32_t pl_unregister;
	const char *pl_name;
};
struct pmclog_ev_user {
	uint32_t pl_id;
	const char *pl_name, *pl_fields;  /* as registered; NULL = its registration is missing */
	const void *pl_body;              /* in the log's byte order */
	uint32_t pl_body_len;
	int pl_swapped;                   /* that is not the host's */
};

struct pmclog_ev {
	enum pmclog_state pl_state;
	enum pmclog_type pl_type;
	enum pmclog_abi pl_abi;
	uint32_t pl_rawtype;    /* the number in the log */
	off_t pl_offset;        /* where the record begins; the end is pl_offset + pl_len. On a fault: where that is */
	size_t pl_count;        /* serial number, from 1 */
	size_t pl_partial;      /* PMCLOG_EOF inside a record: the bytes of it that are there */
	struct timespec pl_ts;  /* wall-clock time */
	uint64_t pl_tsc;        /* the raw counter: cycles (16-byte header), the log's clock (opel), else 0 */
	const void *pl_data;    /* the raw record, valid until the next read */
	size_t pl_len;
	union {
		struct pmclog_ev_callchain pl_cc;
		struct pmclog_ev_closelog pl_cl;
		struct pmclog_ev_dropnotify pl_dn;
		struct pmclog_ev_initialize pl_i;
		struct pmclog_ev_map_in pl_mi;
		struct pmclog_ev_map_out pl_mo;
		struct pmclog_ev_mappingchange pl_m;
		struct pmclog_ev_pcsample pl_s;
		struct pmclog_ev_pmcallocate pl_a;
		struct pmclog_ev_pmcallocatedyn pl_ad;
		struct pmclog_ev_pmcattach pl_t;
		struct pmclog_ev_pmcdetach pl_d;
		struct pmclog_ev_proccsw pl_c;
		struct pmclog_ev_procexec pl_x;
		struct pmclog_ev_procexit pl_e;
		struct pmclog_ev_procfork pl_f;
		struct pmclog_ev_sysexit pl_se;
		struct pmclog_ev_userdata pl_u;
		struct pmclog_ev_thr_create pl_tc;
		struct pmclog_ev_thr_exit pl_te;
		struct pmclog_ev_proc_create pl_pc;
		struct pmclog_ev_jit pl_jit;
		struct pmclog_ev_jitsrc pl_jitsrc;
		struct pmclog_ev_ksymbol pl_ksymbol;
		struct pmclog_ev_user pl_user;
	} pl_u;
};

/*
 * A parser. fd: where to read (not owned, not closed), or PMCLOG_FD_NONE: bytes will be fed. Nothing is read yet.
 * NULL: errno is malloc's.
 */
void *pmclog_open(int fd);

struct pmclog_options {
	size_t size;       /* sizeof(struct pmclog_options) of the caller */
	int lenient;       /* unknown types are passed over as PMCLOG_TYPE_UNKNOWN; a further log may follow CLOSELOG;
	                    * spoilt pages of an opel log are skipped. 0 = each of these is PMCLOG_ERROR */
	int byte_order;    /* 0 told from the log, 1 little-endian, 2 big-endian (hwpmc logs) */
	int pointer_bytes; /* 0 told from the log as far as it shows, 4, 8 (12-byte headers) */
	int abi;           /* 0 told from the log, PMCLOG_ABI_V1 or _V2: which 12-byte layout */
};
/* As pmclog_open; NULL and EINVAL for options that make no sense. o NULL = all 0. */
void *pmclog_open_opts(int fd, const struct pmclog_options *o);

/*
 * The next record. 0 and PMCLOG_OK, or -1 and
 *   PMCLOG_EOF           fd parser: read(2) gave nothing; both: after CLOSELOG. errno 0 between records,
 *                        EBADMSG inside one (pl_partial). Not permanent: a file that grows can be followed.
 *   PMCLOG_REQUIRE_DATA  all fed bytes are taken in (a part of a record is kept inside): the fed range may be
 *                        reused; feed more. fd parser: EAGAIN.
 *   PMCLOG_ERROR         errno EBADMSG (malformed), ENOTSUP (type or format that we do not know), EPROTO (does not
 *                        begin with INITIALIZE): every later read gives the same. Or read(2)'s errno: may be retried.
 *                        EINVAL: ev is NULL.
 */
int pmclog_read(void *cookie, struct pmclog_ev *ev);

/*
 * len bytes at data, to be used (not copied) until pmclog_read returns -1. 0, or -1: EINVAL (len < 0, an fd parser,
 * no data), EBUSY (bytes of the last feed are not consumed yet). len 0 is legal.
 */
int pmclog_feed(void *cookie, const char *data, int len);

/*
 * All events of an opel log in order of time over all its streams: fn gets each (pl_offset is −1, pl_len 0); what fn
 * returns, if negative, ends it and is returned. 0; 1: all, but parts of the log could not be read; -errno: of read(2),
 * or EBADMSG, ENOTSUP, EPROTONOSUPPORT: does not begin as a log that can be read. Reads fd from where it stands.
 */
int pmclog_each_merged(int fd, int (*fn)(void *arg, const struct pmclog_ev *ev), void *arg);

/* Frees; does not close the descriptor. NULL is legal. */
void pmclog_close(void *cookie);

#ifdef __cplusplus
}
#endif
#endif
