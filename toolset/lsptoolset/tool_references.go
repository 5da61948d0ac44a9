// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
)

const findReferencesDescription = "Find all places that use a symbol, with the line of each. Also finds the callers of a function, and what it calls. " +
	"More precise than a text search: it finds this symbol and no other one of its name."

type findReferencesArgs struct {
	symbolArgs
	Kind   string `json:"kind,omitempty"   jsonschema_description:"What to find. Default: references."                         validate:"omitempty,oneof=references callers callees"`
	Offset int    `json:"offset,omitempty" jsonschema_description:"Where to continue in a long answer\\, as the last one said." validate:"min=0"`
}

func (in findReferencesArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	in.split()
	return c.servers(ctx, in.Path)
}

func (c *call) findReferences(ctx context.Context, in findReferencesArgs) (toolset.Result, error) {
	what := "References to "
	if in.Kind == "callers" || in.Kind == "callees" {
		what = strings.ToUpper(in.Kind[:1]) + in.Kind[1:] + " of "
	}
	c.show(what + shown(in.Symbol, 200))
	t, err := c.resolve(ctx, in.symbolArgs)
	if err != nil {
		return toolset.Result{}, err
	}
	if err := c.awake(ctx, t.link); err != nil {
		return toolset.Result{}, err
	}
	if in.Kind == "callers" || in.Kind == "callees" {
		return c.calls(ctx, t, in.Kind, in.Offset)
	}
	if !provides(t.link.can.ReferencesProvider) {
		return toolset.Result{}, toolset.Failed(
			"The language server %s cannot do this.",
			t.link.guest.server.Name,
		)
	}
	var found []place
	err = c.repeat(ctx, t.link, false, func() error {
		found, err = c.references(ctx, t, false)
		return err
	}, func() []place { return found })
	if err != nil {
		return toolset.Result{}, err
	}
	found = sortPlaces(found)
	c.show(what+t.title, found...)
	if len(found) == 0 {
		return text("Nothing refers to %s.%s%s", t.title, c.andOthers(t), c.incomplete(t.link))
	}
	ts := c.texts(t)
	return text(
		"%s%s%s",
		page(c.lines(ctx, ts, found, nil), in.Offset, "references"),
		c.andOthers(t),
		c.incomplete(t.link),
	)
}

// references asks for the places that use a symbol, with its declarations if they are wanted.
func (c *call) references(ctx context.Context, t *target, declarations bool) ([]place, error) {
	params := struct {
		lsp.TextDocumentPositionParams
		Context map[string]bool `json:"context"`
	}{t.link.position(t.doc, t.offset), map[string]bool{"includeDeclaration": declarations}}
	var raw rawJSON
	if err := t.link.call(ctx, "textDocument/references", params, &raw); err != nil {
		return nil, err
	}
	return t.link.places(raw)
}

// callable returns what the server knows of a function, nothing if the symbol is none.
func (t *target) callable(ctx context.Context) (items []lsp.CallHierarchyItem, err error) {
	at := t.link.position(t.doc, t.offset)
	err = t.link.call(ctx, "textDocument/prepareCallHierarchy", at, &items)
	return items, err
}

// onlyFunction returns the one function among the symbols of the target's name, nil if there are
// none or several.
func (c *call) onlyFunction(ctx context.Context, t *target) *target {
	if t.symbol == nil {
		return nil
	}
	rest := []symbol{*t.symbol}
	var found []symbol
	for i := range t.others {
		switch t.others[i].kind {
		case lsp.SymbolFunction, lsp.SymbolMethod, lsp.SymbolConstructor:
			found = append(found, t.others[i])
		default:
			rest = append(rest, t.others[i])
		}
	}
	if len(found) != 1 || c.session.CheckRead(ctx, found[0].at.Path) != nil {
		return nil
	}
	if s, _ := c.view.pool.forFile(found[0].at.Path); s != t.link.guest.server {
		return nil
	}
	docs, err := t.link.sync(ctx, c.ws, found[0].at.Path)
	if err != nil {
		return nil
	}
	other, err := c.defined(t.link, docs[0], &found[0])
	if err != nil {
		return nil
	}
	other.others = rest
	return other
}

// calls lists the callers of a function, or what it calls, with the places of the calls.
func (c *call) calls(
	ctx context.Context,
	t *target,
	kind string,
	offset int,
) (toolset.Result, error) {
	if !provides(t.link.can.CallHierarchyProvider) {
		return toolset.Result{}, toolset.Failed(
			"The language server %s cannot do this.",
			t.link.guest.server.Name,
		)
	}
	items, err := t.callable(ctx)
	if len(items) == 0 { // gopls answers with an error for a type
		if other := c.onlyFunction(ctx, t); other != nil {
			t = other
			items, err = t.callable(ctx)
		}
	}
	if err != nil {
		return toolset.Result{}, c.failed(ctx, err)
	}
	if len(items) == 0 {
		return toolset.Result{}, toolset.Failed("%s is not a function.%s", t.title, c.andOthers(t))
	}
	var found []place
	names := map[place]string{}
	readable := c.readable(ctx)
	add := func(uri string, r lsp.Range, name string) {
		if p, err := t.link.place(uri, r); err == nil {
			if name = " [" + shown(name, 200) + "]"; p.inside && !readable(p.path) {
				name = ""
			}
			if _, known := names[p]; !known {
				names[p] = name
				found = append(found, p)
			}
		}
	}
	if kind == "callers" {
		var calls []lsp.CallHierarchyIncomingCall
		if err = t.link.call(ctx, "callHierarchy/incomingCalls", map[string]any{"item": items[0]}, &calls); err == nil {
			for i := range calls {
				for _, r := range calls[i].FromRanges {
					add(calls[i].From.URI, r, "in "+calls[i].From.Name)
				}
			}
		}
	} else {
		var calls []lsp.CallHierarchyOutgoingCall
		if err = t.link.call(ctx, "callHierarchy/outgoingCalls", map[string]any{"item": items[0]}, &calls); err == nil {
			for i := range calls {
				add(calls[i].To.URI, calls[i].To.SelectionRange, calls[i].To.Name)
			}
		}
	}
	if err != nil {
		return toolset.Result{}, c.failed(ctx, err)
	}
	found = sortPlaces(found)
	c.show(strings.ToUpper(kind[:1])+kind[1:]+" of "+t.title, found...)
	if len(found) == 0 {
		rest := c.andOthers(t) + c.incomplete(t.link)
		return text("%s has no %s in this project.%s", t.title, kind, rest)
	}
	ts := c.texts(t)
	lines := c.lines(ctx, ts, found, func(i int) string { return names[found[i]] })
	return text("%s%s%s", page(lines, offset, kind), c.andOthers(t), c.incomplete(t.link))
}
