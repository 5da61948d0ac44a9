// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// Salvage makes a session of the turns that a damaged session has before the damage, as [Host.Fork]
// would. The damaged session stays as it is: the entries after the damage can be exported. Salvage
// never guesses, so the turn that is damaged and those after it are not in the new session. A
// session that is not damaged is an error that wraps [session.ErrInvalid]. Nobody should be using
// the session.
func Salvage(ctx context.Context, store session.Store, id string, n session.New) (session.Info, error) {
	if store == nil {
		return session.Info{}, &session.Error{
			Op: "salvage", Session: id, Err: fmt.Errorf("%w: the store is nil", session.ErrInvalid),
		}
	}
	info, err := store.Get(ctx, id)
	if err != nil {
		return session.Info{}, err
	}
	_, err = transcript.Read(ctx, store, id, transcript.Options{})
	var damage *session.Error
	switch {
	case err == nil:
		return session.Info{}, &session.Error{Op: "salvage", Session: id, Err: fmt.Errorf(
			"%w: the session is not damaged", session.ErrInvalid,
		)}
	case !errors.Is(err, session.ErrCorrupt) || errors.Is(err, session.ErrVersion) || !errors.As(err, &damage) || damage.Seq == 0:
		return session.Info{}, err
	}
	if n.Values, err = forkedValues(&info, n.Values); err != nil {
		return session.Info{}, wrap("salvage", id, err)
	}
	return store.Fork(ctx, id, damage.Good, n)
}
