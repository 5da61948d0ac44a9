// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Search says how the tools of a [Searchable] toolset are found. The zero value is useful.
type Search[D any] struct {
	// Name is the search tool's name; empty is "search_tools". Two searchable toolsets of an agent need different ones.
	Name string
	// Description tells the model when to search. It is worth saying which areas the hidden tools cover.
	Description string
	// Max is how many tools a search finds at most; 0 is 5.
	Max int
	// Visible says which tools are offered at once, without a search; nil means none of them.
	Visible func(tool *Tool[D]) bool
	// Rank picks from the hidden tools those that fit the query, the best first; nil compares words of the query with
	// names and descriptions. It is called by the search tool and given up when ctx ends.
	Rank func(ctx context.Context, query string, hidden []*Tool[D]) ([]*Tool[D], error)
}

// Searchable hides the tools of a large toolset behind a search tool, so that their definitions do not fill the model's
// context. What a search has found is offered from the next step on, behind the search tool and in the order in which it
// was found: what the model was sent before stays the same, and a provider's prompt cache hits if the toolset is the agent's
// last one.
//
// What has been found is derived from the history, where search results are marked in [model.Part.Meta]. So it is still
// there when the conversation goes on, in whatever process; and when a history processor drops a search result, the tools
// that it found are hidden again.
//
// Wrap Searchable around toolsets that are prefixed or renamed, not the other way round: the search tool tells the model
// names as it knows them.
func Searchable[D any](set Toolset[D], search Search[D]) Toolset[D] {
	switch {
	case set == nil:
		return incomplete[D]("Searchable", set)
	case search.Max < 0:
		return broken[D](set.Name(), "Searchable: Max is %d, must not be negative", search.Max)
	}
	search.Max = cmp.Or(search.Max, 5)
	s := &searchable[D]{set: set, Search: search}
	s.tool = Func[D, searchArgs, Result](cmp.Or(search.Name, "search_tools"),
		cmp.Or(search.Description, "Find more tools than those you see. Tools that fit the query can be called afterwards. Search before you say that something cannot be done."),
		func(context.Context, *RunContext[D], searchArgs) (Result, error) {
			return Result{}, errors.New("not open")
		},
		OfKind(KindSearch, "Search tools"))
	if err := s.tool.Err(); err != nil {
		return broken[D](set.Name(), "Searchable: %w", err)
	}
	return s
}

type searchArgs struct {
	Query string `json:"query" validate:"required" jsonschema:"description=What the tool should do: a few words such as the action and the thing"`
}

type searchable[D any] struct {
	Search[D]
	set Toolset[D]
	// tool is the search tool, but for the function.
	tool *Tool[D]
}

func (s *searchable[D]) Name() string { return s.set.Name() }

// Check implements [Checker].
func (s *searchable[D]) Check() error { return check(s.set) }

func (s *searchable[D]) Open(ctx context.Context, run *RunContext[D]) (Instance[D], error) {
	inner, err := s.set.Open(ctx, run)
	if err != nil {
		return nil, err
	}
	tool := *s.tool
	in := &searchInstance[D]{searchable: s, inner: inner, search: &tool, found: discoveries{key: tool.Def.Name}}
	tool.Call = in.call
	return in, nil
}

type searchInstance[D any] struct {
	*searchable[D]
	inner  Instance[D]
	search *Tool[D]
	begun  bool
	from   []*Tool[D] // the inner tools
	// shown and hidden divide them.
	shown, hidden []*Tool[D]
	found         discoveries
	listed        steady[D]
	tools         []*Tool[D]
}

func (in *searchInstance[D]) Tools(ctx context.Context, run *RunContext[D]) (Listing[D], error) {
	inner, err := in.inner.Tools(ctx, run)
	if err != nil {
		return Listing[D]{}, err
	}
	changed := in.found.follow(run.Messages)
	if !in.begun || !sameSlice(inner.Tools, in.from) {
		in.divide(inner.Tools)
		changed = true
	}
	if changed {
		in.offer()
	}
	return Listing[D]{Tools: in.tools, Instructions: inner.Instructions}, nil
}

