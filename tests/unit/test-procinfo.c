/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/tap.h"
#include "sampler/procinfo.h"

/* '|' stands for the NUL between arguments. */
static const struct { const char *exe, *args, *app; } apps[] = {
	{ "/usr/lib/jvm/j/bin/java", "java|App|x", "java:App" },
	{ "/usr/lib/jvm/j/bin/java", "java|-cp|a:b|-Xmx1g|com.acme.Main|--help", "java:com.acme.Main" },
	{ "/usr/lib/jvm/j/bin/java", "java|-classpath|lib/*|com/acme/Main", "java:com.acme.Main" },
	{ "/usr/lib/jvm/j/bin/java", "java|-Xint|-jar|/opt/x/foo.jar|-jar|y", "java:foo.jar" },
	{ "/usr/lib/jvm/j/bin/java", "java|-p|mods|-m|com.acme/com.acme.Run", "java:com.acme.Run" },
	{ "/usr/lib/jvm/j/bin/java", "java|--module-path|mods|--module|com.acme", "java:com.acme" },
	{ "/usr/lib/jvm/j/bin/java", "java|--module=com.acme/com.acme.Run", "java:com.acme.Run" },
	{ "/usr/lib/jvm/j/bin/java", "java|--add-opens|java.base/java.lang=ALL-UNNAMED|--add-modules=x|M", "java:M" },
	{ "/usr/lib/jvm/j/bin/java", "java|-agentpath:/x/y.so=a,b|-Da=b c|Main$Inner", "java:Main$Inner" },
	{ "/usr/lib/jvm/j/bin/java", "java|--source|17|/tmp/Hello.java", "java:Hello.java" },
	{ "/usr/lib/jvm/j/bin/java (deleted)", "java|App", "java:App" },
	{ "/usr/lib/jvm/j/bin/java", "java|-version", "" },
	{ "/usr/lib/jvm/j/bin/java", "java|-jar", "" },
	{ "/usr/lib/jvm/j/bin/java", "java", "" },
	{ "/usr/lib/jvm/j/bin/javac", "javac|-d|x|A.java", "" },
	{ "", "/usr/bin/java|App", "java:App" },
	{ "/usr/bin/mono-sgen", "mono|--profile=oprofile|--config|/etc/m|/srv/prog.exe|a", "mono:prog.exe" },
	{ "/usr/bin/dotnet", "dotnet|exec|--depsfile|d.json|/srv/a.dll", "dotnet:a.dll" },
	{ "/usr/bin/node", "node|--perf-basic-prof|-r|./hook.js|/srv/app.js|x", "node:app.js" },
	{ "/usr/bin/node", "node|-e|while(1);", "" },
	{ "/usr/bin/python3.11", "python3|-u|-X|dev|/srv/tool.py", "python:tool.py" },
	{ "/usr/bin/python3.11", "python3|-m|http.server|80", "python:http.server" },
	{ "/usr/bin/python3.11", "python3|-c|import x", "" },
	{ "/usr/bin/python3.11", "python3|-uc|import x", "" },
	{ "/usr/bin/python3.11", "python3|-|x", "" },
	{ "/usr/bin/php8.2", "php|-d|opcache.enable=1|index.php", "php:index.php" },
	{ "/usr/bin/php8.2", "php|-f|a/b.php", "php:b.php" },
	{ "/usr/bin/perl", "perl|-w|-I|lib|/usr/bin/ack|x", "perl:ack" },
	{ "/usr/bin/perl", "perl|-ne|print", "" },
	{ "/usr/bin/dash", "sh|./build.sh|x", "sh:build.sh" },
	{ "/usr/bin/dash", "sh|-ec|true", "" },
	{ "/usr/bin/bash", "bash|-o|pipefail|-e|run", "sh:run" },
	{ "/usr/bin/bash", "bash|--|run", "sh:run" },
	{ "/usr/bin/bash", "-bash", "" },
	{ "/usr/bin/luajit-2.1.0-beta3", "luajit|-jv|spin.lua", "lua:spin.lua" },
	{ "/usr/bin/ls", "ls|java", "" },
	{ "/home/me/java/bin/prog", "prog|App", "" },
	{ "/usr/bin/java", "java||App", "java:App" },
};

static char dir[] = "/tmp/opjit-procinfo-XXXXXX";

