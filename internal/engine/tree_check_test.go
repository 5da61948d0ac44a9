// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// treeCheck finds the first thing in a log that must not happen.
type treeCheck struct {
	w       *tree
	root    *node
	entries []entry
	calls   map[string]treeCall
	// siblings are the calls of each response.
	siblings map[string][]treeCall
	models   map[string]*entry
	running  map[string]bool
	ran      map[string]int
	decided  map[string]*entry
	replies  map[string]*entry
	// open is the question that a person has before them. oneOpen says that there is one at a time, because all run in one process.
	open    string
	oneOpen bool
	begun   map[string]bool // agents that were handed over to, by prompt
	said    map[string]int  // what users and agents have asked for, by when it was first seen
	// speaker is the agent that has written to the user last; fresh says that a turn has begun and nobody has.
	speaker string
	fresh   bool
	told    []string
	hidden  []string
	problem error
}

func (w *tree) check(oneOpen bool) *treeCheck {
	c := &treeCheck{
		w: w, root: w.nodes(), entries: w.log.all(), oneOpen: oneOpen,
		calls: map[string]treeCall{}, siblings: map[string][]treeCall{}, models: map[string]*entry{}, running: map[string]bool{}, ran: map[string]int{},
		decided: map[string]*entry{}, replies: map[string]*entry{}, begun: map[string]bool{}, said: map[string]int{},
	}
	for i := range c.entries {
		if c.entry(i, &c.entries[i]); c.problem != nil {
			c.problem = fmt.Errorf("entry %d: %w", i, c.problem)
			break
		}
	}
	return c
}

func (c *treeCheck) wrong(format string, args ...any) {
	if c.problem == nil {
		c.problem = fmt.Errorf(format, args...)
	}
}

func (c *treeCheck) entry(i int, e *entry) {
	before := c.entries[:i]
	switch e.Said {
	case saidTurn:
		c.fresh = true
	case saidModel:
		c.model(e)
	case saidBegin:
		c.begin(before, e)
	case saidEnd:
		if delete(c.running, e.Name); e.Over {
			c.ran[e.Name]++
		}
		if e.Text != "" {
			c.wrong("call %s ends with %s", e.Name, e.Text)
		}
	case saidAsk:
		c.asked(before, e)
	case saidDecide:
		if c.decided[e.Name] = e; e.Inline {
			c.close(e.Name)
		}
	case saidQuestion:
		if name, _, _ := strings.Cut(e.Name, "?"); !c.running[name] {
			c.wrong("question %s is asked while its call does not run", e.Name)
		}
		if c.replies[e.Name] != nil {
			c.wrong("question %s is asked twice", e.Name)
		}
		c.show(e.Name)
	case saidReply:
		c.replies[e.Name] = e
		c.close(e.Name)
	case saidGot:
		if r := c.replies[e.Name]; r == nil || r.Text != e.Text {
			c.wrong("question %s has got %q, the reply was %v", e.Name, e.Text, r)
		}
	case saidSupplied, saidDropped:
		if settled(before, e.Name) {
			c.wrong("call %s is %s after its end", e.Name, e.Said)
		}
	}
}

func (c *treeCheck) show(name string) {
	if c.open != "" && c.oneOpen {
		c.wrong("%s is asked about beside %s", name, c.open)
	}
	c.open = name
}

func (c *treeCheck) close(name string) {
	if c.open != name && c.oneOpen {
		c.wrong("%s is answered, asked about was %q", name, c.open)
	}
	c.open = ""
}

// outside says that the result of a call comes from elsewhere: it holds up nothing.
func outsideTool(tool string) bool { return tool == "external" || tool == "later" }

// barrier says that a call runs alone, before and after all others.
func barrierTool(tool string) bool {
	switch tool {
	case "sequential", "guarded", "loose", "guarded_sequential", "guarded_question":
		return true
	}
	return false
}

// mayWait says that a call may begin and then wait for others, so that the run is about to end.
func (c *treeCheck) mayWait(tool string) bool { return tool == "asks" || c.root.find(tool) != nil }

func (c *treeCheck) begin(before []entry, e *entry) {
	call, known := c.calls[e.Name]
	if !known {
		c.wrong("call %s runs, no model has made it", e.Name)
		return
	}
	if settled(before, e.Name) {
		c.wrong("call %s (%s) runs after its end", e.Name, call.Tool)
	}
	siblings := c.siblings[responseOf(e.Name)]
	at := slices.Index(siblings, call)
	for i, p := range siblings {
		alone := barrierTool(p.Tool) || barrierTool(call.Tool)
		switch {
		case i == at:
		case c.running[p.Name] && alone:
			c.wrong("call %s (%s) runs beside %s (%s)", e.Name, call.Tool, p.Name, p.Tool)
		case i < at && alone && !outsideTool(p.Tool) && !settled(before, p.Name):
			c.wrong("call %s (%s) runs before %s (%s) has ended", e.Name, call.Tool, p.Name, p.Tool)
		case i > at && c.ran[p.Name] > 0 && barrierTool(p.Tool) && !outsideTool(call.Tool):
			c.wrong("call %s (%s) runs after %s (%s)", e.Name, call.Tool, p.Name, p.Tool)
		}
	}
	c.running[e.Name] = true
	d := c.decided[e.Name]
	switch {
	case e.Approved && (d == nil || d.Verdict != "allow" || d.Args != e.Args):
		c.wrong("call %s (%s) runs with %s, approved was %+v", e.Name, call.Tool, e.Args, d)
	case !e.Approved && (barrierTool(call.Tool) && call.Tool != "sequential" || d != nil):
		c.wrong("call %s (%s) runs without approval", e.Name, call.Tool)
	case hasBasis(call.Tool) && (d.Basis != e.Basis || e.Shown != e.Basis):
		c.wrong("call %s (%s) runs at %q, shown was %q", e.Name, call.Tool, e.Basis, d.Basis)
	}
}

