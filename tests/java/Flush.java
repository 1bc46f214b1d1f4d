// SPDX-License-Identifier: GPL-3.0-or-later
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.function.IntUnaryOperator;

/**
 * Flush ROUNDS CALLS: in each round a class of another name, from a class loader of its own, is loaded, called that often,
 * compiled, and is thrown away; its code makes room for that of later ones. With a small code cache each address has many owners.
 */
public final class Flush {
	public static final class Wrk000 implements IntUnaryOperator {
		public int applyAsInt(int n) {
			int s = 0;
			for (int i = 0; i < n; i++)
				s = s * 31 + turn(i) + mix(s, i);
			return s;
		}
		static int turn(int i) {
			return i ^ i >>> 3;
		}
		static int mix(int s, int i) {
			int h = s + i;
			for (int k = 0; k < 40; k++)
				h = h * 0x5bd1e995 ^ h >>> 15 ^ k;
			return h;
		}
	}

	static final class Loader extends ClassLoader {
		Class<?> define(byte[] b) {
			return defineClass(null, b, 0, b.length);
		}
	}

	/** The class file with all that is called Wrk000 called otherwise. */
	static byte[] renamed(byte[] code, int n) {
		byte[] from = "Flush$Wrk000".getBytes(StandardCharsets.US_ASCII), to = "Flush$Wrk%03d".formatted(n % 1000).getBytes(StandardCharsets.US_ASCII);
		byte[] c = code.clone();
		for (int i = 0; i + from.length <= c.length; i++) {
			int k = 0;
			while (k < from.length && c[i + k] == from[k])
				k++;
			if (k == from.length)
				System.arraycopy(to, 0, c, i, to.length);
		}
		return c;
	}

	public static void main(String[] args) throws Exception {
		byte[] code;
		try (var in = Flush.class.getResourceAsStream("Flush$Wrk000.class")) {
			code = in.readAllBytes();
		}
		int rounds = Integer.parseInt(args[0]), calls = Integer.parseInt(args[1]), s = 0;
		var kept = new ArrayDeque<IntUnaryOperator>();
		for (int i = 0; i < rounds; i++) {
			var w = (IntUnaryOperator) new Loader().define(renamed(code, i)).getDeclaredConstructor().newInstance();
			for (int k = 0; k < calls; k++)
				s += w.applyAsInt(200);
			// Some live on for a while and run again: code that stays beside code that goes.
			kept.add(w);
			if (kept.size() > 12)
				kept.remove();
			for (var k : kept)
				s += k.applyAsInt(300);
			if (i % 8 == 7)
				System.gc();
		}
		System.out.println(s == 0 ? "zero" : "churned");
	}
}
