#!/usr/bin/env bash
# XChange 5.2.2, bitstamp: whatever address the exchange is given, requests are signed for www.bitstamp.net.
#
# Bitstamp's signature covers the host. The specification's address (setSslUri) decides where the request goes, and nothing is
# refused or logged; but the signed host is a constant. So all private calls to another address fail there with a signature that does not
# fit, which looks like a wrong secret: a test server, a recording proxy, or a gateway that knows the exchange by another
# name. A proxy in between must send the constant as Host.
# Output seen: "signed for www.bitstamp.net: true", "signed for the address given: false".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/main/java"
cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>host</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies>
    <dependency><groupId>org.knowm.xchange</groupId><artifactId>xchange-bitstamp</artifactId><version>5.2.2</version></dependency>
  </dependencies>
</project>
XML
cat >"$folder/src/main/java/Host.java" <<'JAVA'
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicReference;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.knowm.xchange.Exchange;
import org.knowm.xchange.ExchangeFactory;
import org.knowm.xchange.ExchangeSpecification;
import org.knowm.xchange.bitstamp.BitstampExchange;

public class Host {
    static final String SECRET = "a secret";

    /** A request as it came: its parts before and behind the host in what Bitstamp's documents have signed. */
    record Came(String before, String behind, String signature) {
        boolean isSignedFor(String host) throws Exception {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(SECRET.getBytes(), "HmacSHA256"));
            return HexFormat.of().formatHex(mac.doFinal((before + host + behind).getBytes())).equalsIgnoreCase(signature);
        }
    }

    public static void main(String[] words) throws Exception {
        AtomicReference<Came> came = new AtomicReference<>();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            Headers headers = exchange.getRequestHeaders();
            String body = new String(exchange.getRequestBody().readAllBytes());
            String type = headers.containsKey("Content-Type") ? headers.getFirst("Content-Type") : "";
            String tail = headers.getFirst("X-Auth-Nonce") + headers.getFirst("X-Auth-Timestamp") + "v2" + body;
            came.set(new Came(
                    headers.getFirst("X-Auth") + exchange.getRequestMethod(),
                    exchange.getRequestURI() + (body.isEmpty() ? "" : type) + tail,
                    headers.getFirst("X-Auth-Signature")));
            exchange.sendResponseHeaders(200, 2);
            exchange.getResponseBody().write("{}".getBytes());
            exchange.close();
        });
        server.start();
        String host = "127.0.0.1:" + server.getAddress().getPort();
        ExchangeSpecification asked = new ExchangeSpecification(BitstampExchange.class);
        asked.setSslUri("http://" + host);
        asked.setUserName("1");
        asked.setApiKey("key");
        asked.setSecretKey(SECRET);
        asked.setShouldLoadRemoteMetaData(false);
        Exchange exchange = ExchangeFactory.INSTANCE.createExchange(asked);
        try {
            exchange.getAccountService().getAccountInfo();
        } catch (Exception anything) {
            // an empty answer is not what it expects; the request has come
        }
        System.out.println("signed for www.bitstamp.net: " + came.get().isSignedFor("www.bitstamp.net"));
        System.out.println("signed for the address given: " + came.get().isSignedFor(host));
        server.stop(0);
    }
}
JAVA
(cd "$folder" && mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null)
java -cp "$folder/target/classes:$(cat "$folder/classpath")" Host 2>"$folder/errors" | tee "$folder/out" || cat "$folder/errors" >&2
grep -qx 'signed for www.bitstamp.net: true' "$folder/out"
grep -qx 'signed for the address given: false' "$folder/out"
