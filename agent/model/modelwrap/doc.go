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
// Each takes a [model.Model] and returns one, so they can be nested in any order. The outermost
// sees a request first:
//
//	m := modelwrap.Fallback([]model.Model{
//		modelwrap.Retry(modelwrap.Limit(large, 8), model.RetryPolicy{}),
//		small,
//	}, modelwrap.FallbackPolicy{})
//
// The order matters. Limit inside Retry is released while Retry waits. Around Retry, it is held.
// Break around Retry counts a request as failed after its last attempt. Inside Retry, it counts
// every attempt. Cost inside Cache counts only what was paid for. Around Cache, it counts every
// response. Retry inside Fallback retries each model. Around Fallback, it goes through all models
// again. Of several Retry wrappers, and the retries of adapters, only the outermost is used. See
// [model.RetryPolicy].
//
// # Contract
//
// Every wrapper keeps the contract of [model.Model]. The inner model and the sink are called on the
// caller's goroutine, and the sink gets the model's deltas as they arrive. A request is never sent
// again once a delta has reached the sink. An error of the sink is returned unwrapped. When the
// context ends, all waiting ends, with an error that wraps the context's cause. Such an error is
// never retried and never causes a fallback. Requests are passed on unchanged, except for the data
// that FetchMedia adds. Info is that of the inner model. FetchMedia changes MediaURLs, and
// [Fallback] combines several models.
//
// A wrapper that has nothing to do costs at most 2 allocations, 3 for Retry.
//
// # Panics
//
// A nil model, or a limit that allows nothing, is a mistake in the program and panics when the
// wrapper is made. Later problems are errors.
//
// # Concurrency
//
// All wrappers are safe for concurrent use and can be shared by agents. Limit, RateLimit, Break,
// Cache and Cost have state, which belongs to the returned value: wrap a model once and share the
// result. Functions in policies are called on the goroutine of the request, and concurrently if
// requests are. They must be fast.
//
// # Prices
//
// [ListPrices] is a table of model prices, for [Cost] and for limits on cost:
//
//	table := model.FirstPrice(
//		model.Prices{"openai/gpt-5": {Input: 1, Output: 8}}, // your own prices come first
//		modelwrap.ListPrices(),
//	)
//
// The data is from genai-prices 0.2.3, a package on PyPI. Prices were last checked on 2026-11-03
// ([PricesSource], [PricesDate]). It covers about 2,300 models of 47 providers, in US dollars.
// Prices change without notice. Compare the total with your bill, and put your own table first if
// it matters. It adds about 350 kB to programs that call ListPrices.
//
// Prices are looked up as in genai-prices: by the provider's name, then by the rules for its models
// (a name, a prefix, a pattern), at the time of the request, because some prices change on a date
// or with the time of day. Prices of long requests, cached input, input written to a cache,
// reasoning, and requests are included if the provider has them.
//
// Models that are not priced by tokens or requests, such as speech models, have no known price.
// Prices are for text and standard processing: [model.Usage] does not distinguish images and audio
// from text, or how long a cache is kept, and the table does not know the service tier, batches, or
// searches by the provider. Unknown providers and models have no price. This includes local
// servers, which cost nothing. Add them to a table of your own:
//
//	model.Prices{"ollama/*": {}}
//
// The data is copyright Pydantic Services Inc. and used under the MIT licence, which is in the file
// LICENSE.genai-prices.
package modelwrap

//go:generate go run github.com/ponte-go/ponte/internal/dev/pricegen -o .
