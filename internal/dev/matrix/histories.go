// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// wanted is the text that a provider requires back: digits, as in the suite.
const wanted = "314159265358979323846264"

// said holds the texts of the models in the histories that they leave behind.
var said = []modeltest.Scenario{
	{Case: "signed thinking", Answer: saying(
		model.Part{Kind: model.PartThinking, Text: "I should look.", Signature: []byte(wanted)},
		model.ToolCall(
			"call_a", "weather", `{"city": "Oslo", "id": 9223372036854775807}`,
		), model.ToolCall("call_b", "time", `{}`))},
	{Case: "signed call", Answer: saying(model.Part{
		Kind: model.PartToolCall, CallID: "call_c", Tool: "weather", Args: model.RawArgs(`{"city":"Oslo"}`), Signature: []byte(wanted),
	})},
	{Case: "opaque part", Answer: saying(
		model.Part{Kind: model.PartOpaque, Data: []byte(wanted)}, model.ToolCall(
			"call_d", "weather", `{"city":"Bergen"}`,
		))},
	{Case: "image", Answer: saying(model.Text("Here it is."), model.Media(
		"image/png", []byte("\x89PNG\r\n\x1a\n drawing of rain"),
	))},
	{Case: "text and a call", Answer: saying(model.Text("Let me look."), model.ToolCall("call_e", "time", `{}`))},
	{Case: "text", Answer: saying(model.Text("Rain, as ever."))},
}

func saying(parts ...model.Part) *model.Message {
	m := &model.Message{
		Kind: model.KindResponse, Finish: model.FinishStop,
		Usage: model.Usage{InputTokens: 21, OutputTokens: 13}, Parts: parts,
	}
	if m.HasToolCalls() {
		m.Finish = model.FinishToolCalls
	}
	return m
}

const historyRule = "A conversation goes on with another model"

// histories has a model leave a history behind, and continue the histories of all models.
func histories(t *testing.T, name string, h modeltest.Harness) {
	t.Helper()
	dir, err := directory()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "histories")
	if updating() {
		if err := writeHistory(filepath.Join(dir, name+".json"), history(t, h)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("matrix: no histories: %v; %s", err, howToUpdate)
	}
	for _, file := range files {
		t.Run(historyRule+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			messages, err := readHistory(file)
			if err != nil {
				t.Fatal(err)
			}
			m := h.New(t, modeltest.Scenario{Rule: historyRule, Case: "text", Answer: said[len(said)-1].Answer})
			req := request(messages)
			for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
				if _, err := m.Generate(t.Context(), req, sink); err != nil {
					t.Errorf("the history is not taken: %v", err)
				}
			}
			if h.Sent != nil && !madeBy(messages, m.Info().Provider) {
				sent := h.Sent(t)
				for _, form := range []string{wanted, base64.StdEncoding.EncodeToString([]byte(wanted))} {
					if strings.Contains(sent, form) {
						t.Errorf("what another provider wants back was sent: %.2000s", sent)
					}
				}
			}
		})
	}
}

// history has a model say all that it can say.
func history(t *testing.T, h modeltest.Harness) []*model.Message {
	t.Helper()
	var all []*model.Message
	for _, s := range said {
		s.Rule = historyRule
		t.Run(s.Rule+"/"+s.Case, func(t *testing.T) {
			m := h.New(t, s)
			ask := model.UserText("How is the weather? " + s.Case)
			msg, err := m.Generate(t.Context(), request([]*model.Message{ask}), nil)
			if err != nil {
				t.Skipf("left out of the history: %v", err)
			}
			steady(msg, s.Answer)
			all = append(all, ask, msg)
			results := &model.Message{Kind: model.KindRequest}
			for _, p := range msg.Parts {
				if p.Kind == model.PartToolCall {
					results.Parts = append(results.Parts, model.ToolReturn(p.CallID, p.Tool, `{"rain":true}`))
				}
			}
			if len(results.Parts) > 0 {
				all = append(all, results, model.Response(model.Text("It rains.")))
			}
		})
	}
	return all
}

// steady takes out of a response what differs from run to run: names of models that tests count up,
// and ids that the adapter made up because the provider has none.
func steady(msg, answer *model.Message) {
	msg.Model = "model"
	for i := range msg.Parts {
		p := &msg.Parts[i]
		given := func(q model.Part) bool { return q.CallID == p.CallID }
		if p.Kind == model.PartToolCall && !slices.ContainsFunc(answer.Parts, given) {
			p.CallID = fmt.Sprintf("call_made_%s_%d", p.Tool, i)
		}
	}
}

// request asks a model to continue a conversation.
func request(messages []*model.Message) *model.Request {
	req := &model.Request{Instructions: "Answer briefly.", Messages: messages}
	if messages[len(messages)-1].Kind == model.KindResponse {
		req.Messages = append(messages[:len(messages):len(messages)], model.UserText("And tomorrow?"))
	}
	for _, tool := range []string{"weather", "time"} {
		req.Tools = append(req.Tools, model.ToolDef{Name: tool, Schema: json.RawMessage(
			`{"type":"object","properties":{"city":{"type":"string"},"id":{"type":"integer"}}}`,
		)})
	}
	return req
}

func madeBy(messages []*model.Message, provider string) bool {
	for _, m := range messages {
		if m.Provider == provider {
			return true
		}
	}
	return false
}

// encodeHistory writes messages as a JSON array, one on each line.
func encodeHistory(messages []*model.Message) ([]byte, error) {
	lines := make([]string, len(messages))
	for i, m := range messages {
		text, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("matrix: %w", err)
		}
		lines[i] = string(text)
	}
	return []byte("[\n" + strings.Join(lines, ",\n") + "\n]\n"), nil
}

func writeHistory(file string, messages []*model.Message) error {
	text, err := encodeHistory(messages)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	return nil
}

// readHistory reads messages and makes sure that not a byte of them is lost.
func readHistory(file string) ([]*model.Message, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("matrix: %w", err)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	var messages []*model.Message
	if err := json.Unmarshal(text, &messages); err != nil {
		return nil, fmt.Errorf("matrix: %s: %w", filepath.Base(file), err)
	}
	if again, err := encodeHistory(messages); err != nil || !bytes.Equal(again, text) {
		return nil, fmt.Errorf(
			"matrix: %s is not the same when it is read and written again: %v\n%s",
			filepath.Base(file), err, again,
		)
	}
	if len(messages) == 0 {
		return nil, fmt.Errorf("matrix: %s is empty", filepath.Base(file))
	}
	return messages, nil
}
