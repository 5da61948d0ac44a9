// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/internal/keys"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/internal/wholefile"
)

// What -encrypt may say besides the name of a file.
const (
	inKeyring = "keyring"
	inEnv     = "env:"
)

// ringName is the name of the keyring where API keys are kept.
const ringName = "SESSION_KEYS"

// errCannot means that a program does not link what encrypts.
var errCannot = errors.New("this program cannot encrypt sessions: its source has to import " +
	"github.com/ponte-go/ponte/app/encryption")

// encryptFlag adds -encrypt, which the help has if it works.
func (e *Env) encryptFlag(flags *pflag.FlagSet) {
	e.encrypt = flags.String("encrypt", "", "encrypt sessions with the key in the `place`: "+
		"keyring, env:NAME or a file; see "+e.Name+" sessions key")
	if linked.Encryption == nil {
		_ = flags.MarkHidden("encrypt")
	}
}

// encryption returns where the keys of the sessions are, "" if they are not encrypted. A mistake in
// the configuration is an error, because it may be about this.
func (e *Env) encryption() (string, error) {
	if *e.encrypt != "" {
		return *e.encrypt, nil
	}
	user, err := e.readConfig()
	if err != nil {
		return "", err
	}
	return user.Encrypt, nil
}

// Keyring returns the keys that the sessions, and what is kept beside them, are encrypted with. It
// is nil if they are not encrypted. What was read once is not read again.
func (e *Env) Keyring(ctx context.Context) (*sessions.Keyring, error) {
	at, err := e.encryption()
	if err != nil || at == "" {
		return nil, err
	}
	if linked.Encryption == nil {
		return nil, fmt.Errorf("-encrypt %s: %w", at, errCannot)
	}
	e.ringing.Lock()
	defer e.ringing.Unlock()
	if e.ringAt == at {
		return e.ring(), nil
	}
	text, err := e.readRing(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("-encrypt %s: %w", at, err)
	}
	ring, err := linked.Encryption.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("-encrypt %s: %w", at, err)
	}
	e.ring, e.ringAt = func() *sessions.Keyring { return &ring }, at
	return &ring, nil
}

// errNoRing means that a key has yet to be made.
var errNoRing = errors.New("there is no key")

func (e *Env) readRing(ctx context.Context, at string) (text string, err error) {
	variable, isEnv := strings.CutPrefix(at, inEnv)
	switch {
	case at == inKeyring:
		text, err = e.stores().Get(ctx, ringName)
	case isEnv:
		text = e.Getenv(variable)
	default:
		var data []byte
		data, err = os.ReadFile(at)
		text = string(data)
	}
	if errors.Is(err, keys.ErrNone) || errors.Is(err, fs.ErrNotExist) || err == nil && text == "" {
		err = fmt.Errorf("%w: make one with %q", errNoRing, e.Name+" sessions key")
	}
	return text, err
}

