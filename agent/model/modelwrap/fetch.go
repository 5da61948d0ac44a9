// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/fetch"
	"github.com/ponte-go/ponte/internal/header"
	"github.com/ponte-go/ponte/internal/hide"
)

// FetchPolicy determines what [FetchMedia] may download. The zero value allows public addresses
// only.
type FetchPolicy struct {
	// Hosts, if not empty, lists the allowed hosts: "cdn.example.com", or ".example.com" for a
	// domain and its subdomains. It applies to redirects too.
	Hosts []string
	// AllowPrivate lists address ranges that are allowed although they are not public, for example
	// those of an intranet. An IPv6 address that contains an IPv4 address (NAT64, 6to4, Teredo,
	// ISATAP) is allowed only if the IPv4 address is public or allowed as well.
	AllowPrivate []netip.Prefix
	// Always downloads media even if the provider could fetch it itself ([model.Info.MediaURLs]).
	Always bool
	// MaxBytes limits the size of one download. The default is 20 MiB.
	MaxBytes int64
	// MaxTotalBytes limits the total size of the media of one request given by URL. The default is
	// 100 MiB.
	MaxTotalBytes int64
	// Timeout limits the duration of one download. The default is 30 seconds.
	Timeout time.Duration
	// CacheBytes limits the cache of downloads. A conversation contains the same media in every
	// request. The default is 64 MiB. A negative value disables the cache.
	CacheBytes int64
	// Header is sent with every download, with a User-Agent added if it has none. After a redirect
	// it is sent to the same scheme, host and port only.
	Header http.Header
}

// FetchMedia returns a model that accepts media given by URL even if the provider of m does not
// fetch URLs. It downloads them and sends the data. Without it, adapters return an error for such
// parts. Data URLs are decoded without the network.
//
// A URL may come from anywhere, for example from a web page that a tool has read, so downloads are
// restricted. Only HTTP and HTTPS are used, without a proxy and cookies. URLs with credentials and
// compressed responses are errors. Addresses must be public. They are checked after the name has
// been resolved, and again for every redirect. At most five redirects are followed, and none from
// HTTPS to HTTP. Size and time are limited. If a download is not allowed or fails, the request
// fails with a [*FetchError] before anything is sent to the provider.
//
// All IPv4 addresses are public, and all IPv6 addresses within 2000::/3, except for the ranges in
// IANA's registries of special-purpose addresses, 168.63.129.16 (used by Azure for its virtual
// machines), and IPv6 addresses that contain an IPv4 address. If IPv4 is reached through NAT64,
// allow 64:ff9b::/96. A network-specific NAT64 prefix looks like any other public range, so that
// network's gateway must block private addresses itself.
//
// The media type is that of the part if the data can be of that type, otherwise the one sent by the
// server. For images it is determined from the data. Media that the model does not support is not
// downloaded: the model reports the error. Downloaded data replaces the URL only in the request,
// never in the history. While [model.ForbidRequests] is in effect, nothing is downloaded.
// FetchMedia panics if m is nil, a limit in the policy is negative, or a range of addresses is
// invalid.
func FetchMedia(m model.Model, p FetchPolicy) model.Model {
	mustWrap("FetchMedia", m)
	if p.MaxBytes < 0 || p.MaxTotalBytes < 0 || p.Timeout < 0 {
		panic(fmt.Sprintf("modelwrap: FetchMedia: MaxBytes %d, MaxTotalBytes %d and Timeout %s must not be negative",
			p.MaxBytes, p.MaxTotalBytes, p.Timeout))
	}
	if name, found := header.Invalid(p.Header); found {
		panic(fmt.Sprintf("modelwrap: FetchMedia: Header[%q] is not a valid header", name))
	}
	for i, r := range p.AllowPrivate {
		if !r.IsValid() {
			panic(fmt.Sprintf(
				"modelwrap: FetchMedia: AllowPrivate[%d] is not valid; use netip.ParsePrefix", i,
			))
		}
	}
	p.MaxTotalBytes = cmp.Or(p.MaxTotalBytes, 100<<20)
	p.MaxBytes = min(cmp.Or(p.MaxBytes, 20<<20), p.MaxTotalBytes, math.MaxInt32) // sums do not overflow
	if p.Timeout == 0 {
		p.Timeout = 30 * time.Second
	}
	if p.CacheBytes == 0 {
		p.CacheBytes = 64 << 20
	}
	client := fetch.New(fetch.Policy{
		Hosts: p.Hosts, AllowPrivate: p.AllowPrivate, MaxBytes: p.MaxBytes, Timeout: p.Timeout, Header: p.Header,
	})
	p.Header = nil // only the client needs it
	return &fetcher{Model: m, policy: p, client: client, cache: lru[string, download]{maxBytes: p.CacheBytes}}
}

type fetcher struct {
	model.Model

	policy FetchPolicy
	client *fetch.Client
	cache  lru[string, download]
}

// Info implements [model.Model]. All supported media can be given by URL.
func (f *fetcher) Info() model.Info {
	info := f.Model.Info()
	info.MediaURLs = slices.Clone(info.Media)
	return info
}

func (f *fetcher) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	wanted := f.wanted(req)
	if len(wanted) == 0 {
		return model.Ask(ctx, f.Model, req, sink)
	}
	model.Unsent(ctx) // if a download fails
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
	return model.Ask(ctx, f.Model, withMedia(req, got), sink)
}

// want identifies what a part shows. The same URL may be used with different media types.
type want struct{ url, mediaType string }

func wantOf(p *model.Part) want { return want{p.URL, p.MediaType} }

// wanted returns the set of media to download.
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

// takes reports whether kinds, in the form of [model.Info], include the kind of a part.
func takes(kinds []string, p *model.Part) bool {
	mediaType := plainType(p.MediaType)
	return slices.Contains(kinds, topType(mediaType)) || slices.Contains(kinds, mediaType)
}

// atOnce is the number of concurrent downloads of a request.
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
				cancel(err) // the first failure cancels the others
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[w] = d
			if total += int64(len(d.data)); total > f.policy.MaxTotalBytes {
				cancel(&FetchError{URL: fetch.Shown(w.url), Err: fmt.Errorf("%w: the limit for all media of the request is %d bytes", ErrMediaTooLarge, f.policy.MaxTotalBytes)})
			}
		})
	}
	wg.Wait()
	return got, context.Cause(ctx)
}

// withMedia returns the request with URLs replaced by data.
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

// Format implements [fmt.Formatter]. It hides the values of Header.
func (p FetchPolicy) Format(f fmt.State, verb rune) { hide.Format(f, verb, p.shown()) }

// MarshalJSON implements [json.Marshaler]. It hides the values of Header.
func (p FetchPolicy) MarshalJSON() ([]byte, error) { return json.Marshal(p.shown()) }

type shownFetchPolicy FetchPolicy

func (p FetchPolicy) shown() shownFetchPolicy {
	p.Header = hide.Header(p.Header)
	return shownFetchPolicy(p)
}
