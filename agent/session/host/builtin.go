// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Tool describes a tool of the agent to people.
type Tool struct {
	// Name and Description are what the model is told, Title what people are.
	Name, Title, Description string
	Kind                     toolset.Kind
	// Idempotent reports that a call may be made again with the same key: see [toolset.Options].
	Idempotent bool
}

// BuiltIns returns commands that most programs want: /help, /mode, /model, /tools, /permissions,
// /waiting, /cost, /undo and /export. /mode and /model are offered if there is something to choose
// from. prices may be nil. Then /cost shows only tokens.
func BuiltIns(prices model.PriceTable) []Command {
	return []Command{
		{Name: "help", Description: "List the commands.", Run: help},
		{
			Name: "mode", Description: "Show the mode, or set it.", Hint: "mode",
			Offered: offers(SettingMode), Run: setBy(SettingMode),
		},
		{
			Name: "model", Description: "Show the model, or set it.", Hint: "model",
			Offered: offers(SettingModel), Run: setBy(SettingModel),
		},
		{Name: "tools", Description: "List the agent's tools.", Run: listTools},
		{
			Name: "permissions", Description: "List the rules that decide about calls, or take one back.",
			Hint: "remove NUMBER", Run: permissions,
		},
		WaitingCommand(),
		{Name: "cost", Description: "Show what the session has used.", Run: func(ctx context.Context, call *CommandCall) (agent.CommandResult, error) {
			return cost(ctx, call, prices)
		}},
		{Name: "undo", Description: "Take back the last prompt and what followed from it.", Run: undo},
		{Name: "export", Description: "Show the conversation as Markdown.", Run: export},
	}
}

func help(_ context.Context, call *CommandCall) (res agent.CommandResult, err error) {
	var b strings.Builder
	for _, c := range call.Session.Commands() {
		b.WriteString("- `/" + c.Name)
		if c.Hint != "" {
			b.WriteString(" " + show.Line(c.Hint))
		}
		b.WriteString("` " + show.Line(c.Description) + "\n")
	}
	res.Notice = b.String()
	return res, nil
}

func offers(setting string) func(*Session) bool {
	return func(s *Session) bool {
		return s.setting(setting) != nil
	}
}

// setBy shows a setting, or sets it to a value that is named by its id or title.
func setBy(setting string) func(context.Context, *CommandCall) (agent.CommandResult, error) {
	return func(ctx context.Context, call *CommandCall) (res agent.CommandResult, err error) {
		all := call.Session.Settings()
		one := &all[slices.IndexFunc(all, func(s view.Setting) bool { return s.ID == setting })]
		for _, c := range one.Choices {
			if call.Args != "" && (strings.EqualFold(c.ID, call.Args) || strings.EqualFold(c.Title, call.Args)) {
				if _, err := call.Session.Set(ctx, setting, c.ID); err != nil {
					return agent.CommandResult{}, err
				}
				res.Notice = fmt.Sprintf("%s: %s", one.Title, show.Line(c.Title))
				return res, nil
			}
		}
		var b strings.Builder
		if call.Args != "" {
			fmt.Fprintf(&b, "There is no %s %s. Choose one of these:\n\n", setting, show.Line(call.Args))
		}
		for _, c := range one.Choices {
			mark := ""
			if c.ID == one.Value {
				mark = " (current)"
			}
			fmt.Fprintf(&b, "- `%s`%s %s\n", show.Line(c.ID), mark, show.Line(c.Description))
		}
		res.Notice = b.String()
		return res, nil
	}
}

func listTools(ctx context.Context, call *CommandCall) (res agent.CommandResult, err error) {
	tools, err := call.Session.instance.tools(ctx)
	if err != nil {
		return agent.CommandResult{}, err
	}
	if res.Notice = "There are no tools."; len(tools) == 0 {
		return res, nil
	}
	var b strings.Builder
	for _, t := range tools {
		line, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		fmt.Fprintf(&b, "- `%s` %s\n", t.Name, show.Line(line))
	}
	res.Notice = b.String()
	return res, nil
}

