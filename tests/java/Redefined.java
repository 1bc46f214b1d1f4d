// SPDX-License-Identifier: GPL-3.0-or-later
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Redefined CLASS-FILE: runs Work until it is compiled, redefines it from the file, and runs it again. */
public final class Redefined {
	static Instrumentation instrumentation;
	static long sink;

	public static void premain(String args, Instrumentation i) {
		instrumentation = i;
	}

	static void run() {
		for (int i = 0; i < 30000; i++)
			sink += Work.work(i);
	}

	public static void main(String[] args) throws Exception {
		run();
		instrumentation.redefineClasses(new ClassDefinition(Work.class, Files.readAllBytes(Paths.get(args[0]))));
		run();
		System.out.println("redefined");
	}
}

class Work {
	// The second version of the file has lines more here.
	static int work(int n) {
		int s = 0;
		for (int i = 0; i < 100; i++)
			s = s * 31 + (i ^ n);
		return s;
	}
}
