// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
)

// WaitingCommand returns the command /waiting, which lists, edits and removes the prompts that wait
// for their turns, whichever process has taken them. [BuiltIns] has it. It is carried out at once.
func WaitingCommand() Command {
	return Command{
		Name: "waiting", Description: "List the prompts that wait, or change one.",
		Hint: "[edit NUMBER TEXT | remove NUMBER]", AtOnce: true,
		Run: func(ctx context.Context, call *CommandCall) (res agent.CommandResult, err error) {
			res.Notice, err = call.Session.waitingCommand(ctx, call.Args)
			return res, err
		},
	}
}

const waitingUsage = "Use `/waiting`, `/waiting edit NUMBER TEXT` or `/waiting remove NUMBER`, " +
	"with a number of the list."

// waitingCommand is /waiting. The number of a prompt names its version, too: a prompt that has been
// changed since it was listed is not touched.
func (s *Session) waitingCommand(ctx context.Context, args string) (string, error) {
	all, err := s.Waiting(ctx)
	if err != nil {
		return "", err
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	text = strings.TrimSpace(text)
	switch {
	case verb == "":
		return listWaiting(all), nil
	case verb == "edit" && text != "", verb == "remove" && number != "" && text == "":
	default:
		return waitingUsage, nil
	}
	i := slices.IndexFunc(all, func(w *Waiting) bool { return w.Number() == number })
	if i < 0 {
		why := " waits: it has begun, was changed or was removed.\n\n"
		return "No prompt with the number " + show.Line(number) + why + listWaiting(all), nil
	}
	w, said := all[i], "Removed"
	if verb == "remove" {
		err = s.RemoveWaiting(ctx, w.ID, w.Version)
	} else {
		said = "Changed"
		parts, shown, ok := w.withText(text)
		if !ok {
			return "This prompt has more than a text, so it cannot be changed here. " +
				"Remove it, and send another one.", nil
		}
		err = s.EditWaiting(ctx, w.ID, w.Version, parts, shown)
	}
	if err != nil && !errors.Is(err, session.ErrChanged) && !errors.Is(err, session.ErrConsumed) {
		return "", err
	}
	if err != nil {
		said = "It is too late to change it"
	}
	if all, err = s.Waiting(ctx); err != nil {
		return "", err
	}
	return said + ": " + quoted(w) + "\n\n" + listWaiting(all), nil
}

// Number is what users call the prompt: its place in the inbox and, once it was changed, a dot and
// its version. It names what was shown.
func (w *Waiting) Number() string {
	number := strconv.FormatInt(w.Pos, 10)
	if w.Version > 1 {
		number += "." + strconv.FormatInt(w.Version, 10)
	}
	return number
}

// withText returns the prompt with another text. Media stay. ok is false if the prompt has further
// texts, such as the contents of files, which cannot be told from what was typed.
func (w *Waiting) withText(text string) (parts []model.Part, shown []view.Content, ok bool) {
	parts = []model.Part{model.User(text)}
	texts := 0
	for _, p := range w.Parts {
		if p.Kind == model.PartUser {
			texts++
			continue
		}
		parts = append(parts, p)
	}
	return parts, transcript.Contents(parts), texts <= 1
}

// shownOfPrompt is how much of a prompt a list shows, in bytes.
const shownOfPrompt = 500

// Line returns the prompt on one line, of which long texts are cut.
func (w *Waiting) Line() string {
	var all []string
	for _, c := range w.Content() {
		switch text := show.Line(c.Text); {
		case c.Kind != view.Text:
			all = append(all, "["+show.Line(string(c.Kind))+"]")
		case len(text) > shownOfPrompt:
			all = append(all, strings.ToValidUTF8(text[:shownOfPrompt], "")+"…")
		default:
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// quoted returns the prompt as code. Nothing in it ends that.
func quoted(w *Waiting) string { return "`` " + strings.ReplaceAll(w.Line(), "`", "'") + " ``" }

func listWaiting(all []*Waiting) string {
	if len(all) == 0 {
		return "No prompts wait."
	}
	var b strings.Builder
	for _, w := range all {
		fmt.Fprintf(&b, "- %s: %s\n", w.Number(), quoted(w))
	}
	b.WriteString("\nTo change one: `/waiting edit NUMBER TEXT` or `/waiting remove NUMBER`.")
	return b.String()
}
