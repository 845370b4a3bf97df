#!/usr/bin/env bash
# Siddhi 5.1.30: a pattern that is `a and b` alone loses its match if the row of `a` comes last.
#
# `and` in a pattern says that both rows came, in any order. Siddhi looks only at the flag of the last part, so "a buy
# and a sell" is found after buy, sell and not after sell, buy. Nothing is logged.
# Output seen: "buy, sell -> 1", "sell, buy -> 0".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/main/java"
cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>both</artifactId><version>1</version>
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
cat >"$folder/src/main/java/Both.java" <<'JAVA'
import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.output.StreamCallback;

public class Both {
    static final String APP = "define stream Buys (price double); define stream Sells (price double);"
            + "from e1=Buys and e2=Sells select e1.price as buy, e2.price as sell insert into Out;";

    static int matches(SiddhiManager manager, String... streams) throws Exception {
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(APP);
        int[] found = new int[1];
        app.addCallback("Out", new StreamCallback() {
            @Override
            public void receive(Event[] rows) {
                found[0] += rows.length;
            }
        });
        app.start();
        for (String stream : streams) {
            app.getInputHandler(stream).send(new Object[] {100.0});
        }
        app.shutdown();
        return found[0];
    }

    public static void main(String[] words) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        System.out.println("buy, sell -> " + matches(manager, "Buys", "Sells"));
        System.out.println("sell, buy -> " + matches(manager, "Sells", "Buys"));
        manager.shutdown();
        System.exit(0);
    }
}
JAVA
(cd "$folder" && mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null)
java -cp "$folder/target/classes:$(cat "$folder/classpath")" Both 2>/dev/null | tee "$folder/out"
grep -qx 'buy, sell -> 1' "$folder/out"
grep -qx 'sell, buy -> 0' "$folder/out"
