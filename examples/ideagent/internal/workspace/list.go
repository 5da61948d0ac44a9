// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// ListArgs are the arguments of list_files.
type ListArgs struct {
	Path      string `json:"path,omitempty" jsonschema:"description=Directory; relative to the working directory. Default: the working directory"`
	Pattern   string `json:"pattern,omitempty" jsonschema:"description=Lists only files that match this glob\\, such as *.go or cmd/*.go; looks into subdirectories too"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"description=Look into subdirectories"`
}

func (in ListArgs) title() string {
	if in.Pattern != "" {
		return "List " + in.Pattern + within(in.Path)
	}
	return "List files" + within(in.Path)
}

// within says where, unless that is the working directory.
func within(path string) string {
	if path == "" || path == "." {
		return ""
	}
	return " in " + path
}

// List returns the names of files relative to dir, one a line. Directories end with a slash.
func List(ctx context.Context, dir string, in ListArgs) (string, error) {
	if err := checkPattern(in.Pattern); err != nil {
		return "", err
	}
	root, name, err := open(dir, in.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var b strings.Builder
	n := 0
	note, err := walk(ctx, root, name, func(at string, entry fs.DirEntry) error {
		isRoot := at == name
		switch {
		case isRoot && entry.IsDir(),
			in.Pattern != "" && entry.IsDir(),
			in.Pattern != "" && !matches(in.Pattern, at):
			return nil
		case n == maxEntries:
			fmt.Fprintf(&b, "(stopped at %d files; give a directory or a pattern)\n", maxEntries)
			return errEnough
		}
		n++
		b.WriteString(at)
		if !entry.IsDir() {
			b.WriteByte('\n')
			return nil
		}
		b.WriteString("/\n")
		if !in.Recursive {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if n == 0 {
		b.WriteString("(no files)\n")
	}
	return b.String() + note, nil
}
