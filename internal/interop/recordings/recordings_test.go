// SPDX-License-Identifier: Apache-2.0

//go:build unix

package recordings_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// TestAdaptersAgreeWithAnIndependentDecoder serves every recorded answer to the adapter of its protocol, and compares the message or
// error with what python/decode.py reads in the same answer.
func TestAdaptersAgreeWithAnIndependentDecoder(t *testing.T) {
	all := readRecordings(t)
	var c census
	for _, r := range all {
		c.count(r)
		if r.Protocol != "" {
			t.Run(r.String(), func(t *testing.T) { check(t, r) })
		}
	}
	t.Logf("\n%s", c.table())
	assert.Empty(t, c.skipped["unknown"], "recordings of a kind that python/recordings.py does not name")
	// The archives are pinned, so the figures of README.md hold until the pins change.
	assert.Equal(t, map[string]int{"chat": 492, "responses": 243, "anthropic": 177, "gemini": 25}, c.protocols)
	assert.Equal(t, 723, len(c.distinct), "different answers")
	assert.Equal(t, 368, c.streamed, "streamed answers")
	assert.Equal(t, 25, c.errors, "errors")
}

// check asks the adapter in the way in which the answer was recorded, and in the other way where the adapter takes either.
func check(t *testing.T, r *recording) {
	m := newModel(t, r, serve(t, r))
	ways := []bool{r.Streamed}
	if r.Protocol != "gemini" {
		ways = append(ways, !r.Streamed)
	}
	for _, streamed := range ways {
		var heard deltas
		var sink model.Sink
		if streamed {
			sink = heard.add
		}
		msg, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, sink)
		if r.Want.Error != nil {
			checkError(t, r, err)
			continue
		}
		require.NoError(t, err)
		checkMessage(t, r, m, msg)
		if streamed {
			heard.check(t, msg)
		}
	}
}

// newModel returns the adapter for a recording, which tries once only.
func newModel(t testing.TB, r *recording, url string) model.Model {
	const name = "the-model-that-was-asked-for"
	once := model.RetryPolicy{Attempts: 1}
	var m model.Model
	var err error
	switch r.Protocol {
	case "chat":
		m, err = openaimodel.New(openaimodel.Config{Name: name, BaseURL: url, APIKey: "a-key-for-tests", Provider: r.Provider, Retry: once})
	case "responses":
		m, err = openaimodel.NewResponses(openaimodel.Config{Name: name, BaseURL: url, APIKey: "a-key-for-tests", Provider: r.Provider, Retry: once})
	case "anthropic":
		m, err = anthropicmodel.New(anthropicmodel.Config{Name: name, BaseURL: url, APIKey: "a-key-for-tests", Provider: r.Provider, Retry: once})
	case "gemini":
		m, err = geminimodel.New(geminimodel.Config{Name: name, BaseURL: url, APIKey: "a-key-for-tests", Provider: r.Provider, Retry: once})
	default:
		t.Fatalf("no adapter for the protocol %q", r.Protocol)
	}
	require.NoError(t, err)
	return m
}

// urlQuery finds URLs with a query, which no error of an adapter prints: proxies take keys there.
var urlQuery = regexp.MustCompile(`(https?://[^\s?]*)\?\S*`)

func checkError(t *testing.T, r *recording, err error) {
	t.Helper()
	var api *model.APIError
	if !errors.As(err, &api) {
		t.Errorf("the answer is an error of status %d, and Generate returned %v", r.Want.Error.Status, err)
		return
	}
	assert.Equal(t, r.Want.Error.Status, api.Status)
	assert.Equal(t, urlQuery.ReplaceAllString(r.Want.Error.Message, "$1"), api.Message)
	assert.Equal(t, r.Want.Error.Code, api.Code)
	assert.Equal(t, r.Want.Error.Type, api.Type)
	assert.Equal(t, r.Provider, api.Provider)
	assert.False(t, api.Retryable)
}

// census counts recordings.
type census struct {
	rows      map[string]map[string]int // by package, then by what they are
	distinct  map[[32]byte]bool
	protocols map[string]int
	skipped   map[string]int
	streamed  int
	errors    int
}

func (c *census) count(r *recording) {
	if c.rows == nil {
		*c = census{map[string]map[string]int{}, map[[32]byte]bool{}, map[string]int{}, map[string]int{}, 0, 0}
	}
	if c.rows[r.Package] == nil {
		c.rows[r.Package] = map[string]int{}
	}
	if r.Protocol == "" {
		c.skipped[r.Skip]++
		c.rows[r.Package]["skipped: "+r.Skip]++
		return
	}
	c.distinct[sha256.Sum256(r.Body)] = true
	c.protocols[r.Protocol]++
	kind := "whole"
	switch {
	case r.Want.Error != nil:
		kind = "error"
		c.errors++
	case r.Streamed:
		kind = "streamed"
		c.streamed++
	}
	c.rows[r.Package][fmt.Sprintf("%s, %s, %s", r.Protocol, r.Provider, kind)]++
}

// table lists what was checked, and what was not.
func (c *census) table() string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	checked, skipped := 0, 0
	for _, name := range slices.Sorted(maps.Keys(c.rows)) {
		for _, kind := range slices.Sorted(maps.Keys(c.rows[name])) {
			n := c.rows[name][kind]
			fmt.Fprintf(w, "%s\t%s\t%d\n", name, kind, n)
			if strings.HasPrefix(kind, "skipped: ") {
				skipped += n
			} else {
				checked += n
			}
		}
	}
	_ = w.Flush()
	fmt.Fprintf(&out, "checked %d answers, of which %d differ; skipped %d recordings\n", checked, len(c.distinct), skipped)
	return out.String()
}
