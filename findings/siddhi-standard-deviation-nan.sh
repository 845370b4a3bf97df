#!/usr/bin/env bash
# Siddhi 5.1.30: stdDev() over a window of equal prices can be NaN.
#
# Siddhi keeps the mean and a sum of squares and takes rows out again as they leave the window. Rounding leaves a variance a little
# below 0, whose root is NaN. A condition such as `deviation < 0.5` is then false, so a rule for quiet markets is
# silent in the quietest one. Output seen: "0.3 0.3 0.3 -> NaN" (the deviation of equal values is 0).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/main/java"
cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>deviation</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies>
    <dependency><groupId>io.siddhi</groupId><artifactId>siddhi-core</artifactId><version>5.1.30</version>
      <exclusions>
        <exclusion><groupId>org.wso2.orbit.com.lmax</groupId><artifactId>*</artifactId></exclusion>
        <exclusion><groupId>org.wso2.orbit.javax.xml.bind</groupId><artifactId>*</artifactId></exclusion>
        <exclusion><groupId>org.eclipse.osgi</groupId><artifactId>*</artifactId></exclusion>
      </exclusions></dependency>
    <dependency><groupId>com.lmax</groupId><artifactId>disruptor</artifactId><version>3.4.2</version></dependency>
    <dependency><groupId>org.osgi</groupId><artifactId>org.osgi.core</artifactId><version>6.0.0</version></dependency>
    <dependency><groupId>javax.xml.bind</groupId><artifactId>jaxb-api</artifactId><version>2.3.1</version></dependency>
  </dependencies>
</project>
XML
cat >"$folder/src/main/java/Deviation.java" <<'JAVA'
import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.query.output.callback.QueryCallback;

public class Deviation {
    static final String APP = "define stream Ticks (price double);"
            + "@info(name = 'q') from Ticks#window.length(3) select stdDev(price) as deviation insert into Out;";

    public static void main(String[] words) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(APP);
        Object[] last = new Object[1];
        app.addCallback("q", new QueryCallback() {
            @Override
            public void receive(long time, Event[] current, Event[] expired) {
                last[0] = current[current.length - 1].getData(0);
            }
        });
        app.start();
        for (int number = 1; number <= 2000; number++) {
            double before = number / 10.0;
            for (double price : new double[] {before, before * 7, before * 3, 0.3, 0.3, 0.3}) {
                app.getInputHandler("Ticks").send(new Object[] {price});
            }
            if (Double.isNaN((Double) last[0])) {
                System.out.println("after " + before + " " + before * 7 + " " + before * 3);
                System.out.println("0.3 0.3 0.3 -> " + last[0]);
                break;
            }
        }
        app.shutdown();
        manager.shutdown();
        System.exit(0);
    }
}
JAVA
(cd "$folder" && mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null)
java -cp "$folder/target/classes:$(cat "$folder/classpath")" Deviation 2>/dev/null | tee "$folder/out"
grep -qx '0.3 0.3 0.3 -> NaN' "$folder/out"
