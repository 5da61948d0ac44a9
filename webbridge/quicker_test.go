// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// quicker is a store in which another request has just made each session that is to be made, for an owner.
type quicker struct {
	session.Store
	owner string
	gone  bool // and has removed it
}

func (q *quicker) Create(ctx context.Context, n session.New) (session.Info, error) {
	first := n
	first.Owner = q.owner
	if _, err := q.Store.Create(ctx, first); err != nil {
		return session.Info{}, err
	}
	_, err := q.Store.Create(ctx, n)
	if q.gone {
		_ = q.Delete(ctx, n.ID)
	}
	return session.Info{}, err
}

// TestChatsThatTwoRequestsMakeAreOne has two requests make the chat of a name at once. The slower one gets what the other one has made,
// if it is the user's.
func TestChatsThatTwoRequestsMakeAreOne(t *testing.T) {
	for _, c := range []struct {
		owner string
		gone  bool
		found bool
	}{{"ada", false, true}, {"eve", false, false}, {"ada", true, false}} {
		h := newHandler(t, options{
			host:    host.Config[none, string]{Store: durable{&quicker{new(session.Memory), c.owner, c.gone}}},
			Options: webbridge.Options{User: byHeader, Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{})}},
		})
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, of(t.Context(), "ada", "POST", "/api/chat", `{"id":"notes","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`))
		if c.found {
			require.Equal(t, 200, w.Code)
			require.Contains(t, w.text(), "You said x")
		} else {
			require.Equal(t, 404, w.Code)
			require.JSONEq(t, `{"error":{"kind":"not_found","message":"there is no session \"notes\""}}`, w.text())
		}
		require.NoError(t, h.Shutdown(context.Background()))
	}
}
