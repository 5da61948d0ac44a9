// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

const readFileDescription = "Read a text file. For long files, use line and limit to read a range. The content is returned without line numbers."

type readFileArgs struct {
	Path  string `json:"path" jsonschema_description:"The file: an absolute path, one relative to the working directory, or a link to a file or its lines." validate:"required"`
	Line  int    `json:"line,omitempty" jsonschema_description:"The first line to read, counted from 1." validate:"omitempty,min=1,max=2000000000"`
	Limit int    `json:"limit,omitempty" jsonschema_description:"How many lines to read. Default: all." validate:"omitempty,min=1,max=2000000000"`
}

// resolved takes a link with lines apart, as users paste it. Lines that are given as arguments go
// first.
func (in readFileArgs) resolved() readFileArgs {
	path, lines := ParseLink(in.Path)
	if in.Path = path; in.Line == 0 && in.Limit == 0 {
		in.Line, in.Limit = lines.Line, lines.Lines
	}
	return in
}

func (c *call) readFile(ctx context.Context, in readFileArgs) (toolset.Result, error) {
	in = in.resolved()
	if err := c.mayRead(ctx, in.Path); err != nil {
		return toolset.Result{}, err
	}
	name, first := c.name(in.Path), max(in.Line, 1)
	lines := Range{Line: first, Lines: in.Limit, Limit: c.options.readLimit}
	f, err := c.ws.Read(ctx, in.Path, lines)
	encoding := ""
	if err == nil && (binaryKind(f.Data) != "" || first > 1 && c.isUTF16(ctx, in.Path)) {
		f, encoding, err = c.decoded(ctx, in.Path, name, lines)
	}
	if err != nil {
		return toolset.Result{}, c.failed(ctx, "read "+name, err)
	}
	read := FileRead{
		Lines: countLines(f.Data), Bytes: len(f.Data), Truncated: f.More, Encoding: encoding, Unsaved: f.Unsaved, Unfaithful: f.Faithful == FaithNo,
	}
	return withMeta(showFile(&f, first, c.options.readLimit)+read.notes(&f), read), nil
}

// isUTF16 reports whether a file begins with a byte order mark of UTF-16: then the bytes of its
// lines may read like other text. An editor on another machine is not asked, because it has text.
func (c *call) isUTF16(ctx context.Context, path string) bool {
	if can := c.ws.Features(); can.Unsaved && !can.Saved {
		return false
	}
	f, err := c.ws.Read(ctx, path, Range{Limit: 2, Saved: true})
	return err == nil && utf16Name(f.Data) != ""
}

// decoded reads lines of a file that is not UTF-8.
func (c *call) decoded(ctx context.Context, path, name string, lines Range) (File, string, error) {
	whole, err := c.ws.Read(ctx, path, Range{})
	if err != nil {
		return File{}, "", err
	}
	text, ok := DecodeText(whole.Data)
	if !ok {
		return File{}, "", toolset.Failed(
			"Could not read %s: it is %s. %s reads text only.", name, binaryKind(whole.Data),
			ToolReadFile,
		)
	}
	f, err := lines.Read(ctx, bytes.NewReader(text.Data))
	f.Info, f.Unsaved, f.Faithful = whole.Info, whole.Unsaved, whole.Faithful
	f.Uncertain, f.Doubtful = whole.Uncertain, whole.Doubtful
	return f, text.Encoding, err
}

// notes tell the model about the file, each on a separate line after what is shown of it.
func (r *FileRead) notes(f *File) string {
	var notes []string
	if f.Doubtful {
		notes = append(notes, "[U+FFFD may stand for bytes that the editor cannot show.]")
	}
	if f.Uncertain {
		notes = append(notes, "[The file is empty or does not exist: the editor does not say which.]")
	}
	if r.Unsaved {
		notes = append(notes, "[This is the text in the editor. It is not what is on disk: it has unsaved changes, or the file was changed on disk.]")
	}
	if r.Encoding != "" {
		notes = append(notes, "[The file is encoded in "+r.Encoding+". Edits keep that.]")
	}
	if len(notes) == 0 {
		return ""
	}
	text := strings.Join(notes, "\n")
	switch {
	case f.More: // after another note
		return "\n" + text
	case len(f.Data) == 0 && (f.Size == 0 || f.Uncertain):
		return text
	case len(f.Data) == 0, bytes.HasSuffix(f.Data, []byte{'\n'}):
		return "\n" + text
	}
	return "\n\n[No newline at the end.]\n" + text
}

// showFile shows a file, or a range of its lines that begins with the line first.
func showFile(f *File, first, limit int) string {
	shown := f.Data
	total := ""
	if f.Lines > 0 {
		total = fmt.Sprintf(" of %d", f.Lines)
	}
	switch {
	case len(shown) == 0 && (f.Size == 0 || f.Uncertain):
		return ""
	case len(shown) == 0 && first > 1:
		return fmt.Sprintf("[The file ends before line %d.]", first)
	case !f.More:
		body, _ := cutLongLines(string(shown))
		return body
	}
	if end := bytes.LastIndexByte(shown, '\n'); end >= 0 {
		shown = shown[:end+1]
		n := bytes.Count(shown, []byte{'\n'})
		body, _ := cutLongLines(string(shown))
		return fmt.Sprintf(
			"%s\n[Cut here: these are the lines %d to %d%s. To read on, call %s with line %d.]",
			body, first, first+n-1, total, ToolReadFile, first+n,
		)
	}
	body, _ := cutLongLines(string(clean.Whole(shown)))
	text := fmt.Sprintf(
		"%s\n\n[Cut here: line %d is longer than %d bytes, the rest of it cannot be shown.", body,
		first, limit,
	)
	if f.Lines > 0 {
		text += fmt.Sprintf(" The file has %d lines.", f.Lines)
	}
	return strings.TrimSuffix(text, " ") + "]"
}
