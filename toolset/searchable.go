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

// Search configures how the tools of a [Searchable] toolset are found. The zero value is usable.
type Search[D any] struct {
	// Name is the name of the search tool. The default is "search_tools". Two searchable toolsets of an agent need
	// different names. A hidden tool of that name, as a server may have one, is left out.
	Name string
	// Description tells the model when to search. It should name the kinds of tools that are
	// hidden.
	Description string
	// Max is the maximum number of tools a search returns. The default is 5.
	Max int
	// Visible selects the tools that are offered without a search. If nil, there are none.
	Visible func(tool *Tool[D]) bool
	// Rank selects the hidden tools that match the query, best first. If nil, the words of the query are compared with
	// names and descriptions. It is called by the search tool, and its result is ignored once ctx is done.
	Rank func(ctx context.Context, query string, hidden []*Tool[D]) ([]*Tool[D], error)
}

// Searchable hides the tools of a large toolset until the model finds them with a search tool, to save space in the
// model's context. Found tools are offered from the next step on. They are listed after the search tool, in the order
// they were found. Earlier definitions stay the same, so a provider's prompt cache still hits if the toolset is the
// agent's last one.
//
// Found tools are derived from the history, where [model.Part.Meta] marks search results. They remain available when the
// conversation is resumed, also in another process, and when a history processor drops the search result. In a history that is cut off
// before the search they are hidden again.
//
// Apply Searchable after [Prefixed] and [Renamed], not before: the search tool tells the model the names that it sees.
func Searchable[D any](set Toolset[D], search Search[D]) Toolset[D] {
	switch {
	case set == nil:
		return incomplete[D]("Searchable", set)
	case search.Max < 0:
		return misused[D](set, "Searchable: Max %d must not be negative", search.Max)
	}
	search.Max = cmp.Or(search.Max, 5)
	s := &searchable[D]{set: set, Search: search}
	s.tool = Func[D, searchArgs, Result](cmp.Or(search.Name, "search_tools"),
		cmp.Or(search.Description, "Search for additional tools. Matching tools become available to call. Search before concluding that something is not possible."),
		func(context.Context, *RunContext[D], searchArgs) (Result, error) {
			return Result{}, errors.New("not open")
		},
		OfKind(KindSearch, "Search tools"))
	if err := s.tool.Err(); err != nil {
		return misused[D](set, "Searchable: %w", err)
	}
	return s
}

type searchArgs struct {
	Query string `json:"query" validate:"required" jsonschema:"description=A few keywords that describe what the tool should do\\, such as the action and the object"`
}

type searchable[D any] struct {
	Search[D]
	set Toolset[D]
	// tool is the search tool without its function.
	tool *Tool[D]
}

func (s *searchable[D]) Name() string { return s.set.Name() }

// Check implements [Checker].
func (s *searchable[D]) Check() error {
	err := check(s.set)
	if name := s.tool.Def.Name; find(fixedTools(s.set), 0, name) != nil {
		err = errors.Join(err, &NameClashError{Tool: name, First: "Searchable", Second: s.Name()})
	}
	return err
}

// FixedTools implements [Fixed]: the search tool and those that are offered without a search.
func (s *searchable[D]) FixedTools() []*Tool[D] {
	all := fixedTools(s.set)
	shown := slices.DeleteFunc(slices.Clone(all), func(t *Tool[D]) bool { return s.Visible == nil || !s.Visible(t) })
	if len(shown) < len(all) {
		shown = append(shown, s.tool)
	}
	return shown
}

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
	// shown and hidden partition the inner tools.
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
		} else if t.Def.Name != in.search.Def.Name {
			in.hidden = append(in.hidden, t)
		}
	}
}

func (in *searchInstance[D]) offer() {
	if len(in.hidden) == 0 {
		in.tools = in.shown
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

// call runs the search tool. Nothing in the instance changes while it runs.
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
		return Result{Text: "No matching tools. Try a different query."}, nil
	}
	names := make([]string, len(tools))
	var fresh []string
	var text strings.Builder
	foreign := false
	text.WriteString("These tools are now available:")
	for i, t := range tools {
		if !slices.Contains(in.hidden, t) {
			return Result{}, errors.New("search: Rank returned a tool it was not given")
		}
		if names[i] = t.Def.Name; !slices.Contains(in.found.names, t.Def.Name) {
			fresh = append(fresh, t.Def.Name)
		}
		foreign = foreign || t.Yield != nil
		text.WriteString("\n- " + t.Def.Name)
		if line := summary(t.Def.Description); line != "" {
			text.WriteString(": " + line)
		}
	}
	if foreign {
		text.WriteString("\nA tool whose name you had is offered under that name with a suffix.")
	}
	meta, err := json.Marshal(discovery{Discovered: map[string][]string{in.found.key: names}})
	return Result{Text: text.String(), Meta: meta, Keep: strings.Join(fresh, " ")}, err
}

// summary returns the first line of a description. The definition has the rest.
func summary(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	return line
}

// discovery marks a search result in the history.
type discovery struct {
	// Discovered holds the names of the tools found, by the name of the search tool.
	Discovered map[string][]string `json:"discovered_tools"`
}

// discoveries collects the tools found by the searches in a history. It looks at each message once.
type discoveries struct {
	key   string
	names []string
	// read is the number of messages looked at. marked holds the indexes of those with search results.
	read   int
	last   *model.Message
	marked []markedMessage
}

type markedMessage struct {
	index   int
	message *model.Message
}

// follow reads the messages added to a history, or all of them if it is another history. It reports whether the names
// have changed.
func (d *discoveries) follow(history []*model.Message) bool {
	changed := false
	if !d.continuedBy(history) {
		changed = len(d.names) > 0
		*d = discoveries{key: d.key}
	}
	for i := d.read; i < len(history); i++ {
		before := len(d.names)
		for _, parts := range [2][]model.Part{history[i].Parts, history[i].Kept} {
			for j := range parts {
				d.take(&parts[j])
			}
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

// continuedBy reports whether the messages with search results are still at the same places in the history.
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
		return // another tool's
	}
	for _, name := range found.Discovered[d.key] {
		if !slices.Contains(d.names, name) {
			d.names = append(d.names, name)
		}
	}
}
