// SPDX-License-Identifier: Apache-2.0

package conformance_test

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

// without sends a request as if something were not in it.
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

// withoutSetting sends a request as if a setting were not set.
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

// refusing answers requests of a kind with an error, before or after they were sent.
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

// unchecked sends and answers whatever it is asked.
func unchecked(p *provider) model.Model {
	return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, _ generateFunc) (*model.Message, error) {
		p.send(&model.Request{Instructions: "something"})
		return p.Answer.Clone(), nil
	})
}

func anything(*model.Request) bool { return true }

func TestTheSuiteFindsWhatIsWrongWithRequests(t *testing.T) {
	const (
		media, byURL     = "Media is sent as it is", "Media by URL"
		setting, choice  = "A setting reaches", "A tool choice reaches"
		output, nonsense = "A schema for the output", "A request that makes no sense"
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
		"settings that do not reach a stream": {"A setting reaches", "4321 is nowhere", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if sink != nil && req.Settings != nil {
					plain := *req
					plain.Settings = &model.Settings{}
					req = &plain
				}
				return next(ctx, req, sink)
			})
		}},
		"a model that retries": {"A refusal is", "the request was sent 2 times", func(p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				if err != nil {
					return next(ctx, req, sink)
				}
				return msg, err
			})
		}},

		"media that is not sent":         {media, "words, media and words are at", eachMedia(func(p *model.Part) { p.Data = nil })},
		"media that is moved":            {media, "words, media and words are at", without(func(req *model.Request) { slices.Reverse(req.Messages[0].Parts) })},
		"media that is refused late":     {media, "only after this had been sent", refusing(unsupported, true, anything)},
		"media that is refused oddly":    {media, "neither an answer nor", refusing(errors.New("no"), false, anything)},
		"media that should be refused":   {media, "was not refused", unchecked},
		"a URL that is not sent":         {byURL, "words, media and words are at", eachMedia(func(p *model.Part) { p.URL = "elsewhere" })},
		"a URL that should be refused":   {byURL, "was not refused", unchecked},
		"media that Info lists, refused": {media, "Generate failed", refusing(unsupported, false, anything)},

		"a bound that is dropped":   {setting, "4321 is nowhere", withoutSetting(func(s *model.Settings) { s.MaxTokens = 0 })},
		"all but the first stop":    {setting, "and-here is nowhere", withoutSetting(func(s *model.Settings) { s.Stop = s.Stop[:min(1, len(s.Stop))] })},
		"calls in parallel, always": {setting, "the same was sent as with the opposite setting", withoutSetting(func(s *model.Settings) { s.ParallelToolCalls = nil })},
		"a level that is dropped":   {setting, "the same was sent as without the setting", withoutSetting(func(s *model.Settings) { s.Thinking = "" })},
		"a header that is dropped": {setting, "the extra header was sent with the value", func(p *provider) model.Model {
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
		"a setting that is refused late": {setting, "only after this had been sent", refusing(unsupported, true, func(req *model.Request) bool { return req.Settings != nil })},
		"a setting that is a surprise":   {setting, "neither an answer nor", refusing(errors.New("no"), false, func(req *model.Request) bool { return req.Settings != nil })},

		"a choice that is dropped": {choice, `the same was sent as with the tool choice "auto"`, without(func(req *model.Request) { req.ToolChoice = model.ToolChoice{} })},
		"any tool instead of one": {choice, `the same was sent as with the tool choice`, without(func(req *model.Request) {
			if req.ToolChoice.Mode == model.ToolChoiceTool {
				req.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceRequired}
			}
		})},

		"a schema that is dropped": {output, "the schema is not in what was sent", without(func(req *model.Request) { req.Output = nil })},
		"a schema against Info": {output, "but that was not refused", func(p *provider) model.Model {
			return informed{p, func() model.Info { return model.Info{Provider: "played", Name: "one"} }}
		}},
		"a refusal against Info": {output, "but that was refused", refusing(unsupported, false, anything)},

		"nonsense that is sent":           {nonsense, "the request was answered", unchecked},
		"nonsense that the provider sees": {nonsense, "this was sent", refusing(errors.New("no"), true, anything)},
		"nonsense blamed on the provider": {nonsense, "as if the provider had said so", refusing(&model.APIError{Status: 400}, false, anything)},

		"an integer that is rounded": {"A long integer in a history", "was not sent as it is", sending(func(req *model.Request) string {
			return strings.ReplaceAll(encode(req), "9223372036854775807", "9223372036854776000")
		})},
		"tools without schemas": {"Nothing is lost", `"Where it rains.", of a tool, was not sent`, without(func(req *model.Request) {
			for i := range req.Tools {
				req.Tools[i].Schema = nil
			}
		})},
		"schemas that lose references": {"A tool's schema", `"umbrella_kind", of a tool`, without(func(req *model.Request) {
			for i := range req.Tools {
				if strings.Contains(string(req.Tools[i].Schema), "$ref") {
					req.Tools[i].Schema = nil
				}
			}
		})},
		"schemas that are too much": {"A tool's schema", "Generate failed", refusing(unsupported, false, func(req *model.Request) bool {
			return strings.Contains(string(req.Tools[len(req.Tools)-1].Schema), "additionalProperties")
		})},
		"requests that change": {equal, "an equal request was sent as", sending(func(req *model.Request) string {
			return encode(req) + strings.Repeat("x", int(counter.Add(1)))
		})},
		"sorted tools": {equal, "or not in its place", without(func(req *model.Request) {
			slices.SortFunc(req.Tools, func(a, b model.ToolDef) int { return strings.Compare(a.Name, b.Name) })
		})},
	})
}
