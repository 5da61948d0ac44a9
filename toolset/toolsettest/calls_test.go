// SPDX-License-Identifier: Apache-2.0

package toolsettest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// spoiling is which call of a toolset goes wrong, and how; of all calls with a text the nth, or all
// of a kind if nth is 0.
type spoiling struct {
	kind, text string
	nth        int
	way        string
}

// spoilt are toolsets of one rule whose calls are noted, and one of which goes wrong.
type spoilt struct {
	mu    sync.Mutex
	what  spoiling
	calls []string
	seen  map[string]int
	tools []*toolset.Tool[deps]
}

var errWrong = errors.New("wrong")

// waysOf has what can go wrong with a kind of call.
var waysOf = map[string][]string{
	"Name": {"other", "empty"}, "Check": {"fails"}, "Open": {"fails", "returns nothing", "blocks"},
	"Tools": {"fails", "a nil tool", "turned", "copied", "without the first", "one twice", "blocks", "changes a tool", "changes the slice"},
	"Close": {"fails"}, "Decode": {"fails", "panics", "refuses"}, "Call": {"fails", "blocks", "defers"}, "FixedTools": {"nil", "other"},
	"Approve": {"fails", "asks"},
}

// call notes a call and reports how it goes wrong.
func (s *spoilt) call(ctx context.Context, kind, text string) string {
	if ctx.Err() != nil {
		text += " ended"
	}
	text = strings.TrimSpace(kind + " " + text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, text)
	s.seen[text]++
	if s.what.kind != kind || s.what.nth > 0 && (s.what.text != text || s.what.nth != s.seen[text]) {
		return ""
	}
	return s.what.way
}

func newSpoilt(what spoiling) *spoilt {
	s := &spoilt{what: what, seen: map[string]int{}}
	for _, name := range []string{"one", "two"} {
		tool := *forecast()
		tool.Def.Name = name
		decode, call := tool.Decode, tool.Call
		tool.Decode = func(args []byte) (any, error) {
			switch s.call(context.Background(), "Decode", fmt.Sprintf("%s %q", name, args)) {
			case "fails":
				return nil, errWrong
			case "panics":
				panic("wrong")
			case "refuses":
				return nil, &toolset.RetryError{Message: "again"}
			}
			return decode(args)
		}
		tool.Approval = func(ctx context.Context, run *runContext, _ any) (*toolset.Approval, error) {
			switch s.call(ctx, "Approve", name+" of "+run.RunID) {
			case "fails":
				return nil, errWrong
			case "asks":
				return &toolset.Approval{Reason: "sure?"}, nil
			}
			return nil, nil
		}
		tool.Call = func(ctx context.Context, run *runContext, args any) (toolset.Result, error) {
			switch s.call(ctx, "Call", fmt.Sprintf("%s of %s in step %d, %s, approved %t", name, run.RunID, run.Step, run.Call.ID, run.Call.Approved)) {
			case "fails":
				return toolset.Result{}, errWrong
			case "defers":
				return toolset.Result{}, toolset.Deferred(nil)
			case "blocks":
				time.Sleep(time.Hour)
			}
			return call(ctx, run, args)
		}
		s.tools = append(s.tools, &tool)
	}
	return s
}

// spoiltSet is a toolset of them.
type spoiltSet struct{ *spoilt }

func (s spoiltSet) Name() string {
	switch s.call(context.Background(), "Name", "") {
	case "other":
		return "other"
	case "empty":
		return ""
	}
	return "spoilt"
}

func (s spoiltSet) Check() error {
	if s.call(context.Background(), "Check", "") == "fails" {
		return errWrong
	}
	return nil
}

func (s spoiltSet) FixedTools() []*toolset.Tool[deps] {
	switch s.call(context.Background(), "FixedTools", "") {
	case "nil":
		return []*toolset.Tool[deps]{nil}
	case "other":
		return []*toolset.Tool[deps]{named("other")}
	}
	return s.tools
}

