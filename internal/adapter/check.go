// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// Unsupported returns an error for something the provider cannot do. It wraps
// [model.ErrUnsupported].
func Unsupported(info model.Info, what string) error {
	return errs.Errorf("%s %s: %s: %w", info.Provider, info.Name, what, model.ErrUnsupported)
}

// MediaType returns a media part's type without parameters, in lower case, and its kind as
// [model.Info.Media] names it: the top-level type, or for application types the whole.
func MediaType(p *model.Part) (mediaType, kind string) {
	mediaType, _, _ = strings.Cut(strings.ToLower(p.MediaType), ";")
	mediaType = strings.TrimSpace(mediaType)
	if mediaType == "image/jpg" { // a common mistake that no API accepts
		mediaType = "image/jpeg"
	}
	kind, _, _ = strings.Cut(mediaType, "/")
	if kind == "application" {
		kind = mediaType
	}
	return mediaType, kind
}

// CheckMedia returns why a media part of a request cannot be sent to a model, or nil. If the model
// does not accept the media, the error wraps [model.ErrUnsupported].
func CheckMedia(info model.Info, p *model.Part) error {
	mediaType, kind := MediaType(p)
	takes := func(kinds []string) bool { return slices.Contains(kinds, kind) || slices.Contains(kinds, mediaType) }
	switch {
	case kind == "":
		return errors.New("a media part has no media type")
	case !takes(info.Media):
		return Unsupported(info, "input of type "+mediaType)
	case len(p.Data) > 0:
		return nil
	case p.URL == "":
		return errs.Errorf("a media part of type %s has neither data nor URL", mediaType)
	case !takes(info.MediaURLs):
		return Unsupported(info, "input of type "+mediaType+" by URL")
	}
	return nil
}

// CheckTools returns what is wrong with the tools, the tool choice and the output schema of a
// request, or nil.
func CheckTools(req *model.Request) error {
	for i := range req.Tools {
		t := &req.Tools[i]
		if err := CheckToolName(t.Name); err != nil {
			return err
		}
		if len(t.Schema) > 0 && !json.Valid(t.Schema) {
			return errs.Errorf("the schema of tool %q is not valid JSON", t.Name)
		}
	}
	if req.Output != nil && !json.Valid(req.Output.Schema) {
		return errs.Errorf("the output schema %q is not valid JSON", req.Output.Name)
	}
	switch choice := req.ToolChoice; choice.Mode {
	case model.ToolChoiceAuto, model.ToolChoiceNone:
	case model.ToolChoiceRequired, model.ToolChoiceTool:
		if len(req.Tools) == 0 {
			return errs.Errorf("a tool call is required (%q), but the request offers no tools", choice.Mode)
		}
		offered := func(t model.ToolDef) bool { return t.Name == choice.Tool }
		if choice.Mode == model.ToolChoiceTool && !slices.ContainsFunc(req.Tools, offered) {
			const text = "tool choice names %q, which the request does not offer"
			return errs.Errorf(text, choice.Tool)
		}
	default:
		return errs.Errorf("unknown tool choice mode %q", choice.Mode)
	}
	return nil
}

// CheckNative returns why the provider cannot run its own tools as the settings ask, or nil. If it
// lacks a tool, the error wraps [model.ErrUnsupported].
func CheckNative(info *model.Info, req *model.Request, s *model.Settings) error {
	for i := range s.NativeTools {
		t := &s.NativeTools[i]
		switch {
		case (t.Kind != model.NativeWebSearch || !info.NativeSearch) && (t.Kind != model.NativeWebFetch || !info.NativeFetch):
			return Unsupported(*info, "native "+string(t.Kind))
		case len(t.Allowed)+len(t.Blocked) > 0 && !info.NativeDomains:
			return Unsupported(*info, "hosts for native "+string(t.Kind))
		}
		for j := range req.Tools {
			if req.Tools[j].Name == string(t.Kind) {
				return errors.New("a tool has the name of a native tool: " + req.Tools[j].Name)
			}
		}
	}
	if s.CompactAt != 0 && !info.NativeCompaction {
		return Unsupported(*info, "the setting CompactAt")
	}
	return nil
}

// Cancelled returns the error for a call whose context has ended. It wraps the context's cause, and
// also the context's error if that differs. last is the error of the last attempt, or nil.
func Cancelled(ctx context.Context, info model.Info, last error) error {
	cause, prefix := context.Cause(ctx), info.Provider+" "+info.Name
	err := errs.Errorf("%s: request cancelled: %w", prefix, cause)
	if !errors.Is(cause, ctx.Err()) {
		err = errs.Errorf("%s: request cancelled: %w (%w)", prefix, cause, ctx.Err())
	}
	if last != nil {
		err = errs.Errorf("%w; before that: %w", err, last)
	}
	return err
}
