// SPDX-License-Identifier: Apache-2.0

// Package prices has a table of what models cost, for [modelwrap.Cost] and for limits on cost:
//
//	table := model.FirstPrice(
//		model.Prices{"openai/gpt-5": {Input: 1, Output: 8}}, // your own prices come first
//		prices.Table(),
//	)
//
// The data is that of genai-prices 0.2.3, a package on PyPI, with prices last checked on 2026-11-03 ([Source], [Date]). It has
// about 2,300 models of 47 providers, in US dollars. Prices change without notice: compare the sum with the bill, and put a
// table of your own in front where it matters. No other package imports this one; it adds about 350 kB to a program.
//
// # What is known
//
// A price is looked up as genai-prices does it: by the provider's name, then by the rules of its models (a name, a
// beginning, a pattern), at the time of the request, since prices change on a date and some by the time of day. Prices of long
// requests, of cached input, of input written to a cache, of reasoning and for each request are known where the provider has
// them.
//
// A model that is not priced by tokens or requests, such as one for speech, has no known price. Prices are those of text
// and of standard processing: [model.Usage] does not tell images and audio from text, nor how long a cache is kept, and a
// table is not told about the service tier, batches, or searches that the provider makes. Names of providers and models
// that the data does not know have no price: local servers, for one, which cost nothing. Say so in a table of your own:
//
//	model.Prices{"ollama/*": {}}
//
// The data is copyright Pydantic Services Inc. and used under the MIT licence, which is in the file LICENSE.genai-prices.
package prices

//go:generate go run github.com/ponte-go/ponte/internal/pricegen -o .
