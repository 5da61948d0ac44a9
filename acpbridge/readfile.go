// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

const readFileDescription = "Read a text file as the user's editor has it, changes that are not saved included. " +
	"Of a long file give line and limit to read a part. The content comes back without line numbers."

type readFileArgs struct {
	Path  string `json:"path" jsonschema_description:"The file: an absolute path, or one relative to the working directory." validate:"required"`
	Line  int    `json:"line,omitempty" jsonschema_description:"The first line to read; the first line of a file is 1." validate:"omitempty,min=1,max=2000000000"`
	Limit int    `json:"limit,omitempty" jsonschema_description:"How many lines to read; all if left out." validate:"omitempty,min=1,max=2000000000"`
}

func (in readFileArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	at := acp.ToolCallLocation{Path: w.display(in.Path).absolute}
	title := "Read " + w.display(in.Path).short
	if in.Line > 0 {
		at.Line = new(uint32(in.Line))
	}
	switch first := max(in.Line, 1); {
	case in.Limit > 0:
		title += fmt.Sprintf(" (lines %d to %d)", first, first+in.Limit-1)
	case in.Line > 0:
		title += fmt.Sprintf(" (from line %d)", first)
	}
	return title, []acp.ToolCallLocation{at}
}

// fileRead is the raw output of read_file.
type fileRead struct {
	Lines     int  `json:"lines"`
	Bytes     int  `json:"bytes"`
	Truncated bool `json:"truncated,omitempty"`
}

func (w *workspace) readFile(ctx context.Context, a *activity, in readFileArgs) (answer, error) {
	path, err := w.resolve(in.Path)
	if err != nil {
		return answer{}, err
	}
	a.started(ctx)
	req := &acp.ReadTextFileRequest{SessionID: w.Session.ID, Path: path}
	if in.Line > 0 {
		req.Line = new(uint32(in.Line))
	}
	if in.Limit > 0 {
		req.Limit = new(uint32(in.Limit))
	}
	resp, err := w.Client.ReadTextFile(ctx, req)
	if err != nil {
		return answer{}, clientError(ctx, "read "+w.short(path), err)
	}
	text, raw := excerpt(resp.Content, max(in.Line, 1), w.options.readLimit)
	return answer{text: text, raw: raw}, nil
}

// excerpt cuts content, which begins with the line first, to whole lines within limit, and says so.
func excerpt(content string, first, limit int) (string, fileRead) {
	raw := fileRead{Lines: countLines(content), Bytes: len(content)}
	if len(content) <= limit {
		return content, raw
	}
	raw.Truncated = true
	shown := content[:limit]
	if end := strings.LastIndexByte(shown, '\n'); end >= 0 {
		shown = shown[:end+1]
		n := countLines(shown)
		return fmt.Sprintf("%s\n[Cut here: these are the lines %d to %d of %d. To read on, call %s with line %d.]",
			shown, first, first+n-1, first+raw.Lines-1, ToolReadFile, first+n), raw
	}
	for len(shown) > 0 && !utf8.ValidString(shown[max(0, len(shown)-utf8.UTFMax):]) && len(shown) > limit-utf8.UTFMax {
		shown = shown[:len(shown)-1]
	}
	return fmt.Sprintf("%s\n\n[Cut here: line %d is longer than %d bytes, the rest of it cannot be shown. The text has %d lines.]",
		shown, first, limit, raw.Lines), raw
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
