// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
)

const codeActionsDescription = "List the quick fixes and refactorings that are possible in a file or on lines of it, or apply one: " +
	"fix an error, organize imports, format the file, extract a function, … The user sees all changes first."

type codeActionsArgs struct {
	Path    string `json:"path"               jsonschema_description:"The file."                                                                       validate:"required"`
	Line    int    `json:"line,omitempty"     jsonschema_description:"The first line\\, counted from 1. Default: the whole file."                       validate:"min=0"`
	EndLine int    `json:"end_line,omitempty" jsonschema_description:"The last line. Default: line."                                                   validate:"min=0"`
	Apply   string `json:"apply,omitempty"    jsonschema_description:"The title of the action to apply\\, as it was listed. Default: list the actions." validate:"max=1000"`
}

// formatTitle is the title of the action that formats the file.
const formatTitle = "Format the file"

func (in codeActionsArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	return c.servers(ctx, in.Path)
}

// actions returns what is possible, in the order of the server, formatting last.
func (in codeActionsArgs) actions(
	ctx context.Context,
	c *call,
) (*link, *document, []lsp.CodeAction, error) {
	at, line, dir, err := c.file(ctx, in.Path)
	if err != nil {
		return nil, nil, nil, err
	}
	if dir {
		return nil, nil, nil, toolset.Failed("%s is a directory.", c.view.short(at.Path))
	}
	if in.Line == 0 {
		in.Line = line
	}
	l, d, err := c.open(ctx, at)
	if err != nil {
		return nil, nil, nil, err
	}
	if in.Line > d.text.Lines() {
		return nil, nil, nil, toolset.Failed(
			"%s has %d lines.", c.view.short(at.Path), d.text.Lines(),
		)
	}
	var all []lsp.CodeAction
	if provides(l.can.CodeActionProvider) {
		if _, err := l.checked(ctx, checkLimit/3, d); err != nil { // fixes are for problems
			return nil, nil, nil, c.failed(ctx, err)
		}
		if all, err = l.actions(ctx, d, in.span(l, d)); err != nil {
			return nil, nil, nil, c.failed(ctx, err)
		}
	}
	if provides(l.can.DocumentFormattingProvider) {
		all = append(all, lsp.CodeAction{Title: formatTitle, Kind: "source.format"})
	}
	return l, d, all, nil
}

// span returns the lines that are meant.
func (in codeActionsArgs) span(l *link, d *document) lsp.Range {
	if in.Line == 0 {
		return lsp.Range{End: d.text.End(l.encoding)}
	}
	last := min(max(in.EndLine, in.Line), d.text.Lines()) - 1
	start := d.text.Start(in.Line - 1)
	if in.EndLine == 0 { // the code of the line: some servers offer nothing for blanks
		line := d.text.Line(in.Line - 1)
		start += len(line) - len(strings.TrimLeft(line, " \t"))
	}
	end := d.text.Start(last) + len(d.text.Line(last))
	return lsp.Range{
		Start: d.text.Position(start, l.encoding),
		End:   d.text.Position(max(start, end), l.encoding),
	}
}

// maxFixed is how many problems a server is asked to fix at once.
const maxFixed = 20

// actions asks for code actions on lines. Fixes of problems are asked for where these are: some
// servers fix what the range of the request is, whatever the problem is that they were told.
func (l *link) actions(ctx context.Context, d *document, span lsp.Range) ([]lsp.CodeAction, error) {
	var problems []lsp.Diagnostic
	if p := l.known()[d.at.Path]; p != nil {
		for _, found := range p.items {
			if found.Range.Start.Line <= span.End.Line && found.Range.End.Line >= span.Start.Line {
				problems = append(problems, found)
			}
		}
	}
	var all []lsp.CodeAction
	for _, found := range problems[:min(len(problems), maxFixed)] {
		fixes, err := l.actionsAt(ctx, d, found.Range, []lsp.Diagnostic{found}, quickFix)
		if err != nil {
			return nil, err
		}
		for i := range fixes {
			if kind, _, _ := strings.Cut(fixes[i].Kind, "."); kind == quickFix {
				all = append(all, fixes[i])
			}
		}
	}
	others, err := l.actionsAt(ctx, d, span, problems)
	for i := range others {
		if !slices.ContainsFunc(all, func(a lsp.CodeAction) bool {
			return a.Title == others[i].Title && a.Kind == others[i].Kind
		}) {
			all = append(all, others[i])
		}
	}
	return all, err
}

