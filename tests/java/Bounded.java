// SPDX-License-Identifier: GPL-3.0-or-later
// Bounded SECONDS MAIN ARGS...: runs MAIN again and again and ends with status 0 when the time is over.
public final class Bounded {
	public static void main(String[] args) throws Exception {
		long millis = (long) (Double.parseDouble(args[0]) * 1000);
		Thread timer = new Thread(() -> {
			try {
				Thread.sleep(millis);
			} catch (InterruptedException e) {
				return;
			}
			Runtime.getRuntime().halt(0);
		}, "timer");
		timer.setDaemon(true);
		timer.start();
		var main = Class.forName(args[1]).getMethod("main", String[].class);
		String[] rest = java.util.Arrays.copyOfRange(args, 2, args.length);
		for (;;)
			main.invoke(null, (Object) rest.clone());
	}
}
