#!/usr/bin/env bash
# XChange 5.2.2: an order made by LimitOrder's constructor carries a random number as its owner's reference, one of the builder
# carries none; Coinbase's client sends the reference as client_oid.
#
# Both ways are public and look alike, and no argument of the constructor is a reference. Coinbase's documents want a UUID as
# client_oid, so the constructed order goes out with an id that nobody chose and that the exchange need not take. There are only
# 100,000,000 such numbers: after some ten thousand orders two are likely to have one number.
# Output seen: "constructed: client_oid 128611426", "built: no client_oid".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/src/main/java"
cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>references</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies>
    <dependency><groupId>org.knowm.xchange</groupId><artifactId>xchange-coinbasepro</artifactId><version>5.2.2</version></dependency>
  </dependencies>
</project>
XML
cat >"$folder/src/main/java/References.java" <<'JAVA'
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import org.knowm.xchange.coinbasepro.CoinbaseProAdapters;
import org.knowm.xchange.currency.CurrencyPair;
import org.knowm.xchange.dto.Order.OrderType;
import org.knowm.xchange.dto.trade.LimitOrder;

public class References {
    static final BigDecimal AMOUNT = new BigDecimal("0.01"), PRICE = new BigDecimal("60000");

    static String sent(LimitOrder order) {
        JsonNode body = new ObjectMapper().valueToTree(CoinbaseProAdapters.adaptCoinbaseProPlaceLimitOrder(order));
        return body.hasNonNull("client_oid") ? "client_oid " + body.get("client_oid").asText() : "no client_oid";
    }

    public static void main(String[] words) {
        LimitOrder constructed = new LimitOrder(OrderType.BID, AMOUNT, CurrencyPair.BTC_USD, null, null, PRICE);
        LimitOrder.Builder builder = new LimitOrder.Builder(OrderType.BID, CurrencyPair.BTC_USD);
        System.out.println("constructed: " + sent(constructed));
        System.out.println("built: " + sent(builder.originalAmount(AMOUNT).limitPrice(PRICE).build()));
    }
}
JAVA
(cd "$folder" && mvn --batch-mode --quiet compile dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null)
java -cp "$folder/target/classes:$(cat "$folder/classpath")" References 2>/dev/null | tee "$folder/out"
grep -qxE 'constructed: client_oid [0-9]+' "$folder/out"
grep -qx 'built: no client_oid' "$folder/out"
