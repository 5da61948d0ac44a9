// SPDX-License-Identifier: Apache-2.0

// Package webfetch gives an agent the tool web_fetch, which reads pages of the web as Markdown.
//
// URLs come from users, from models, and from pages that a model has read, so a download is
// restricted. It uses HTTP and HTTPS, without a proxy and cookies, and connects only to public
// addresses. Names, redirects and addresses are checked when the connection is made. Size and time
// are limited, and so is what the model is shown at once: a longer page is read in parts.
//
// A URL can also carry data away: a page that talks a model into fetching another one may put what
// the model knows into that URL. So each call needs approval, and the person is shown the whole
// URL. "Always" covers the one host, with its scheme and port. [Options].Allow lists hosts that
// need no approval. A redirect to another host is not followed unless that host needs no approval
// either: the model is told where it leads.
//
// The text of a page is data. The result states this, between marks that the page cannot contain.
// That does not make a model immune to instructions in pages: approvals are what bounds their
// effect.
package webfetch
