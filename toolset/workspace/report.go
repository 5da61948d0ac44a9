// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/ponte-go/ponte/toolset"
)

// failed tells the model why something could not be done. Its text depends on what is wrong and
// not on the backend. If ctx has ended, the run ends as well. doing completes "Could not …".
func (c *call) failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("workspace: %s: %w", doing, context.Cause(ctx))
	}
	if errors.Is(err, ErrLost) {
		return fmt.Errorf("workspace: %s: %w", doing, err)
	}
	if told, ok := errors.AsType[*toolset.FailedError](err); ok {
		return told
	}
	return toolset.Failed("Could not %s: %s", doing, c.reason(err))
}

// reason explains an error to the model.
func (c *call) reason(err error) string {
	malformed, isMalformed := errors.AsType[*malformedError](err)
	switch {
	case isMalformed:
		return malformed.reason + "."
	case errors.Is(err, ErrPath):
		return "the path is malformed."
	case errors.Is(err, ErrOutside):
		return "the path lies outside of the working directory, or leads out through a link. Use a path inside " + strings.Join(c.ws.Roots(), " or ") + "."
	case errors.Is(err, fs.ErrNotExist):
		return "not found."
	case errors.Is(err, fs.ErrPermission):
		e, ok := errors.AsType[*PathError](err)
		if ok && strings.HasPrefix(e.Err.Error(), "permission denied: ") {
			return e.Err.Error() + "."
		}
		return "permission denied."
	case errors.Is(err, ErrIsDirectory):
		return "it is a directory."
	case errors.Is(err, ErrNotDirectory):
		return "it is not a directory, or a part of its path is a file."
	case errors.Is(err, ErrNotRegular):
		return "it is not a regular file."
	case errors.Is(err, ErrTooLarge):
		return "it is too large."
	case errors.Is(err, ErrBinary):
		return "it is not text."
	case errors.Is(err, ErrChanged):
		return "it has changed since it was last read. Read it again and redo the change."
	case errors.Is(err, errors.ErrUnsupported):
		return "this is not supported here. Do not call this tool again."
	case errors.Is(err, ErrNoProgram):
		return "program not found."
	case errors.Is(err, errTooMany):
		return "too many commands are running. Release some with " + ToolReleaseTerminal + "."
	case errors.Is(err, ErrClosed):
		return "the session has ended."
	}
	if e, ok := errors.AsType[*PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*CommandError](err); ok {
		err = e.Err
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return cutText(line, maxTitle)
}

// name returns a path as the model and people are shown it: relative to the working directory if
// it lies there.
func (c *call) name(path string) string {
	if at, err := LocateIn(c.ws, path); err == nil {
		return cutText(printable(shortPath(c.ws, at.Path)), maxTitle)
	}
	return cutText(printable(path), maxTitle)
}

// shortPath returns a clean path relative to the first root, with slashes, if it lies there.
func shortPath(w Workspace, path string) string {
	roots := w.Roots()
	if len(roots) == 0 {
		return path
	}
	style := StyleOf(roots[0])
	if !style.Contains(roots[0], path) {
		return path
	}
	return strings.ReplaceAll(style.Rel(roots[0], path), style.separator(), "/")
}

// printable quotes a name that people would not see as it is.
func printable(name string) string {
	if name == strings.TrimSpace(name) && strings.IndexFunc(name, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return name
	}
	return strconv.Quote(name)
}
