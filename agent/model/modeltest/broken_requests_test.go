// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// without sends a request with something left out.
func without(drop func(req *model.Request)) func(*provider) model.Model {
	return sending(func(req *model.Request) string {
		c := *req
		c.Messages, c.Tools = nil, slices.Clone(req.Tools)
		for _, m := range req.Messages {
			c.Messages = append(c.Messages, m.Clone())
		}
		if req.Settings != nil {
			s := *req.Settings
			c.Settings = &s
		}
		drop(&c)
		return encode(&c)
	})
}

// withoutSetting sends a request with a setting left out.
func withoutSetting(drop func(s *model.Settings)) func(*provider) model.Model {
	return without(func(req *model.Request) {
		if req.Settings != nil {
			drop(req.Settings)
			if settingsAreEmpty(req.Settings) {
				req.Settings = nil
			}
		}
	})
}

func settingsAreEmpty(s *model.Settings) bool {
	text, _ := json.Marshal(s)
	empty, _ := json.Marshal(model.Settings{})
	return string(text) == string(empty)
}

// refusing returns an error for requests of a kind, before or after sending them.
func refusing(err error, sent bool, which func(req *model.Request) bool) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			if which(req) {
				if sent {
					p.send(&model.Request{Instructions: "something"})
				}
				return nil, err
			}
			return next(ctx, req, sink)
		})
	}
}

// unchecked sends and answers every request.
func unchecked(p *provider) model.Model {
	return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, _ generateFunc) (*model.Message, error) {
		p.send(&model.Request{Instructions: "something"})
		return p.Answer.Clone(), nil
	})
}

func anything(*model.Request) bool { return true }

