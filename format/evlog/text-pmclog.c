/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/text-out.h"

static const char *const names[] = {
	[PMCLOG_TYPE_CLOSELOG] = "closelog", [PMCLOG_TYPE_DROPNOTIFY] = "dropnotify",
	[PMCLOG_TYPE_INITIALIZE] = "initialize", [PMCLOG_TYPE_PCSAMPLE] = "pcsample",
	[PMCLOG_TYPE_PMCALLOCATE] = "pmcallocate", [PMCLOG_TYPE_PMCATTACH] = "pmcattach",
	[PMCLOG_TYPE_PMCDETACH] = "pmcdetach", [PMCLOG_TYPE_PROCCSW] = "proccsw", [PMCLOG_TYPE_PROCEXEC] = "procexec",
	[PMCLOG_TYPE_PROCEXIT] = "procexit", [PMCLOG_TYPE_PROCFORK] = "procfork", [PMCLOG_TYPE_SYSEXIT] = "sysexit",
	[PMCLOG_TYPE_USERDATA] = "userdata", [PMCLOG_TYPE_MAP_IN] = "map_in", [PMCLOG_TYPE_MAP_OUT] = "map_out",
	[PMCLOG_TYPE_CALLCHAIN] = "callchain", [PMCLOG_TYPE_PMCALLOCATEDYN] = "pmcallocatedyn",
	[PMCLOG_TYPE_THR_CREATE] = "thr_create", [PMCLOG_TYPE_THR_EXIT] = "thr_exit",
	[PMCLOG_TYPE_PROC_CREATE] = "proc_create",
};

const char *pmclog_type_name(enum pmclog_type type)
{
	if ((unsigned int)type < ARRAY_SIZE(names) && names[type])
		return names[type];
	switch (type) {
	case PMCLOG_TYPE_UNKNOWN:
		return "unknown";
	case PMCLOG_TYPE_MAPPINGCHANGE:
		return "mappingchange";
	case PMCLOG_TYPE_JIT:
		return "jit";
	case PMCLOG_TYPE_JITSRC:
		return "jitsrc";
	case PMCLOG_TYPE_KSYMBOL:
		return "ksymbol";
	case PMCLOG_TYPE_THROTTLE:
		return "throttle";
	case PMCLOG_TYPE_SYNC:
		return "sync";
	case PMCLOG_TYPE_USER:
		return "user";
	default:
		return "?";
	}
}

const char *pmclog_abi_name(enum pmclog_abi abi)
{
	return abi == PMCLOG_ABI_V1 ? "hwpmc-2005" : abi == PMCLOG_ABI_V2 ? "hwpmc-12" : abi == PMCLOG_ABI_V6 ? "hwpmc-16" :
	       abi == PMCLOG_ABI_OPEL ? "opel" : "?";
}

static void time_of(const struct out *o, const char *name, const struct timespec *ts)
{
	key(o, name);
	strbuf_addf(o->sb, o->json ? "\"%lld.%09ld\"" : "%lld.%09ld", (long long)ts->tv_sec, ts->tv_nsec);
}
static void raw_bytes(const struct out *o, const char *name, const void *data, size_t len)
{
	const uint8_t *p = data;

	key(o, name);
	strbuf_addch(o->sb, '"');
	for (size_t i = 0; i < len; i++)
		strbuf_addf(o->sb, "%02x", p[i]);
	strbuf_addch(o->sb, '"');
}

static void body_callchain(const struct out *o, const struct pmclog_ev_callchain *cc)
{
	static const char *const parts[] = { "end", "chain", "ibs_fetch", "ibs_op" };

	snum(o, "pid", cc->pl_pid);
	snum(o, "tid", cc->pl_tid);
	hex(o, "pmcid", cc->pl_pmcid);
	num(o, "cpu", cc->pl_cpuflags >> 16);
	hex(o, "flags", cc->pl_cpuflags & 0xffff);
	str(o, "mode", cc->pl_cpuflags & 1 ? "user" : "kernel");
	if (cc->pl_period)
		num(o, "period", cc->pl_period);
	words(o, "pc", cc->pl_pc, cc->pl_npc);
	for (uint32_t i = 0; i < cc->pl_nparts; i++)
		if (cc->pl_parts[i].pl_type != 1)
			words(o, cc->pl_parts[i].pl_type < ARRAY_SIZE(parts) ? parts[cc->pl_parts[i].pl_type] : "part",
			      cc->pl_pc + cc->pl_parts[i].pl_first, cc->pl_parts[i].pl_words);
}

static void body_jit(const struct out *o, const struct pmclog_ev_jit *j)
{
	snum(o, "pid", j->pl_pid);
	num(o, "source", j->pl_source);
	num(o, "what", j->pl_what);
	num(o, "kind", j->pl_kind);
	snum(o, "tier", j->pl_tier);
	hex(o, "flags", j->pl_flags);
	snum(o, "osr_bci", j->pl_osr_bci);
	num(o, "jit_time", j->pl_time_ns);
	hex(o, "addr", j->pl_addr);
	num(o, "size", j->pl_size);
	hex(o, "old_addr", j->pl_old_addr);
	num(o, "id", j->pl_id);
	num(o, "segment", j->pl_segment);
	hex(o, "image_offset", j->pl_image_offset);
	str(o, "name", j->pl_name);
	str(o, "source_file", j->pl_source_file);
}

