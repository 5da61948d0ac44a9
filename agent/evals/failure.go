// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// isProviderFailure reports whether an error is a failure of a provider or of the way to it, and
// says nothing about the agent.
func isProviderFailure(err error) bool {
	if errors.Is(err, model.ErrContextLength) || errors.Is(err, model.ErrUnsupported) ||
		errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, model.ErrResponseFailed) || errors.Is(err, model.ErrRateLimited) ||
		errors.Is(err, model.ErrAuth) {
		return true
	}
	if api, ok := errors.AsType[*model.APIError](err); ok {
		return api.Retryable || api.Status == 0 || api.Status >= http.StatusInternalServerError ||
			api.Status == http.StatusNotFound || api.Status == http.StatusRequestTimeout
	}
	network, ok := errors.AsType[net.Error](err)
	return ok && !errors.Is(network, context.DeadlineExceeded)
}

// isTemporary reports whether a provider failure may be over soon.
func isTemporary(err error) bool {
	if api, ok := errors.AsType[*model.APIError](err); ok {
		return api.Retryable
	}
	return !errors.Is(err, model.ErrAuth)
}

const (
	firstWait = time.Second
	longest   = time.Minute
	patience  = 10 * time.Minute
)

// pause waits before attempt number attempt+1: twice as long each time, or as long as the provider
// asks for. It returns an error if that is too long.
func pause(ctx context.Context, err error, attempt int) error {
	wait := min(firstWait<<min(attempt-1, 16), longest)
	if api, ok := errors.AsType[*model.APIError](err); ok && api.RetryAfter > 0 {
		wait = api.RetryAfter
	}
	if wait > patience {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
