import com.sun.management.OperatingSystemMXBean;
import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * CPU time of Siddhi over the rows of `benchmarks.apps`, which starts it: `SiddhiQueries ROWS ROUNDS APP…`.
 *
 * <p>A line of ROWS is symbol, price and time in milliseconds; each APP is a file. For each app it prints the rows that
 * came out, the nanoseconds of CPU that the thread that sends took in the best round, and those of the whole process in
 * all rounds: compiling and collecting garbage included. Reading rows and starting apps are not counted.
 */
public class SiddhiQueries {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] arguments) throws Exception {
        List<String> lines = Files.readAllLines(Path.of(arguments[0]));
        int rounds = Integer.parseInt(arguments[1]);
        for (int app = 2; app < arguments.length; app++) {
            String text = Files.readString(Path.of(arguments[app]));
            long rows = 0;
            long ofThread = Long.MAX_VALUE;
            long ofProcess = 0;
            for (int round = 0; round < rounds; round++) {
                long[] taken = run(text, lines);
                rows = taken[0];
                ofThread = Math.min(ofThread, taken[1]);
                ofProcess += taken[2];
            }
            System.out.println(rows + " " + ofThread + " " + ofProcess);
        }
        System.exit(0);
    }

    /** Rows that came out, and nanoseconds of CPU of this thread and of the process. */
    private static long[] run(String text, List<String> lines) throws Exception {
        // of each round its own: Siddhi keeps the arrays
        List<Object[]> rows = new ArrayList<>();
        for (String line : lines) {
            String[] parts = line.split(",");
            rows.add(new Object[] {parts[0], Double.parseDouble(parts[1]), Long.parseLong(parts[2])});
        }
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(text);
        long[] count = new long[1];
        app.addCallback("Out", new StreamCallback() {
            @Override
            public void receive(Event[] events) {
                count[0] += events.length;
            }
        });
        app.start();
        InputHandler handler = app.getInputHandler("Trades");
        long thread = THREADS.getCurrentThreadCpuTime();
        long process = PROCESS.getProcessCpuTime();
        for (Object[] row : rows) {
            handler.send((Long) row[2], row);
        }
        thread = THREADS.getCurrentThreadCpuTime() - thread;
        process = PROCESS.getProcessCpuTime() - process;
        app.shutdown();
        manager.shutdown();
        return new long[] {count[0], thread, process};
    }
}
