// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ponte-go/ponte/internal/wholefile"
)

// Loopback is a [SignIn] with the user's browser: the authorization server sends the user back to
// an address of this machine.
type Loopback struct {
	listener net.Listener
	visit    func(ctx context.Context, url string) error
	// one user signs in at a time
	turn chan struct{}
}

// NewLoopback returns a sign-in that shows the user an address with visit, for example by opening a
// browser, and then waits for the user to come back. It listens on a free port of 127.0.0.1 until
// it is closed.
func NewLoopback(visit func(ctx context.Context, url string) error) (*Loopback, error) {
	if visit == nil {
		return nil, errors.New("mcptoolset: NewLoopback: the function is nil")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: loopback: %w", err)
	}
	return &Loopback{listener: l, visit: visit, turn: make(chan struct{}, 1)}, nil
}

// RedirectURL implements [SignIn].
func (l *Loopback) RedirectURL() string { return "http://" + l.listener.Addr().String() + "/callback" }

// Close stops listening.
func (l *Loopback) Close() error { return l.listener.Close() }

// Authorize implements [SignIn].
func (l *Loopback) Authorize(ctx context.Context, url string) (Authorization, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return Authorization{}, context.Cause(ctx)
	}
	back := make(chan Authorization, 1)
	refused := make(chan error, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch {
		case r.URL.Path != "/callback" || r.Method != http.MethodGet:
			http.NotFound(w, r)
		case q.Get("code") != "":
			_, _ = fmt.Fprintln(w, "You are signed in. You can close this window.")
			select {
			case back <- Authorization{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss")}:
			default:
			}
		default:
			_, _ = fmt.Fprintln(w, "You are not signed in. You can close this window.")
			select {
			case refused <- fmt.Errorf("the authorization server refused: %s", visible(q.Get("error"), 100)):
			default:
			}
		}
	})}
	// Serving must not close the listener, which is used again.
	serving := make(chan struct{})
	go func() {
		defer close(serving)
		_ = server.Serve(keepOpen{l.listener})
	}()
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = interruptAccept(l.listener)
		_ = server.Shutdown(end)
		<-serving
		_ = resumeAccept(l.listener)
	}()
	if err := l.visit(ctx, url); err != nil {
		return Authorization{}, fmt.Errorf("sign in: %w", err)
	}
	select {
	case a := <-back:
		return a, nil
	case err := <-refused:
		return Authorization{}, err
	case <-ctx.Done():
		return Authorization{}, context.Cause(ctx)
	}
}

// keepOpen is a listener that is not closed.
type keepOpen struct{ net.Listener }

// Close implements [net.Listener].
func (keepOpen) Close() error { return nil }

func interruptAccept(l net.Listener) error { return l.(*net.TCPListener).SetDeadline(time.Unix(1, 0)) }
func resumeAccept(l net.Listener) error    { return l.(*net.TCPListener).SetDeadline(time.Time{}) }

// FileTokens is a [TokenStore] in a directory: one file for each server, which only the user can
// read.
type FileTokens struct {
	// Dir is the directory. It is made when it is needed.
	Dir string
}

func (f FileTokens) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.Dir, hex.EncodeToString(sum[:16])+".json")
}

// Load implements [TokenStore].
func (f FileTokens) Load(_ context.Context, key string) ([]byte, error) {
	data, err := os.ReadFile(f.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Save implements [TokenStore]. The file is replaced as a whole.
func (f FileTokens) Save(_ context.Context, key string, data []byte) error {
	if data == nil {
		if err := os.Remove(f.file(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	return wholefile.Write(f.file(key), data, 0o600)
}
