// SPDX-License-Identifier: Apache-2.0

package toolset

import "strings"

// Outcome returns the outcome for an error of a tool: a [*RetryError], [*FailedError],
// [*DeniedError], [*ApprovalRequiredError], [*DeferredError] or [*PendingError]. It returns nil if
// there is none: such an error ends the run.
//
// An outcome may be wrapped. The text that wraps it is for logs; the model sees the message of the outcome. Where several errors
// are joined, with [errors.Join] or several %w, none of them is lost:
//
//   - An outcome that is joined with an error that is none ends the run with both, as that error alone would. The exception is
//     [ErrNobody], which says why there is the outcome.
//   - A [Retry] that [fmt.Errorf] wraps together with other errors stays a retry, and they are its cause. The run's error has them if
//     the retries are used up.
//   - [Retry], [Failed] and [Denied] become one outcome with all messages, a line each: a retry if one of them is, otherwise a
//     failure if one of them is.
//   - [ApprovalRequired], [Deferred] and [Pending] leave the call undone, so they contradict any other outcome, and the run ends.
func Outcome(err error) error {
	switch e := err.(type) {
	case *RetryError, *FailedError, *DeniedError, *ApprovalRequiredError, *DeferredError, *PendingError:
		return err
	case interface{ Unwrap() error }:
		return Outcome(e.Unwrap())
	case interface{ Unwrap() []error }:
		if all := outcomeOfAll(e.Unwrap()); all != nil {
			return all
		}
		return retryFor(err, e.Unwrap())
	}
	return nil
}

// retryFor returns the retry that an error wraps together with its causes; nil if there is none, or
// if the errors are only joined, which their text shows.
func retryFor(err error, wrapped []error) error {
	var retry error
	var lines []string
	for _, w := range wrapped {
		if w == nil {
			continue
		}
		lines = append(lines, w.Error())
		switch outcome := Outcome(w).(type) {
		case nil:
		case *RetryError:
			retry = outcome
		default:
			return nil
		}
	}
	if retry == nil || err.Error() == strings.Join(lines, "\n") {
		return nil
	}
	return retry
}

// outcomeOfAll returns the outcome for joined errors.
func outcomeOfAll(errs []error) error {
	var all error
	for _, err := range errs {
		if err == nil || err == ErrNobody {
			continue
		}
		next := Outcome(err)
		if all != nil && next != nil {
			next = joinOutcomes(all, next)
		}
		if all = next; all == nil {
			return nil
		}
	}
	return all
}

// joinOutcomes returns nil if two outcomes contradict each other.
func joinOutcomes(a, b error) error {
	rankA, textA := told(a)
	rankB, textB := told(b)
	text := textA + "\n" + textB
	switch {
	case rankA == 0 || rankB == 0:
		return nil
	case max(rankA, rankB) == 3:
		return &RetryError{text}
	case max(rankA, rankB) == 2:
		return &FailedError{text}
	}
	by := a.(*DeniedError).Decision
	if by == nil {
		by = b.(*DeniedError).Decision
	}
	return &DeniedError{Message: text, Decision: by}
}

// told returns what an outcome tells the model, and its rank; 0 if it tells it nothing.
func told(outcome error) (rank int, text string) {
	switch e := outcome.(type) {
	case *RetryError:
		return 3, e.Message
	case *FailedError:
		return 2, e.Message
	case *DeniedError:
		return 1, e.Message
	}
	return 0, ""
}