static void body_tasks(const struct out *o, const struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PROCCSW:
		hex(o, "pmcid", ev->pl_u.pl_c.pl_pmcid);
		snum(o, "pid", ev->pl_u.pl_c.pl_pid);
		snum(o, "tid", ev->pl_u.pl_c.pl_tid);
		num(o, "value", ev->pl_u.pl_c.pl_value);
		break;
	case PMCLOG_TYPE_PROCEXEC:
		snum(o, "pid", ev->pl_u.pl_x.pl_pid);
		hex(o, "pmcid", ev->pl_u.pl_x.pl_pmcid);
		hex(o, "base", ev->pl_u.pl_x.pl_baseaddr);
		hex(o, "dynbase", ev->pl_u.pl_x.pl_dynaddr);
		str(o, "path", ev->pl_u.pl_x.pl_pathname);
		break;
	case PMCLOG_TYPE_PROCEXIT:
		hex(o, "pmcid", ev->pl_u.pl_e.pl_pmcid);
		snum(o, "pid", ev->pl_u.pl_e.pl_pid);
		num(o, "value", ev->pl_u.pl_e.pl_value);
		break;
	case PMCLOG_TYPE_PROCFORK:
		snum(o, "oldpid", ev->pl_u.pl_f.pl_oldpid);
		snum(o, "newpid", ev->pl_u.pl_f.pl_newpid);
		break;
	case PMCLOG_TYPE_SYSEXIT:
		snum(o, "pid", ev->pl_u.pl_se.pl_pid);
		break;
	case PMCLOG_TYPE_THR_CREATE:
		snum(o, "tid", ev->pl_u.pl_tc.pl_tid);
		snum(o, "pid", ev->pl_u.pl_tc.pl_pid);
		hex(o, "flags", ev->pl_u.pl_tc.pl_flags);
		str(o, "name", ev->pl_u.pl_tc.pl_tdname);
		break;
	case PMCLOG_TYPE_THR_EXIT:
		snum(o, "tid", ev->pl_u.pl_te.pl_tid);
		break;
	case PMCLOG_TYPE_PROC_CREATE:
		snum(o, "pid", ev->pl_u.pl_pc.pl_pid);
		hex(o, "flags", ev->pl_u.pl_pc.pl_flags);
		str(o, "name", ev->pl_u.pl_pc.pl_pcomm);
		break;
	default:
		break;
	}
}

static void body_maps(const struct out *o, const struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_MAPPINGCHANGE:
		num(o, "kind", ev->pl_u.pl_m.pl_kind);
		snum(o, "pid", ev->pl_u.pl_m.pl_pid);
		hex(o, "start", ev->pl_u.pl_m.pl_start);
		hex(o, "end", ev->pl_u.pl_m.pl_end);
		str(o, "path", ev->pl_u.pl_m.pl_pathname);
		break;
	case PMCLOG_TYPE_MAP_IN:
		snum(o, "pid", ev->pl_u.pl_mi.pl_pid);
		hex(o, "start", ev->pl_u.pl_mi.pl_start);
		if (ev->pl_u.pl_mi.pl_size) {
			hex(o, "size", ev->pl_u.pl_mi.pl_size);
			hex(o, "pgoff", ev->pl_u.pl_mi.pl_pgoff);
		}
		str(o, "path", ev->pl_u.pl_mi.pl_pathname);
		break;
	case PMCLOG_TYPE_MAP_OUT:
		snum(o, "pid", ev->pl_u.pl_mo.pl_pid);
		hex(o, "start", ev->pl_u.pl_mo.pl_start);
		hex(o, "end", ev->pl_u.pl_mo.pl_end);
		break;
	case PMCLOG_TYPE_JIT:
		body_jit(o, &ev->pl_u.pl_jit);
		break;
	case PMCLOG_TYPE_JITSRC:
		snum(o, "pid", ev->pl_u.pl_jitsrc.pl_pid);
		num(o, "source", ev->pl_u.pl_jitsrc.pl_source);
		num(o, "kind", ev->pl_u.pl_jitsrc.pl_kind);
		num(o, "lag", ev->pl_u.pl_jitsrc.pl_lag_ns);
		str(o, "instance", ev->pl_u.pl_jitsrc.pl_instance);
		break;
	case PMCLOG_TYPE_KSYMBOL:
		hex(o, "addr", ev->pl_u.pl_ksymbol.pl_addr);
		hex(o, "size", ev->pl_u.pl_ksymbol.pl_size);
		num(o, "unregister", ev->pl_u.pl_ksymbol.pl_unregister);
		str(o, "name", ev->pl_u.pl_ksymbol.pl_name);
		break;
	case PMCLOG_TYPE_USER:
		num(o, "id", ev->pl_u.pl_user.pl_id);
		str(o, "name", ev->pl_u.pl_user.pl_name);
		raw_bytes(o, "body", ev->pl_u.pl_user.pl_body, ev->pl_u.pl_user.pl_body_len);
		break;
	case PMCLOG_TYPE_UNKNOWN:
		num(o, "number", ev->pl_rawtype);
		raw_bytes(o, "data", ev->pl_data, ev->pl_len);
		break;
	default:
		body_tasks(o, ev);
	}
}

