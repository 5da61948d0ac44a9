// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/hide"
)

// Config configures a [Handler] and its host. Host.Agent is required, and Token or User.
type Config[D, O any] struct {
	// Host configures the agent, the store and the dependencies of sessions. In Host.Deps, [Owner] returns the user
	// who owns the session.
	Host host.Config[D, O]
	Options
}

// Options configure what a [Handler] offers, and to whom. Token or User must be set.
type Options struct {
	// Token admits every request that has it: see [NewToken]. It has at least 16 bytes. If it is empty, User alone
	// decides.
	Token string
	// User returns the user of a request, for example from the program's own middleware. An error refuses the
	// request. A user owns the sessions that it creates, and sees no others. User is required if there are several
	// users: without it, everybody with the token is the same user, who sees the sessions without an owner.
	User func(r *http.Request) (string, error)

	// Hosts are the names of the server, such as "chat.example.com", with a port or without.
	// Requests for other names are refused. Empty means loopback addresses and localhost.
	Hosts []string
	// Origins are other sites whose pages may use the API, such as "https://app.example.com". They need the token, or
	// what User requires. They get no cookies.
	Origins []string
	// Dirs are the directories that sessions may work in, as in [session.Info]. The first is the default. Sessions in
	// other directories are not found. If Dirs is empty, sessions have no directory.
	Dirs []string

	// Title and Version name the program, for people.
	Title, Version string
	// Accepts are the media types of files in prompts, besides text. Nil means PNG, JPEG, GIF, WebP and PDF, as far
	// as the agent's model accepts them.
	Accepts []string
	// Commands are the slash commands to offer. Nil means the agent's commands.
	Commands []view.SlashCommand
	// Scores has the scores of sessions, and keeps marks of people. Nil offers neither.
	Scores Scores
	// Page serves all paths outside the API, such as a page at "/": see the function [Page]. Nil serves a line of text.
	Page http.Handler
	// Protocols are further protocols, such as [UIStream], [AGUI] and [OpenAI].
	Protocols []Protocol

	// Patience is how long a run waits for the approval of a call. Then the run ends pending: the question is kept,
	// and any process with the store can accept the answer. 0 means 10 minutes. With a negative value, the run does
	// not wait.
	Patience time.Duration
	// Leave is how long a turn continues without a client that follows the session's events. 0
	// means to its end. The page of [Page] follows nothing while its tab is in the background.
	Leave time.Duration
	// Linger is how long a session stays open after its last use, unless others have it open in the
	// same host. Other processes cannot open it meanwhile. 0 means 30 seconds.
	Linger time.Duration
	// Limits bounds what clients can make the server do.
	Limits Limits
	// Logger gets errors of the server. Nil means [slog.Default]. Texts of users and models are never logged.
	Logger *slog.Logger
}

// Limits bounds what clients can make a [Handler] do. For each field, 0 means the default, and a negative value means no limit.
type Limits struct {
	// Body bounds the bodies of requests, in bytes: 1 MiB. Prompt bounds those with prompts, which may carry files: 24 MiB.
	Body, Prompt int64
	// BodyTime is the time to receive the body of a request: 30 seconds. WriteTime is the time for a client to take
	// what it is sent: 30 seconds. A slower client is disconnected, and can reconnect at its last position.
	BodyTime, WriteTime time.Duration
	// Streams bounds the open streams of events: 4,096 in all. UserStreams bounds the streams of
	// one user: 256.
	Streams, UserStreams int
	// UserSessions bounds the sessions of one user: 10,000. It is exact over all processes that share the store.
	UserSessions int
	// UserTurns bounds the concurrent turns of a user, including queued ones: 64.
	UserTurns int
	// UserPrompts bounds the prompts of a user in a minute: 120.
	UserPrompts int
	// UserTokens and UserCost bound what the runs of a user may use within a Window, in tokens and
	// in the currency of the agent's prices. By default they are unlimited, and Window is a day. A
	// turn that reaches a bound is cancelled after the response that does. Counts are in the memory
	// of each process. Package spend bounds spending over all processes.
	UserTokens int64
	UserCost   float64
	Window     time.Duration
}