const quickFix = "quickfix"

// actionsAt asks for code actions of these kinds. Plain commands become actions without an edit.
func (l *link) actionsAt(
	ctx context.Context, d *document, span lsp.Range, problems []lsp.Diagnostic, kinds ...string,
) ([]lsp.CodeAction, error) {
	params := lsp.CodeActionParams{
		TextDocument: lsp.TextDocumentIdentifier{URI: d.uri},
		Range:        span,
		Context: lsp.CodeActionContext{
			Diagnostics: append([]lsp.Diagnostic{}, problems...), Only: kinds,
		},
	}
	var raw []json.RawMessage
	if err := l.call(ctx, "textDocument/codeAction", params, &raw); err != nil {
		return nil, err
	}
	var all []lsp.CodeAction
	for _, item := range raw[:min(len(raw), 1000)] {
		var command lsp.Command
		if json.Unmarshal(item, &command) == nil && command.Command != "" {
			all = append(all, lsp.CodeAction{Title: command.Title, Command: &command})
			continue
		}
		var action lsp.CodeAction
		if err := json.Unmarshal(item, &action); err != nil {
			return nil, fmt.Errorf("the answer to textDocument/codeAction is malformed: %w", err)
		}
		if action.Disabled == nil && strings.TrimSpace(action.Title) != "" {
			all = append(all, action)
		}
	}
	return all, nil
}