static void body(const struct out *o, const struct pmclog_ev *ev)
{
	const struct pmclog_ev_initialize *i = &ev->pl_u.pl_i;

	switch (ev->pl_type) {
	case PMCLOG_TYPE_CLOSELOG:
		break;
	case PMCLOG_TYPE_DROPNOTIFY:
		if (ev->pl_u.pl_dn.pl_lost)
			num(o, "lost", ev->pl_u.pl_dn.pl_lost);
		break;
	case PMCLOG_TYPE_INITIALIZE:
		hex(o, "version", i->pl_version);
		hex(o, "arch", i->pl_arch);
		num(o, "freq", i->pl_tsc_freq);
		time_of(o, "start", &i->pl_start);
		str(o, "cpuid", i->pl_cpuid);
		break;
	case PMCLOG_TYPE_PCSAMPLE:
		snum(o, "pid", ev->pl_u.pl_s.pl_pid);
		snum(o, "tid", ev->pl_u.pl_s.pl_tid);
		hex(o, "pmcid", ev->pl_u.pl_s.pl_pmcid);
		hex(o, "pc", ev->pl_u.pl_s.pl_pc);
		num(o, "usermode", ev->pl_u.pl_s.pl_usermode);
		if (ev->pl_abi == PMCLOG_ABI_OPEL) {
			snum(o, "cpu", ev->pl_u.pl_s.pl_cpu == UINT32_MAX ? -1 : (int64_t)ev->pl_u.pl_s.pl_cpu);
			num(o, "period", ev->pl_u.pl_s.pl_period);
		}
		break;
	case PMCLOG_TYPE_PMCALLOCATE:
		hex(o, "pmcid", ev->pl_u.pl_a.pl_pmcid);
		num(o, "event", ev->pl_u.pl_a.pl_event);
		hex(o, "flags", ev->pl_u.pl_a.pl_flags);
		num(o, "rate", ev->pl_u.pl_a.pl_rate);
		break;
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		hex(o, "pmcid", ev->pl_u.pl_ad.pl_pmcid);
		num(o, "event", ev->pl_u.pl_ad.pl_event);
		hex(o, "flags", ev->pl_u.pl_ad.pl_flags);
		if (ev->pl_abi == PMCLOG_ABI_OPEL) {
			num(o, "rate", ev->pl_u.pl_ad.pl_rate);
			num(o, "freq", ev->pl_u.pl_ad.pl_freq);
		}
		str(o, "name", ev->pl_u.pl_ad.pl_evname);
		break;
	case PMCLOG_TYPE_PMCATTACH:
		hex(o, "pmcid", ev->pl_u.pl_t.pl_pmcid);
		snum(o, "pid", ev->pl_u.pl_t.pl_pid);
		str(o, "path", ev->pl_u.pl_t.pl_pathname);
		break;
	case PMCLOG_TYPE_PMCDETACH:
		hex(o, "pmcid", ev->pl_u.pl_d.pl_pmcid);
		snum(o, "pid", ev->pl_u.pl_d.pl_pid);
		break;
	case PMCLOG_TYPE_USERDATA:
		hex(o, "data", ev->pl_u.pl_u.pl_userdata);
		break;
	case PMCLOG_TYPE_CALLCHAIN:
		body_callchain(o, &ev->pl_u.pl_cc);
		break;
	default:
		body_maps(o, ev);
	}
}

int pmclog_text(struct strbuf *sb, const struct pmclog_ev *ev)
{
	struct out o = { sb, false };

	strbuf_addf(sb, "%lld.%09ld %s", (long long)ev->pl_ts.tv_sec, ev->pl_ts.tv_nsec, pmclog_type_name(ev->pl_type));
	num(&o, "offset", (uint64_t)ev->pl_offset);
	num(&o, "len", ev->pl_len);
	if (ev->pl_tsc)
		num(&o, "tsc", ev->pl_tsc);
	body(&o, ev);
	return sb->error;
}

int pmclog_json(struct strbuf *sb, const struct pmclog_ev *ev)
{
	struct out o = { sb, true };

	strbuf_addf(sb, "{\"type\":\"%s\",\"format\":\"%s\",\"count\":%zu", pmclog_type_name(ev->pl_type),
		    pmclog_abi_name(ev->pl_abi), ev->pl_count);
	time_of(&o, "time", &ev->pl_ts);
	num(&o, "offset", (uint64_t)ev->pl_offset);
	num(&o, "len", ev->pl_len);
	if (ev->pl_tsc)
		num(&o, "tsc", ev->pl_tsc);
	body(&o, ev);
	return strbuf_addch(sb, '}');
}
