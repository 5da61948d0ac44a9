package modelwrap

import (
	"regexp"

	"github.com/ponte-go/ponte/agent/model"
)

// Price is what a million tokens cost, in a currency that is up to the table.
type Price struct {
	// Input and Output are the prices of what the model reads and writes.
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CachedInput is the price of input that came from the provider's prompt cache, CacheWrite that of input that was
	// written to it. 0 means that it costs what other input does.
	CachedInput float64 `json:"cached_input,omitzero"`
	CacheWrite  float64 `json:"cache_write,omitzero"`
}

// Of returns what tokens cost.
func (p Price) Of(u model.Usage) float64 {
	read, write := p.CachedInput, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	plain := max(u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens, 0)
	const million = 1e6
	return (float64(plain)*p.Input + float64(u.CacheReadTokens)*read + float64(u.CacheWriteTokens)*write + float64(u.OutputTokens)*p.Output) / million
}

// PriceTable knows what models cost. It is asked for each response, by several goroutines at the same time, so a table may
// change while it is in use. [Prices] is one.
type PriceTable interface {
	// Price returns the price of a model, by the names that a response has, or false if it is not known.
	Price(provider, name string) (Price, bool)
}

// Prices is a [PriceTable] that can be written in Go or read from JSON:
//
//	{"openai/gpt-5": {"input": 1, "cached_input": 0.1, "output": 8}, "ollama/*": {"input": 0, "output": 0}}
//
// A key is a provider and a model, the model alone, or a provider and "*" for all models of it; that is also the order in
// which they are looked up. A date at the end of a model's name, as in "gpt-5-2025-08-07", is left out if the full name is
// not in the table. It must not be changed while it is in use.
type Prices map[string]Price

// Price implements [PriceTable].
func (p Prices) Price(provider, name string) (Price, bool) {
	if price, ok := p.exactly(provider, name); ok {
		return price, true
	}
	if at := dated.FindStringIndex(name); at != nil {
		if price, ok := p.exactly(provider, name[:at[0]]); ok {
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

// dated matches how providers name the versions of a model.
var dated = regexp.MustCompile(`[-@]20\d\d-?[01]\d-?[0-3]\d$`)
