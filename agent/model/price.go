// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Price holds the prices of a model. The table determines the currency. Token prices are per
// million tokens.
type Price struct {
	// Input and Output are the prices of input and output tokens.
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CachedInput is the price of input read from the provider's prompt cache, CacheWrite of input
	// written to it. 0 means the price of other input.
	CachedInput float64 `json:"cached_input,omitzero"`
	CacheWrite  float64 `json:"cache_write,omitzero"`
	// Reasoning is the price of reasoning output. 0 means the price of other output.
	Reasoning float64 `json:"reasoning,omitzero"`
	// Request is added once per request.
	Request float64 `json:"request,omitzero"`
	// Tiers holds the prices of long requests, in ascending order of Above.
	Tiers []PriceTier `json:"tiers,omitzero"`
}

// PriceTier holds the prices of all tokens of a request with more than Above input tokens,
// including those up to Above. Its fields replace all fields of [Price].
type PriceTier struct {
	// Above is a number of input tokens. The tier applies to requests with more.
	Above       int64   `json:"above"`
	Input       float64 `json:"input"`
	Output      float64 `json:"output"`
	CachedInput float64 `json:"cached_input,omitzero"`
	CacheWrite  float64 `json:"cache_write,omitzero"`
	Reasoning   float64 `json:"reasoning,omitzero"`
}

// Free reports whether all prices are zero.
func (p Price) Free() bool {
	return p.Input == 0 && p.Output == 0 && p.CachedInput == 0 && p.CacheWrite == 0 && p.Reasoning == 0 && p.Request == 0 &&
		!slices.ContainsFunc(p.Tiers, func(t PriceTier) bool { return t != PriceTier{Above: t.Above} })
}

// Of returns the cost of one request with the given usage.
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

// Reasons why the cost of a response is unknown.
var (
	// ErrNoPrice means that the table has no price for the model.
	ErrNoPrice = errors.New("no price known for the model")
	// ErrNoUsage means that the provider did not report the number of tokens used.
	ErrNoUsage = errors.New("the provider reported no usage")
)

// PriceTable looks up the prices of models. It must be safe for concurrent use. [Prices] is a
// PriceTable, package agent/model/modelwrap has another, and [FirstPrice] combines several.
type PriceTable interface {
	// Price returns the price of a model for a request made at the given time. Provider and name
	// come from the response. It returns false if the price is unknown.
	Price(provider, name string, at time.Time) (Price, bool)
}

// FirstPrice returns a table that looks in several tables, in order, and returns the first price
// found. For example, put your own prices before a package's. Nil tables are skipped.
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
// A key is a provider and a model, a model alone, or a provider and "*" for all its models. Keys
// are looked up in that order. If the full name of a model is not in the table, a date at its end
// is ignored, as in "gpt-5-2025-08-07". The time is not used. A price that is negative or not a
// finite number counts as unknown: it would lower what others cost. Prices must not be changed
// while in use.
type Prices map[string]Price

// Price implements [PriceTable].
func (p Prices) Price(provider, name string, _ time.Time) (Price, bool) {
	if price, ok := p.exactly(provider, name); ok {
		return price.known()
	}
	if undated, ok := withoutDate(name); ok {
		if price, ok := p.exactly(provider, undated); ok {
			return price.known()
		}
	}
	if price, ok := p[provider+"/*"]; ok {
		return price.known()
	}
	return Price{}, false
}

// known returns the price, unless one of its numbers is none.
func (p Price) known() (Price, bool) {
	ok := areNumbers(p.Input, p.Output, p.CachedInput, p.CacheWrite, p.Reasoning, p.Request)
	for _, t := range p.Tiers {
		ok = ok && areNumbers(t.Input, t.Output, t.CachedInput, t.CacheWrite, t.Reasoning)
	}
	if !ok {
		return Price{}, false
	}
	return p, true
}

// areNumbers reports whether all are finite and not negative. A lookup must not allocate.
func areNumbers(all ...float64) bool {
	for _, n := range all {
		if !(n >= 0 && n <= math.MaxFloat64) {
			return false
		}
	}
	return true
}

func (p Prices) exactly(provider, name string) (Price, bool) {
	price, ok := p[provider+"/"+name]
	if !ok {
		price, ok = p[name]
	}
	return price, ok
}

// withoutDate removes the date that providers add to model names: -20250807, @20250807 or
// -2025-08-07.
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