// openPlace opens the store of a place, encrypted if it is to be. done closes it.
func (e *Env) openPlace(
	ctx context.Context, place stores.Place,
) (store sessions.Store, done func() error, err error) {
	ring, err := e.Keyring(ctx)
	if err != nil {
		return nil, nil, err
	}
	inner, err := openWithin(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	if store, err = sealed(ctx, inner, ring); err != nil {
		return nil, nil, errors.Join(err, closeStore(inner))
	}
	return store, func() error { return closeStore(inner) }, nil
}

// errPlain and errSealed mean that a store is not encrypted, or is.
var (
	errPlain  = errors.New("the sessions there are not encrypted")
	errSealed = errors.New("the sessions there are encrypted")
)

// sealed encrypts a store with a keyring, which may be nil. All sessions of a store are encrypted,
// or none.
func sealed(
	ctx context.Context, inner sessions.Store, ring *sessions.Keyring,
) (sessions.Store, error) {
	page, err := inner.List(ctx, sessions.Query{Limit: 1})
	if err != nil && (len(page.Sessions) == 0 || !errors.Is(err, sessions.ErrCorrupt)) {
		return nil, err
	}
	for _, info := range page.Sessions {
		switch is := sessions.IsEncrypted(&info); {
		case is && linked.Encryption == nil:
			return nil, fmt.Errorf("%w: %w", errSealed, errCannot)
		case ring == nil && is:
			return nil, fmt.Errorf("%w: say with -encrypt where the key is", errSealed)
		case ring != nil && !is && (info.Dir != "" || info.Title != ""):
			return nil, fmt.Errorf("%w: export them, and import them with "+
				"-encrypt and another -store", errPlain)
		}
	}
	if ring == nil {
		return inner, nil
	}
	store, err := linked.Encryption.Encrypted(inner, *ring)
	if err != nil {
		return nil, err
	}
	if _, err = store.List(ctx, sessions.Query{Limit: 1}); errors.Is(err, sessions.ErrKey) {
		return nil, err
	}
	return store, nil // a session that is damaged is an error where it is read
}

// keyCommand is "sessions key".
func (e *Env) keyCommand() *cobra.Command {
	rotate := false
	c := &cobra.Command{
		Use: "key", Short: "Make the key that sessions are encrypted with, or add a new one",
		Long: `Makes the key that sessions are encrypted with, and keeps it where -encrypt says.
"keyring" is where ` + e.Name + ` keeps API keys, "env:NAME" is a variable of the environment, for which the
key is written to the standard output, and anything else is a file. Keep a copy: without it, nobody
can read the sessions.

With -rotate, what is written from now on is encrypted with a new key. The old ones are kept, for
what was written before.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := e.encryption()
			if err == nil && at == "" {
				err = Usage("sessions key: say with -encrypt, or in the configuration, " +
					"where to keep it: keyring, env:NAME or a file")
			}
			if err != nil {
				return err
			}
			return e.makeKey(cmd.Context(), at, rotate)
		},
	}
	c.Flags().BoolVar(&rotate, "rotate", false, "add a new key to those that are there")
	return c
}

// makeKey makes a keyring, or rotates the one that is there.
func (e *Env) makeKey(ctx context.Context, at string, rotate bool) error {
	var ring sessions.Keyring
	old, err := e.readRing(ctx, at)
	switch {
	case err == nil && !rotate:
		return fmt.Errorf("there is a key in %s already: -rotate adds a new one", at)
	case err == nil:
		ring, err = linked.Encryption.Parse(old)
	case errors.Is(err, errNoRing) && !rotate:
		err = nil
	}
	if err == nil {
		id := time.Now().UTC().Format("2006-01-02T150405.000000000")
		ring, err = linked.Encryption.Rotated(ring, id)
	}
	if err != nil {
		return err
	}
	where := at
	switch {
	case at == inKeyring:
		where, err = e.stores().Set(ctx, ringName, ring.Reveal())
	case strings.HasPrefix(at, inEnv):
		_, err := fmt.Fprintln(e.Out, ring.Reveal())
		return err
	default:
		err = wholefile.Write(at, []byte(ring.Reveal()+"\n"), 0o600)
	}
	if err == nil {
		_, err = fmt.Fprintf(e.Out, "The key is kept in %s. "+
			"Keep a copy: without it, nobody can read the sessions.\n", where)
	}
	return err
}

// mendStore tells the user how to mend a store that does not open.
func (e *Env) mendStore(err error) string {
	_, flag := errors.AsType[*ExitError](err)
	_, file := errors.AsType[*config.Problem](err)
	switch {
	case flag:
		return "correct the flag"
	case errors.Is(err, errCannot):
		return "use a program that can, or name another place with -store"
	case errors.Is(err, errNoRing):
		return fmt.Sprintf("run %q, with the same -encrypt", e.Name+" sessions key")
	case errors.Is(err, sessions.ErrKey):
		return "add the key that they were encrypted with, or name another place with -store"
	case errors.Is(err, errPlain), errors.Is(err, errSealed):
		return "name another place with -store; docs/app.md says how sessions are moved there"
	case file:
		return "mend the configuration first"
	}
	return "make the directory writable, free some space, or name another place with -store"
}
