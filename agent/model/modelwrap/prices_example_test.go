// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

func Example() {
	table := model.FirstPrice(model.Prices{"ollama/*": {}}, modelwrap.ListPrices())
	price, ok := table.Price("anthropic", "claude-3-5-haiku-20241022", time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC))
	cost := price.Of(model.Usage{InputTokens: 100_000, CacheReadTokens: 50_000, OutputTokens: 2_000})
	fmt.Printf("%t %.3f %s, as of %s\n", ok, cost, modelwrap.PricesCurrency, modelwrap.PricesDate)
	// Output: true 0.052 USD, as of 2026-11-03
}
