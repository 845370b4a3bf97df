#!/usr/bin/env bash
# Kafka 4.3.1 (KRaft): a node that starts again may forget all SCRAM users, because one of them was deleted before.
#
# A starting node reads its metadata log into one difference to nothing: users that were deleted, and those that are
# there. It applies the difference in the order of a hash map. If a deletion comes first, it finds no user left and
# drops the (still empty) map of that mechanism; all users that come after it are put into the dropped map. Then no
# client can log in, the node's owner included, although their records are in the log; whether it happens depends on
# the names. Seen first as a killed broker that came back and refused every login.
# Output seen: "former deleted, kept of 2: 2", "carol deleted, kept of 2: 0".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/main/java"
cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>users</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-metadata</artifactId><version>4.3.1</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>4.3.1</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-server-common</artifactId><version>4.3.1</version></dependency>
  </dependencies>
</project>
XML
cat >"$folder/src/main/java/Users.java" <<'JAVA'
import org.apache.kafka.common.metadata.RemoveUserScramCredentialRecord;
import org.apache.kafka.common.metadata.UserScramCredentialRecord;
import org.apache.kafka.image.ScramDelta;
import org.apache.kafka.image.ScramImage;
import org.apache.kafka.clients.admin.ScramMechanism;

public class Users {
    /** How many of two users a starting node knows if `deleted` came and went before them. */
    static int kept(String deleted) {
        ScramDelta difference = new ScramDelta(ScramImage.EMPTY);
        difference.replay(user(deleted));
        difference.replay(new RemoveUserScramCredentialRecord().setName(deleted)
                .setMechanism(ScramMechanism.SCRAM_SHA_256.type()));
        difference.replay(user("alice"));
        difference.replay(user("reader"));
        return difference.apply().mechanisms().values().stream().mapToInt(users -> users.size()).sum();
    }

    static UserScramCredentialRecord user(String name) {
        return new UserScramCredentialRecord().setName(name).setMechanism(ScramMechanism.SCRAM_SHA_256.type())
                .setSalt(new byte[16]).setStoredKey(new byte[32]).setServerKey(new byte[32]).setIterations(4096);
    }

    public static void main(String[] words) {
        for (String deleted : new String[] {"former", "carol"}) {
            System.out.println(deleted + " deleted, kept of 2: " + kept(deleted));
        }
    }
}
JAVA
(cd "$folder" && mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null)
java -cp "$folder/target/classes:$(cat "$folder/classpath")" Users 2>/dev/null | tee "$folder/out"
grep -qx 'former deleted, kept of 2: 2' "$folder/out"
grep -qx 'carol deleted, kept of 2: 0' "$folder/out"
