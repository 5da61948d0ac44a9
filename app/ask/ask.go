// SPDX-License-Identifier: Apache-2.0

// Package ask talks to a person on a terminal, in plain lines. It is small: programs that want a
// screen, sessions and commands use package chat of app instead.
//
//	t := ask.New(os.Stdin, os.Stdout)
//	messages := ask.Converse(ctx, t, a, deps)
package ask

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Terminal asks a person. It implements [toolset.Asker]. It is not safe for concurrent use; a run
// asks one question at a time.
type Terminal struct {
	// Yes allows everything. It is shown all the same.
	Yes bool
	// By names the person in decisions. Empty means the user.
	By string

	in  *bufio.Scanner
	out *output
}

// output is written to by the run and by questions of its calls, at the same time.
type output struct {
	mu     sync.Mutex
	to     io.Writer
	failed error
}

func (o *output) write(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := io.WriteString(o.to, text); err != nil && o.failed == nil {
		o.failed = fmt.Errorf("the output cannot be written: %w", err)
	}
}

func (o *output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// New returns a terminal that reads answers and prompts from in, a line each of less than 1 MiB.
func New(in io.Reader, out io.Writer) *Terminal {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	return &Terminal{in: lines, out: &output{to: out}}
}

// Err returns why the input was not read to its end, such as a line that is too long, or why the
// output was not written.
func (t *Terminal) Err() error {
	if err := t.in.Err(); err != nil {
		return fmt.Errorf("the input cannot be read: %w", err)
	}
	return t.out.err()
}

var _ toolset.Asker = (*Terminal)(nil)

// Say writes text. Characters that a terminal would obey become spaces.
func (t *Terminal) Say(format string, args ...any) {
	text := strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
	t.out.write(strings.Join(text, " "))
}

// Line writes text and reads a line. It reports false at the end of the input, and if it cannot be
// read: see [Terminal.Err].
func (t *Terminal) Line(format string, args ...any) (line string, ok bool) {
	t.Say(format, args...)
	if ok = t.out.err() == nil && t.in.Scan(); !ok {
		return "", false
	}
	return strings.TrimSpace(t.in.Text()), true
}

// Approve implements [toolset.Asker]. It shows what the call would do. Only "y" allows it. If it
// cannot be shown, that is the error.
func (t *Terminal) Approve(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	t.Say("\n%s\n", approval.Text(&r.Approval))
	if err := t.out.err(); err != nil {
		return toolset.Decision{}, err
	}
	if t.Yes {
		t.Say("-yes: allowed\n")
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: t.By}, nil
	}
	if answer, _ := t.Line("Allow? [y/N] "); answer == "y" {
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: t.By}, nil
	}
	who := "The user"
	if t.By != "" {
		who = t.By
	}
	return toolset.Deny(who + " does not want this."), nil
}

// Answer implements [toolset.Asker]. It shows the question with its schema, and takes a line as
// the only field of the form: a text, or one of some texts. Without a schema, the field is
// "answer". For other forms, and at the end of the input, the error is [toolset.ErrNobody].
func (t *Terminal) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	name, choices, err := fieldOf(q.Schema)
	if err != nil {
		return toolset.Reply{}, fmt.Errorf("%w: %w", toolset.ErrNobody, err)
	}
	for {
		answer, ok := t.Line("\n%s\n%s%s\n? ", q.Message, q.URL, q.Schema)
		switch {
		case !ok:
			return toolset.Reply{}, toolset.ErrNobody
		case q.URL != "":
			return toolset.Reply{Action: toolset.ActionAccept}, nil
		case choices == nil || slices.Contains(choices, answer):
			content, err := json.Marshal(map[string]string{name: answer})
			return toolset.Reply{Action: toolset.ActionAccept, Content: content}, err
		}
		t.Say("Answer one of %q.\n", choices)
	}
}

// fieldOf returns the only field of a form, and the texts that it may have, nil for any.
func fieldOf(schema json.RawMessage) (name string, choices []string, err error) {
	if len(schema) == 0 {
		return "answer", nil, nil
	}
	var form struct {
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return "", nil, fmt.Errorf("the form is not a JSON schema: %w", err)
	}
	if len(form.Properties) != 1 {
		return "", nil, fmt.Errorf("the form has %d fields: a line is one", len(form.Properties))
	}
	for name, field := range form.Properties {
		for keyword, value := range field {
			switch keyword {
			case "type":
				if string(value) != `"string"` {
					err = fmt.Errorf("field %q has the type %s: a line is a string", name, value)
				}
			case "enum":
				err = json.Unmarshal(value, &choices)
			case "title", "description", "default":
			default:
				err = fmt.Errorf("field %q has the rule %q, which is not checked here", name, keyword)
			}
			if err != nil {
				return "", nil, err
			}
		}
		return name, choices, nil
	}
	return "", nil, nil // not reached
}

// Converse reads prompts and slash commands until the input ends, and returns the conversation.
// Errors of turns are shown. [Terminal.Err] returns errors of the input and of the output.
func Converse[D, O any](ctx context.Context, t *Terminal, a *agent.Agent[D, O], deps D) (messages []*model.Message) {
	for ctx.Err() == nil {
		prompt, ok := t.Line("\n> ")
		if !ok {
			break
		}
		if cmd, is, err := a.Command(ctx, deps, prompt, messages); is {
			if err != nil {
				cmd.Notice = err.Error()
			}
			t.Say("%s\n", cmd.Notice)
			if prompt = cmd.Prompt; cmd.Messages != nil {
				messages = cmd.Messages
			}
		}
		if prompt == "" {
			continue
		}
		var err error
		if messages, err = Turn(ctx, t, a, deps, prompt, messages); err != nil {
			t.Say("\n%v\n", err)
		}
	}
	return messages
}

// Turn runs the agent for a prompt, and shows text and calls as they come. It returns the
// conversation after it, also if the run has failed. The run ends if it cannot be shown.
func Turn[D, O any](
	ctx context.Context, t *Terminal, a *agent.Agent[D, O], deps D, prompt string,
	messages []*model.Message,
) ([]*model.Message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := a.Stream(ctx, deps, prompt, agent.WithHistory(messages), agent.WithAsker(t))
	for e := range s.Events() {
		switch {
		case e.Kind == agent.EventPartDelta && e.PartKind == model.PartText:
			t.Say("%s", e.Text)
		case e.Kind == agent.EventToolStart:
			t.Say("\n[%s %s]\n", e.Tool, e.Args)
		}
		if err := t.out.err(); err != nil {
			cancel(err)
		}
	}
	res, err := s.Result()
	if failed, ok := errors.AsType[*agent.RunError](err); ok {
		return failed.Messages, err
	} else if err != nil {
		return messages, err
	}
	t.Say("\n")
	return res.Messages, t.out.err()
}
