// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// OAuth signs in to a server as the protocol's authorization chapter describes it: OAuth 2.1 with
// PKCE, with the authorization server that the MCP server names. A token that was kept is used and
// refreshed without the user. It is never written in logs or errors.
type OAuth struct {
	// SignIn sends the user to an address and receives the code. [Loopback] does so with the user's
	// browser. It is required.
	SignIn SignIn
	// Tokens keeps tokens between processes. Nil keeps them for as long as the connection lasts.
	Tokens TokenStore
	// ClientURL identifies this program where the authorization server takes addresses: it is the
	// https address of a document that describes the program (a client ID metadata document). It
	// may be empty.
	ClientURL string
	// ClientID and ClientSecret identify this program, if it is registered with the authorization
	// server. Otherwise it registers itself under ClientName.
	ClientID, ClientSecret string
	ClientName             string
	// Client makes the requests to the authorization server. If nil, it has the defaults of
	// net/http. Requests go to the origin of the MCP server, or with https to public addresses, and
	// the user is sent only there. If the MCP server is not at a public address, hosts that are not
	// are allowed by name, and http to this machine. Where the server is, its connections tell: its
	// name could resolve to another address later. The address is checked when the connection is
	// made; with a Client of yours or a proxy, before that. Redirects are followed within an origin
	// only.
	Client *http.Client
}

// SignIn is the part of signing in that needs the user.
type SignIn interface {
	// RedirectURL is where the authorization server sends the user with the code. It does not
	// change.
	RedirectURL() string
	// Authorize sends the user to an address, and waits until the user has come back to the
	// redirect URL.
	Authorize(ctx context.Context, url string) (Authorization, error)
}

// Authorization is the result of the redirect: its parameters "code", "state" and "iss".
type Authorization struct {
	Code, State, Issuer string // as they are in the address
}

// TokenStore stores the secrets that let a program use a server without signing in again.
type TokenStore interface {
	// Load returns what was saved under a key, or nil if there is nothing.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save keeps data under a key. Nil removes it.
	Save(ctx context.Context, key string, data []byte) error
}

func (o *OAuth) check() error {
	if o.SignIn == nil {
		return errors.New("OAuth has no SignIn: set a Loopback, or an implementation of your own")
	}
	if o.ClientURL != "" {
		if u, err := url.Parse(o.ClientURL); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return fmt.Errorf("OAuth.ClientURL is %q, must be an https address with a path", o.ClientURL)
		}
	}
	return nil
}

// String implements [fmt.Stringer].
func (o OAuth) String() string { return "mcptoolset.OAuth" }

// Format implements [fmt.Formatter]. No verb prints the secret.
func (o OAuth) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// LogValue implements [slog.LogValuer].
func (o OAuth) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalText lets encoders write what a log shows, without the secret.
func (o OAuth) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// String implements [fmt.Stringer]. It leaves out everything but the issuer.
func (a Authorization) String() string {
	return "mcptoolset.Authorization(" + visible(a.Issuer, 200) + ")"
}

// Format implements [fmt.Formatter]. No verb prints the code.
func (a Authorization) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, a.String()) }

// LogValue implements [slog.LogValuer].
func (a Authorization) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalText lets encoders write what a log shows, without the code.
func (a Authorization) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// kept is the stored form of a sign-in.
type kept struct {
	ClientID     string        `json:"client_id"`
	ClientSecret string        `json:"client_secret,omitempty"`
	TokenURL     string        `json:"token_url"`
	AuthStyle    int           `json:"auth_style,omitempty"`
	Token        *oauth2.Token `json:"token"`
}

// handler returns the SDK's handler for a server.
func (o *OAuth) handler(
	ctx context.Context, server string, home *place,
) (auth.OAuthHandler, error) {
	at, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	client := authClient(o.Client, at, home)
	guard := client.Transport.(*authGuard)
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: o.SignIn.RedirectURL(), RequestRefreshToken: o.Tokens != nil, Client: client, AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if err := guard.checkVisit(ctx, args.URL); err != nil {
				return nil, err
			}
			a, err := o.SignIn.Authorize(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			return &auth.AuthorizationResult{Code: a.Code, State: a.State, Iss: a.Issuer}, nil
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			k := &kept{
				ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.Endpoint.TokenURL,
				AuthStyle: int(c.Endpoint.AuthStyle), Token: t,
			}
			source := &keeping{store: o.Tokens, key: server, kept: k, next: k.source(ctx)}
			return source, source.save(t)
		},
	}
	if o.ClientURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientURL}
	}
	if o.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: cmp.Or(o.ClientName, "ponte"), RedirectURIs: []string{
				o.SignIn.RedirectURL(),
			}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	if o.Tokens != nil {
		data, err := o.Tokens.Load(ctx, server)
		if err != nil {
			return nil, fmt.Errorf("load token: %w", err)
		}
		k := &kept{}
		if data != nil && json.Unmarshal(data, k) == nil && k.Token != nil {
			// The source lives as long as the connection, not as long as this call.
			long := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, client)
			config.InitialTokenSource = &keeping{store: o.Tokens, key: server, kept: k, next: k.source(long)}
		}
	}
	return auth.NewAuthorizationCodeHandler(config)
}

// source refreshes the token.
func (k *kept) source(ctx context.Context) oauth2.TokenSource {
	c := &oauth2.Config{
		ClientID: k.ClientID, ClientSecret: k.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: k.TokenURL, AuthStyle: oauth2.AuthStyle(k.AuthStyle)},
	}
	return c.TokenSource(ctx, k.Token)
}

// keeping saves tokens when they change.
type keeping struct {
	store TokenStore
	key   string
	next  oauth2.TokenSource

	mu   sync.Mutex
	kept *kept
}

// Token implements [oauth2.TokenSource].
func (k *keeping) Token() (*oauth2.Token, error) {
	t, err := k.next.Token()
	if err != nil {
		return nil, hidden(err)
	}
	k.mu.Lock()
	changed := t.AccessToken != k.kept.Token.AccessToken
	k.mu.Unlock()
	if changed {
		err = k.save(t)
	}
	return t, err
}

// hidden leaves the body of the authorization server's answer out of an error. The kind of the
// error stays, because the SDK looks at it.
func hidden(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return &oauth2.RetrieveError{Response: e.Response, ErrorCode: cmp.Or(e.ErrorCode, "refused")}
	}
	return err
}

func (k *keeping) save(t *oauth2.Token) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.Token = t
	if k.store == nil {
		return nil
	}
	data, err := json.Marshal(k.kept)
	if err != nil {
		return errors.New("save token: it has no JSON form")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := k.store.Save(ctx, k.key, data); err != nil {
		return fmt.Errorf("save token: %w", err)
	}
	return nil
}
