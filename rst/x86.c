/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rst/x86.h"

/* Its number as the CPU counts, −2 for rip, −1 for what is no address register; *narrow if it is one of 32 bits. */
static int reg_number(const char *s, size_t len, bool *narrow)
{
	static const char *const names[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
	char *end;
	unsigned long n;

	if (len < 2 || len > 4)
		return -1;
	if (len == 3 && !memcmp(s, "rip", 3))
		return -2;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (len == 3 && (*s == 'r' || *s == 'e') && !memcmp(s + 1, names[i], 2)) {
			*narrow |= *s == 'e';
			return (int)i;
		}
	}
	n = *s == 'r' ? strtoul(s + 1, &end, 10) : 0;
	if (n < 8 || n > 15 || end > s + len || (end < s + len && *end != 'd'))
		return -1;
	*narrow |= end < s + len;
	return (int)n;
}

/* "%rax" or "" at s, up to a comma or the closing bracket. */
static int take_reg(const char **s, bool *narrow)
{
	size_t n;
	int reg = -1;

	if (**s == '%') {
		n = strcspn(++*s, ",)");
		reg = reg_number(*s, n, narrow);
		*s += n;
	}
	if (**s == ',')
		++*s;
	return reg;
}

/* One operand; true if it is memory. */
static bool parse_mem(const char *s, bool branch, struct x86_mem *m)
{
	char *end;

	memset(m, 0, sizeof(*m));
	m->base = m->index = -1;
	m->scale = 1;
	if (*s == '*')
		s++;
	else if (branch)
		return false; /* a direct target */
	if (*s == '%' && strchr(s, ':') && s[2] == 's') {
		m->seg = s[1] == 'f' || s[1] == 'g' ? (uint8_t)s[1] : 0;
		s = strchr(s, ':') + 1;
	}
	if (*s == '%' || *s == '$' || !*s)
		return false;
	if (*s != '(') {
		bool minus = *s == '-';

		m->disp = (int64_t)strtoull(s + minus, &end, 16);
		if (end == s + minus)
			return false;
		if (minus)
			m->disp = -m->disp;
		s = end;
	}
	if (*s != '(')
		return *s == 0 || *s == ',' || *s == ' ';
	s++;
	m->base = (int8_t)take_reg(&s, &m->narrow);
	m->index = (int8_t)take_reg(&s, &m->narrow);
	if (*s >= '1' && *s <= '8')
		m->scale = (uint8_t)(*s - '0');
	return true;
}

static bool is_prefix(const char *s, size_t n)
{
	static const char *const prefixes[] = { "lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "addr32", "cs", "ds", "es",
						"ss", "fs", "gs", "xacquire", "xrelease" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strlen(prefixes[i]) == n && !memcmp(prefixes[i], s, n))
			return true;
	return n >= 3 && !memcmp(s, "rex", 3);
}

static bool starts(const char *s, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(s, with, strlen(with));
}

static void set_kind(struct x86_insn *i, const char *s, size_t n)
{
	if (starts(s, n, "jmp") || starts(s, n, "ljmp"))
		i->kind = X86_JUMP;
	else if (s[0] == 'j' || starts(s, n, "loop"))
		i->kind = X86_JCC;
	else if (starts(s, n, "call") || starts(s, n, "lcall"))
		i->kind = X86_CALL;
	else if (starts(s, n, "ret") || starts(s, n, "iret") || starts(s, n, "lret"))
		i->kind = X86_RET;
	else if (starts(s, n, "syscall") || starts(s, n, "sysenter") || (n == 3 && starts(s, n, "int")))
		i->kind = X86_SYSCALL;
	i->stack_down = starts(s, n, "push") || i->kind == X86_CALL;
	i->stack_up = starts(s, n, "pop") ? n < 4 || memcmp(s, "popc", 4) : i->kind == X86_RET;
}

static void parse_operands(struct x86_insn *i, const char *s)
{
	bool branch = i->kind != X86_PLAIN;

	while (*s && *s != '#' && *s != '<') {
		size_t n = 0;
		int depth = 0;

		while (*s == ' ' || *s == '\t')
			s++;
		while (s[n] && (s[n] != ',' || depth) && s[n] != '#') {
			depth += s[n] == '(' ? 1 : s[n] == ')' ? -1 : 0;
			n++;
		}
		if (i->n_mem < 2 && parse_mem(s, branch, &i->mem[i->n_mem]))
			i->n_mem++;
		s += n + (s[n] == ',');
	}
}

int x86_decode(struct dis *d, const uint8_t *bytes, size_t len, uint64_t pc, struct x86_insn *ret)
{
	AUTO_STRBUF text = STRBUF_INIT;
	const char *s;
	size_t n;
	int size = dis_x86(d, bytes, len, pc, &text);

	memset(ret, 0, sizeof(*ret));
	if (size <= 0 || size > 15)
		return -EINVAL;
	ret->len = (uint8_t)size;
	memcpy(ret->bytes, bytes, (size_t)size);
	for (s = strbuf_str(&text); n = strcspn(s, " \t"), is_prefix(s, n); s += n + strspn(s + n, " \t"))
		if (!s[n])
			return 0;
	set_kind(ret, s, n);
	/* These name an address and touch nothing there. */
	if (!starts(s, n, "lea") || starts(s, n, "leave")) {
		if (!starts(s, n, "nop") && !starts(s, n, "xnop"))
			parse_operands(ret, s + n);
	}
	return 0;
}

uint64_t x86_address(const struct x86_insn *i, const struct x86_mem *m, const struct user_regs_struct *r)
{
	const unsigned long long regs[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
					      r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };
	uint64_t a = (uint64_t)m->disp;

	if (m->base >= 0)
		a += regs[m->base];
	else if (m->base == -2)
		a += r->rip + i->len;
	if (m->index >= 0)
		a += regs[m->index] * m->scale;
	if (m->narrow)
		a &= 0xffffffff;
	if (m->seg)
		a += m->seg == 'f' ? r->fs_base : r->gs_base;
	return a;
}
