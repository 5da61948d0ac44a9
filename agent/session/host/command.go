// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/nearest"
)

// Command is a slash command of the program. Those of the agent and its capabilities come before
// it, if they have the same name. See [BuiltIns] and [Templates] for commands that are there.
type Command struct {
	// Name follows the slash: letters, digits, and characters of "_-.:". Description describes the
	// command in one line. Hint tells users what to type after the name; it is empty if the command
	// takes no arguments.
	Name, Description, Hint string
	// Offered reports whether the session has the command. Nil means that it always has.
	Offered func(s *Session) bool
	// Run runs the command in the session's turn. Its result has the same effects as the result of
	// an agent's command.
	Run func(ctx context.Context, call *CommandCall) (agent.CommandResult, error)
	// AtOnce is set for commands that need no turn, and can be carried out while one runs:
	// see [Session.AtOnce]. They get no Messages then, and only the Notice of the result counts.
	AtOnce bool

	prompts bool // it does nothing but give a prompt
}

// CommandCall is a command that a user has entered.
type CommandCall struct {
	// Session is the session. Its methods that wait for turns must not be called.
	Session *Session
	// Args is the text after the name.
	Args string
	// Messages is the conversation so far. It is shared and must not be changed.
	Messages []*model.Message

	turn *Turn
}

// Commands returns the slash commands of the session: the agent's, and then the program's.
func (s *Session) Commands() []view.SlashCommand {
	all := slices.Clone(s.host.core.commands())
	for _, c := range s.programs() {
		taken := slices.ContainsFunc(all, func(other view.SlashCommand) bool { return other.Name == c.Name })
		if !taken && (c.Offered == nil || c.Offered(s)) {
			all = append(all, view.SlashCommand{
				Name: c.Name, Description: c.Description, Hint: c.Hint, AtOnce: c.AtOnce,
			})
		}
	}
	return all
}

// programs are the commands of the program, followed by the session's. Names are unique.
func (s *Session) programs() []Command {
	all := s.host.commands
	if s.host.more == nil {
		return all
	}
	all = slices.Clip(all)
	for _, c := range s.host.more(s) {
		if isName(c.Name) && c.Run != nil && !slices.ContainsFunc(all, func(other Command) bool { return other.Name == c.Name }) {
			all = append(all, c)
		}
	}
	return all
}

// explains reports whether a command that does not exist is explained.
func (h *Host) explains() bool {
	return len(h.commands) > 0 || h.more != nil || len(h.core.commands()) > 0
}

func checkCommands(all []Command) error {
	var errs []error
	for i, c := range all {
		switch {
		case !isName(c.Name):
			errs = append(errs, fmt.Errorf(
				"host: config: the command %q: use letters, digits, and characters of %q", c.Name,
				"_-.:",
			))
		case c.Run == nil:
			errs = append(errs, fmt.Errorf("host: config: the command %q has no Run", c.Name))
		case slices.ContainsFunc(all[:i], func(other Command) bool { return other.Name == c.Name }):
			errs = append(errs, fmt.Errorf("host: config: the command %q is there twice", c.Name))
		}
	}
	return errors.Join(errs...)
}

func isName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.:", r)
	})
}

// splitCommand splits a text into the name of a command and what follows it, as
// [agent.Agent.Command] does. ok is false if the text does not begin with a slash and a name.
func splitCommand(text string) (name, args string, ok bool) {
	name, ok = strings.CutPrefix(text, "/")
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name, args = name[:end], strings.TrimSpace(name[end:])
	}
	return name, args, ok && isName(name)
}

// isCommand reports whether parts begin with a slash command. It waits for its turn, also where
// prompts steer.
func (s *Session) isCommand(parts []model.Part) bool {
	if len(parts) == 0 || parts[0].Kind != model.PartUser {
		return false
	}
	name, _, ok := splitCommand(parts[0].Text)
	known := func(c view.SlashCommand) bool { return c.Name == name }
	return ok && (s.host.explains() || slices.ContainsFunc(s.Commands(), known))
}

