// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// asModel is a model that gives the answers of a script, and notes what it is asked.
func (w *setting) asModel(name string, next *int, script []string) model.Model {
	info := model.Info{Provider: "acme", Name: name}
	if name == "outer" {
		info.NativeOutput = strings.Contains(w.scene.config["info"], "native")
		info.NoForcedCalls = strings.Contains(w.scene.config["info"], "noforced")
		if strings.Contains(w.scene.config["info"], "unpriced") {
			info.Name = "secret"
		}
	}
	return model.Func(info, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		w.asks(name, req)
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		n := *next
		if *next++; n >= len(script) {
			return nil, errors.New("the script has ended")
		}
		return w.step(script[n], sink)
	})
}

// asks notes what a model is asked. Of the messages it tells the last one; the others were told before.
func (w *setting) asks(name string, req *model.Request) {
	names := []string{}
	for _, d := range req.Tools {
		names = append(names, d.Name)
	}
	s := fmt.Sprintf("ask %s with %d messages, tools %v", name, len(req.Messages), names)
	if names := fmt.Sprint(names); w.tools == name+names {
		s, _, _ = strings.Cut(s, ", tools")
	} else {
		w.tools = name + names
	}
	if req.Instructions != "" {
		s += fmt.Sprintf(", instructions %q", req.Instructions)
	}
	if req.ToolChoice != (model.ToolChoice{}) {
		s += ", choice " + plainJSON(req.ToolChoice)
	}
	if req.Output != nil {
		s += ", output " + req.Output.Name
	}
	if n := len(req.Messages); n > 0 {
		s += ", the last one is\n  " + strings.ReplaceAll(strings.TrimSpace(dump(req.Messages[n-1:])), "\n", "\n  ")
	}
	w.say("%s", s)
}

// step reads an answer of a model. Its parts are separated by bars:
//
//	text WORDS, think WORDS, signed WORDS, opaque WORDS, media WORDS, cite WORDS
//	ID TOOL WORDS          a call, whose arguments are {"do":"WORDS"}, or {"prompt":"WORDS"}, or the words if they begin with ' or {
//	finish REASON, usage INPUT OUTPUT, error WORDS, nothing, panic, silent, whole, mixed, counted, send WORDS, later WORDS, cancel WORDS
func (w *setting) step(answer string, sink model.Sink) (*model.Message, error) {
	resp := model.Response()
	resp.Provider, resp.Model, resp.Usage = "acme", "outer", model.Usage{InputTokens: 10, OutputTokens: 1}
	var err error
	var silent, whole, mixed, usage, nothing, panics bool
	for part := range strings.SplitSeq(answer, " | ") {
		what, rest, _ := strings.Cut(part, " ")
		switch what {
		case "text":
			resp.Parts = append(resp.Parts, model.Text(rest))
		case "think":
			resp.Parts = append(resp.Parts, model.Thinking(rest))
		case "signed":
			p := model.Thinking(rest)
			p.Signature, p.Provider = []byte("sig"), "acme"
			resp.Parts = append(resp.Parts, p)
		case "opaque":
			resp.Parts = append(resp.Parts, model.Part{Kind: model.PartOpaque, Text: rest, Provider: "acme"})
		case "cite":
			resp.Parts = append(resp.Parts, model.Part{Kind: model.PartCitation, Text: rest, URL: "https://example.org"})
		case "media":
			resp.Parts = append(resp.Parts, model.Media("image/png", []byte(rest)))
		case "finish":
			resp.Finish = model.FinishReason(rest)
		case "usage":
			_, _ = fmt.Sscan(rest, &resp.Usage.InputTokens, &resp.Usage.OutputTokens)
		case "error":
			err = errors.New(rest)
		case "nothing":
			nothing = true
		case "panic":
			panics = true
		case "silent":
			silent = true
		case "counted":
			usage = true
		case "whole":
			whole = true
		case "mixed":
			mixed = true
		case "send":
			w.inbox.Send(model.User(rest))
		case "later":
			w.inbox.SendAtEnd(model.User(rest))
		case "cancel":
			w.cancel(errors.New(rest))
		default:
			resp.Parts = append(resp.Parts, readCall(what, rest))
		}
	}
	if sink != nil && !silent {
		if err := streamTo(sink, resp, whole, mixed, err == nil && !nothing && !panics || usage); err != nil {
			return nil, err
		}
	}
	switch {
	case panics:
		panic("model")
	case err != nil:
		return nil, err
	case nothing:
		return nil, nil
	}
	return resp, nil
}

func readCall(id, rest string) model.Part {
	tool, args, _ := strings.Cut(rest, " ")
	if id == "-" {
		id = ""
	}
	switch {
	case strings.HasPrefix(args, "'"):
		args = args[1:]
	case strings.HasPrefix(args, "{"):
	case tool == "sub" || tool == "over":
		args = fmt.Sprintf(`{"prompt":%q}`, args)
	case tool == "back":
		args = fmt.Sprintf(`{"reason":%q}`, args)
	default:
		args = fmt.Sprintf(`{"do":%q}`, args)
	}
	return model.ToolCall(id, tool, args)
}

// streamTo streams a response in halves of its parts: part by part, or mixed.
func streamTo(sink model.Sink, resp *model.Message, whole, mixed, usage bool) error {
	var deltas [2][]model.Delta
	for i := range resp.Parts {
		p := &resp.Parts[i]
		text := p.Text
		switch p.Kind {
		case model.PartToolCall:
			text = string(p.Args)
		case model.PartText, model.PartThinking:
		default:
			if whole {
				deltas[0] = append(deltas[0], model.Delta{Part: i, Whole: p})
			}
			continue
		}
		half := len(text) / 2
		first := model.Delta{Part: i, Kind: p.Kind, Text: text[:half], CallID: p.CallID, Tool: p.Tool}
		second := model.Delta{Part: i, Kind: p.Kind, Text: text[half:]}
		if whole {
			second.Whole = p
		}
		if deltas[0] = append(deltas[0], first); mixed {
			deltas[1] = append(deltas[1], second)
		} else {
			deltas[0] = append(deltas[0], second)
		}
	}
	all := append(deltas[0], deltas[1]...)
	if usage {
		all = append(all, model.Delta{Usage: new(resp.Usage)})
	}
	for _, d := range all {
		if err := sink(d); err != nil {
			return err
		}
	}
	return nil
}
