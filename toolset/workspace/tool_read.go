// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset"
)

const readFileDescription = "Read a text file. For long files, use line and limit to read a range. The content is returned without line numbers."

type readFileArgs struct {
	Path  string `json:"path" jsonschema_description:"The file: an absolute path, one relative to the working directory, or a link to a file or its lines." validate:"required"`
	Line  int    `json:"line,omitempty" jsonschema_description:"The first line to read, counted from 1." validate:"omitempty,min=1,max=2000000000"`
	Limit int    `json:"limit,omitempty" jsonschema_description:"How many lines to read. Default: all." validate:"omitempty,min=1,max=2000000000"`
}

// resolved takes a link with lines apart, as users paste it. Lines that are given as arguments go first.
func (in readFileArgs) resolved() readFileArgs {
	path, lines := ParseLink(in.Path)
	if in.Path = path; in.Line == 0 && in.Limit == 0 {
		in.Line, in.Limit = lines.Line, lines.Lines
	}
	return in
}

func (c *call) readFile(ctx context.Context, in readFileArgs) (toolset.Result, error) {
	in = in.resolved()
	name, first := c.name(in.Path), max(in.Line, 1)
	f, err := c.ws.Read(ctx, in.Path, Range{Line: first, Lines: in.Limit, Limit: c.options.readLimit})
	if err != nil {
		return toolset.Result{}, c.failed(ctx, "read "+name, err)
	}
	if kind := binaryKind(f.Data); kind != "" {
		return toolset.Result{}, toolset.Failed("Could not read %s: it is %s. %s reads text only.", name, kind, ToolReadFile)
	}
	return withMeta(showFile(&f, first, c.options.readLimit), FileRead{Lines: countLines(f.Data), Bytes: len(f.Data), Truncated: f.More}), nil
}

// showFile shows a file, or a range of its lines that begins with the line first.
func showFile(f *File, first, limit int) string {
	shown := f.Data
	total := ""
	if f.Lines > 0 {
		total = fmt.Sprintf(" of %d", f.Lines)
	}
	switch {
	case len(shown) == 0 && f.Size == 0:
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
		return fmt.Sprintf("%s\n[Cut here: these are the lines %d to %d%s. To read on, call %s with line %d.]", body, first, first+n-1, total, ToolReadFile, first+n)
	}
	for len(shown) > 0 && !utf8.Valid(shown[max(0, len(shown)-utf8.UTFMax):]) && len(f.Data)-len(shown) < utf8.UTFMax {
		shown = shown[:len(shown)-1]
	}
	body, _ := cutLongLines(string(shown))
	text := fmt.Sprintf("%s\n\n[Cut here: line %d is longer than %d bytes, the rest of it cannot be shown.", body, first, limit)
	if f.Lines > 0 {
		text += fmt.Sprintf(" The file has %d lines.", f.Lines)
	}
	return strings.TrimSuffix(text, " ") + "]"
}
