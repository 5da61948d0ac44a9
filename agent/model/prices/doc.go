// SPDX-License-Identifier: Apache-2.0

// Package prices provides a table of model prices, for [modelwrap.Cost] and for limits on cost:
//
//	table := model.FirstPrice(
//		model.Prices{"openai/gpt-5": {Input: 1, Output: 8}}, // your own prices come first
//		prices.Table(),
//	)
//
// The data is from genai-prices 0.2.3, a package on PyPI. Prices were last checked on 2026-11-03 ([Source], [Date]). It
// covers about 2,300 models of 47 providers, in US dollars. Prices change without notice. Compare the total with your
// bill, and put your own table first if it matters. No other package imports this one. It adds about 350 kB to a program.
//
// # Coverage
//
// Prices are looked up as in genai-prices: by the provider's name, then by the rules for its models (a name, a prefix, a
// pattern), at the time of the request, because some prices change on a date or with the time of day. Prices of long
// requests, cached input, input written to a cache, reasoning, and requests are included if the provider has them.
//
// Models that are not priced by tokens or requests, such as speech models, have no known price. Prices are for text and
// standard processing: [model.Usage] does not distinguish images and audio from text, or how long a cache is kept, and
// the table does not know the service tier, batches, or searches by the provider. Unknown providers and models have no
// price. This includes local servers, which cost nothing. Add them to a table of your own:
//
//	model.Prices{"ollama/*": {}}
//
// The data is copyright Pydantic Services Inc. and used under the MIT licence, which is in the file LICENSE.genai-prices.
package prices

//go:generate go run github.com/ponte-go/ponte/internal/dev/pricegen -o .
