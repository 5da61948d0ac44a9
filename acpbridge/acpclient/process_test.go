// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

func TestCommandIsShownWithoutPasswords(t *testing.T) {
	for arg, want := range map[string]string{
		"postgres://ann:secret@db/sessions":                            "postgres://ann:…@db/sessions",
		"postgres://ann:se:cr@et?secret@db":                            "postgres://ann:…@db",
		"postgres://:secret@db":                                        "postgres://:…@db",
		"postgres://db/a?sslmode=x&password=secret&sslPassword=secret": "postgres://db/a?sslmode=x&password=…&sslPassword=…",
		"-store=postgres://ann:secret@db":                              "-store=postgres://ann:…@db",
		"http://127.0.0.1:80/a?b=c":                                    "http://127.0.0.1:80/a?b=c",
		"https://ann@db":                                               "https://ann@db",
		"a:b@c":                                                        "a:b@c",
	} {
		c := acpclient.Command{Path: "agent", Args: []string{arg}}
		require.Contains(t, c.String(), want)
		require.NotContains(t, c.String(), "secret")
	}
	_, err := acpclient.Start(t.Context(), acpclient.Command{Path: "/no/such/agent", Args: []string{"postgres://ann:secret@db"}}, acpclient.Config{})
	require.ErrorContains(t, err, "ann:…@db")
}
