// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
)

// What an entry of a treeLog says.
const (
	saidTurn     = "turn"     // the user begins a turn with a prompt
	saidModel    = "model"    // a model answers
	saidBegin    = "begin"    // a call begins to run
	saidEnd      = "end"      // a call has run
	saidAsk      = "ask"      // the person is asked about a call
	saidDecide   = "decide"   // the person decides about it
	saidQuestion = "question" // a tool asks a question
	saidReply    = "reply"    // the person replies
	saidGot      = "got"      // the tool has got the reply
	saidSupplied = "supplied" // the result of a call comes from elsewhere
	saidDropped  = "dropped"  // a call is settled without an answer
)

// entry is one thing that happened in a tree. Name is that of the call, or of the response.
type entry struct {
	Said string
	Name string
	// Agent is the agent of a model or a call.
	Agent string `json:",omitempty"`
	// Calls are those of a response, in its order. Visible says that the user sees what the model writes.
	Calls   []treeCall `json:",omitempty"`
	Visible bool       `json:",omitempty"`
	Text    string     `json:",omitempty"`
	// Users are the texts of users that a model saw, Responses how many responses.
	Users     []string `json:",omitempty"`
	Responses int      `json:",omitempty"`
	// Args and Basis are what a call runs with, was shown or was allowed. Approved is what the tool knows of it.
	Args     string `json:",omitempty"`
	Basis    string `json:",omitempty"`
	Approved bool   `json:",omitempty"`
	// Shown is the basis that the tool knows as shown.
	Shown string `json:",omitempty"`
	// Verdict is a decision. Inline says that the run waited for it.
	Verdict string `json:",omitempty"`
	Inline  bool   `json:",omitempty"`
	// Over says that a call has ended for good.
	Over bool `json:",omitempty"`
}

// treeCall is a call of a response.
type treeCall struct{ Name, Tool, Path string }

// treeLog has what happened in a tree, in order: in memory, or in a file that several processes append to.
type treeLog struct {
	mu      sync.Mutex
	entries []entry
	file    string
}

func (l *treeLog) add(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == "" {
		l.entries = append(l.entries, e)
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(l.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// all returns the entries so far.
func (l *treeLog) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == "" {
		return l.entries[:len(l.entries):len(l.entries)]
	}
	data, err := os.ReadFile(l.file)
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	var all []entry
	for line := range strings.Lines(string(data)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(fmt.Errorf("%w: %s", err, line))
		}
		all = append(all, e)
	}
	return all
}

// count returns how many entries say something about a name.
func (l *treeLog) count(said, name string) (n int) {
	for _, e := range l.all() {
		if e.Said == said && e.Name == name {
			n++
		}
	}
	return n
}

// version returns how many calls of a response have changed a path so far.
func (l *treeLog) version(response, path string) (n int) {
	for _, e := range l.all() {
		if e.Said == saidEnd && e.Over && strings.HasPrefix(e.Name, response+".") && pathOf(e.Args) == path {
			n++
		}
	}
	return n
}

// settled reports whether a call has come to its end: it has run, has been denied, or was settled elsewhere.
func settled(entries []entry, name string) bool {
	for i := range entries {
		switch e := &entries[i]; {
		case e.Name != name:
		case e.Said == saidEnd && e.Over, e.Said == saidDecide && e.Verdict == "deny", e.Said == saidSupplied, e.Said == saidDropped:
			return true
		}
	}
	return false
}
