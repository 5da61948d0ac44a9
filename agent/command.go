// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Command is a slash command: a user types "/name arguments" instead of a prompt. A user interface
// lists the commands of [Agent.Commands] and passes the input to [Agent.Command]. Runs do not
// interpret commands.
//
// Exactly one of Prompt and Run is set.
type Command[D any] struct {
	// Name follows the slash: 1 to 64 letters, digits, and characters of "_-.:".
	Name string
	// Description says in a line what the command does.
	Description string
	// Hint tells users what to type after the name, such as "path". It is empty if the command takes no arguments.
	Hint string
	// Prompt is sent to the agent instead of the command. Arguments follow it after a blank line.
	Prompt string
	// Run makes the prompt, or does what the command says without a run of the agent.
	Run func(ctx context.Context, call CommandCall[D]) (CommandResult, error)
}

// CommandCall is a command as a user gave it.
type CommandCall[D any] struct {
	// Deps are the dependencies, as for a run.
	Deps D
	// Args is the text after the name, without the white space around it.
	Args string
	// Messages is the conversation so far. It is shared and must not be changed.
	Messages []*model.Message
	// Meter counts what the command asks models ([toolset.Meter.Generate]), under the limits, prices
	// and windows of a run. It may be nil in tests.
	Meter *toolset.Meter
}

// CommandResult is the result of a command. If it has a Prompt or Parts, the caller runs the agent with them. Otherwise there is
// nothing to run.
type CommandResult struct {
	// Prompt and Parts go to the agent: see [Agent.Run] and [WithParts].
	Prompt string
	Parts  []model.Part
	// Notice is shown to the user. It does not become part of the conversation.
	Notice string
	// Messages replace the conversation's history if they are not nil.
	Messages []*model.Message
}

// ErrCommandArgs means that a command without parameters was given arguments.
var ErrCommandArgs = errors.New("the command takes no arguments")

// Commands returns the slash commands of the agent and its capabilities, in order. See [Capability].
func (a *Agent[D, O]) Commands() []Command[D] { return slices.Clone(a.config.Commands) }

// Command runs the slash command that text begins with. If text does not begin with a slash and the name of a command, it is
// an ordinary prompt: Command does nothing and reports false. messages is the conversation so far. The limits, prices and policies of
// the agent and of opts, the options of its runs, hold for requests of the command. The other options are not used.
func (a *Agent[D, O]) Command(
	ctx context.Context, deps D, text string, messages []*model.Message, opts ...RunOption,
) (res CommandResult, ok bool, err error) {
	name, args, ok := splitCommand(text)
	if !ok {
		return res, false, nil
	}
	i := slices.IndexFunc(a.config.Commands, func(c Command[D]) bool { return c.Name == name })
	if i < 0 {
		return res, false, nil
	}
	c := &a.config.Commands[i]
	if c.Hint == "" && args != "" {
		return res, true, fmt.Errorf("agent%s: /%s: %w", named(a.config.Name), name, ErrCommandArgs)
	}
	call := CommandCall[D]{Deps: deps, Args: args, Messages: slices.Clip(messages)}
	if c.Run != nil {
		call.Meter, err = a.commandMeter(ctx, deps, messages, opts)
	}
	if err == nil {
		res, err = c.run(ctx, call)
	}
	if err != nil {
		return CommandResult{}, true, fmt.Errorf("agent%s: /%s: %w", named(a.config.Name), name, err)
	}
	return res, true, nil
}

// commandMeter returns the meter of a command, which is that of a run.
func (a *Agent[D, O]) commandMeter(
	ctx context.Context, deps D, messages []*model.Message, opts []RunOption,
) (*toolset.Meter, error) {
	r := new(agentRun[D, O])
	r.begin(ctx, a, deps, opts)
	if r.options.more().results = nil; r.options.model == nil { // commands have models of their own
		r.options.model = model.Func(model.Info{}, nil)
	}
	if _, err := r.loopConfig(""); err != nil {
		return nil, err
	}
	run := &r.context.RunInfo
	run.ConversationID = r.options.conversationID
	for i := len(messages) - 1; i >= 0 && run.ConversationID == ""; i-- {
		run.ConversationID = messages[i].ConversationID
	}
	r.options.prepareMeter(run)
	return run.Meter, nil
}

func (c *Command[D]) run(ctx context.Context, call CommandCall[D]) (res CommandResult, err error) {
	defer recovered(&err)
	if c.Run == nil {
		return CommandResult{Prompt: joined(c.Prompt, "\n\n", call.Args)}, nil
	}
	return c.Run(ctx, call)
}

// splitCommand splits a text that may be a command into name and arguments.
func splitCommand(text string) (name, args string, ok bool) {
	text, ok = strings.CutPrefix(text, "/")
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], strings.TrimSpace(text[end:]), ok
	}
	return text, "", ok
}

// check reports an invalid command.
func (c *Command[D]) check() error {
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.:", r)
	}
	var wrong problems
	if c.Name == "" || len(c.Name) > 64 || strings.ContainsFunc(c.Name, strange) {
		wrong.add(`command %q: the name must have 1 to 64 characters: letters, digits, or one of "_-.:"`, c.Name)
	}
	if (c.Prompt == "") == (c.Run == nil) {
		wrong.add("command %q: set either Prompt or Run", c.Name)
	}
	return wrong.join()
}

func adaptCommand[N, D any](c Command[N], narrow func(D) N) Command[D] {
	adapted := Command[D]{Name: c.Name, Description: c.Description, Hint: c.Hint, Prompt: c.Prompt}
	if c.Run != nil {
		adapted.Run = func(ctx context.Context, call CommandCall[D]) (CommandResult, error) {
			return c.Run(ctx, CommandCall[N]{Deps: narrow(call.Deps), Args: call.Args, Messages: call.Messages, Meter: call.Meter})
		}
	}
	return adapted
}
