// SPDX-License-Identifier: Apache-2.0

package capability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// ToolAskUser is the name of the tool.
const ToolAskUser = "ask_user"

// MaxAnswer bounds what the model is shown of an answer, in bytes.
const MaxAnswer = 16 << 10

// AskOptions changes [Ask].
type AskOptions struct {
	// Defer leaves a question pending if it cannot be answered while the run waits. On Temporal,
	// where a call that waits holds an activity, it is left pending if the run has no asker.
	Defer bool
}

// AskQuestion is a question of the model: the arguments of ask_user, and the Meta of a call that
// was deferred.
type AskQuestion struct {
	// Question is the text of the question.
	Question string `json:"question" jsonschema_description:"One question, with the context the user needs to answer it." validate:"required,max=4000"`
	// Options are answers to choose from.
	Options []string `json:"options,omitempty" jsonschema_description:"Answers to choose from, if there are only a few. The user may still give another one." validate:"max=7,dive,required,max=300"`
}

const (
	askDescription = "Ask the user a question and wait for the answer. Use it if you cannot continue without a decision or information that only the user has. Do not ask for information you can find yourself, or for permission to use a tool."
	unanswerable   = "No one can answer questions right now. Continue with a reasonable assumption and state it, or stop and say what you need to know."
)

// Ask returns the capability.
func Ask[D any](o AskOptions) agent.Capability[D] {
	return agent.Capability[D]{
		Name:  "ask",
		Tools: []*toolset.Tool[D]{toolset.Func(ToolAskUser, askDescription, askUser[D](o), toolset.OfKind(toolset.KindOther, "Ask the user"), unique[D]())},
	}
}

// AskExternal returns a capability whose questions are always left pending, for programs that
// answer in a later run. The result of such a call is the answer, as text.
func AskExternal[D any]() agent.Capability[D] {
	return agent.Capability[D]{
		Name:  "ask",
		Tools: []*toolset.Tool[D]{toolset.ExternalTool[D, AskQuestion](ToolAskUser, askDescription, toolset.OfKind(toolset.KindOther, "Ask the user"), unique[D]())},
	}
}

// unique checks that people can tell the options apart.
func unique[D any]() toolset.Option {
	return toolset.Check(func(_ context.Context, _ *toolset.RunContext[D], in AskQuestion) error {
		options := append(in.shown(), another)
		slices.Sort(options)
		if len(slices.Compact(options)) <= len(in.Options) {
			return toolset.Retry("options: two options are the same, or one is %q, which is always offered", another)
		}
		return nil
	})
}

// shown returns the options as people see them.
func (q *AskQuestion) shown() []string {
	all := make([]string, len(q.Options))
	for i, o := range q.Options {
		all[i] = clean.Short(o, 300)
	}
	return all
}

// another is offered in addition to the options.
const another = "Another answer"

func askUser[D any](o AskOptions) func(context.Context, *toolset.RunContext[D], AskQuestion) (string, error) {
	return func(ctx context.Context, run *toolset.RunContext[D], in AskQuestion) (string, error) {
		options := in.shown()
		if len(options) > 0 {
			options = append(options, another)
		}
		text, err := putQuestion(ctx, run, toolset.Question{Message: in.Question, Deferrable: o.Defer}, options)
		if err == nil && len(options) > 0 && text == another {
			text, err = putQuestion(ctx, run, toolset.Question{Message: in.Question, Deferrable: o.Defer}, nil)
		}
		switch {
		case err == nil:
			return "The user answered: " + text, nil
		case errors.Is(err, toolset.ErrNobody) && o.Defer:
			meta, err := json.Marshal(in)
			if err != nil {
				return "", fmt.Errorf("capability: %w", err)
			}
			return "", toolset.Deferred(meta)
		case errors.Is(err, toolset.ErrNobody) && !errors.As(err, new(*toolset.FailedError)): // an asker may say more
			return "", toolset.Failed("%s", unanswerable)
		}
		return "", err
	}
}

// put asks a question and returns the answer.
func putQuestion[D any](ctx context.Context, run *toolset.RunContext[D], q toolset.Question, options []string) (string, error) {
	schema, err := askForm(options)
	if err != nil {
		return "", fmt.Errorf("capability: %w", err)
	}
	q.Message, q.Schema = clean.Text(q.Message), schema
	reply, err := run.Ask(ctx, q)
	if err != nil {
		return "", err
	}
	return readReply(&reply, options)
}

// read returns the answer to the model.
func readReply(reply *toolset.Reply, options []string) (string, error) {
	switch reply.Action {
	case toolset.ActionDecline:
		return "", toolset.Denied("The user does not want to answer this. Do not ask again; continue without the answer or stop.")
	case toolset.ActionCancel:
		return "", toolset.Denied("The user closed the question without an answer.")
	}
	var form struct {
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(reply.Content, &form); err != nil {
		return "", toolset.Failed("The answer could not be read: it does not fit the question.")
	}
	text := form.Answer
	if len(options) > 0 && !slices.Contains(options, text) || strings.TrimSpace(text) == "" {
		return "", toolset.Failed("The user gave no answer.")
	}
	if kept, cut := clean.Cut(text, MaxAnswer); cut {
		text = kept + "\n[The answer is longer.]"
	}
	return text, nil
}

// form returns the schema of the answer. A form with one choice can be shown by editors that know
// no forms.
func askForm(options []string) (json.RawMessage, error) {
	type property struct {
		Type  string   `json:"type"`
		Title string   `json:"title"`
		Enum  []string `json:"enum,omitempty"`
	}
	return json.Marshal(struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}{"object", map[string]property{"answer": {"string", "Answer", options}}, []string{"answer"}})
}
