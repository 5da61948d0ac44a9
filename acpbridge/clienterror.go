// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
)

// clientError handles a client's refusal to do something. The model is told and can continue. If
// the run's ctx has ended or the client is gone, the run ends.
func clientError(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("acpbridge: %s: %w", doing, context.Cause(ctx))
	}
	if errors.Is(err, acp.ErrClosed) || errors.Is(err, acp.ErrAnswered) {
		return fmt.Errorf("acpbridge: %s: %w", doing, err)
	}
	var tooLong *acp.TooLongError
	switch {
	case errors.Is(err, acp.ErrMethodNotFound):
		return toolset.Failed("Could not %s: the editor does not support this. Do not call this tool again.", doing)
	case errors.Is(err, acp.ErrResourceNotFound):
		return toolset.Failed("Could not %s: not found.", doing)
	case errors.As(err, &tooLong):
		return toolset.Failed("Could not %s: it is too large (over %d bytes).", doing, tooLong.Limit)
	}
	return toolset.Failed("Could not %s: %s", doing, reason(err))
}

// reason returns a client's error message as one line.
func reason(err error) string {
	answered, ok := errors.AsType[*acp.Error](err)
	if !ok {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	text := answered.Message
	if answered.Data != nil && len(answered.Data) <= 500 { // many clients say "Internal error" and the rest here
		text += " " + string(answered.Data)
	}
	return strings.Join(strings.Fields(text), " ")
}

// isNotFound reports whether a client's error means that a file does not exist. There is a code for
// it, but many clients answer with an internal error that repeats what their system said.
func isNotFound(err error) bool {
	answered, ok := errors.AsType[*acp.Error](err)
	if !ok {
		return false
	}
	if answered.Code == acp.CodeResourceNotFound {
		return true
	}
	if answered.Code == acp.CodeMethodNotFound {
		return false
	}
	said := strings.ToLower(answered.Message + " " + string(answered.Data))
	for _, phrase := range []string{
		"no such file", "enoent", "not found", "does not exist", "nosuchfile", "filenotfound", "cannot find the file", "cannot find the path",
	} {
		if strings.Contains(said, phrase) {
			return true
		}
	}
	return false
}
