// go-binance: an order is placed, seen and cancelled.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	binance "github.com/adshao/go-binance/v2"
)

type keys struct {
	Key    string `json:"apiKey"`
	Secret string `json:"secret"`
	URLs   struct {
		API map[string]json.RawMessage `json:"api"`
	} `json:"urls"`
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	var settings map[string]keys
	if err := json.Unmarshal(must(os.ReadFile(os.Args[1])), &settings); err != nil {
		panic(err)
	}
	account := settings["binance"]
	var url string
	_ = json.Unmarshal(account.URLs.API["public"], &url)
	client := binance.NewClient(account.Key, account.Secret)
	client.BaseURL = strings.TrimSuffix(url, "/api/v3")
	ctx := context.Background()

	ids := func() []string {
		found := []string{}
		for _, order := range must(client.NewListOpenOrdersService().Symbol("BTCUSDT").Do(ctx)) {
			found = append(found, fmt.Sprint(order.OrderID))
		}
		return found
	}

	average := must(client.NewAveragePriceService().Symbol("BTCUSDT").Do(ctx))
	rolling := must(client.NewListSymbolTickerService().Symbol("BTCUSDT").WindowSize("1h").Do(ctx))
	var price float64
	_, _ = fmt.Sscan(average.Price, &price)
	order := must(client.NewCreateOrderService().Symbol("BTCUSDT").Side(binance.SideTypeBuy).
		Type(binance.OrderTypeLimit).TimeInForce(binance.TimeInForceTypeGTC).
		Quantity("0.01").Price(fmt.Sprint(int(price / 2))).Do(ctx))
	before := ids()
	must(client.NewCancelOrderService().Symbol("BTCUSDT").OrderID(order.OrderID).Do(ctx))
	said := map[string]any{
		"placed": fmt.Sprint(order.OrderID), "before": before, "after": ids(), "tickers": len(rolling),
	}
	fmt.Println(string(must(json.Marshal(said))))
}
