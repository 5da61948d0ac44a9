// SPDX-License-Identifier: Apache-2.0

//go:build unix

package recordings_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func checkMessage(t *testing.T, r *recording, m model.Model, msg *model.Message) {
	t.Helper()
	want := r.Want.Message
	assert.Equal(t, model.KindResponse, msg.Kind)
	assert.Equal(t, r.Provider, msg.Provider)
	assert.Equal(t, want.ID, msg.ResponseID)
	if want.Model == "" {
		want.Model = m.Info().Name
	}
	assert.Equal(t, want.Model, msg.Model)
	assert.Equal(t, want.Finish, string(msg.Finish))
	assert.Equal(t, want.Usage, usage{
		msg.Usage.InputTokens, msg.Usage.OutputTokens, msg.Usage.CacheReadTokens, msg.Usage.CacheWriteTokens, msg.Usage.ReasoningTokens,
	})
	checkCitations(t, want.Parts, msg.Parts)
	wantParts := slices.DeleteFunc(slices.Clone(want.Parts), func(p wantPart) bool { return p.Kind == "citations" })
	gotParts := slices.DeleteFunc(slices.Clone(msg.Parts), isCitation)
	require.Equal(t, kindsOf(wantParts), kindsOfMessage(gotParts))
	for i := range wantParts {
		checkPart(t, r, &wantParts[i], &gotParts[i])
	}
}

// isCitation reports whether a part says what the text before it rests on.
func isCitation(p model.Part) bool {
	return p.Kind == model.PartCitation
}

// checkCitations requires that what citations point to is in the citations of the message.
func checkCitations(t *testing.T, want []wantPart, got []model.Part) {
	t.Helper()
	kept := map[string]bool{}
	for i := range got {
		if !isCitation(got[i]) {
			continue
		}
		collect(t, got[i].Data, kept)
		data, err := json.Marshal(got[i])
		require.NoError(t, err)
		collect(t, data, kept)
	}
	for i := range want {
		if want[i].Kind != "citations" {
			continue
		}
		var list []map[string]any
		require.NoError(t, json.Unmarshal(want[i].List, &list))
		for _, citation := range list {
			for _, name := range []string{"url", "cited_text", "title", "document_title", "file_id", "filename"} {
				if value, ok := citation[name].(string); ok && value != "" {
					assert.True(t, kept[value], "%s %q", name, value)
				}
			}
		}
	}
}

// collect adds all strings in JSON to a set.
func collect(t *testing.T, data []byte, to map[string]bool) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			to[v] = true
		case []any:
			for _, element := range v {
				walk(element)
			}
		case map[string]any:
			for _, element := range v {
				walk(element)
			}
		}
	}
	var value any
	require.NoError(t, json.Unmarshal(data, &value))
	walk(value)
}

// kindsOf names the kinds that parts must have. Blocks and lone signatures are opaque parts.
func kindsOf(parts []wantPart) []string {
	kinds := []string{}
	for i := range parts {
		kind := parts[i].Kind
		if kind == "block" || kind == "signature" {
			kind = "opaque"
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func kindsOfMessage(parts []model.Part) []string {
	kinds := []string{}
	for i := range parts {
		kinds = append(kinds, string(parts[i].Kind))
	}
	return kinds
}

func checkPart(t *testing.T, r *recording, want *wantPart, got *model.Part) {
	t.Helper()
	switch want.Kind {
	case "text":
		assert.Equal(t, want.Text, got.Text)
		assert.Equal(t, want.Phase, string(got.Signature))
	case "thinking":
		assert.Equal(t, want.Text, got.Text)
		assert.Equal(t, want.ID, got.ID)
		checkSignature(t, r, want.Signature, got.Signature)
	case "tool_call":
		checkCall(t, r, want, got)
	case "media":
		assert.Equal(t, want.MediaType, got.MediaType)
		assert.True(t, bytes.Equal(want.Data, got.Data), "the data of the media")
		assert.Equal(t, want.ID, got.ID)
	case "block":
		assert.JSONEq(t, string(want.JSON), string(got.Data))
		assert.Equal(t, want.ID, got.ID)
	case "signature":
		assert.Contains(t, string(got.Data), want.Signature)
	default:
		t.Errorf("python/decode.py makes parts of kind %q", want.Kind)
	}
	if len(got.Signature) > 0 || got.Kind == model.PartThinking || got.Kind == model.PartOpaque {
		assert.Equal(t, r.Provider, got.Provider, "who takes the %s part back", got.Kind)
	}
}

// checkSignature compares what proves a part to its provider. Gemini writes bytes in base64; others write text.
func checkSignature(t *testing.T, r *recording, want string, got []byte) {
	t.Helper()
	if r.Protocol == "gemini" {
		bytes, err := base64.StdEncoding.DecodeString(want)
		require.NoError(t, err)
		want = string(bytes)
	}
	assert.Equal(t, want, string(got))
}

func checkCall(t *testing.T, r *recording, want *wantPart, got *model.Part) {
	t.Helper()
	assert.Equal(t, want.Tool, got.Tool)
	if want.ID == "" {
		assert.NotEmpty(t, got.CallID)
	} else {
		assert.Equal(t, want.ID, got.CallID)
	}
	if len(want.ArgsJSON) > 0 {
		// JSON on the wire: the same value, in the same bytes.
		assert.JSONEq(t, string(want.ArgsJSON), got.Args.String())
		assert.Contains(t, string(r.plain(t)), got.Args.String())
	} else {
		assert.Equal(t, want.Args, got.Args.String())
	}
	switch {
	case len(want.Extra) == 0 || string(want.Extra) == "null":
		checkSignature(t, r, want.Signature, got.Signature)
	default:
		assert.JSONEq(t, string(want.Extra), string(got.Signature))
	}
}

// deltas joins what the sink hears.
type deltas struct {
	parts []model.Part
	index []int // of parts, as the sink was told
	usage model.Usage
}

func (d *deltas) add(delta model.Delta) error {
	if delta.Usage != nil {
		d.usage = *delta.Usage
	}
	if delta.Kind == "" {
		return nil
	}
	at := slices.Index(d.index, delta.Part)
	if at < 0 {
		at = len(d.parts)
		d.index = append(d.index, delta.Part)
		d.parts = append(d.parts, model.Part{Kind: delta.Kind, CallID: delta.CallID, Tool: delta.Tool})
	}
	p := &d.parts[at]
	if p.Kind == model.PartToolCall {
		p.Args = append(p.Args, delta.Text...)
	} else {
		p.Text += delta.Text
	}
	return nil
}

// check compares what was heard with the message, for each kind of part that deltas have.
func (d *deltas) check(t *testing.T, msg *model.Message) {
	t.Helper()
	assert.Equal(t, msg.Usage, d.usage, "the usage that the sink was told")
	for i, index := range d.index {
		assert.Equal(t, i, index, "a new part has the next index")
	}
	for _, kind := range []model.PartKind{model.PartText, model.PartThinking, model.PartToolCall} {
		assert.Equal(t, essence(msg.Parts, kind), essence(d.parts, kind), "the %s parts that the sink was told", kind)
	}
}

// essence returns what deltas say of the parts of a kind. Parts with nothing but a signature have no delta.
func essence(parts []model.Part, kind model.PartKind) [][4]string {
	var list [][4]string
	for i := range parts {
		p := &parts[i]
		if p.Kind == kind && (p.Text != "" || kind == model.PartToolCall) {
			list = append(list, [4]string{p.CallID, p.Tool, p.Text, p.Args.String()})
		}
	}
	return list
}