static void put(const char *name, const void *data, size_t len)
{
	char path[512], *slash;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	io_mkdirs(path, 0755);
	*slash = '/';
	io_replace(path, data, len, 0644);
}
#define put_str(name, s) put(name, s, strlen(s))

static const char stat_text[] = "77 (a) R b (c)) S 42 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 123456 7890000 11 18446744073709551615 1 1\n";

static void test_names(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(apps); i++) {
		AUTO_STRBUF sb = STRBUF_INIT;
		AUTO_FREE char *args = strdup(apps[i].args);
		size_t len = strlen(args) + 1;
		for (size_t k = 0; k < len; k++)
			if (args[k] == '|')
				args[k] = '\0';
		procinfo_app_name(&sb, apps[i].exe, args, len);
		is_str(apps[i].app, strbuf_str(&sb), "%s", apps[i].args);
	}
	AUTO_STRBUF sb = STRBUF_INIT;
	procinfo_app_name(&sb, "/usr/bin/java", "java\0App", 8);
	is_str("", strbuf_str(&sb), "arguments without their end are not read");
	procinfo_app_name(&sb, "/usr/bin/java", "", 0);
	is_str("", strbuf_str(&sb), "no arguments");
}

static void test_fake_proc(void)
{
	AUTO(procinfo_done) struct procinfo p = { 0 };
	char path[512];

	put_str("77/stat", stat_text);
	put_str("77/status", "Name:\tx\nUid:\t1001\t1001\t0\t0\nNSpid:\t77\t5\t3\nThreads:\t1\n");
	put("77/cmdline", "java\0-cp\0x\0@opts\0ignored", 25);
	put_str("77/cwd/opts", "# a comment\n-Xmx1g -cp \"a b\"\n'com.acme.Arg'\n");
	snprintf(path, sizeof(path), "%s/77/exe", dir);
	ok(symlink("/usr/bin/java", path) == 0, "a /proc of our own");
	is_int(0, procinfo_read(&p, dir, 77), "is read");
	ok(p.start_time == 123456 && p.ppid == 42 && p.state == 'S' && p.vsize == 7890000 && p.n_threads == 9 && p.uid == 1001 && p.nspid == 3,
	   "start time, parent, uid, pid in the innermost namespace");
	is_str("a) R b (c)", p.comm, "a comm with brackets and spaces");
	is_str("/usr/bin/java", p.exe, "the executable");
	is_str("java:com.acme.Arg", p.app, "the main class out of an argument file");
}

static void test_bad_proc(void)
{
	static const char *const bad[] = { "", "77", "77 (x", "77 (x) ", "77 (x) S", "77 (x) S 1 2 3", ") (", "77 (x) S a b c" };
	AUTO(procinfo_done) struct procinfo gone = { 0 };
	AUTO_FREE char *many = malloc(1 << 21);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct procinfo p = { 0 };
		put_str("78/stat", bad[i]);
		is_int(-EBADMSG, procinfo_read_stat(&p, dir, 78), "stat «%s»", bad[i]);
	}
	is_int(-ESRCH, procinfo_read(&gone, dir, 79), "no such process");
	ok(gone.exe && !gone.exe[0] && gone.app && !gone.app[0] && !gone.start_time, "has empty names");
	/* 2 MiB of arguments: the front is enough. */
	memset(many, 'x', 1 << 21);
	memcpy(many, "java\0App", 9);
	put_str("80/stat", stat_text);
	put("80/cmdline", many, 1 << 21);
	AUTO(procinfo_done) struct procinfo p = { 0 };
	is_int(0, procinfo_read(&p, dir, 80), "arguments beyond the cap");
	printf("# app %s\n", p.app);
}

static void test_self(void)
{
	AUTO(procinfo_done) struct procinfo p = { 0 };
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[MAX(n, (ssize_t)0)] = '\0';
	is_int(0, procinfo_read(&p, "/proc", getpid()), "this very process");
	ok(p.start_time && p.vsize && p.ppid == getppid() && p.uid == getuid(), "its numbers");
	is_str(exe, p.exe, "its executable");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_names();
	test_fake_proc();
	test_bad_proc();
	test_self();
	io_remove_tree(AT_FDCWD, dir, NULL, NULL);
	return done_testing();
}
