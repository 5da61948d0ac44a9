// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/show"
)

// Bounds of prompt templates.
const (
	maxTemplate  = 64 << 10 // bytes of a file
	maxTemplates = 200
)

// Templates makes a command of each Markdown file of a directory: review.md is /review. The text of
// the file is the prompt. $ARGUMENTS in it is replaced by what was typed after the name. Without
// $ARGUMENTS, that is appended after a blank line. Front matter between two lines "---" may have
// "description:" and "argument-hint:". Other lines of it are ignored.
//
// The error joins the problems of all files that cannot be commands. It is returned together with
// the commands of the others. A directory that does not exist is not an error.
func Templates(fsys fs.FS, dir string) ([]Command, error) {
	files, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Command
	errs := []error{err}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".md")
		if !ok || f.IsDir() {
			continue
		}
		if len(all) == maxTemplates {
			errs = append(errs, fmt.Errorf("host: templates: %s has more than %d", dir, maxTemplates))
			break
		}
		c, err := template(fsys, path.Join(dir, f.Name()), name)
		if err != nil {
			errs = append(errs, fmt.Errorf("host: template %q: %w", f.Name(), err))
			continue
		}
		all = append(all, c)
	}
	return all, errors.Join(errs...)
}

func template(fsys fs.FS, file, name string) (Command, error) {
	if !isName(name) {
		return Command{}, errors.New(
			"the name cannot be a command: use 1 to 64 letters, digits, and characters of \"_-.:\"",
		)
	}
	if info, err := fs.Stat(fsys, file); err != nil {
		return Command{}, err
	} else if !info.Mode().IsRegular() { // to open a pipe is to wait
		return Command{}, errors.New("it is not a regular file")
	}
	f, err := fsys.Open(file)
	if err != nil {
		return Command{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	switch {
	case err != nil:
		return Command{}, err
	case len(data) > maxTemplate:
		return Command{}, fmt.Errorf("it has more than %d bytes", maxTemplate)
	case !utf8.Valid(data):
		return Command{}, errors.New("it is not UTF-8")
	}
	head, text := frontMatter(strings.ReplaceAll(string(data), "\r\n", "\n"))
	if strings.TrimSpace(text) == "" {
		return Command{}, errors.New("it has no text")
	}
	c := Command{
		Name: name, Description: head["description"], Hint: head["argument-hint"], prompts: true,
	}
	if c.Description == "" {
		c.Description = "Prompt from " + name + ".md."
	}
	if c.Hint == "" {
		c.Hint = "text"
	}
	c.Run = func(_ context.Context, call *CommandCall) (res agent.CommandResult, err error) {
		switch {
		case strings.Contains(text, "$ARGUMENTS"):
			res.Prompt = strings.ReplaceAll(text, "$ARGUMENTS", call.Args)
		case call.Args != "":
			res.Prompt = strings.TrimRight(text, "\n") + "\n\n" + call.Args
		default:
			res.Prompt = text
		}
		return res, nil
	}
	return c, nil
}

// frontMatter splits a file into the values before its text and the text.
func frontMatter(text string) (map[string]string, string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, text
	}
	head, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		return nil, text
	}
	values := map[string]string{}
	for line := range strings.Lines(head) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			values[strings.TrimSpace(name)] = show.Line(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return values, body
}
