// SPDX-License-Identifier: GPL-3.0-or-later
import java.util.function.IntUnaryOperator;

/** Churn CLASSES: loads the same class again and again, has it compiled, and lets it be unloaded. */
public final class Churn {
	public static final class Work implements IntUnaryOperator {
		public int applyAsInt(int n) {
			int s = 0;
			for (int i = 0; i < n; i++)
				s = s * 31 + step(i);
			return s;
		}
		static int step(int i) {
			return i ^ i >>> 3;
		}
	}

	static final class Loader extends ClassLoader {
		Class<?> define(byte[] b) {
			return defineClass("Churn$Work", b, 0, b.length);
		}
	}

	public static void main(String[] args) throws Exception {
		byte[] code;
		try (var in = Churn.class.getResourceAsStream("Churn$Work.class")) {
			code = in.readAllBytes();
		}
		int n = Integer.parseInt(args[0]), s = 0;
		for (int i = 0; i < n; i++) {
			IntUnaryOperator w = (IntUnaryOperator) new Loader().define(code).getDeclaredConstructor().newInstance();
			for (int k = 0; k < 3000; k++)
				s += w.applyAsInt(20);
			w = null;
			if (i % 20 == 19)
				System.gc();
		}
		System.gc();
		Thread.sleep(300); // unload events come late
		System.out.println(s == 0 ? "zero" : "churned");
	}
}
