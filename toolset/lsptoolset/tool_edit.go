// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const editSymbolDescription = "Replace a whole function, method or type, or insert code before or after one, by its name. " +
	"You need not repeat the old code. The user may be asked first."

type editSymbolArgs struct {
	Path   string `json:"path"           jsonschema_description:"The file that defines the symbol."                                             validate:"required"`
	Symbol string `json:"symbol"         jsonschema_description:"The symbol's name in the file\\, such as Agent.Run."                            validate:"required,max=500"`
	Line   int    `json:"line,omitempty" jsonschema_description:"The line in which the symbol begins\\, if the name is not enough."              validate:"min=0"`
	Where  string `json:"where"          jsonschema_description:"What to do: replace the symbol\\, or insert before or after it."                validate:"required,oneof=replace before after"`
	Text   string `json:"text"           jsonschema_description:"The new code\\, with its indentation. Empty with replace to delete the symbol."`
}

func (in editSymbolArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	return c.servers(ctx, in.Path)
}

func (in editSymbolArgs) plan(ctx context.Context, c *call) (*batch, error) {
	at, _, dir, err := c.file(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	if dir {
		return nil, toolset.Failed("%s is a directory.", c.view.short(at.Path))
	}
	path := namePath(in.Symbol)
	if len(path) == 0 {
		return nil, toolset.Retry("symbol: %q is not the name of a symbol", shown(in.Symbol, 200))
	}
	l, d, err := c.open(ctx, at)
	if err != nil {
		return nil, err
	}
	all, err := l.outline(ctx, d)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	found, _ := matching(all, path)
	if in.Line > 0 {
		found = named(all, path)
		kept := found[:0:0]
		for i := range found {
			if int(found[i].full.Start.Line)+1 == in.Line ||
				int(found[i].name.Start.Line)+1 == in.Line {
				kept = append(kept, found[i])
			}
		}
		found = kept
	}
	switch len(found) {
	case 0:
		return nil, toolset.Failed(
			"%s is not defined in %s.%s",
			strings.Join(path, "."),
			c.view.short(at.Path),
			similar(all, path),
		)
	case 1:
	default:
		return nil, c.ambiguous(path, found)
	}
	edit, err := in.edit(l, d, &found[0])
	if err != nil {
		return nil, toolset.Failed(
			"The language server %s has placed %s outside of its file.",
			l.guest.server.Name,
			found[0].title(),
		)
	}
	title := map[string]string{
		"replace": "Replace ", "before": "Insert before ", "after": "Insert after ",
	}[in.Where] + found[0].title()
	return c.plan(
		ctx, l, title, lsp.WorkspaceEdit{Changes: map[string][]lsp.TextEdit{d.uri: {edit}}},
	)
}

// edit returns the change of the text. A symbol is whole lines, with the comment directly above it,
// if nothing else is on them.
func (in editSymbolArgs) edit(l *link, d *document, s *symbol) (lsp.TextEdit, error) {
	from, err := d.text.Offset(s.full.Start, l.encoding)
	if err != nil {
		return lsp.TextEdit{}, err
	}
	to, err := d.text.Offset(s.full.End, l.encoding)
	if err != nil {
		return lsp.TextEdit{}, err
	}
	text := d.text.String()
	first, last := d.text.LineOf(from), d.text.LineOf(to)
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	insert := strings.ReplaceAll(strings.ReplaceAll(in.Text, "\r\n", "\n"), "\n", newline)
	if strings.TrimSpace(text[d.text.Start(first):from]) == "" {
		from = d.text.Start(first)
	}
	if rest := text[to:d.text.Start(last+1)]; strings.TrimSpace(
		strings.TrimLeft(rest, ";,"),
	) == "" {
		to = d.text.Start(last + 1)
		if insert != "" && !strings.HasSuffix(insert, newline) &&
			(in.Where != "replace" || strings.HasSuffix(text[:to], "\n")) {
			insert += newline
		}
	}
	above := first // the first line of the comment above it
	for above > 0 && l.comment(d, d.text.Line(above-1)) {
		above--
	}
	switch in.Where {
	case "replace":
		begin, _, _ := strings.Cut(strings.TrimLeft(in.Text, " \t\r\n"), "\n")
		if from == d.text.Start(first) && l.comment(d, begin) {
			from = d.text.Start(above) // the new code has a comment of its own
		}
	case "before":
		to = d.text.Start(above)
		from = to
		insert += newline
	case "after":
		from = to
		if to > 0 && text[to-1] != '\n' {
			insert = newline + insert
		}
		insert = newline + insert
	}
	return lsp.TextEdit{
		Range: lsp.Range{
			Start: d.text.Position(from, l.encoding),
			End:   d.text.Position(to, l.encoding),
		},
		NewText: insert,
	}, nil
}

// comment reports whether a line is a comment, or belongs to what follows, in most languages.
func (l *link) comment(d *document, line string) bool {
	line = strings.TrimSpace(line)
	for _, begin := range []string{"//", "#", "/*", "*", "@"} {
		if strings.HasPrefix(line, begin) {
			return begin != "#" || !preprocessed[l.guest.server.Files[extension(d.at.Path)]]
		}
	}
	return false
}

// preprocessed are languages in which # begins a directive.
var preprocessed = map[string]bool{
	"c": true, "cpp": true, "objective-c": true, "objective-cpp": true, "cuda-cpp": true,
	"csharp": true,
}

// changedLines shows the lines around a change.
func changedLines(d done) string {
	return workspace.ChangedLines([]byte(asText(d.file.old)), []byte(asText(d.doc.Current().Data)))
}
