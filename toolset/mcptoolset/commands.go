// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Commands returns the server's prompts as slash commands, named "server:prompt" with underscores
// for characters that commands cannot have. It waits until the server is connected. The commands of
// an agent are fixed when it is made, so prompts that the server adds later are missing.
//
// Arguments are typed in the order in which the server lists them, separated by spaces; quotes hold
// one together. The last argument takes the rest.
func Commands[D any](ctx context.Context, server *Server) ([]agent.Command[D], error) {
	l, err := server.ready(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: commands of server %q: %w", server.config.Name, err)
	}
	if c := l.session.InitializeResult().Capabilities; c == nil || c.Prompts == nil {
		return nil, nil
	}
	prompts, err := l.prompts(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: commands of server %q: %w", server.config.Name, err)
	}
	var commands []agent.Command[D]
	taken := map[string]bool{}
	for _, p := range prompts {
		name := safeName(server.config.Name+":", p.Name)
		if taken[name] {
			name = hashed(name, p.Name)
		}
		if taken[name] {
			continue
		}
		taken[name] = true
		commands = append(commands, agent.Command[D]{
			Name: name, Description: visible(p.Description, 200), Hint: hint(p.Arguments),
			Run: func(ctx context.Context, call agent.CommandCall[D]) (agent.CommandResult, error) {
				return server.runPrompt(ctx, p, call.Args)
			},
		})
	}
	return commands, nil
}

// hint tells users what to type.
func hint(arguments []*mcp.PromptArgument) string {
	var words []string
	for _, a := range arguments {
		if a == nil {
			continue
		}
		word := visible(a.Name, 50)
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// runPrompt gets a prompt from the server.
func (s *Server) runPrompt(ctx context.Context, p *mcp.Prompt, typed string) (agent.CommandResult, error) {
	arguments := map[string]string{}
	rest := typed
	for i, a := range p.Arguments {
		if a == nil {
			continue
		}
		var word string
		if i == len(p.Arguments)-1 {
			word = unquoted(strings.TrimSpace(rest))
		} else {
			word, rest = firstWord(rest)
		}
		if word != "" {
			arguments[a.Name] = word
		} else if a.Required {
			return agent.CommandResult{}, fmt.Errorf("the argument %q is missing", visible(a.Name, 50))
		}
	}
	info := &toolset.RunInfo{}
	var parts []model.Part
	_, err := s.request(ctx, caller{
		call: &toolset.Call{}, info: info, title: p.Name,
	}, func(ctx context.Context, l *link, _ mcp.Meta) (toolset.Result, error) {
		res, err := l.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: arguments})
		if err != nil {
			return toolset.Result{}, err
		}
		w := contentWriter{limits: &s.config.Limits, room: s.config.Limits.Media}
		for _, m := range res.Messages {
			if m == nil {
				continue
			}
			if m.Role == "assistant" {
				w.line("[assistant]")
			}
			w.add(m.Content)
		}
		parts = append(w.media, model.User(shortened(w.text.String(), s.config.Limits.Result)))
		return toolset.Result{}, nil
	})
	if err != nil {
		if f, ok := errors.AsType[*toolset.FailedError](err); ok {
			return agent.CommandResult{}, errors.New(visible(f.Message, 500))
		}
		return agent.CommandResult{}, err
	}
	if len(parts) == 1 {
		return agent.CommandResult{Prompt: parts[0].Text}, nil
	}
	return agent.CommandResult{Parts: parts}, nil
}

// firstWord splits off a word, which quotes may hold together.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		if end := strings.IndexByte(text[1:], text[0]); end >= 0 {
			return text[1 : 1+end], text[2+end:]
		}
	}
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

func unquoted(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}