func TestRunFindsBrokenRequests(t *testing.T) {
	const (
		media, byURL     = "Media is sent unchanged", "Media by URL"
		setting, choice  = "A setting reaches", "A tool choice reaches"
		output, nonsense = "A schema for the output", "An invalid request"
		equal            = "Equal requests"
	)
	var counter atomic.Int64
	unsupported := adapter.Unsupported(model.Info{Provider: "played", Name: "one"}, "that")
	eachMedia := func(change func(p *model.Part)) func(*provider) model.Model {
		return without(func(req *model.Request) {
			for _, m := range req.Messages {
				for i := range m.Parts {
					if m.Parts[i].Kind == model.PartMedia {
						change(&m.Parts[i])
					}
				}
			}
		})
	}
	findsAll(t, map[string]broken{
		"settings that do not reach a stream": {"A setting reaches", "4321 was not sent", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if sink != nil && req.Settings != nil {
					plain := *req
					plain.Settings = &model.Settings{}
					req = &plain
				}
				return next(ctx, req, sink)
			})
		}},
		"a model that retries": {"An error of the provider is", "request was sent 2 times", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if err != nil {
					return next(ctx, req, sink)
				}
				return msg, err
			})
		}},

		"media that is not sent":         {media, "text, media and text are at", eachMedia(func(p *model.Part) { p.Data = nil })},
		"media that is moved":            {media, "text, media and text are at", without(func(req *model.Request) { slices.Reverse(req.Messages[0].Parts) })},
		"media that is refused late":     {media, "only after sending", refusing(unsupported, true, anything)},
		"media that is refused oddly":    {media, "neither a response nor", refusing(errors.New("no"), false, anything)},
		"media that should be refused":   {media, "was accepted", unchecked},
		"a URL that is not sent":         {byURL, "text, media and text are at", eachMedia(func(p *model.Part) { p.URL = "elsewhere" })},
		"a URL that should be refused":   {byURL, "was accepted", unchecked},
		"media that Info lists, refused": {media, "Generate failed", refusing(unsupported, false, anything)},

		"a bound that is dropped":   {setting, "4321 was not sent", withoutSetting(func(s *model.Settings) { s.MaxTokens = 0 })},
		"all but the first stop":    {setting, "and-here was not sent", withoutSetting(func(s *model.Settings) { s.Stop = s.Stop[:min(1, len(s.Stop))] })},
		"calls in parallel, always": {setting, "sent the same as with the opposite setting", withoutSetting(func(s *model.Settings) { s.ParallelToolCalls = nil })},
		"a level that is dropped":   {setting, "sent the same as without the setting", withoutSetting(func(s *model.Settings) { s.Thinking = "" })},
		"a header that is dropped": {setting, "extra header has the value", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				c := *req
				if req.Settings != nil {
					s := *req.Settings
					s.ExtraHeaders = nil
					c.Settings = &s
				}
				return next(ctx, &c, sink)
			})
		}},
		"a setting that is refused late": {setting, "only after sending", refusing(unsupported, true, func(req *model.Request) bool { return req.Settings != nil })},
		"a setting that is a surprise":   {setting, "neither a response nor", refusing(errors.New("no"), false, func(req *model.Request) bool { return req.Settings != nil })},

		"a choice that is dropped": {choice, `sent the same as with tool choice "auto"`, without(func(req *model.Request) { req.ToolChoice = model.ToolChoice{} })},
		"any tool instead of one": {choice, `sent the same as with tool choice`, without(func(req *model.Request) {
			if req.ToolChoice.Mode == model.ToolChoiceTool {
				req.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceRequired}
			}
		})},

		"a schema that is dropped": {output, "schema was not sent", without(func(req *model.Request) { req.Output = nil })},
		"a schema against Info": {output, "but the request was accepted", func(p *provider) model.Model {
			return informed{p, func() model.Info { return model.Info{Provider: "played", Name: "one"} }}
		}},
		"a refusal against Info": {output, "but the request was an error", refusing(unsupported, false, anything)},

		"nonsense that is sent":           {nonsense, "request was answered", unchecked},
		"nonsense that the provider sees": {nonsense, "was sent", refusing(errors.New("no"), true, anything)},
		"nonsense blamed on the provider": {nonsense, "although the provider was not asked", refusing(&model.APIError{Status: 400}, false, anything)},

		"an integer that is rounded": {"A long integer in a history", "was not sent unchanged", sending(func(req *model.Request) string {
			return strings.ReplaceAll(encode(req), "9223372036854775807", "9223372036854776000")
		})},
		"a response without words": {"A response without words", `"role":"assistant" was sent`, sending(func(req *model.Request) string {
			for _, m := range req.Messages {
				if m.Kind == model.KindResponse {
					return encode(req) + `{"role":"assistant","content":null}`
				}
			}
			return encode(req)
		})},
		"an empty message": {"A response without words", `"content":"" was sent`, sending(func(req *model.Request) string { return encode(req) + `{"content":""}` })},
		"a lost turn": {"A response without words", "not all of the rest was sent", sending(func(req *model.Request) string {
			return strings.ReplaceAll(encode(req), "second words", "")
		})},
		"ids as they are": {"Calls with the same id", "two calls were sent with one id", sending(encodeAsIs)},
		"ids of the wrong calls": {"Calls with the same id", "results do not have the ids of their calls", sending(func(req *model.Request) string {
			return strings.Replace(encode(req), "call_0", "call_x", 1)
		})},
		"an image that is not sent back": {"A model gets back the media", "the image was not sent back", eachMedia(func(p *model.Part) { p.Data = nil })},
		"tools without schemas": {"Nothing is lost", `"Where it rains.", from a tool, was not sent`, without(func(req *model.Request) {
			for i := range req.Tools {
				req.Tools[i].Schema = nil
			}
		})},
		"schemas that lose references": {"A tool's schema", `"umbrella_kind", from a tool`, without(func(req *model.Request) {
			for i := range req.Tools {
				if strings.Contains(string(req.Tools[i].Schema), "$ref") {
					req.Tools[i].Schema = nil
				}
			}
		})},
		"schemas that are too much": {"A tool's schema", "Generate failed", refusing(unsupported, false, func(req *model.Request) bool {
			return strings.Contains(string(req.Tools[len(req.Tools)-1].Schema), "additionalProperties")
		})},
		"requests that change": {equal, "equal requests were sent as", sending(func(req *model.Request) string {
			return encode(req) + strings.Repeat("x", int(counter.Add(1)))
		})},
		"sorted tools": {equal, "or out of order", without(func(req *model.Request) {
			slices.SortFunc(req.Tools, func(a, b model.ToolDef) int { return strings.Compare(a.Name, b.Name) })
		})},
	})
}