// dispatch carries out the command that a text begins with. It reports false if that is an ordinary
// prompt.
func (s *Session) dispatch(t *Turn, p *Prompt) (res agent.CommandResult, ok bool, err error) {
	text, in := p.Parts[0].Text, func() (*runInput, error) { return t.input(p) }
	res, ok, err = s.instance.command(t.ctx, in, text, t.c.Messages())
	if ok || !s.host.explains() {
		return res, ok, err
	}
	c, args := s.program(text)
	name, _, ok := splitCommand(text)
	switch {
	case !ok:
		return agent.CommandResult{}, false, nil
	case c == nil:
		return agent.CommandResult{}, true, errors.New(s.unknown(name))
	}
	if c.Hint == "" && args != "" {
		return agent.CommandResult{}, true, fmt.Errorf("/%s: %w", name, agent.ErrCommandArgs)
	}
	defer recovered(&err)
	if res, err = c.Run(t.ctx, &CommandCall{Session: s, Args: args, Messages: slices.Clip(t.c.Messages()), turn: t}); err != nil {
		return agent.CommandResult{}, true, fmt.Errorf("/%s: %w", name, err)
	}
	return res, true, nil
}

// AtOnce carries out the command that a text begins with, if it is one of the program with
// [Command].AtOnce, and returns what the user is told: its notice, or its error. It does not wait
// for turns, here or in other processes, and nothing is recorded. ok is false if there is no such
// command.
func (s *Session) AtOnce(ctx context.Context, text string) (notice string, ok bool) {
	c, args := s.atOnce(text)
	if c == nil {
		return "", false
	}
	res, err := func() (res agent.CommandResult, err error) {
		defer recovered(&err)
		if c.Hint == "" && args != "" {
			return agent.CommandResult{}, agent.ErrCommandArgs
		}
		return c.Run(ctx, &CommandCall{Session: s, Args: args})
	}()
	if err != nil {
		err = fmt.Errorf("/%s: %w", c.Name, err)
		s.logCommand(err)
		return s.host.commandText(err), true
	}
	return res.Notice, true
}

// IsAtOnce reports whether a text begins with a command that [Session.AtOnce] carries out.
func (s *Session) IsAtOnce(text string) bool { c, _ := s.atOnce(text); return c != nil }

func (s *Session) atOnce(text string) (c *Command, args string) {
	if c, args = s.program(text); c == nil || !c.AtOnce {
		return nil, ""
	}
	return c, args
}

// program returns the command of the program that a text begins with, or nil.
func (s *Session) program(text string) (c *Command, args string) {
	name, args, ok := splitCommand(text)
	if !ok || slices.ContainsFunc(s.host.core.commands(), func(c view.SlashCommand) bool { return c.Name == name }) {
		return nil, "" // the agent's comes first
	}
	all := s.programs()
	i := slices.IndexFunc(all, func(c Command) bool { return c.Name == name && (c.Offered == nil || c.Offered(s)) })
	if i < 0 {
		return nil, ""
	}
	return &all[i], args
}

// unknown explains that a command does not exist.
func (s *Session) unknown(name string) string {
	var names []string
	for _, c := range s.Commands() {
		names = append(names, c.Name)
	}
	text := fmt.Sprintf("Unknown command /%s.", name)
	if near := nearest.Of(name, slices.Values(names)); near != "" {
		text += fmt.Sprintf(" Did you mean /%s?", near)
	}
	for i := range names {
		names[i] = "/" + names[i]
	}
	return text + " Commands: " + strings.Join(names, ", ") + ". To send the text as it is, begin it with a space."
}

// command carries out the slash command that a prompt begins with, and returns what the agent is
// given in its place. more is false if no run follows. An error of the command, such as one about
// its arguments, is shown to the user.
func (s *Session) command(t *Turn, p *Prompt) (parts []model.Part, shown []view.Content, more bool, err error) {
	c := t.c
	parts, shown = p.Parts, p.Shown
	if p.Plain || parts[0].Kind != model.PartUser || !strings.HasPrefix(parts[0].Text, "/") {
		return parts, shown, true, nil
	}
	res, ok, failed := s.dispatch(t, p)
	if !ok {
		return parts, shown, true, nil
	}
	if shown == nil {
		shown = transcript.Contents(parts)
	}
	if more = failed == nil && (res.Prompt != "" || res.Parts != nil); !more {
		c.Typed(shown)
		t.shown()
	}
	if failed != nil {
		s.logCommand(failed)
		t.Say(s.host.commandText(failed))
		return nil, nil, false, nil
	}
	t.Say(res.Notice)
	if res.Messages != nil {
		now, err := c.Begin(t.ctx)
		if err == nil {
			reason := transcript.Done
			if len(agent.PendingCalls(res.Messages)) > 0 {
				reason = transcript.Pending
			}
			err = now.Finish(context.WithoutCancel(t.ctx), res.Messages, reason)
		}
		if err != nil {
			return nil, nil, false, err
		}
	}
	var given []model.Part
	if res.Prompt != "" {
		given = append(given, model.User(res.Prompt))
	}
	return append(append(given, res.Parts...), parts[1:]...), shown, more, nil // what was attached stays
}