func (in *searchInstance[D]) Close(ctx context.Context) error { return in.inner.Close(ctx) }

func (in *searchInstance[D]) divide(tools []*Tool[D]) {
	in.begun, in.from, in.shown, in.hidden = true, tools, nil, nil
	for _, t := range tools {
		if in.Visible != nil && in.Visible(t) {
			in.shown = append(in.shown, t)
		} else {
			in.hidden = append(in.hidden, t)
		}
	}
}

func (in *searchInstance[D]) offer() {
	if len(in.hidden) == 0 {
		in.tools = in.from
		return
	}
	in.listed.begin()
	for _, t := range in.shown {
		in.listed.add(t)
	}
	in.listed.add(in.search)
	for _, name := range in.found.names {
		if t := find(in.hidden, 0, name); t != nil {
			in.listed.add(t)
		}
	}
	in.tools = in.listed.end()
}

// call runs the search tool. While it runs nothing of in changes.
func (in *searchInstance[D]) call(ctx context.Context, _ *RunContext[D], args any) (Result, error) {
	query := args.(*searchArgs).Query
	rank := in.Rank
	if rank == nil {
		rank = rankByWords[D]
	}
	tools, err := rank(ctx, query, slices.Clone(in.hidden))
	if err != nil {
		return outcomeOf(err)
	}
	tools = tools[:min(len(tools), in.Max)]
	if len(tools) == 0 {
		return Result{Text: "No tool fits. Other words may find one."}, nil
	}
	names := make([]string, len(tools))
	var text strings.Builder
	text.WriteString("These tools can be called now:")
	for i, t := range tools {
		if !slices.Contains(in.hidden, t) {
			return Result{}, errors.New("search: Rank returned a tool that it was not given")
		}
		names[i] = t.Def.Name
		text.WriteString("\n- " + t.Def.Name)
		if line := summary(t.Def.Description); line != "" {
			text.WriteString(": " + line)
		}
	}
	meta, err := json.Marshal(discovery{Discovered: map[string][]string{in.found.key: names}})
	return Result{Text: text.String(), Meta: meta}, err
}

// summary is the first line of a description. The whole of it comes with the definition.
func summary(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return line
}

// discovery is how a search result is marked in the history.
type discovery struct {
	// Discovered are the names of the tools that were found, by the name of the search tool.
	Discovered map[string][]string `json:"discovered_tools"`
}

// discoveries are the tools that the searches of a history have found. Each message is looked at once.
type discoveries struct {
	key   string
	names []string
	// read is how many messages were looked at; marked are the indexes of those that count.
	read   int
	last   *model.Message
	marked []markedMessage
}

type markedMessage struct {
	index   int
	message *model.Message
}

// follow takes in what was added to a history, or all of it if it is another one. It reports whether names have changed.
func (d *discoveries) follow(history []*model.Message) bool {
	changed := false
	if !d.continuedBy(history) {
		changed = len(d.names) > 0
		*d = discoveries{key: d.key}
	}
	for i := d.read; i < len(history); i++ {
		before := len(d.names)
		for j := range history[i].Parts {
			d.take(&history[i].Parts[j])
		}
		if len(d.names) > before {
			d.marked = append(d.marked, markedMessage{i, history[i]})
			changed = true
		}
	}
	if d.read = len(history); d.read > 0 {
		d.last = history[d.read-1]
	}
	return changed
}

// continuedBy reports whether the history still has, at their places, the messages that count.
func (d *discoveries) continuedBy(history []*model.Message) bool {
	if len(history) < d.read || d.read > 0 && history[d.read-1] != d.last {
		return false
	}
	return !slices.ContainsFunc(d.marked, func(m markedMessage) bool { return history[m.index] != m.message })
}

func (d *discoveries) take(p *model.Part) {
	if p.Kind != model.PartToolReturn || !bytes.Contains(p.Meta, []byte(`"discovered_tools"`)) {
		return
	}
	var found discovery
	if json.Unmarshal(p.Meta, &found) != nil {
		return // somebody else's
	}
	for _, name := range found.Discovered[d.key] {
		if !slices.Contains(d.names, name) {
			d.names = append(d.names, name)
		}
	}
}
