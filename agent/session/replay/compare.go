// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// compareRequest compares a request with the session's.
func (p *player) compareRequest(now *step, req *model.Request) *Difference {
	recorded := partsOf(now.requests)
	got := partsOf(latest(req.Messages))
	if p.step == 1 && len(got) > len(recorded) { // requests of the turn before are not the turn's
		got = got[len(got)-len(recorded):]
	}
	known := !now.broken || now.response != nil // otherwise nobody has sent it
	if d := p.compareParts(recorded, got); d != nil && known {
		return d
	}
	f := frameOf(p.turn, req)
	instructions := ""
	for _, m := range now.requests {
		if m.Instructions != "" {
			instructions = m.Instructions
		}
	}
	if p.fill {
		if instructions != "" {
			f.Instructions = withGaps(instructions, f.Instructions)
		}
		p.checked.Steps = append(p.checked.Steps, p.r.frame(f))
		return nil
	}
	if c := p.turn.Checked; c != nil && p.step <= len(c.Steps) {
		return p.compareFrame(&p.r.Frames[c.Steps[p.step-1]], f)
	}
	if instructions != "" && !p.ignores(Instructions) {
		return differText("the instructions", instructions, f.Instructions)
	}
	return nil
}

func (p *player) ignores(a Aspect) bool { return slices.Contains(p.options.Ignore, a) }

// latest returns the requests after the last response.
func latest(messages []*model.Message) []*model.Message {
	for i, m := range slices.Backward(messages) {
		if m.Kind == model.KindResponse {
			return messages[i+1:]
		}
	}
	return messages
}

func partsOf(messages []*model.Message) (all []*model.Part) {
	for _, m := range messages {
		for i := range m.Parts {
			all = append(all, &m.Parts[i])
		}
	}
	return all
}

// compareParts compares what was said and what calls returned.
func (p *player) compareParts(recorded, now []*model.Part) *Difference {
	for i := range max(len(recorded), len(now)) {
		switch {
		case i >= len(recorded):
			return differ(what(now[i]), "nothing", shown(now[i]))
		case i >= len(now):
			return differ(what(recorded[i]), shown(recorded[i]), "nothing")
		}
		a, b := recorded[i], now[i]
		if a.Kind != b.Kind || a.Tool != b.Tool || a.CallID != b.CallID || a.Outcome != b.Outcome {
			return differ(what(a), shown(a), shown(b))
		}
		if isResult(a) && p.ignores(Results) {
			continue
		}
		if d := differText(what(a), a.Text, b.Text); d != nil {
			return d
		}
		if !bytes.Equal(a.Data, b.Data) && string(a.Data) != leftOut {
			return differ(what(a), digest(a.Data), digest(b.Data))
		}
	}
	return nil
}

func digest(data []byte) string {
	return fmt.Sprintf("%d bytes, sha256 %.8x", len(data), sha256.Sum256(data))
}

// what names a part.
func what(p *model.Part) string {
	if p.CallID != "" {
		return fmt.Sprintf("the result of call %s of %s", p.CallID, p.Tool)
	}
	return "what the model is told: " + string(p.Kind)
}

func shown(p *model.Part) string {
	text := p.Text
	if p.Outcome != model.OutcomeSuccess {
		text = fmt.Sprintf("(%s) %s", p.Outcome, text)
	}
	if p.Kind == model.PartRetry {
		text = "(to be tried again) " + text
	}
	return text
}

// frameOf returns what a request has besides messages.
func frameOf(t *Turn, req *model.Request) Frame {
	f := Frame{
		Instructions: req.Instructions, Tools: slices.Clone(req.Tools), ToolChoice: req.ToolChoice,
	}
	if req.Output != nil {
		f.Output = new(*req.Output)
	}
	if s := req.Settings; s != nil {
		kept := *s
		kept.ExtraHeaders = nil // they may be keys
		f.Settings, _ = json.Marshal(kept)
	}
	return f
}

// frame returns the index of a frame.
func (r *Recording) frame(f Frame) int {
	key, _ := json.Marshal(f)
	for i := range r.Frames {
		if known, _ := json.Marshal(r.Frames[i]); bytes.Equal(known, key) {
			return i
		}
	}
	r.Frames = append(r.Frames, f)
	return len(r.Frames) - 1
}

// compareFrame compares what a request has besides messages.
func (p *player) compareFrame(recorded *Frame, now Frame) *Difference {
	if !p.ignores(Instructions) {
		if d := differText("the instructions", recorded.Instructions, now.Instructions); d != nil {
			return d
		}
	}
	if !p.ignores(Tools) {
		if d := differTools(recorded.Tools, now.Tools); d != nil {
			return d
		}
		if d := differOutput(recorded.Output, now.Output); d != nil {
			return d
		}
	}
	if p.ignores(Settings) {
		return nil
	}
	if recorded.ToolChoice != now.ToolChoice {
		return differ("the choice of tools",
			fmt.Sprint(recorded.ToolChoice), fmt.Sprint(now.ToolChoice))
	}
	return differJSON("the settings", recorded.Settings, now.Settings)
}

