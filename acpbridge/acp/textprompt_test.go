// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// PromptRequest is a type with the same fields, which only the table knows.
type PromptRequest acp.PromptRequest

func promptText(r *rand.Rand) string {
	pieces := []string{"a", "What now?", `"`, `\`, "\n", "\x00", "\xff", "é", "𝄞", "\u2028", "}]}", `,"prompt":[`, ""}
	var text strings.Builder
	for range r.IntN(6) {
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String()
}

func TestPlainPromptsAreEncodedAsTheTableDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	block := func() acp.ContentBlock {
		b := acp.TextBlock(promptText(r))
		switch r.IntN(12) {
		case 0:
			b.Text.Annotations = &acp.Annotations{}
		case 1:
			b.Text.Meta = map[string]json.RawMessage{"a": json.RawMessage("1")}
		case 2:
			b.Image = &acp.ImageContent{} // two variants: an error
		case 3:
			b = acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: "a", URI: "b"}}
		case 4:
			b = acp.ContentBlock{}
		}
		return b
	}
	for range 20_000 {
		p := acp.PromptRequest{SessionID: acp.SessionID(promptText(r))}
		for range []int{1, 1, 1, 0, 2}[r.IntN(5)] {
			p.Prompt = append(p.Prompt, block())
		}
		if r.IntN(8) == 0 {
			p.Meta = map[string]json.RawMessage{}
		}
		tabled := PromptRequest(p)
		want, wantErr := acp.MarshalByTable(&tabled)
		got, err := acp.MarshalByTable(&p)
		require.Equal(t, wantErr, err)
		require.Equal(t, string(want), string(got))
	}
}

func TestPlainPromptsAreDecodedAsTheTableDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{" ", "null", "1", `"a"`, "{}", "[]", `"_meta":{},`, `,"_meta":{"a":1}`, `{"type":"text","text":"b"},`, `\n`, "x"}
	for range 50_000 {
		data, err := acp.MarshalByTable(&acp.PromptRequest{SessionID: acp.SessionID(promptText(r)), Prompt: []acp.ContentBlock{acp.TextBlock(promptText(r))}})
		require.NoError(t, err)
		if r.IntN(10) > 0 { // damaged, mostly at the places where tokens meet
			at := r.IntN(len(data) + 1)
			if i := bytes.IndexAny(data[at:], `",:{}[]`); i >= 0 && r.IntN(4) > 0 {
				at += i
			}
			end := min(len(data), at+[]int{0, 0, 1, 3, 6, 12}[r.IntN(6)])
			data = []byte(string(data[:at]) + pieces[r.IntN(len(pieces))] + string(data[end:]))
		}
		// What a caller had in the value before must not show through.
		got := acp.PromptRequest{Meta: map[string]json.RawMessage{"old": nil}, Prompt: make([]acp.ContentBlock, 2)}
		var want PromptRequest
		wantErr := acp.UnmarshalByTable(data, &want)
		require.Equal(t, wantErr, acp.UnmarshalByTable(data, &got), string(data))
		if wantErr == nil {
			require.Equal(t, acp.PromptRequest(want), got, string(data))
		}
	}
}

func TestPlainPromptsAllocateLess(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	plain := []byte(`{"sessionId":"s","prompt":[{"type":"text","text":"What now?"}]}`)
	tabled := []byte(`{"prompt":[{"type":"text","text":"What now?"}],"sessionId":"s"}`)
	allocs := func(data []byte) float64 {
		return testing.AllocsPerRun(1000, func() { require.NoError(t, acp.UnmarshalByTable(data, &acp.PromptRequest{})) })
	}
	assert.Less(t, allocs(plain), allocs(tabled))
}
