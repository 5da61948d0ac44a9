// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

var day = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

// The file contains results of genai-prices itself. See internal/interop/python/prices.py, which compares all models.
func TestPricesAgreeWithGenAIPrices(t *testing.T) {
	f, err := os.Open("testdata/golden.jsonl")
	require.NoError(t, err)
	defer f.Close()
	n, priced, table := 0, 0, modelwrap.ListPrices()
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var want struct {
			Provider, Model string
			At              time.Time
			Usage           model.Usage
			Cost            *float64
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &want))
		price, ok := table.Price(want.Provider, want.Model, want.At)
		require.Equal(t, want.Cost != nil, ok, "%s", lines.Bytes())
		if ok {
			require.InEpsilon(t, 1+*want.Cost, 1+price.Of(want.Usage), 1e-12, "%s", lines.Bytes())
			priced++
		}
	}
	require.Equal(t, 400, n)
	require.Greater(t, priced, 250)
}

func TestPricesNameTheirSource(t *testing.T) {
	data, err := os.ReadFile("prices.jsonl")
	require.NoError(t, err)
	head, _, _ := bytes.Cut(data, []byte("\n"))
	var origin struct{ Source, Checked string }
	require.NoError(t, json.Unmarshal(head, &origin))
	require.Equal(t, modelwrap.PricesSource, origin.Source)
	require.Equal(t, modelwrap.PricesDate, origin.Checked)
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	require.Contains(t, string(doc), modelwrap.PricesSource)
	require.Contains(t, string(doc), modelwrap.PricesDate)
	license, err := os.ReadFile("LICENSE.genai-prices")
	require.NoError(t, err)
	require.Contains(t, string(license), "MIT License")
}

func TestOwnPricesPrecedeTheTable(t *testing.T) {
	table := model.FirstPrice(model.Prices{"openai/gpt-4o": {Input: 100}, "ollama/*": {}}, modelwrap.ListPrices())
	own, ok := table.Price("openai", "gpt-4o", day)
	require.True(t, ok)
	require.Equal(t, model.Price{Input: 100}, own)
	_, ok = table.Price("ollama", "llama3", day)
	require.True(t, ok)
	other, ok := table.Price("openai", "gpt-4o-mini", day)
	require.True(t, ok)
	require.Equal(t, model.Price{Input: 0.15, Output: 0.6, CachedInput: 0.075}, other)
}

func TestPriceDependsOnTheTime(t *testing.T) {
	at := func(when string) float64 {
		moment, err := time.Parse(time.RFC3339, when)
		require.NoError(t, err)
		price, ok := modelwrap.ListPrices().Price("deepseek", "deepseek-chat", moment)
		require.True(t, ok)
		return price.Input
	}
	require.InDelta(t, 0.27, at("2025-03-01T00:30:00Z"), 0)
	require.InDelta(t, 0.135, at("2025-03-01T00:29:59.999Z"), 0)
	require.InDelta(t, 0.135, at("2025-03-01T16:30:00Z"), 0)
	require.InDelta(t, 0.27, at("2025-03-01T01:30:00+01:00"), 0)
}

func TestUnknownModelsHaveNoPrice(t *testing.T) {
	for _, name := range [][2]string{{"ollama", "llama3"}, {"openai", "no-such-model"}, {"groq", "whisper-large-v3"}, {"", ""}, {"openai", ""}} {
		_, ok := modelwrap.ListPrices().Price(name[0], name[1], day)
		require.False(t, ok, "%v", name)
	}
}

func BenchmarkPrice(b *testing.B) {
	for b.Loop() {
		if _, ok := modelwrap.ListPrices().Price("openrouter", "z-ai/glm-4.6", day); !ok {
			b.Fatal("unknown")
		}
	}
}
