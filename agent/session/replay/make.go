// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// Options change how a recording is made. The zero value is useful.
type Options struct {
	// Secrets are known secrets, such as the keys of providers. They are replaced in all texts,
	// besides what is found by rules: see [Recording.Clean].
	Secrets []string
	// Checkpoints knows what files held, if the session's workspace was recorded.
	Checkpoints *checkpoint.Recorder
	// Media keeps images and other media, in which secrets are not looked for. By default they are
	// left out.
	Media bool
}

// shown returns the options without the secrets.
func (o Options) shown() any {
	type options Options // without its methods
	o.Secrets = hide.Texts(o.Secrets)
	return options(o)
}

// Format implements [fmt.Formatter]. Secrets are not shown.
func (o Options) Format(f fmt.State, verb rune) { hide.Format(f, verb, o.shown()) }

// LogValue implements [slog.LogValuer]. Secrets are not shown.
func (o Options) LogValue() slog.Value { return hide.Log(o) }

// MarshalJSON implements [json.Marshaler]. Secrets are not shown.
func (o Options) MarshalJSON() ([]byte, error) { return json.Marshal(o.shown()) }

// ErrNothing means that a session has no turns.
var ErrNothing = errors.New("replay: the session has no turns")

// Make makes a recording of a stored session. Secrets are found and replaced: see [Recording.Notes]
// for what was left out. Before you publish a file, look at it: what users and tools have said is
// in it.
func Make(ctx context.Context, s session.Store, id string, o Options) (*Recording, error) {
	info, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	past, err := transcript.Past(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if len(past) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNothing, id)
	}
	m := maker{
		Recording: &Recording{Version: Version, Session: info.ID, Title: info.Title},
		indexes:   map[*model.Message]int{}, files: map[string]int{},
	}
	for i := range past {
		m.turn(&past[i])
	}
	m.describeModel()
	m.takeFiles(o.Checkpoints)
	m.leaveOut(o)
	if err := m.clean(o.Secrets); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	m.describe()
	return m.Recording, nil
}

// maker makes a recording.
type maker struct {
	*Recording
	indexes map[*model.Message]int
	files   map[string]int
	notes   []string // of what was left out
}

func (m *maker) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// index returns the index of a message, which may be new.
func (m *maker) index(messages []*model.Message) []int {
	indexes := make([]int, len(messages))
	for i, message := range messages {
		at, ok := m.indexes[message]
		if !ok {
			at = len(m.Messages)
			m.indexes[message] = at
			m.Messages = append(m.Messages, message.Clone())
		}
		indexes[i] = at
	}
	return indexes
}

func (m *maker) turn(p *transcript.PastTurn) {
	own := slices.DeleteFunc(p.Messages, func(message *model.Message) bool {
		_, summary := summaryOf(message)
		return summary
	})
	t := Turn{
		ID: p.ID, Before: m.index(p.Before), Prompt: p.Prompt, Answers: p.Answers,
		Messages: m.index(own), Reason: p.Reason,
	}
	for call, d := range p.Decisions {
		t.Decisions = append(t.Decisions, Decided{call.Step, call.ID, d})
	}
	slices.SortFunc(t.Decisions, func(a, b Decided) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Call, b.Call))
	})
	for _, message := range p.After {
		if text, ok := summaryOf(message); ok && !slices.Contains(p.Before, message) {
			t.Summaries = append(t.Summaries, text)
		}
	}
	m.Turns = append(m.Turns, t)
}

// summaryOf returns the text of a summary of earlier messages.
func summaryOf(message *model.Message) (text string, ok bool) {
	if message.Metadata[history.MetaSummary] == "" || len(message.Parts) == 0 {
		return "", false
	}
	_, text, ok = strings.Cut(message.Parts[0].Text, "\n\n") // behind the line that introduces it
	return text, ok
}

// describeModel takes the agent's model from the responses.
func (m *maker) describeModel() {
	m.Model = model.Info{Media: []string{"image", "audio", "application/pdf"}}
	for _, message := range m.Messages {
		if message.Kind == model.KindResponse && message.Model != "" {
			m.Model.Provider, m.Model.Name = message.Provider, message.Model
		}
	}
}

// leaveOut leaves out what only providers read, and media.
func (m *maker) leaveOut(o Options) {
	signatures, media, size := 0, 0, 0
	each := func(p *model.Part) {
		if len(p.Signature) > 0 {
			p.Signature = nil
			signatures++
		}
		if p.Kind == model.PartMedia && len(p.Data) > 0 && !o.Media {
			media, size = media+1, size+len(p.Data)
			p.Data = []byte(leftOut)
		}
	}
	m.eachPart(each)
	if signatures > 0 {
		m.note("Left out: %d signatures of the provider.", signatures)
	}
	if media > 0 {
		m.note("Left out: %d media, %d bytes.", media, size)
	}
}

// eachPart calls fn for each part of the recording.
func (r *Recording) eachPart(fn func(p *model.Part)) {
	for _, message := range r.Messages {
		for i := range message.Parts {
			fn(&message.Parts[i])
		}
	}
	for i := range r.Turns {
		t := &r.Turns[i]
		t.Prompt = slices.Clone(t.Prompt)
		for j := range t.Prompt {
			fn(&t.Prompt[j])
		}
	}
}

// describe writes the notes.
func (m *maker) describe() {
	calls, decisions, responses := 0, 0, 0
	for _, message := range m.Messages {
		if message.Kind == model.KindResponse {
			responses++
		}
		for i := range message.Parts {
			if message.Parts[i].Kind == model.PartToolCall {
				calls++
			}
		}
	}
	for i := range m.Turns {
		decisions += len(m.Turns[i].Decisions)
	}
	replayed := fmt.Sprintf("Replayed: %d responses of the model, the results of %d calls, "+
		"%d decisions about calls.", responses, calls, decisions)
	m.Notes = append([]string{
		replayed,
		"Real: instructions, tools' descriptions, schemas and checks of arguments, the order of " +
			"calls, policies, limits, hooks, output functions.",
	}, m.notes...)
}
