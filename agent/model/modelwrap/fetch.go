// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// FetchPolicy says what [FetchMedia] may download. The zero value is careful: public addresses only.
type FetchPolicy struct {
	// Hosts, if not empty, are the only hosts that are asked: "cdn.example.com", or ".example.com" for a domain and all
	// below it. Redirects are held to it as well.
	Hosts []string
	// AllowPrivate lists address ranges that are allowed although they are not public, such as those of an intranet. An
	// IPv6 address that carries an IPv4 address (NAT64, 6to4, Teredo, ISATAP) is allowed only if the IPv4 address is
	// public or allowed as well.
	AllowPrivate []netip.Prefix
	// Always downloads what the provider would fetch itself, too ([model.Info.MediaURLs]).
	Always bool
	// MaxBytes bounds one download, 20 MiB if 0.
	MaxBytes int64
	// MaxTotalBytes bounds what one request shows by URL, taken together: 100 MiB if 0.
	MaxTotalBytes int64
	// Timeout bounds one download, 30 seconds if 0.
	Timeout time.Duration
	// CacheBytes bounds what is kept of earlier downloads, because a conversation shows the same media with every
	// request: 64 MiB if 0, nothing if negative.
	CacheBytes int64
	// Header is sent with every download; there is a User-Agent if it has none. A redirect to another host does not get it.
	Header http.Header
}

// FetchMedia returns a model to which media may be shown by URL even if the provider behind m does not fetch URLs: it
// downloads them and shows the data. Without it, adapters refuse such parts. A data URL is taken apart without the network.
//
// A URL comes from whoever wrote the message, perhaps from a web page that a tool has read, so downloads are guarded: HTTP
// and HTTPS only, no credentials in the URL, no proxy, no cookies, no address that is not public, checked after the name
// has been resolved and for every redirect, five of these at most and none from HTTPS to HTTP, nothing compressed, and bounds
// on size and time. What is not allowed, or cannot be had, fails the request with a [*FetchError] before anything is sent to
// the provider.
//
// Public are all addresses of IPv4, and those within 2000::/3 of IPv6, except for the ranges in IANA's registries of
// special-purpose addresses, 168.63.129.16 (where Azure answers its virtual machines), and IPv6 addresses that carry an
// IPv4 address. Where IPv4 is reached through NAT64, allow 64:ff9b::/96. A NAT64 prefix of the network's own looks like any
// other public range, so that network's gateway must refuse private addresses itself.
//
// The media type is that of the part if the data can be that, else what the server says; of an image it is what the data
// is. Media of a kind that the model does not take is not downloaded but left to the model to refuse. What was downloaded replaces the URL in the request alone, never in the history. While [model.ForbidRequests] is in force
// nothing is downloaded. It panics if m is nil or the policy has a negative bound.
func FetchMedia(m model.Model, p FetchPolicy) model.Model {
	mustWrap("FetchMedia", m)
	if p.MaxBytes < 0 || p.MaxTotalBytes < 0 || p.Timeout < 0 {
		panic(fmt.Sprintf("modelwrap: FetchMedia: MaxBytes is %d, MaxTotalBytes is %d, Timeout is %s: all must be 0 or more",
			p.MaxBytes, p.MaxTotalBytes, p.Timeout))
	}
	p.MaxTotalBytes = cmp.Or(p.MaxTotalBytes, 100<<20)
	p.MaxBytes = min(cmp.Or(p.MaxBytes, 20<<20), p.MaxTotalBytes, math.MaxInt32) // sums of which do not overflow
	if p.Timeout == 0 {
		p.Timeout = 30 * time.Second
	}
	if p.CacheBytes == 0 {
		p.CacheBytes = 64 << 20
	}
	header := http.Header{}
	for name, values := range p.Header {
		for _, value := range values {
			header.Add(name, value) // under the name that a redirect deletes
		}
	}
	p.Hosts, p.AllowPrivate, p.Header = slices.Clone(p.Hosts), slices.Clone(p.AllowPrivate), header
	return &fetcher{Model: m, policy: p, client: guardedClient(p), cache: lru[string, download]{maxBytes: p.CacheBytes}}
}

type fetcher struct {
	model.Model

	policy FetchPolicy
	client *http.Client
	cache  lru[string, download]
}

// Info implements [model.Model]: what the model takes, it takes by URL.
func (f *fetcher) Info() model.Info {
	info := f.Model.Info()
	info.MediaURLs = slices.Clone(info.Media)
	return info
}

func (f *fetcher) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	wanted := f.wanted(req)
	if len(wanted) == 0 {
		return f.Model.Generate(ctx, req, sink)
	}
	if err := model.CheckRequests(f.Model.Info()); err != nil {
		return nil, err
	}
	got, err := f.fetchAll(ctx, wanted)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ended(ctx, nil)
		}
		return nil, err
	}
	return f.Model.Generate(ctx, withMedia(req, got), sink)
}

// want is what a part shows. The same URL may be shown as if it were different things.
type want struct{ url, mediaType string }

func wantOf(p *model.Part) want { return want{p.URL, p.MediaType} }

// wanted lists what to download, each once.
func (f *fetcher) wanted(req *model.Request) map[want]bool {
	var wanted map[want]bool
	info := f.Model.Info()
	for _, msg := range req.Messages {
		for i := range msg.Parts {
			p := &msg.Parts[i]
			switch {
			case !byURL(msg, p), p.MediaType != "" && !takes(info.Media, p):
				continue
			case !f.policy.Always && !isDataURL(p.URL) && takes(info.MediaURLs, p):
				continue
			case wanted == nil:
				wanted = map[want]bool{}
			}
			wanted[wantOf(p)] = true
		}
	}
	return wanted
}

func byURL(msg *model.Message, p *model.Part) bool {
	return msg.Kind == model.KindRequest && p.Kind == model.PartMedia && len(p.Data) == 0 && p.URL != ""
}

// takes reports whether kinds, as [model.Info] has them, include that of a part.
func takes(kinds []string, p *model.Part) bool {
	mediaType := plainType(p.MediaType)
	return slices.Contains(kinds, topType(mediaType)) || slices.Contains(kinds, mediaType)
}

// atOnce is how many downloads a request makes at the same time.
const atOnce = 4

func (f *fetcher) fetchAll(ctx context.Context, wanted map[want]bool) (map[want]download, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		total  int64
		got    = make(map[want]download, len(wanted))
		places = make(chan struct{}, atOnce)
	)
	for w := range wanted {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			d, err := f.fetch(ctx, w)
			if err != nil {
				cancel(err) // the first failure ends the others
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[w] = d
			if total += int64(len(d.data)); total > f.policy.MaxTotalBytes {
				cancel(&FetchError{URL: shown(w.url), Err: fmt.Errorf("%w: with the other media of the request, %d bytes are allowed", ErrMediaTooLarge, f.policy.MaxTotalBytes)})
			}
		})
	}
	wg.Wait()
	return got, context.Cause(ctx)
}

// withMedia returns the request with data in place of URLs.
func withMedia(req *model.Request, got map[want]download) *model.Request {
	changed := *req
	changed.Messages = slices.Clone(req.Messages)
	for i, msg := range req.Messages {
		var clone *model.Message
		for j := range msg.Parts {
			d, ok := got[wantOf(&msg.Parts[j])]
			if !ok || !byURL(msg, &msg.Parts[j]) {
				continue
			}
			if clone == nil {
				clone = msg.Clone()
				changed.Messages[i] = clone
			}
			p := &clone.Parts[j]
			p.Data, p.MediaType, p.URL = d.data, d.mediaType, ""
		}
	}
	return &changed
}
