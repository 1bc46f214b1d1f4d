/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fake-jvm LIBJVM HOW [N]: the VM's side of the attach protocol, badly played. LIBJVM is a file of that name, mapped so that we
 * look like a VM. Says "ready", listens on /tmp/.java_pid<PID> once SIGQUIT came, and deals with who connects as HOW says:
 *   answer TEXT N   the first N bytes of TEXT (with \n), then closes
 *   never           reads and keeps silent
 *   garbage         bytes of all kinds, then closes
 *   nothing         zeros, then closes
 *   endless         bytes without end
 *   trickle         a byte every 20 ms without end
 *   half N          closes when N bytes of the request are read
 *   kill|stop N     a signal to itself when N bytes of the request are read
 *   late-kill N     the same once N bytes of an answer are written
 *   deaf            listens and never accepts
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/util.h"

#define GOOD "0\nreturn code: 0\n"

static struct sockaddr_un sa = { .sun_family = AF_UNIX };

static void on_term(int sig)
{
	unlink(sa.sun_path);
	_exit(0);
}

static int listener(void)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "/tmp/.java_pid%d", getpid());
	unlink(sa.sun_path);
	return s >= 0 && bind(s, (struct sockaddr *)&sa, sizeof(sa)) == 0 && chmod(sa.sun_path, 0600) == 0 && listen(s, 5) == 0 ? s : -1;
}

/* The request is "1\0" and four words, each with its NUL; as much of it as is asked for. */
static void read_request(int c, long most)
{
	int words = 0;
	char b;

	for (long n = 0; n < most && words < 5 && read(c, &b, 1) == 1; n++)
		words += !b;
}

/* \n in an argument of the command line. */
static size_t unescape(const char *in, char *out, size_t room)
{
	size_t n = 0;

	for (; *in && n < room; in++)
		out[n++] = in[0] == '\\' && in[1] == 'n' ? (in++, '\n') : *in;
	return n;
}

static void put(int c, const char *bytes, size_t n)
{
	while (n) {
		ssize_t k = write(c, bytes, n);
		if (k <= 0)
			return;
		bytes += k;
		n -= (size_t)k;
	}
}

static void deal(int c, char **argv)
{
	const char *how = argv[0];
	long n = argv[1] ? strtol(argv[1], NULL, 10) : 0;
	char text[4096];

	if (!strcmp(how, "half")) {
		read_request(c, n);
	} else if (!strcmp(how, "kill") || !strcmp(how, "stop")) {
		read_request(c, n);
		kill(getpid(), how[0] == 'k' ? SIGKILL : SIGSTOP);
	} else if (!strcmp(how, "late-kill")) {
		read_request(c, 1 << 20);
		put(c, GOOD, (size_t)n);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(how, "answer")) {
		size_t len = unescape(argv[1], text, sizeof(text));
		read_request(c, 1 << 20);
		put(c, text, MIN(len, (size_t)strtoul(argv[2], NULL, 10)));
	} else if (!strcmp(how, "never")) {
		read_request(c, 1 << 20);
		for (;;)
			pause();
	} else {
		read_request(c, 1 << 20);
		for (unsigned int i = 0; i < sizeof(text); i++)
			text[i] = !strcmp(how, "garbage") ? (char)(i * 167 + 200) : !strcmp(how, "nothing") ? 0 : '0';
		if (!strcmp(how, "trickle"))
			for (; write(c, text, 1) == 1; usleep(20000))
				;
		do
			put(c, text, sizeof(text));
		while (!strcmp(how, "endless") && write(c, text, 1) == 1);
	}
}

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[1], "re") : NULL;
	sigset_t quit;
	int sig, s;

	if (!f || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 2;
	fclose(f);
	prctl(PR_SET_NAME, "VM Periodic Tas"); /* up, as far as our side can tell */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, on_term);
	signal(SIGQUIT, on_term); /* caught, as /proc/PID/status shows; it is waited for */
	sigemptyset(&quit);
	sigaddset(&quit, SIGQUIT);
	sigprocmask(SIG_BLOCK, &quit, NULL);
	puts("ready");
	fflush(stdout);
	if (sigwait(&quit, &sig) != 0 || (s = listener()) < 0)
		return 1;
	if (!strcmp(argv[2], "deaf"))
		for (;;)
			pause();
	for (;;) {
		int c = accept(s, NULL, NULL);
		if (c < 0)
			continue;
		deal(c, argv + 2);
		close(c);
	}
}
