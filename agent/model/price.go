// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"slices"
	"time"
)

// Price is what a model costs, in a currency that is up to the table. Prices of tokens are for a million of them.
type Price struct {
	// Input and Output are the prices of what the model reads and writes.
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CachedInput is the price of input that came from the provider's prompt cache, CacheWrite that of input that was
	// written to it. 0 means that it costs what other input does.
	CachedInput float64 `json:"cached_input,omitzero"`
	CacheWrite  float64 `json:"cache_write,omitzero"`
	// Reasoning is the price of output that was spent on thinking. 0 means that it costs what other output does.
	Reasoning float64 `json:"reasoning,omitzero"`
	// Request is added for each request, whatever its tokens.
	Request float64 `json:"request,omitzero"`
	// Tiers are the prices of long requests, in ascending order of Above.
	Tiers []PriceTier `json:"tiers,omitzero"`
}

// PriceTier is what all tokens of a request cost if it has more input tokens than Above, the first ones included. Its fields
// are those of [Price] otherwise, and take the place of all of these.
type PriceTier struct {
	// Above is a number of input tokens. The prices hold for requests with more.
	Above       int64   `json:"above"`
	Input       float64 `json:"input"`
	Output      float64 `json:"output"`
	CachedInput float64 `json:"cached_input,omitzero"`
	CacheWrite  float64 `json:"cache_write,omitzero"`
	Reasoning   float64 `json:"reasoning,omitzero"`
}

// Free reports whether nothing costs anything.
func (p Price) Free() bool {
	return p.Input == 0 && p.Output == 0 && p.CachedInput == 0 && p.CacheWrite == 0 && p.Reasoning == 0 && p.Request == 0 &&
		!slices.ContainsFunc(p.Tiers, func(t PriceTier) bool { return t != PriceTier{Above: t.Above} })
}

// Of returns what one request with this usage costs.
func (p Price) Of(u Usage) float64 {
	t := PriceTier{0, p.Input, p.Output, p.CachedInput, p.CacheWrite, p.Reasoning}
	for _, tier := range p.Tiers {
		if u.InputTokens > tier.Above {
			t = tier
		}
	}
	read, write, reasoning := t.CachedInput, t.CacheWrite, t.Reasoning
	if read == 0 {
		read = t.Input
	}
	if write == 0 {
		write = t.Input
	}
	if reasoning == 0 {
		reasoning = t.Output
	}
	input := max(u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens, 0)
	output := max(u.OutputTokens-u.ReasoningTokens, 0)
	thought := u.OutputTokens - output
	const million = 1e6
	return p.Request + (float64(input)*t.Input+float64(u.CacheReadTokens)*read+float64(u.CacheWriteTokens)*write+
		float64(output)*t.Output+float64(thought)*reasoning)/million
}

// Why the cost of a response is not known.
var (
	// ErrNoPrice means that the table has no price for the model.
	ErrNoPrice = errors.New("no price is known for the model")
	// ErrNoUsage means that the provider has not said how many tokens were used.
	ErrNoUsage = errors.New("the provider reported no usage")
)

// PriceTable knows what models cost. It is asked by several goroutines at the same time. [Prices] is one, package
// agent/model/prices has another, and [FirstPrice] puts them together.
type PriceTable interface {
	// Price returns the price of a model for a request made at a certain time, by the names that a response has, or false
	// if it is not known.
	Price(provider, name string, at time.Time) (Price, bool)
}

// FirstPrice returns a table that asks several tables in order and gives the first price that one of them knows: your own
// prices, then those of a package. Tables that are nil are left out.
func FirstPrice(tables ...PriceTable) PriceTable {
	return overlay(slices.DeleteFunc(slices.Clone(tables), func(t PriceTable) bool { return t == nil }))
}

type overlay []PriceTable

func (o overlay) Price(provider, name string, at time.Time) (Price, bool) {
	for _, table := range o {
		if price, ok := table.Price(provider, name, at); ok {
			return price, true
		}
	}
	return Price{}, false
}

// Prices is a [PriceTable] that can be written in Go or read from JSON:
//
//	{"openai/gpt-5": {"input": 1, "cached_input": 0.1, "output": 8}, "ollama/*": {"input": 0, "output": 0}}
//
// A key is a provider and a model, the model alone, or a provider and "*" for all models of it; that is also the order in
// which they are looked up. A date at the end of a model's name, as in "gpt-5-2025-08-07", is left out if the full name is
// not in the table. The time does not matter. It must not be changed while it is in use.
type Prices map[string]Price

// Price implements [PriceTable].
func (p Prices) Price(provider, name string, _ time.Time) (Price, bool) {
	if price, ok := p.exactly(provider, name); ok {
		return price, true
	}
	if undated, ok := withoutDate(name); ok {
		if price, ok := p.exactly(provider, undated); ok {
			return price, true
		}
	}
	price, ok := p[provider+"/*"]
	return price, ok
}

func (p Prices) exactly(provider, name string) (Price, bool) {
	price, ok := p[provider+"/"+name]
	if !ok {
		price, ok = p[name]
	}
	return price, ok
}

// withoutDate cuts off how providers name the versions of a model: -20250807, @20250807 or -2025-08-07.
func withoutDate(name string) (string, bool) {
	for _, layout := range []string{"20060102", "2006-01-02"} {
		at := len(name) - len(layout) - 1
		if at < 0 || name[at] != '-' && name[at] != '@' {
			continue
		}
		if when, err := time.Parse(layout, name[at+1:]); err == nil && when.Year() >= 2000 && when.Year() < 2100 {
			return name[:at], true
		}
	}
	return name, false
}
