// SPDX-License-Identifier: Apache-2.0

// Package modelwrap has models that stand in front of other models: they try again, fall back, wait for their turn,
// remember answers and count money.
//
//	Fallback   asks the next model when one fails
//	Break      stops asking a model that keeps failing
//	Retry      asks the same model again, after a wait
//	Limit      bounds how many requests are made at the same time
//	RateLimit  bounds requests, and tokens, per interval
//	Cache      answers identical requests from a store
//	Cost       works out what responses cost, from a table of prices
//	FetchMedia downloads media that messages show by URL, for providers that do not
//
// Each takes a [model.Model] and is one, so they nest in any order; the outermost sees a request first:
//
//	m := modelwrap.Fallback([]model.Model{
//		modelwrap.Retry(modelwrap.Limit(large, 8), model.RetryPolicy{}),
//		small,
//	}, modelwrap.FallbackPolicy{})
//
// Order has a meaning. A limit within Retry is free while Retry waits; around it, it is held. Retry within Break counts a
// request as failed after its last attempt; around it, every attempt counts. Cost within Cache counts what was paid for;
// around it, it counts as if nothing had been cached. Retry within Fallback is patient with each model; around it, it goes
// through all of them again. Of several Retry, and the retries of adapters, only the outermost counts: see [model.RetryPolicy].
//
// # What every wrapper keeps
//
// The contract of [model.Model]. The inner model is called on the goroutine of the caller, and so is the sink: with the
// deltas that the model sent, as they come. No request is made again once a delta has reached the sink. An error of the
// sink is returned as it is. When the context ends, so does all waiting, with an error that wraps the context's cause;
// such an end is never retried or fallen back from. Requests are passed on as they are, but for the data that FetchMedia puts
// in. Info is the inner model's, with MediaURLs by FetchMedia; where there are several models, see [Fallback].
//
// A wrapper that has nothing to do costs next to nothing, 2 allocations at most, 3 with Retry.
//
// # Mistakes
//
// A nil model or a limit that lets nothing through is a mistake in the program, and panics when the wrapper is made. What
// can go wrong later is an error.
//
// # Concurrency
//
// All models here may be used by many goroutines and agents at the same time. Limit, RateLimit, Break, Cache and Cost have a
// state, which belongs to the value: wrap a model once and share the result. Functions in policies are called on the
// goroutine of the request, several at the same time if requests are; they must be quick and safe for that.
package modelwrap
