// SPDX-License-Identifier: Apache-2.0

//go:build unix

package proxy_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/proxy"
)

// TestWhoDecidesAboutRequests has another agent ask for permission. The person is asked only if nothing has decided before.
func TestWhoDecidesAboutRequests(t *testing.T) {
	dir := t.TempDir()
	rules := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	none := rules("none.json", `{}`)
	for _, c := range []struct {
		args  []string
		asked int
		paid  bool
	}{
		{nil, 1, true}, {[]string{"-rules", none}, 1, true}, {[]string{"-read-only"}, 0, false}, {[]string{"-rules", none, "-read-only"}, 0, false},
		{[]string{"-rules", rules("auto.json", `{"mode": "auto"}`)}, 0, true}, {[]string{"-rules", filepath.Join(dir, "auto.json"), "-read-only"}, 0, false},
	} {
		in, toAgent := acp.Pipe()
		fromAgent, out := acp.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- app.Run(context.WithoutCancel(t.Context()), app.Config[any, string]{Name: "desk", Agent: newDesk(), Commands: []func(*app.Env) *cobra.Command{proxy.Command}},
				app.Process{Args: append(append([]string{"proxy"}, c.args...), os.Args[0], "payer"), In: in, Out: out})
		}()
		asked := 0
		client, err := acpclient.Connect(t.Context(), fromAgent, toAgent, acpclient.Config{Permission: func(ctx context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
			asked++
			return acpclient.AllowAll(ctx, r)
		}})
		require.NoError(t, err)
		s, err := client.NewSession(t.Context(), acpclient.SessionConfig{Cwd: dir})
		require.NoError(t, err)
		turn, err := s.Say(t.Context(), "Pay.")
		require.NoError(t, err)
		require.NoError(t, client.Close())
		require.Equal(t, 0, <-ended)
		require.Equal(t, c.asked, asked, c.args)
		require.Equal(t, c.paid, turn.Text() == "It says: paid", "%v: %s", c.args, turn.Text())
	}
}
