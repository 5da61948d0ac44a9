// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// TestConformance runs the generic dialect with a plugin that does everything as Genkit intends. Its errors have only a
// status, and requests to it are JSON.
func TestConformance(t *testing.T) {
	sent := &sync.Map{}
	modeltest.Conformance(t, modeltest.Harness{
		Provider:   true,
		ArgsAsJSON: true, // streamed calls have been decoded
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			record := &recorder{}
			sent.Store(t.Name(), record)
			if s.Answer != nil && s.Answer.Usage.CacheWriteTokens > 0 {
				t.Skip("Genkit has no place for tokens that were written to a cache")
			}
			d := genkitmodel.Generic()
			d.Thinking = true
			d.Part = sendBack
			d.Error = func(err error, e *model.APIError) bool {
				refused, ok := err.(*refusal)
				if ok {
					e.Status, e.Code, e.Message, e.RetryAfter = refused.Status, refused.Code, refused.Message, refused.RetryAfter
				}
				return ok
			}
			return open(t, genkitmodel.Config{Dialect: &d}, func(ctx context.Context, req *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				record.add(req)
				return play(ctx, s, cb)
			})
		},
		Sent: func(t testing.TB) string {
			record, ok := sent.Load(t.Name())
			if !ok {
				return ""
			}
			return record.(*recorder).String()
		},
	})
}

// sendBack sends signatures of calls, and custom parts, back to their provider.
func sendBack(c *genkitmodel.Call, in *model.Part, out *ai.Part) (*ai.Part, error) {
	if in.Kind == model.PartMedia && in.Provider == c.Info.Provider && len(in.Data) > 0 {
		return ai.NewMediaPart(in.MediaType, "data:"+in.MediaType+";base64,"+base64.StdEncoding.EncodeToString(in.Data)), nil
	}
	switch {
	case in.Provider != c.Info.Provider:
	case in.Kind == model.PartToolCall && len(in.Signature) > 0:
		out.Metadata = map[string]any{"signature": in.Signature}
	case in.Kind == model.PartOpaque:
		out = &ai.Part{}
		return out, json.Unmarshal(in.Data, out)
	}
	return out, nil
}

type refusal struct{ *model.APIError }

type recorder struct {
	mu  sync.Mutex
	all strings.Builder
}

func (r *recorder) add(req *ai.ModelRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	enc := json.NewEncoder(&r.all)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(req)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

// play answers as a plugin does in a scenario.
func play(ctx context.Context, s modeltest.Scenario, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
	resp := &ai.ModelResponse{FinishReason: ai.FinishReasonStop, Message: &ai.Message{Role: ai.RoleModel}}
	if s.Answer != nil {
		u := s.Answer.Usage
		resp.Usage = &ai.GenerationUsage{
			InputTokens: int(u.InputTokens), OutputTokens: int(u.OutputTokens), ThoughtsTokens: int(u.ReasoningTokens),
			CachedContentTokens: int(u.CacheReadTokens),
		}
		switch s.Answer.Finish {
		case model.FinishLength:
			resp.FinishReason = ai.FinishReasonLength
		case model.FinishContentFilter:
			resp.FinishReason = ai.FinishReasonBlocked
		}
		for _, p := range s.Answer.Parts {
			var out *ai.Part
			switch p.Kind {
			case model.PartText:
				out = ai.NewTextPart(p.Text)
			case model.PartThinking:
				out = ai.NewReasoningPart(p.Text, p.Signature)
			case model.PartToolCall:
				out = ai.NewToolRequestPart(&ai.ToolRequest{Name: p.Tool, Ref: p.CallID, Input: string(p.Args)})
				if decoded, err := genkitmodel.Decode(p.Args); err == nil && s.Error != nil {
					out.ToolRequest.Input = decoded
				}
			case model.PartMedia:
				out = ai.NewMediaPart(p.MediaType, "data:"+p.MediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Data))
			case model.PartOpaque:
				out = ai.NewCustomPart(map[string]any{"kept": string(p.Data)})
			}
			if out.IsToolRequest() && len(p.Signature) > 0 {
				out.Metadata = map[string]any{"signature": p.Signature}
			}
			resp.Message.Content = append(resp.Message.Content, out)
			if cb == nil {
				continue
			}
			for i, end := range []int{len(p.Text) / 2, len(p.Text)} {
				piece := *out
				if out.IsToolRequest() || out.IsMedia() || out.IsCustom() {
					if i == 1 || out.IsToolRequest() && s.Silent {
						break
					}
				} else {
					if i == 1 && (s.Silent || s.Error != nil) {
						break
					}
					piece.Text = p.Text[i*(len(p.Text)/2) : end]
				}
				if err := cb(ctx, &ai.ModelResponseChunk{Role: ai.RoleModel, Content: []*ai.Part{&piece, ai.NewTextPart("")}}); err != nil {
					return nil, err
				}
			}
		}
	}
	switch {
	case s.Silent:
		<-ctx.Done()
		return nil, ctx.Err()
	case s.Error != nil:
		return nil, &refusal{s.Error}
	case s.Fault == modeltest.FaultEmpty:
		resp.Message = nil
	case s.Fault == modeltest.FaultTruncated:
		return nil, core.NewError(core.UNAVAILABLE, "connection reset")
	case s.Fault == modeltest.FaultFinish:
		resp.FinishReason = "tired"
	}
	return resp, nil
}
