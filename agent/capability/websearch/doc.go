// SPDX-License-Identifier: Apache-2.0

// Package websearch gives an agent web search: the provider's own if the model has it
// ([model.NativeWebSearch]), otherwise the tool web_search on a [Searcher].
//
// The provider's own search runs at the provider, as part of the response. Nobody is asked before
// it runs, and its sources are citations of the response. A Searcher is called by this program, and
// approval can be required ([Options].Approve). A query can carry away what the model knows, in
// both cases to the one service that the program has chosen.
//
// [SearXNG], [Brave] and [Tavily] are searchers for these services, and an [Endpoint] describes any
// other with a JSON interface.
package websearch
