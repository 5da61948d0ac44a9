// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// withPassword makes a user that needs a password, and returns the address of the server without user and password, and the user.
func withPassword(t *testing.T, password string) (host, user string) {
	t.Helper()
	at := database(t)
	conn, err := pgx.Connect(t.Context(), at)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	user = "ann" + strings.ToLower(rand.Text()[:8])
	_, err = conn.Exec(t.Context(), "CREATE ROLE "+user+" LOGIN SUPERUSER PASSWORD '"+password+"'")
	require.NoError(t, err)
	var hba string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW hba_file").Scan(&hba))
	for _, statement := range []string{
		"COPY (SELECT unnest(ARRAY['host all " + user + " all scram-sha-256', 'host all all all trust', 'local all all trust'])) TO '" + hba + "'",
		"SELECT pg_reload_conf()",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	u, err := url.Parse(at)
	require.NoError(t, err)
	for t.Context().Err() == nil { // the server reads the file soon
		u.User = url.UserPassword(user, "wrong")
		c, err := pgx.Connect(t.Context(), u.String())
		if err != nil {
			break
		}
		require.NoError(t, c.Close(t.Context()))
	}
	return u.Host + u.Path + "?" + u.RawQuery, user
}

// Wherever an address comes from, whatever is wrong with it, and whoever is told: its password is not.
func TestPasswordIsToldToNobody(t *testing.T) {
	const password = "S3CR3T/@:?#% x"
	host, user := withPassword(t, password)
	work := directory(t, "a.txt=one\n")
	m := newMachine(t, work)
	quoted := url.UserPassword(user, password).String()
	told := ""
	for address, want := range map[string]string{
		"postgres://" + user + ":" + password + "@" + host:      "write %40 for @",
		"postgres://" + user + ":S3CR3T@" + host:                "password authentication failed",
		"postgres://" + user + "@" + host + "&password=S3CR3T":  "password authentication failed",
		"postgres://" + user + ":S3C@R3T@" + host:               "write %40 for @",
		"postgres://" + user + ":S3CR3T":                        "invalid port",
		"postgres://" + quoted + "@" + host + "&sslmode=S3CR3T": "failed to configure TLS",
	} {
		_, stderr, code := m.run("sessions", "list", "-store", address)
		require.Equal(t, 1, code, stderr)
		require.Contains(t, stderr, want, address)
		p := m.start("-store", address)
		for _, err := range p.Sessions(t.Context(), "") {
			require.ErrorContains(t, err, want)
			told += fmt.Sprintf("%v %+v\n", err, err)
		}
		s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
		require.NoError(t, err)
		told += say(t, s, "read a.txt")
		p.kill()
		told += stderr + p.stderr.String()
		stdout, stderr, _ := m.run("chat", "-v", "-model", "offline", "-dir", work, "-store", address, "read a.txt")
		told += stdout + stderr
	}
	require.NotContains(t, told, "S3C")
	require.NotContains(t, told, "R3T")

	// With the right one, it works. The file of the home directory has it, too.
	right := "postgres://" + quoted + "@" + host
	_, stderr, code := m.run("chat", "-model", "offline", "-dir", work, "-store", right, "read a.txt")
	require.Equal(t, 0, code, stderr)
	u, err := url.Parse(right)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(m.home, ".pgpass"), []byte(u.Hostname()+":"+u.Port()+":*:"+user+`:S3CR3T/@\:?#% x`+"\n"), 0o600))
	stdout, stderr, code := m.run("sessions", "list", "-dir", work, "-store", "postgres://"+user+"@"+host)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "  read a.txt\n")
	require.NoError(t, os.Remove(filepath.Join(m.home, ".pgpass")))
	m.variables = []string{"PGPASSWORD=" + password}
	stdout, stderr, code = m.run("sessions", "list", "-dir", work, "-store", "postgres://"+user+"@"+host)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "  read a.txt\n")

	// Commands of the agent do not get the variable.
	p := m.start("-store", "postgres://"+user+"@"+host)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	say(t, s, "run `env`")
	for e := range s.Snapshot().All() {
		require.NotContains(t, e.Text(), "S3CR3T")
	}
	stdout, stderr, _ = m.run("sessions", "export", "-store", "postgres://"+user+"@"+host, string(s.ID()))
	require.NotContains(t, stdout+stderr, "S3CR3T")
}
