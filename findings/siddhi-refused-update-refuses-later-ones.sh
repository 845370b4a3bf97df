#!/usr/bin/env bash
# Siddhi 5.1.30: once an update of a table was refused for a primary key that two rows would have had, a later update to
# that free key is refused as well.
#
# "Rows whose n is at most 2 get the key q" is refused as a whole, as it has to be: two rows would be q. Only an error is
# logged. After that "the row whose n is 1 gets the key q" is refused too, though nothing has the key q, and it works in
# the same table where the first update did not come before it.
# Output seen: "alone -> [b, q]", "after a refused one -> [a, b]" (the keys in the table).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/main/java"
cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>refused</artifactId><version>1</version>
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
cat >"$folder/src/main/java/Refused.java" <<'JAVA'
import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import java.util.TreeSet;

public class Refused {
    static final String APP = "define stream Rows (k string, n int); define stream Changes (k string, most int);"
            + "@PrimaryKey('k') define table T (k string, n int);"
            + "from Rows insert into T;"
            + "from Changes select k, most update T set T.k = k on T.n <= most;";

    static TreeSet<String> keys(SiddhiManager manager, int... most) throws Exception {
        SiddhiAppRuntime app = manager.createSiddhiAppRuntime(APP);
        app.start();
        app.getInputHandler("Rows").send(new Object[] {"a", 1});
        app.getInputHandler("Rows").send(new Object[] {"b", 2});
        for (int one : most) {
            app.getInputHandler("Changes").send(new Object[] {"q", one});
        }
        TreeSet<String> keys = new TreeSet<>();
        for (Event row : app.query("from T select k")) {
            keys.add((String) row.getData(0));
        }
        app.shutdown();
        return keys;
    }

    public static void main(String[] words) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        System.out.println("alone -> " + keys(manager, 1));
        System.out.println("after a refused one -> " + keys(manager, 2, 1));
        manager.shutdown();
        System.exit(0);
    }
}
JAVA
(cd "$folder" && mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null)
java -cp "$folder/target/classes:$(cat "$folder/classpath")" Refused 2>/dev/null | grep -- '->' | tee "$folder/out"
grep -qx 'alone -> \[b, q\]' "$folder/out"
grep -qx 'after a refused one -> \[a, b\]' "$folder/out"
