// SPDX-License-Identifier: GPL-3.0-or-later
/** Spin FILE: busy until FILE is there; then compiles something new, and ends. Prints one line. */
public final class Spin {
	static int sink;
	static int work(int n) {
		int r = 0;
		for (int i = 0; i < n; i++)
			r += i * 31 ^ r >>> 3;
		return r;
	}
	static int after(int n) {
		int r = 1;
		for (int i = 0; i < n; i++)
			r = r * 17 + (i ^ r);
		return r;
	}
	public static void main(String[] args) throws Exception {
		java.io.File stop = new java.io.File(args[0]);
		long end = System.nanoTime() + 600_000_000_000L;
		while (!stop.exists() && System.nanoTime() < end) {
			for (int i = 0; i < 50; i++)
				sink += work(20000);
		}
		for (int i = 0; i < 20000; i++)
			sink += after(1000);
		Thread.sleep(200);
		System.out.println(sink == 0 ? "zero" : "spun");
	}
}