// asked checks that a call is asked about at its place.
func (c *treeCheck) asked(before []entry, e *entry) {
	call, known := c.calls[e.Name]
	switch {
	case !known:
		c.wrong("%s is asked about, no model has made the call", e.Name)
		return
	case settled(before, e.Name):
		c.wrong("call %s (%s) is asked about after its end", e.Name, call.Tool)
	case !e.Inline:
		return
	}
	c.show(e.Name)
	siblings := c.siblings[responseOf(e.Name)]
	for _, p := range siblings[:slices.Index(siblings, call)] {
		if call.Tool != "asks" && !c.mayWait(p.Tool) && !outsideTool(p.Tool) && !settled(before, p.Name) {
			c.wrong("call %s (%s) is asked about before %s (%s) has ended", e.Name, call.Tool, p.Name, p.Tool)
		}
	}
}

func (c *treeCheck) model(e *entry) {
	if c.models[e.Name] != nil {
		c.wrong("response %s is made twice", e.Name)
	}
	c.models[e.Name] = e
	c.siblings[e.Name] = e.Calls
	for _, call := range e.Calls {
		c.calls[call.Name] = call
	}
	c.passed(e)
	c.inOrder(e)
	if !e.Visible {
		if e.Text != "" {
			c.hidden = append(c.hidden, e.Text)
		}
		return
	}
	if want := c.holder(); c.fresh && e.Agent != want {
		c.wrong("a turn begins with %s, the conversation was with %s", e.Agent, want)
	}
	c.speaker, c.fresh = e.Agent, false
	if e.Text != "" {
		c.told = append(c.told, e.Text)
	}
}

// holder returns the agent that the conversation stays with.
func (c *treeCheck) holder() string {
	at := c.root
	for at.name != c.speaker {
		next := slices.IndexFunc(at.inner, func(n *node) bool { return n.find(c.speaker) != nil })
		if next < 0 || at.inner[next].link != linkStay {
			break
		}
		at = at.inner[next]
	}
	return at.name
}

// passed checks what an agent sees of the conversation that it takes over.
func (c *treeCheck) passed(e *entry) {
	prompt := ""
	if n := len(e.Users); n > 0 {
		prompt = e.Users[n-1]
	}
	call, ok := c.calls[taskOf(prompt)]
	n := c.root.find(e.Agent)
	if !ok || call.Tool != e.Agent || !n.handsOver() || c.begun[prompt] {
		return
	}
	c.begun[prompt] = true
	from := c.models[responseOf(call.Name)]
	want, responses := append(slices.Clone(from.Users), prompt), from.Responses
	switch n.pass {
	case passNothing:
		want, responses = []string{prompt}, 0
	case passPrompts:
		want, responses = nil, 0 // see below
	}
	if n.pass != passPrompts && !slices.Equal(e.Users, want) || e.Responses != responses {
		c.wrong("%s begins with %q and %d responses, want %q and %d", e.Agent, e.Users, e.Responses, want, responses)
	}
	if n.pass == passPrompts && !subset(e.Users[:len(e.Users)-1], from.Users) {
		c.wrong("%s begins with %q, the users' prompts were %q", e.Agent, e.Users, from.Users)
	}
}

// inOrder checks that an agent sees what it was asked for in the order in which that was said.
func (c *treeCheck) inOrder(e *entry) {
	latest := -1
	for _, text := range e.Users {
		if !strings.HasPrefix(text, "turn ") && !strings.HasPrefix(text, "instead ") && !strings.Contains(text, ":r") {
			continue // a note of the loop
		}
		if _, seen := c.said[text]; !seen {
			c.said[text] = len(c.said)
		}
		if c.said[text] < latest {
			c.wrong("%s sees %q, which is not the order in which it was said", e.Agent, e.Users)
		}
		latest = c.said[text]
	}
}

func subset(some, all []string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return len(some) > 0 || len(all) == 0
}

// history checks what the history says of a run that has ended, or is pending: what the user was told is there once, in order, and
// nothing else is.
func (c *treeCheck) history(messages []*model.Message, pending bool) {
	var kept []string
	keep := func(m *model.Message) {
		if m.Kind == model.KindResponse {
			for i := range m.Parts {
				if p := &m.Parts[i]; p.Kind == model.PartText {
					kept = append(kept, p.Text)
				}
			}
		}
	}
	for _, m := range messages {
		keep(m)
		for _, s := range m.SuspendedCalls {
			for _, told := range s.Told {
				keep(told)
			}
		}
	}
	if !slices.Equal(kept, c.told) {
		c.wrong("the user was told %q, the history has %q", c.told, kept)
	}
	if !pending {
		if err := answersItsCalls(append(slices.Clip(messages), model.UserText("more"))); err != nil {
			c.wrong("the history: %w", err)
		}
	}
}

// output checks an output: the last thing that the user was told, which no validator on the way to the user has refused.
func (c *treeCheck) output(out, agent string) {
	if n := len(c.told); n == 0 || c.told[n-1] != out {
		c.wrong("the output is %q, told was %q", out, c.told)
	}
	if agent != c.speaker {
		c.wrong("the output is by %s, the last to speak was %s", agent, c.speaker)
	}
	for at := c.root; at != nil; {
		if c.w.refuses(at.name, out) {
			c.wrong("the output %q was refused by %s", out, at.name)
		}
		next := slices.IndexFunc(at.inner, func(n *node) bool { return n.find(agent) != nil })
		if at.name == agent || next < 0 {
			break
		}
		at = at.inner[next]
	}
}
