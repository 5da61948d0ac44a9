// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// An act is one thing that a response does.
type act struct {
	kind actKind
	// text is the text to say or think.
	text string
	// wait is how long to wait.
	wait time.Duration
	// call is the tool call to make.
	call model.Part
}

type actKind int

const (
	say actKind = iota
	think
	pause
	callTool
)

// tick is how often a waiting model shows that it is alive.
const tick = 100 * time.Millisecond

// speaker performs acts: it streams them to the sink and collects the message.
type speaker struct {
	sink  model.Sink
	delay time.Duration
	parts []model.Part
	text  strings.Builder // of the part in progress
	open  model.PartKind  // its kind, or empty
}

func (s *speaker) perform(ctx context.Context, a act) error {
	switch a.kind {
	case say:
		return s.write(ctx, model.PartText, a.text)
	case think:
		return s.write(ctx, model.PartThinking, a.text)
	case pause:
		return s.pause(ctx, a.wait)
	}
	s.close()
	s.parts = append(s.parts, a.call)
	return s.send(ctx, model.Delta{
		Part: len(s.parts) - 1, Kind: model.PartToolCall, CallID: a.call.CallID, Tool: a.call.Tool, Text: string(a.call.Args),
	})
}

// write adds text to the part in progress if that is of the same kind, else begins a new one.
func (s *speaker) write(ctx context.Context, kind model.PartKind, text string) error {
	if s.open != kind {
		s.close()
		s.open = kind
	}
	for text != "" {
		piece := text[:pieceLen(text)]
		text = text[len(piece):]
		s.text.WriteString(piece)
		if err := s.send(ctx, model.Delta{Part: len(s.parts), Kind: kind, Text: piece}); err != nil {
			return err
		}
		if err := s.sleep(ctx, s.delay); err != nil {
			return err
		}
	}
	return nil
}

// pieceLen returns the length of the piece of text that is streamed at once: a few words, or a
// line.
func pieceLen(text string) int {
	const enough = 24
	if len(text) <= enough {
		return len(text)
	}
	if i := strings.IndexAny(text[enough:min(2*enough, len(text))], " \n"); i >= 0 {
		return enough + i + 1
	}
	n := enough
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}

func (s *speaker) close() {
	if s.open != "" {
		s.parts = append(s.parts, model.Part{Kind: s.open, Text: s.text.String()})
		s.text.Reset()
		s.open = ""
	}
}

func (s *speaker) pause(ctx context.Context, wait time.Duration) error {
	if err := s.write(ctx, model.PartText, fmt.Sprintf("Waiting %v ", wait)); err != nil {
		return err
	}
	for ; wait > 0; wait -= tick {
		if err := s.sleep(ctx, min(wait, tick)); err != nil {
			return err
		}
		if err := s.write(ctx, model.PartText, "."); err != nil {
			return err
		}
	}
	return s.write(ctx, model.PartText, " done.\n\n")
}

func (s *speaker) send(ctx context.Context, d model.Delta) error {
	if err := stopped(ctx); err != nil {
		return err
	}
	if s.sink == nil {
		return nil
	}
	return s.sink(d)
}

func (s *speaker) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}

func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("offline: %w", context.Cause(ctx))
}

// finish returns the message that all acts make, with its usage.
func (s *speaker) finish(ctx context.Context, req *model.Request) (*model.Message, error) {
	s.close()
	m := model.Response(s.parts...)
	m.Provider, m.Model = "offline", Name
	m.Finish = model.FinishStop
	if m.HasToolCalls() {
		m.Finish = model.FinishToolCalls
	}
	m.Usage = usage(req, s.parts)
	if err := s.send(ctx, model.Delta{Usage: &m.Usage}); err != nil {
		return nil, err
	}
	return m, nil
}

// usage counts tokens as the rule of thumb has it: four bytes each.
func usage(req *model.Request, answer []model.Part) model.Usage {
	size := func(parts []model.Part) (n int) {
		for i := range parts {
			n += len(parts[i].Text) + len(parts[i].Args)
		}
		return n
	}
	in, out, thought := len(req.Instructions), size(answer), 0
	for _, m := range req.Messages {
		in += size(m.Parts)
	}
	for i := range req.Tools {
		in += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	for i := range answer {
		if answer[i].Kind == model.PartThinking {
			thought += len(answer[i].Text)
		}
	}
	tokens := func(n int) int64 { return int64(n+3) / 4 }
	return model.Usage{InputTokens: tokens(in), OutputTokens: tokens(out), ReasoningTokens: tokens(thought)}
}