// NewToken returns a random token of 130 bits.
func NewToken() string { return rand.Text() }

func (o *Options) check() error {
	var errs []error
	if o.Token == "" && o.User == nil {
		errs = append(errs, errors.New("webbridge: config: set Token (see NewToken) or User: anyone who can reach the server could use the agent"))
	}
	if o.Token != "" && len(o.Token) < 16 {
		errs = append(errs, fmt.Errorf("webbridge: config: Token has %d bytes: use at least 16, see NewToken", len(o.Token)))
	}
	if o.Token != strings.TrimSpace(o.Token) || strings.ContainsFunc(o.Token, unicode.IsControl) {
		errs = append(errs, errors.New("webbridge: config: Token begins or ends with white space, "+
			"or has control characters: no request can have it"))
	}
	if slices.Contains(o.Protocols, nil) {
		errs = append(errs, errors.New("webbridge: config: a Protocol is nil"))
	}
	for _, origin := range o.Origins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			errs = append(errs, fmt.Errorf("webbridge: config: Origins has %q: use a scheme and a host, such as https://app.example.com", origin))
		}
	}
	for _, name := range o.Hosts {
		if name == "" || strings.ContainsAny(name, "/ *") {
			errs = append(errs, fmt.Errorf("webbridge: config: Hosts has %q: use names such as chat.example.com, with a port or without", name))
		}
	}
	if slices.Contains(o.Dirs, "") {
		errs = append(errs, errors.New("webbridge: config: Dirs has an empty directory"))
	}
	for _, m := range o.Accepts {
		if _, _, err := mime.ParseMediaType(m); err != nil || !strings.Contains(m, "/") {
			errs = append(errs, fmt.Errorf(
				"webbridge: config: Accepts has %q: use media types such as image/png", m,
			))
		}
	}
	for i, c := range o.Commands {
		if c.Name == "" {
			errs = append(errs, fmt.Errorf("webbridge: config: Commands[%d] has no name", i))
		}
	}
	if math.IsNaN(o.Limits.UserCost) {
		errs = append(errs, errors.New("webbridge: config: Limits.UserCost is not a number"))
	}
	if o.Leave < 0 || o.Linger < 0 {
		errs = append(errs, errors.New("webbridge: config: Leave and Linger must not be negative"))
	}
	return errors.Join(errs...)
}

func (o *Options) fill() {
	o.Patience = cmp.Or(o.Patience, 10*time.Minute)
	o.Linger = cmp.Or(o.Linger, 30*time.Second)
	o.Title = cmp.Or(o.Title, "Agent")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Hosts = slices.Clone(o.Hosts)
	for i := range o.Hosts {
		o.Hosts[i] = strings.ToLower(o.Hosts[i])
	}
	l := &o.Limits
	limit(&l.Body, 1<<20)
	limit(&l.Prompt, 24<<20)
	limit(&l.BodyTime, 30*time.Second)
	limit(&l.WriteTime, 30*time.Second)
	limit(&l.Streams, 4096)
	limit(&l.UserStreams, 256)
	limit(&l.UserSessions, 10_000)
	limit(&l.UserTurns, 64)
	limit(&l.UserPrompts, 120)
	limit(&l.UserTokens, 0)
	limit(&l.Window, 24*time.Hour)
	if l.UserCost < 0 {
		l.UserCost = 0
	}
}

// limit returns the default for 0, and 0, which means unlimited, for negative values.
func limit[N ~int | ~int64](n *N, normal N) {
	switch {
	case *n == 0:
		*n = normal
	case *n < 0:
		*n = 0
	}
}

// accepted returns the media types that a model accepts, of those that are safe to show.
func accepted(media []string) []string {
	all := []string{}
	for _, t := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"} {
		kind, _, _ := strings.Cut(t, "/")
		if slices.Contains(media, t) || slices.Contains(media, kind) {
			all = append(all, t)
		}
	}
	return all
}

// Format implements [fmt.Formatter]. It hides the token.
func (o Options) Format(f fmt.State, verb rune) { hide.Format(f, verb, o.shown()) }

type shownOptions Options

func (o Options) shown() shownOptions {
	o.Token = hide.Text(o.Token)
	return shownOptions(o)
}
