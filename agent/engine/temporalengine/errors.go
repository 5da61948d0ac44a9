// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"errors"
	"strings"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
)

// errorType is the type of the errors of runs.
const errorType = "ponte.RunError"

// maxText bounds texts of errors that are part of events.
const maxText = 4 << 10

// shortened returns the text of an error as an event can have it. Texts of models and tools have no bound and may not be UTF-8. The server takes
// neither, so a workflow or an activity with such an error would never end.
func shortened(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// short returns err, with its text and the texts of its causes shortened to fit into an event. An
// error that Temporal must not retry stays one.
func short(err error) error {
	var permanent *temporal.ApplicationError
	if errors.As(err, &permanent) && permanent.NonRetryable() {
		return final(err)
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if text := cause.Error(); len(text) > maxText || !utf8.ValidString(text) {
			return errors.New(shortened(err.Error()))
		}
	}
	return err
}

// final returns an error that Temporal does not try again.
func final(err error) error {
	return temporal.NewNonRetryableApplicationError(shortened(err.Error()), errorType, nil)
}
