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
	if r.Protocol == "responses" { // whose citations are not kept yet
		want.Parts = slices.DeleteFunc(slices.Clone(want.Parts), func(p wantPart) bool { return p.Kind == "citations" })
	}
	require.Equal(t, kindsOf(want.Parts), kindsOfMessage(msg))
	for i := range want.Parts {
		checkPart(t, r, &want.Parts[i], &msg.Parts[i])
	}
}

// kindsOf names the kinds that parts must have. Citations, blocks and lone signatures are opaque parts.
func kindsOf(parts []wantPart) []string {
	kinds := []string{}
	for i := range parts {
		kind := parts[i].Kind
		if kind == "block" || kind == "citations" || kind == "signature" {
			kind = "opaque"
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func kindsOfMessage(msg *model.Message) []string {
	kinds := []string{}
	for i := range msg.Parts {
		kinds = append(kinds, string(msg.Parts[i].Kind))
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
	case "citations":
		var list []json.RawMessage
		require.NoError(t, json.Unmarshal(want.List, &list))
		for _, citation := range list {
			assert.Contains(t, canonical(t, got.Data), canonical(t, citation)[1:len(canonical(t, citation))-1])
		}
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
	case r.Protocol == "responses": // whose namespace is not kept yet
	case len(want.Extra) > 0 && string(want.Extra) != "null":
		assert.JSONEq(t, string(want.Extra), string(got.Signature))
	default:
		checkSignature(t, r, want.Signature, got.Signature)
	}
}

// canonical returns JSON with sorted members and no white space.
func canonical(t *testing.T, data []byte) string {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(data, &value))
	out, err := json.Marshal(value)
	require.NoError(t, err)
	return string(out)
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
