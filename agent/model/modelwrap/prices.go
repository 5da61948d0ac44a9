// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	_ "embed"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

const (
	// PricesSource names the source of the data.
	PricesSource = "genai-prices 0.2.3"
	// PricesDate is the last day on which prices were checked, according to the data.
	PricesDate = "2026-11-03"
	// PricesCurrency is the currency of all prices.
	PricesCurrency = "USD"
)

//go:embed prices.jsonl
var data []byte

// ListPrices returns the table of this package. It ignores the case of names. The data is read at
// the first lookup, which takes about 30 milliseconds.
func ListPrices() model.PriceTable { return pricesTable{} }

type pricesTable struct{}

var providers = sync.OnceValue(func() []provider {
	list, err := parse(data)
	if err != nil {
		panic("modelwrap: " + err.Error()) // a test reads the data
	}
	return list
})

// Price implements [model.PriceTable].
func (pricesTable) Price(providerName, name string, at time.Time) (model.Price, bool) {
	list := providers()
	p := find(list, strings.ToLower(strings.TrimSpace(providerName)))
	if p == nil {
		return model.Price{}, false
	}
	name = strings.ToLower(name)
	prices := p.models(list, name)
	if prices == nil {
		if dashed := dashDates(name); dashed != name {
			prices = p.models(list, dashed)
		}
	}
	if prices == nil {
		return model.Price{}, false
	}
	return pick(prices, at.UTC())
}

// provider holds the models of a provider, in the order in which they are tried.
type provider struct {
	name     string
	match    *clause
	fallback []string // providers whose models it also has
	list     []entry
}

// entry holds the prices of matching models.
type entry struct {
	match  clause
	prices []conditional
}

// conditional is a price that applies always, from a certain day on, or between two times of each
// day.
type conditional struct {
	model.Price

	From    string    `json:"from"`
	Daily   [2]string `json:"daily"`
	Unknown bool      `json:"unknown"`
}

// find returns the provider with the name, or else the first whose rule matches it.
func find(list []provider, name string) *provider {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	for i := range list {
		if list[i].match != nil && list[i].match.fits(name) {
			return &list[i]
		}
	}
	return nil
}

// models returns the prices of the first model whose rule matches the name, or nil.
func (p *provider) models(all []provider, name string) []conditional {
	for i := range p.list {
		if p.list[i].match.fits(name) {
			return p.list[i].prices
		}
	}
	for _, other := range p.fallback {
		for i := range all {
			if all[i].name == other {
				if prices := all[i].models(nil, name); prices != nil {
					return prices
				}
			}
		}
	}
	return nil
}

// pick returns the last price that applies at a time, in UTC, or else the first.
func pick(prices []conditional, at time.Time) (model.Price, bool) {
	chosen := &prices[0]
	for i := len(prices) - 1; i >= 0; i-- {
		if prices[i].holds(at) {
			chosen = &prices[i]
			break
		}
	}
	return chosen.Price, !chosen.Unknown
}

func (c *conditional) holds(at time.Time) bool {
	if c.From != "" {
		return at.Format(time.DateOnly) >= c.From
	}
	begin, end := c.Daily[0], c.Daily[1]
	if begin == "" {
		return true
	}
	now := at.Format("15:04:05.000000000")
	if end < begin { // past midnight
		return now >= begin || now < end
	}
	return begin <= now && now < end
}