func differTools(recorded, now []model.ToolDef) *Difference {
	names := func(tools []model.ToolDef) string {
		var all []string
		for _, t := range tools {
			all = append(all, t.Name)
		}
		return strings.Join(all, "\n")
	}
	if d := differText("the tools", names(recorded), names(now)); d != nil {
		return d
	}
	for i := range recorded {
		if d := differTool("tool "+recorded[i].Name, &recorded[i], &now[i]); d != nil {
			return d
		}
	}
	return nil
}

func differTool(what string, recorded, now *model.ToolDef) *Difference {
	if d := differText(what+": the description", recorded.Description, now.Description); d != nil {
		return d
	}
	if recorded.Strict != now.Strict {
		return differ(what+": strict", fmt.Sprint(recorded.Strict), fmt.Sprint(now.Strict))
	}
	return differJSON(what+": the schema", recorded.Schema, now.Schema)
}

func differOutput(recorded, now *model.OutputSchema) *Difference {
	a, _ := json.Marshal(recorded)
	b, _ := json.Marshal(now)
	return differJSON("the schema of the output", a, b)
}

// differJSON compares JSON by its text, with a member on each line.
func differJSON(what string, recorded, now json.RawMessage) *Difference {
	indented := func(data json.RawMessage) string {
		var b bytes.Buffer
		if json.Indent(&b, data, "", "  ") != nil {
			return string(data)
		}
		return b.String()
	}
	return differText(what, indented(recorded), indented(now))
}

// missing finds responses and decisions of the session that the run did not get to.
func (p *player) missing(err error) *Difference {
	if next := p.steps[min(p.step, len(p.steps)-1)].response; next != nil && p.stopped == "" {
		return p.located(differ("the end of the turn", "the model was asked again, and answered: "+
			describe(next), ended(p.checked.Output, err)))
	}
	if p.stopped != "" {
		return nil
	}
	for _, d := range p.turn.Decisions {
		if !p.asked[PastCall{Step: d.Step, ID: d.Call}] {
			return p.located(differ("call "+d.Call, "a question about it was answered: "+
				string(d.Decision.Verdict), "nobody is asked about it"))
		}
	}
	return nil
}

func (p *player) located(d *Difference) *Difference {
	d.Turn, d.Step = p.number, p.step
	return d
}

func ended(output json.RawMessage, err error) string {
	if err != nil {
		return "the run ended: " + err.Error()
	}
	return "the run ended with the output " + string(output)
}

func describe(m *model.Message) string {
	var all []string
	for i := range m.Parts {
		switch part := &m.Parts[i]; part.Kind {
		case model.PartText:
			all = append(all, part.Text)
		case model.PartToolCall:
			all = append(all, "call "+part.Tool+" "+string(part.Args))
		}
	}
	return strings.Join(all, "; ")
}

// tail compares how the run ended, and the messages after the last response.
func (p *player) tail(messages []*model.Message, err error) *Difference {
	kind := transcript.Done
	switch {
	case errorIs[*agent.PendingError](err):
		kind = transcript.Pending
	case err != nil:
		kind = transcript.Failed
	}
	reason := p.turn.Reason
	cut := reason == transcript.Cancelled || reason == transcript.Interrupted // which may come late
	if kind != reason && !cut {
		return p.located(differ("the end of the turn", reason, ended(p.checked.Output, err)))
	}
	last := &p.steps[len(p.steps)-1]
	if kind == transcript.Failed || last.broken {
		return nil
	}
	if d := p.compareParts(partsOf(last.requests), partsOf(latest(messages))); d != nil {
		return p.located(d)
	}
	var pending []model.PendingCall
	if n := len(messages); n > 0 {
		pending = messages[n-1].PendingCalls
	}
	if m := last.pending; m != nil {
		list := func(calls []model.PendingCall) string {
			var b strings.Builder
			for _, c := range calls {
				var args bytes.Buffer
				if json.Compact(&args, c.Args) != nil {
					args.Write(c.Args)
				}
				fmt.Fprintf(&b, "%s of %s %s\n", c.Key(), c.Tool, args.Bytes())
			}
			return b.String()
		}
		if d := differText("the pending calls", list(m.PendingCalls), list(pending)); d != nil {
			return p.located(d)
		}
	}
	return nil
}

// compareChecked compares what the session does not have with what was filled in.
func (p *player) compareChecked() error {
	known := p.turn.Checked
	if known == nil || p.fill {
		return nil
	}
	for _, ids := range p.checked.Ran {
		slices.Sort(ids)
	}
	for i := range max(len(known.Ran), len(p.checked.Ran)) {
		var a, b []string
		if i < len(known.Ran) {
			a = slices.Sorted(slices.Values(known.Ran[i]))
		}
		if i < len(p.checked.Ran) {
			b = p.checked.Ran[i]
		}
		if !slices.Equal(a, b) && p.stopped == "" {
			d := differ("the calls that are carried out",
				strings.Join(a, " "), strings.Join(b, " "))
			d.Turn, d.Step = p.number, i
			return d
		}
	}
	if known.End != p.checked.End {
		if d := differText("the end of the turn", known.End, p.checked.End); d != nil {
			return p.located(d)
		}
	}
	if d := differJSON("the output", known.Output, p.checked.Output); d != nil {
		return p.located(d)
	}
	return nil
}
