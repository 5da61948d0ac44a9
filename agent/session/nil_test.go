// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// A store, reader or writer that is nil is an error that says so, at once.
func TestNilIsRefused(t *testing.T) {
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"prune": func() error { _, err := session.Prune(ctx, nil, session.Retention{}); return err },
		"purge": func() error { _, err := session.Purge(ctx, nil, session.Query{}); return err },
		"import": func() error {
			_, err := session.Import(ctx, nil, strings.NewReader(""), session.ImportOptions{})
			return err
		},
		"import reader": func() error {
			_, err := session.Import(ctx, new(session.Memory), nil, session.ImportOptions{})
			return err
		},
		"export":        func() error { return session.Export(ctx, nil, new(bytes.Buffer)) },
		"export writer": func() error { return session.Export(ctx, new(session.Memory), nil) },
		"open":          func() error { _, err := session.Open(ctx, nil, "x", session.Claim{}); return err },
	} {
		err := f()
		require.ErrorIs(t, err, session.ErrInvalid, name)
		require.ErrorContains(t, err, "is nil", name)
	}
	const text = "session: Processed: the store or the processor is nil"
	require.PanicsWithValue(t, text, func() { session.Processed(nil, func(context.Context, *session.Entry) error { return nil }) })
	require.PanicsWithValue(t, text, func() { session.Processed(new(session.Memory), nil) })
}