// cost adds up the usage of the responses of the session's turns. In a store that outlives the
// process, these are more than the history may have. If the session shows its cost, that is the one, which has the agents inside calls.
func cost(
	ctx context.Context, call *CommandCall, prices model.PriceTable,
) (res agent.CommandResult, err error) {
	s := call.Session
	turns, err := transcript.Past(ctx, s.host.store, s.id)
	if err != nil {
		return agent.CommandResult{}, err
	}
	var usage model.Usage
	requests, money, unknown := 0, 0.0, false
	for i := range turns {
		for _, m := range turns[i].Messages {
			if m.Kind != model.KindResponse {
				continue
			}
			requests++
			usage.Add(m.Usage)
			if prices != nil {
				price, ok := prices.Price(m.Provider, m.Model, m.Time)
				unknown = unknown || !ok
				money += price.Of(m.Usage)
			}
		}
	}
	if e := call.turn.c.Fold().Get(transcript.UsageID); e != nil && e.Usage.Cost > 0 {
		money = e.Usage.Cost
	}
	res.Notice = fmt.Sprintf(
		"%d requests, %d tokens in, %d tokens out", requests, usage.InputTokens, usage.OutputTokens,
	)
	if prices != nil {
		res.Notice += fmt.Sprintf(", cost %.4f", money)
		if unknown {
			res.Notice += " plus the cost of models without a known price"
		}
	}
	return res, nil
}

// undo takes back the last prompt.
func undo(ctx context.Context, call *CommandCall) (res agent.CommandResult, err error) {
	t := call.turn
	last := ""
	for _, m := range slices.Backward(call.Messages) {
		root, _, _ := strings.Cut(m.RunID, "/")
		if root != "" && !isSummary(m) && t.c.Fold().Get(transcript.PromptID(root)) != nil {
			last = root
			break
		}
	}
	if last == "" {
		why := "there is nothing to take back"
		if slices.ContainsFunc(call.Messages, isSummary) {
			why += ", or only a summary of it"
		}
		return agent.CommandResult{}, errors.New(why)
	}
	said := titleOf([]model.Part{model.User(t.c.Fold().Get(transcript.PromptID(last)).Text())})
	note, err := call.Session.rewind(ctx, t.c, last)
	if stay, ok := errors.AsType[*FilesStayError](err); ok {
		res.Notice = stay.Text()
		return res, nil
	}
	if err != nil {
		return agent.CommandResult{}, err
	}
	t.c.Start(t.id)
	res.Notice = "Taken back: " + said
	if note != "" {
		res.Notice += "\n\n" + note
	}
	return res, nil
}

// export shows the conversation as Markdown.
func export(_ context.Context, call *CommandCall) (res agent.CommandResult, err error) {
	text := Markdown(call.turn.c.Fold().Snapshot())
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	res.Notice = fence + "markdown\n" + text + fence
	return res, nil
}

// Markdown returns the conversation as Markdown, with the names of the tools that were called, and
// with the questions that wait for an answer.
func Markdown(s *view.Snapshot) string {
	var b strings.Builder
	for e := range s.All() {
		switch {
		case e.Kind == view.Message && (e.Text() != "" || e.Status != ""):
			who := "Assistant"
			if e.Role == view.User {
				who = "User"
			}
			said := strings.TrimSpace(e.Text())
			if end := e.Status.Ending(); end != "" {
				said = strings.TrimSpace(said + "\n\n*" + end + "*")
			}
			fmt.Fprintf(&b, "## %s\n\n%s\n\n", who, said)
		case e.Kind == view.ToolCall:
			fmt.Fprintf(
				&b, "- `%s` (%s)\n\n", strings.ReplaceAll(show.Line(e.Title), "`", "'"),
				show.Line(string(e.Status)),
			)
		case e.Kind == view.Question && e.Status == view.Pending:
			fmt.Fprintf(&b, "*Not answered yet: %s*\n\n", waitsFor(e))
		}
	}
	return b.String()
}

// waitsFor returns what a question asks, on one line.
func waitsFor(e *view.Entity) string {
	asked := show.Line(e.Title)
	for _, c := range e.Content {
		if c.Kind == view.Text {
			asked += ". " + strings.TrimSuffix(show.Line(c.Text), ".")
		}
	}
	return asked
}
