// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

const listFilesDescription = "List a directory, or find files by a glob. Directories end with a slash. Files that .gitignore leaves out are not listed."

type listFilesArgs struct {
	Path    string `json:"path,omitempty" jsonschema_description:"The directory. Default: the working directory\\, or all directories with a pattern."`
	Pattern string `json:"pattern,omitempty" jsonschema_description:"List only files that match this glob, in all subdirectories: *.go for names, cmd/**/*.go for paths below the directory."`
	Depth   int    `json:"depth,omitempty" jsonschema_description:"How many levels of directories to list. Default: 1, or all with a pattern." validate:"omitempty,min=1,max=1000"`
	All     bool   `json:"include_ignored,omitempty" jsonschema_description:"List ignored files, too."`
}

func (in listFilesArgs) subject(*Session) Subject {
	what := "files"
	if in.Pattern != "" {
		what = in.Pattern
	}
	return Subject{Title: "List " + what + within(in.Path), Listing: true}
}

// within names the directory, unless it is the working directory.
func within(path string) string {
	if path == "" || path == "." {
		return ""
	}
	return " in " + cutText(printable(path), maxTitle)
}

// maxListed is how many entries one call lists.
const maxListed = 1000

func (c *call) listFiles(ctx context.Context, in listFilesArgs) (toolset.Result, error) {
	if !checkGlob(in.Pattern) {
		return toolset.Result{}, toolset.Retry("pattern %q is not a valid glob.", cutText(in.Pattern, maxRepeated))
	}
	in.Path, _ = ParseLink(in.Path)
	f := finder{call: c, dirs: c.everywhere(in.Path), glob: in.Pattern, all: in.All, depth: in.Depth}
	if in.Depth == 0 && in.Pattern == "" {
		f.dirs, f.depth = []string{cmp.Or(in.Path, ".")}, 1
	}
	name := c.name(f.dirs[0])
	var b strings.Builder
	n := 0
	for entry, err := range f.files(ctx) {
		if err != nil {
			return toolset.Result{}, c.failed(ctx, "list "+name, err)
		}
		if n == maxListed {
			fmt.Fprintf(&b, "[Stopped after %d entries. Give a path, a pattern or a smaller depth to see others.]\n", maxListed)
			break
		}
		n++
		b.WriteString(c.entryName(entry.Path))
		switch {
		case entry.IsDir():
			b.WriteByte('/')
		case entry.Mode&fs.ModeSymlink != 0:
			b.WriteString(" [link]")
		}
		b.WriteByte('\n')
	}
	if n == 0 {
		b.WriteString("[no files]\n")
	}
	b.WriteString(f.note())
	return toolset.Result{Text: b.String()}, nil
}

// entryName returns the clean path of an entry as it is shown.
func (c *call) entryName(path string) string {
	return printable(shortPath(c.ws, path))
}

// note tells of directories that could not be read, and of files that may not be.
func (f *finder) note() (text string) {
	if f.unreadable > 0 {
		text = fmt.Sprintf("[%d directories could not be read.]\n", f.unreadable)
	}
	if f.withheld > 0 {
		text += fmt.Sprintf("[%d files were left out: "+
			"reading them is not permitted without a question.]\n", f.withheld)
	}
	return text
}