func (c *call) codeActions(ctx context.Context, in codeActionsArgs) (toolset.Result, error) {
	if in.Apply != "" {
		return c.change(ctx, in)
	}
	_, d, all, err := in.actions(ctx, c)
	if err != nil {
		return toolset.Result{}, err
	}
	c.show("Code actions of "+c.view.short(d.at.Path), place{path: d.at.Path})
	var lines []string
	for i := range all {
		line := shown(all[i].Title, 300)
		if all[i].Kind != "" {
			line += " [" + shown(all[i].Kind, 100) + "]"
		}
		if all[i].IsPreferred {
			line += " (preferred)"
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return text("There are no code actions here.")
	}
	note := ""
	if more := len(lines) - pageLines; more > 0 {
		lines, note = lines[:pageLines], fmt.Sprintf("\n[%d more: give lines.]", more)
	}
	return text("%s%s", strings.Join(lines, "\n"), note)
}

func (in codeActionsArgs) plan(ctx context.Context, c *call) (*batch, error) {
	l, d, all, err := in.actions(ctx, c)
	if err != nil {
		return nil, err
	}
	chosen, err := in.choose(all)
	if err != nil {
		return nil, err
	}
	title := shown(chosen.Title, 200) + " in " + c.view.short(d.at.Path)
	if chosen.Title == formatTitle && chosen.Kind == "source.format" {
		edits, err := l.format(ctx, d)
		if err != nil {
			return nil, c.failed(ctx, err)
		}
		return c.plan(
			ctx, l, title, lsp.WorkspaceEdit{Changes: map[string][]lsp.TextEdit{d.uri: edits}},
		)
	}
	if chosen.Edit == nil && chosen.Data != nil && l.resolves() {
		if err := l.call(ctx, "codeAction/resolve", chosen, chosen); err != nil {
			return nil, c.failed(ctx, err)
		}
	}
	var edits []lsp.WorkspaceEdit
	if chosen.Edit != nil {
		edits = append(edits, *chosen.Edit)
	} else if chosen.Command != nil {
		// TypeScript's server creates the file that something is moved to.
		creates := strings.HasPrefix(chosen.Kind, "refactor.move")
		if edits, err = c.execute(ctx, l, chosen.Command, creates); err != nil {
			return nil, err
		}
	}
	return c.plan(ctx, l, title, edits...)
}

// choose returns the action that a model means.
func (in codeActionsArgs) choose(all []lsp.CodeAction) (*lsp.CodeAction, error) {
	want := strings.TrimSpace(in.Apply)
	for _, fits := range []func(a *lsp.CodeAction) bool{
		func(a *lsp.CodeAction) bool { return shown(a.Title, 300) == want || a.Title == in.Apply },
		func(a *lsp.CodeAction) bool { return strings.EqualFold(shown(a.Title, 300), want) },
		func(a *lsp.CodeAction) bool { return a.Kind == want },
		func(a *lsp.CodeAction) bool { return strings.HasPrefix(want, shown(a.Title, 300)+" [") },
	} {
		for i := range all {
			if fits(&all[i]) {
				return &all[i], nil
			}
		}
	}
	var titles []string
	for i := range all[:min(len(all), 30)] {
		titles = append(titles, "  "+shown(all[i].Title, 300))
	}
	if len(titles) == 0 {
		return nil, toolset.Failed("There are no code actions here.")
	}
	return nil, toolset.Failed(
		"There is no action %q here. The actions are:\n%s",
		shown(in.Apply, 200),
		strings.Join(titles, "\n"),
	)
}

// resolves reports whether the server completes actions that were chosen.
func (l *link) resolves() bool {
	var can struct {
		Resolve bool `json:"resolveProvider"`
	}
	return json.Unmarshal(l.can.CodeActionProvider, &can) == nil && can.Resolve
}

// format returns the edits that format a document, with the indentation that it has.
func (l *link) format(ctx context.Context, d *document) ([]lsp.TextEdit, error) {
	options := lsp.FormattingOptions{
		TabSize:            4,
		InsertSpaces:       !strings.Contains(d.text.String(), "\n\t"),
		InsertFinalNewline: true,
	}
	for i := range min(d.text.Lines(), 1000) {
		line := d.text.Line(i)
		if n := len(line) - len(strings.TrimLeft(line, " ")); n == 2 || n == 4 || n == 8 {
			options.TabSize = uint32(n)
			break
		}
	}
	var edits []lsp.TextEdit
	params := lsp.DocumentFormattingParams{
		TextDocument: lsp.TextDocumentIdentifier{URI: d.uri},
		Options:      options,
	}
	err := l.call(ctx, "textDocument/formatting", params, &edits)
	return edits, err
}

const commandBasis = editBasis + "command "

// execute runs a command of the server and returns the edits that it asks for. A command that is
// not known to do only that, or that does more, is asked about first.
func (c *call) execute(
	ctx context.Context, l *link, command *lsp.Command, more bool,
) ([]lsp.WorkspaceEdit, error) {
	name := shown(command.Command, 200)
	known := !more && slices.Contains(l.guest.server.Edits, command.Command)
	if basis := commandBasis + name; !known && !c.past(basis) {
		return nil, toolset.ApprovalRequired(toolset.Approval{
			Title: "Run the command " + name + " of " + l.guest.server.Name, Basis: basis, Once: true,
			Preview: []toolset.Preview{
				{
					Text: fmt.Sprintf(
						"%s\nThe language server runs this command by itself. Changes of files that it asks for are shown before they are made.",
						shown(command.Title, 300),
					),
				},
			},
			Effects: []model.Effect{
				{
					Kind: model.EffectUnknown,
					Argv: []string{l.guest.server.Name, name},
					Dir:  c.view.dir(),
				},
			},
		})
	}
	taken := &capture{}
	l.mu.Lock()
	if l.capture != nil {
		l.mu.Unlock()
		return nil, toolset.Failed(
			"Another command of %s is running. Try again.",
			l.guest.server.Name,
		)
	}
	l.capture = taken
	l.mu.Unlock()
	err := l.call(
		ctx,
		"workspace/executeCommand",
		lsp.ExecuteCommandParams{Command: command.Command, Arguments: command.Arguments},
		nil,
	)
	l.mu.Lock()
	l.capture = nil
	edits := taken.edits
	l.mu.Unlock()
	if r := (*lsp.ResponseError)(nil); err != nil && !(errors.As(err, &r) && len(edits) > 0) {
		return nil, c.failed(ctx, err)
	}
	return edits, nil
}

// past reports whether the call was approved with a question, or with one that follows it.
func (c *call) past(basis string) bool {
	return c.approved && (c.approval == nil || c.approval.Basis == basis ||
		strings.HasPrefix(c.approval.Basis, editBasis) && !strings.HasPrefix(c.approval.Basis, commandBasis))
}
