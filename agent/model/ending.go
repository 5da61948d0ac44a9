// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
)

// Errors of responses whose text is not an answer and whose calls must not run. ErrRefused wraps
// ErrContentFilter.
var (
	// ErrContentFilter means that the provider withheld content.
	ErrContentFilter = errors.New("the answer was withheld by a content filter")
	// ErrRefused means that the model refused to answer.
	ErrRefused = fmt.Errorf("the model refused to answer (%w)", ErrContentFilter)
	// ErrResponseFailed means that the provider failed in the middle of the response.
	ErrResponseFailed = errors.New("the provider failed in the middle of the response")
)

// Err returns [ErrContentFilter], [ErrRefused] or [ErrResponseFailed] if that is how a response
// ended, or nil. A token limit leaves what came before it usable.
func (f FinishReason) Err() error {
	switch f {
	case FinishContentFilter:
		return ErrContentFilter
	case FinishRefusal:
		return ErrRefused
	case FinishError:
		return ErrResponseFailed
	}
	return nil
}
