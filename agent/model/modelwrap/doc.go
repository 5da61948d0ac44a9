// SPDX-License-Identifier: Apache-2.0

// Package modelwrap provides wrappers for models:
//
//	Fallback   asks the next model when one fails
//	Break      stops asking a model that keeps failing
//	Retry      retries failed requests after a wait
//	Limit      limits the number of concurrent requests
//	RateLimit  limits requests and tokens per interval
//	Cache      answers identical requests from a store
//	Cost       calculates the cost of responses from a price table
//	FetchMedia downloads media given by URL, for providers that do not
//
// Each takes a [model.Model] and returns one, so they can be nested in any order. The outermost sees a request first:
//
//	m := modelwrap.Fallback([]model.Model{
//		modelwrap.Retry(modelwrap.Limit(large, 8), model.RetryPolicy{}),
//		small,
//	}, modelwrap.FallbackPolicy{})
//
// The order matters. Limit inside Retry is released while Retry waits. Around Retry, it is held. Break around Retry
// counts a request as failed after its last attempt. Inside Retry, it counts every attempt. Cost inside Cache counts only
// what was paid for. Around Cache, it counts every response. Retry inside Fallback retries each model. Around Fallback,
// it goes through all models again. Of several Retry wrappers, and the retries of adapters, only the outermost is used.
// See [model.RetryPolicy].
//
// # Contract
//
// Every wrapper keeps the contract of [model.Model]. The inner model and the sink are called on the caller's goroutine,
// and the sink gets the model's deltas as they arrive. A request is never sent again once a delta has reached the sink.
// An error of the sink is returned unwrapped. When the context ends, all waiting ends, with an error that wraps the
// context's cause. Such an error is never retried and never causes a fallback. Requests are passed on unchanged, except
// for the data that FetchMedia adds. Info is that of the inner model. FetchMedia changes MediaURLs, and [Fallback]
// combines several models.
//
// A wrapper that has nothing to do costs at most 2 allocations, 3 for Retry.
//
// # Panics
//
// A nil model, or a limit that allows nothing, is a mistake in the program and panics when the wrapper is made. Later
// problems are errors.
//
// # Concurrency
//
// All wrappers are safe for concurrent use and can be shared by agents. Limit, RateLimit, Break, Cache and Cost have
// state, which belongs to the returned value: wrap a model once and share the result. Functions in policies are called on
// the goroutine of the request, and concurrently if requests are. They must be fast.
package modelwrap
