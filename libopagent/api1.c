/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OPAGENT_1.0: the drop-in interface. */
#include <errno.h>

#include "lib/util.h"
#include "libopagent/core.h"

#ifdef OPAGENT_STATIC
#define PUBLIC
#else
#define PUBLIC __attribute__((visibility("default")))
#endif
#define LAG_US 20000 /* JITs tell of their code a while after they made it */

/* 0 or -1 and errno, which stays what it was on success. */
static int answer(int saved, int r)
{
	errno = r < 0 ? -r : saved;
	return r < 0 ? -1 : 0;
}

PUBLIC op_agent_t op_open_agent(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .lag_us = LAG_US, .source = "opagent1" };
	struct opagent *a = NULL;
	int saved = errno;

	answer(saved, handle_open(&a, &o));
	return a;
}

PUBLIC int op_close_agent(op_agent_t hdl)
{
	int saved = errno;

	return answer(saved, handle_close(hdl));
}

PUBLIC int op_write_native_code(op_agent_t hdl, char const *symbol_name, uint64_t vma, void const *code,
				unsigned int const code_size)
{
	struct opagent_region r = { .size = sizeof(r), .addr = vma, .code = code, .code_size = code_size,
				    .name = symbol_name, .tier = -1 };
	struct core *c = handle_core(hdl);
	int saved = errno, q = c ? core_enter(c) : -EINVAL;

	if (!q) {
		q = core_load(c, &r, NULL);
		core_leave(c);
	}
	/* The name was kept. */
	return answer(saved, q == -EFBIG ? 0 : q);
}

PUBLIC int op_write_debug_line_info(op_agent_t hdl, void const *code, size_t nr_entry,
				    struct debug_line_info const *compile_map)
{
	struct core *c = handle_core(hdl);
	int saved = errno, q;

	if (!c || (nr_entry && !compile_map))
		return answer(saved, -EINVAL);
	if (!nr_entry)
		return 0;
	q = core_enter(c);
	if (!q) {
		q = core_lines1(c, code, nr_entry, compile_map);
		core_leave(c);
	}
	return answer(saved, q);
}

PUBLIC int op_unload_native_code(op_agent_t hdl, uint64_t vma)
{
	struct core *c = handle_core(hdl);
	int saved = errno, q = c ? core_enter(c) : -EINVAL;

	if (!q) {
		q = core_unload(c, vma, 0, 0);
		core_leave(c);
	}
	return answer(saved, q == -ENOENT ? 0 : q);
}

PUBLIC int op_major_version(void) { return 1; }
PUBLIC int op_minor_version(void) { return 0; }
