import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.stream.Collectors;
import org.knowm.xchange.Exchange;
import org.knowm.xchange.ExchangeFactory;
import org.knowm.xchange.ExchangeSpecification;
import org.knowm.xchange.binance.dto.trade.BinanceCancelOrderParams;
import org.knowm.xchange.currency.CurrencyPair;
import org.knowm.xchange.dto.Order.OrderType;
import org.knowm.xchange.dto.trade.LimitOrder;
import org.knowm.xchange.service.trade.TradeService;

/**
 * XChange: an order is placed, seen and cancelled. Arguments: class, address, key, secret, base, quote; what the
 * exchange's keys have besides as -Duser= and -Dpassphrase=. With -Dconstructed=true the order is not built but constructed.
 */
public final class UseXchange {
  private UseXchange() {}

  public static void main(String[] words) throws Exception {
    ExchangeSpecification asked =
        new ExchangeSpecification(Class.forName(words[0]).asSubclass(Exchange.class));
    asked.setSslUri(words[1]);
    asked.setPlainTextUri(words[1]);
    asked.setApiKey(words[2]);
    asked.setSecretKey(words[3]);
    asked.setUserName(System.getProperty("user"));
    asked.setExchangeSpecificParametersItem("passphrase", System.getProperty("passphrase"));
    Exchange exchange = ExchangeFactory.INSTANCE.createExchange(asked);
    CurrencyPair pair = new CurrencyPair(words[4], words[5]);
    BigDecimal bid = exchange.getMarketDataService().getOrderBook(pair).getBids().get(0).getLimitPrice();
    BigDecimal price = bid.divide(BigDecimal.valueOf(2), 0, RoundingMode.DOWN);
    exchange.getAccountService().getAccountInfo();
    TradeService trade = exchange.getTradeService();
    BigDecimal amount = new BigDecimal("0.01");
    LimitOrder order =
        Boolean.getBoolean("constructed")
            ? new LimitOrder(OrderType.BID, amount, pair, null, null, price)
            : new LimitOrder.Builder(OrderType.BID, pair).originalAmount(amount).limitPrice(price).build();
    String placed = trade.placeLimitOrder(order);
    String before = ids(trade, pair);
    if (words[0].contains("Binance")) {
      trade.cancelOrder(new BinanceCancelOrderParams(pair, placed));
    } else {
      trade.cancelOrder(placed);
    }
    System.out.println(
        "{\"placed\": \"" + placed + "\", \"before\": " + before + ", \"after\": " + ids(trade, pair) + "}");
  }

  private static String ids(TradeService trade, CurrencyPair pair) throws Exception {
    List<LimitOrder> orders = trade.getOpenOrders().getOpenOrders();
    return orders.stream()
        .map(order -> "\"" + order.getId() + "\"")
        .collect(Collectors.joining(", ", "[", "]"));
  }
}
