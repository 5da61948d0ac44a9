// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// script goes through the steps of a turn from the beginning, taking the results of calls that were
// made already from the history, until a call has to be made or all is said.
type script struct {
	turn  turn
	tools []string
	acts  []act
	// waiting is set if the next call is among the acts.
	waiting bool
	failed  []step
	// edited is the result of the last edit.
	edited string
}

// next returns what the response to a request is.
func next(req *model.Request) []act {
	s := script{turn: lastTurn(req.Messages)}
	if req.ToolChoice.Mode != model.ToolChoiceNone {
		for i := range req.Tools {
			s.tools = append(s.tools, req.Tools[i].Name)
		}
	}
	steps, problem := parse(s.turn.prompt, s.turn.earlier)
	for _, st := range steps {
		if st.act == actTool && !slices.Contains(s.tools, st.tool) {
			problem = "there is no tool " + code(st.tool) + " here. The tools are " + strings.Join(s.tools, ", ")
			break
		}
		if st.act == actRename && !slices.Contains(s.tools, toolRename) {
			problem = inWhichFile
			break
		}
	}
	switch {
	case problem != "":
		s.refuse(problem)
	case len(steps) == 0:
		s.say("This is the offline demo model. Tell me what to do with your files; `help` says what I understand.\n")
	default:
		s.plan(steps)
		for _, st := range steps {
			if s.perform(st); s.waiting {
				break
			}
		}
	}
	return s.acts
}

// refuse says in two lines that nothing was done.
func (s *script) refuse(problem string) {
	problem = strings.ReplaceAll(problem, "\n", " ")
	s.say("I am the offline demo model, a few rules and no intelligence, and have done nothing: %s\n"+
		"Say `help` to see what I understand, or start the agent with a real model, such as `-model openai:NAME` or `-model ollama:NAME`.\n", strings.TrimRight(problem, ".?")+mark(problem))
}

// mark returns the punctuation that a problem ends with: a full stop, unless it is a question.
func mark(problem string) string {
	if strings.HasSuffix(problem, "?") {
		return "?"
	}
	return "."
}

// plan thinks aloud about the work.
func (s *script) plan(steps []step) {
	var b strings.Builder
	b.WriteString("Offline demo model, my plan:")
	n := 0
	for _, st := range steps {
		if st.act != actHelp {
			n++
			fmt.Fprintf(&b, " %d. %s.", n, st)
		}
	}
	if n > 0 {
		s.acts = append(s.acts, act{kind: think, text: b.String()})
	}
}

func (s *script) perform(st step) {
	for _, f := range s.failed {
		if st.dependsOn(f) {
			s.failed = append(s.failed, st)
			s.say("I left out “%s”, since it depends on “%s”.\n\n", st, f)
			return
		}
	}
	if !s.carryOut(st) && !s.waiting {
		s.failed = append(s.failed, st)
	}
}

// carryOut performs a step if possible and reports whether it has succeeded.
func (s *script) carryOut(st step) bool {
	switch st.act {
	case actRead:
		return s.read(st)
	case actList:
		return s.list(st)
	case actSearch:
		return s.search(st)
	case actDefinition:
		return s.definition(st)
	case actCallers:
		return s.callers(st)
	case actRename:
		return s.rename(st)
	case actDiagnose:
		return s.diagnose()
	case actReplace:
		return s.replace(st)
	case actCreate:
		return s.create(st)
	case actAppend:
		return s.append(st)
	case actRun:
		return s.run(st.command)
	case actTests:
		return s.tests()
	case actTool:
		return s.use(st)
	case actUndo:
		return s.undo()
	case actRedo:
		return s.redo()
	case actWait:
		s.acts = append(s.acts, act{kind: pause, wait: st.wait})
	case actThink:
		s.acts = append(s.acts, act{
			kind: think, text: " Thinking about " + quote(st.text) + ": rules are all I have.",
		})
		s.say("I am the offline demo model: I follow rules, and have no thoughts about %s.\n\n", quote(st.text))
	case actHelp:
		s.say("%s", help)
	}
	return true
}

func (s *script) say(format string, args ...any) {
	s.acts = append(s.acts, act{kind: say, text: fmt.Sprintf(format, args...)})
}

// call returns the result of the next tool call. If it has not been made yet, it becomes the last
// act of this response, and ok is false. ok is also false if the call failed, which is then
// reported. Texts before a call that was already made belong to an earlier response and are not
// repeated.
func (s *script) call(tool, what string, args any) (result string, ok bool) {
	if !slices.Contains(s.tools, tool) {
		s.say("I cannot %s: I was not given the tool %s here.\n\n", what, code(tool))
		return "", false
	}
	if len(s.turn.exchanges) == 0 {
		data, err := json.Marshal(args)
		if err != nil {
			s.say("I cannot %s: %v.\n\n", what, err)
			return "", false
		}
		s.acts = append(s.acts, act{kind: callTool, call: model.ToolCall(
			fmt.Sprintf("call_%d", s.turn.calls+1), tool, string(data),
		)})
		s.waiting = true
		return "", false
	}
	made := s.turn.exchanges[0]
	s.turn.exchanges = s.turn.exchanges[1:]
	s.acts = s.acts[:0]
	why := ""
	if made.answer != nil {
		why = oneLine(made.answer.Text)
	}
	switch {
	case made.call.Tool != tool || made.answer == nil:
		s.say("I cannot %s: the record of this turn does not fit what I would have done. Please ask again.\n\n", what)
	case made.answer.Kind == model.PartRetry:
		s.say("I could not %s: %s\n\n", what, why)
	case made.answer.Outcome == model.OutcomeDenied:
		s.say("I was not permitted to %s: %s\n\n", what, why)
	case made.answer.Outcome != model.OutcomeSuccess && strings.HasPrefix(why, "Nothing was "):
		s.say("%s\n\n", why)
	case made.answer.Outcome != model.OutcomeSuccess:
		if reason, ok := strings.CutPrefix(why, "Could not "); ok {
			s.say("I could not %s\n\n", reason)
		} else {
			s.say("I could not %s: %s\n\n", what, why)
		}
	default:
		return made.answer.Text, true
	}
	return "", false
}

// oneLine returns the beginning of a message of a tool, on one line.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