func (s spoiltSet) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	text := fmt.Sprintf("%s of %s in step %d for %s with %d messages", run.RunID, run.ConversationID, run.Step, run.Deps.Name, len(run.Messages))
	switch s.call(ctx, "Open", text) {
	case "fails":
		return nil, errWrong
	case "returns nothing":
		return nil, nil
	case "blocks":
		time.Sleep(time.Hour)
	}
	return &spoiltInstance{s.spoilt, run.RunID, s.tools}, nil
}

type spoiltInstance struct {
	*spoilt
	run  string
	list []*toolset.Tool[deps]
}

func (i *spoiltInstance) Tools(ctx context.Context, run *runContext) (toolset.Listing[deps], error) {
	listed := i.list
	switch i.call(ctx, "Tools", fmt.Sprintf("of %s in step %d", run.RunID, run.Step)) {
	case "fails":
		return toolset.Listing[deps]{}, errWrong
	case "a nil tool":
		listed = []*toolset.Tool[deps]{listed[0], nil}
	case "turned":
		listed = []*toolset.Tool[deps]{listed[1], listed[0]}
	case "copied":
		listed = slices.Clone(listed)
	case "without the first":
		listed = listed[1:]
	case "one twice":
		listed = []*toolset.Tool[deps]{listed[0], listed[0]}
	case "blocks":
		time.Sleep(time.Hour)
	case "changes a tool":
		if i.what.nth > 0 {
			listed[1].Def.Strict = !listed[1].Def.Strict
		}
	case "changes the slice":
		if i.what.nth > 0 {
			listed[1] = listed[0]
		}
	}
	return toolset.Listing[deps]{Tools: listed}, nil
}

func (i *spoiltInstance) Close(ctx context.Context) error {
	if i.call(ctx, "Close", i.run) == "fails" {
		return errWrong
	}
	return nil
}

// TestEveryCallThatGoesWrongIsFound has what the rules call, and what the suite says when a call
// goes wrong.
func TestEveryCallThatGoesWrongIsFound(t *testing.T) {
	const concurrent = "concurrent runs work"
	cases := []toolsettest.Case{{Tool: "one", Args: `{"city":"Oslo"}`}, {Tool: "two", Args: `{"city":"Rome"}`}}
	check := func(rule string, what spoiling) (*spoilt, string) {
		s := newSpoilt(what)
		var warnings []string
		var err error
		synctest.Test(t, func(t *testing.T) {
			warnings, err = toolsettest.Rule(t.Context(), rule, func() set { return spoiltSet{s} }, deps{"Ada"}, cases...)
			time.Sleep(2 * time.Hour) // until blocked calls have ended
		})
		says := warnings
		if err != nil {
			says = append(says, err.Error())
		}
		lines := strings.Split(strings.Join(says, "\n"), "\n")
		if rule == concurrent {
			slices.Sort(lines)
			lines = slices.Compact(lines)
		}
		return s, strings.Join(lines, "\n      ")
	}
	var b strings.Builder
	for _, rule := range toolsettest.Rules() {
		sound, says := check(rule, spoiling{})
		require.Empty(t, says, rule)
		calls := slices.Clone(sound.calls)
		if rule == concurrent {
			slices.Sort(calls)
		}
		fmt.Fprintf(&b, "# %s\n", rule)
		nth, kinds := map[string]int{}, map[string]int{}
		for _, text := range calls {
			fmt.Fprintf(&b, "%s\n", text)
			kind, _, _ := strings.Cut(text, " ")
			nth[text]++
			kinds[kind]++
			what := spoiling{kind: kind, text: text, nth: nth[text]}
			if rule == concurrent {
				what.nth = 0
			}
			if kinds[kind] > 6 || rule == concurrent && kinds[kind] > 1 {
				continue
			}
			for _, what.way = range waysOf[kind] {
				if what.way == "panics" && rule != "invalid arguments are errors for the model" {
					continue // panics of calls are not recovered
				}
				if _, says := check(rule, what); says != "" {
					fmt.Fprintf(&b, "    %s:\n      %s\n", what.way, says)
				}
			}
		}
	}
	const path = "testdata/calls.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}
