// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// joined joins the deltas of a stream and checks the rules for each of them.
type joined struct {
	*subject
	parts  []model.Part
	usage  *model.Usage
	deltas int
}

func (j *joined) sink(d model.Delta) error {
	j.t.Helper()
	j.deltas++
	if d.Usage != nil {
		j.usage = new(*d.Usage)
	}
	switch d.Kind {
	case "":
		if d.Usage == nil && d.Whole == nil {
			j.t.Error("delta has neither a part nor usage")
		}
		return nil
	case model.PartText, model.PartThinking, model.PartToolCall:
	default:
		j.t.Errorf("delta is of kind %q, which is not streamed", d.Kind)
		return nil
	}
	switch {
	case d.Part < 0 || d.Part > len(j.parts):
		j.t.Errorf("delta is of part %d, but the next new part is %d", d.Part, len(j.parts))
		return nil
	case d.Part == len(j.parts):
		if call := d.Kind == model.PartToolCall; call != (d.CallID != "" && d.Tool != "") {
			j.t.Errorf("first delta of a part of kind %q has call id %q and tool %q", d.Kind, d.CallID, d.Tool)
		}
		j.parts = append(j.parts, model.Part{Kind: d.Kind, CallID: d.CallID, Tool: d.Tool})
	case d.CallID != "" || d.Tool != "":
		j.t.Errorf("later delta of part %d has call id %q and tool %q", d.Part, d.CallID, d.Tool)
	}
	p := &j.parts[d.Part]
	if p.Kind != d.Kind {
		j.t.Errorf("part %d was of kind %q and is now of kind %q", d.Part, p.Kind, d.Kind)
	}
	if d.Kind == model.PartToolCall {
		p.Args = append(p.Args, d.Text...)
	} else {
		p.Text += d.Text
	}
	return nil
}

// agree checks that the deltas contain the same parts as the message, in any order.
func (j *joined) agree(msg *model.Message) {
	j.t.Helper()
	var want []string
	for _, p := range msg.Parts {
		if p.Kind == model.PartText || p.Kind == model.PartThinking && p.Text != "" || p.Kind == model.PartToolCall {
			want = append(want, j.summary(p))
		}
	}
	var got []string
	for _, p := range j.parts {
		got = append(got, j.summary(p))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !reflect.DeepEqual(want, got) {
		j.t.Errorf("deltas add up to\n%q, message has\n%q", shortened(got), shortened(want))
	}
	if j.usage != nil && *j.usage != msg.Usage {
		j.t.Errorf("last usage of the stream is %+v, message has %+v", *j.usage, msg.Usage)
	}
}

// beginning checks, after a stream has failed, that the sink got a beginning of the response and
// nothing else. A call may have been held back until it is complete.
func (j *joined) beginning(before string) {
	j.t.Helper()
	answer := j.scenario.Answer
	if j.deltas == 0 && answer.Text() != "" {
		j.t.Errorf("the sink did not get what came before %s", before)
	}
	var sent []model.Part
	for _, p := range answer.Parts {
		if p.Kind == model.PartText || p.Kind == model.PartThinking || p.Kind == model.PartToolCall {
			sent = append(sent, p)
		}
	}
	for i, p := range j.parts {
		if i >= len(sent) || p.Kind != sent[i].Kind || p.Tool != sent[i].Tool || !strings.HasPrefix(sent[i].Text, p.Text) ||
			!strings.HasPrefix(string(sent[i].Args), string(p.Args)) && j.args(string(sent[i].Args)) != j.args(string(p.Args)) {
			j.t.Errorf("the sink got %s in part %d, which is not the beginning of the response: %s", j.summary(p), i, describeParts(sent))
		}
	}
}

func describeParts(parts []model.Part) string {
	var all []string
	for _, p := range parts {
		all = append(all, fmt.Sprintf("%s %s%s%s", p.Kind, p.Tool, shortText(p.Text), shortText(string(p.Args))))
	}
	return strings.Join(all, "; ")
}

// summary formats a part for comparison.
func (s *subject) summary(p model.Part) string {
	return fmt.Sprintf("%s %s %s %s%s", p.Kind, p.CallID, p.Tool, p.Text, s.args(string(p.Args)))
}

func (s *subject) joined() *joined { return &joined{subject: s} }
