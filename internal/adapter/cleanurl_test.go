// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

func TestCleanTextHidesSecretsInURLs(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "no URL: a?b=c@d": "no URL: a?b=c@d",
		"see https://h.test/docs.":                         "see https://h.test/docs.",
		`Post "https://h.test/v1?key=s3cret": EOF`:         `Post "https://h.test/v1": EOF`,
		"(https://user:s3cret@h.test:8080/a/b?c=d#e), too": "(https://h.test:8080/a/b), too",
		"https://h.test?key=s3cret":                        "https://h.test",
		"https://h.test/#s3cret":                           "https://h.test/",
		"https://s3cret@h.test":                            "https://h.test",
		"https://user:s3/cret@h.test/x":                    "https://h.test/x",
		"two: ftp://a:s3cret@b/c HTTPS://d/e?s3cret":       "two: ftp://b/c HTTPS://d/e",
		"https://h.test/users/me@example.org":              "https://example.org",
		"https://?key=user@s3cret":                         "https://",
		"https://h.test/a?user=me@s3cret":                  "https://h.test/a",
		"https://@h.test/x":                                "https://h.test/x",
		"https:///p?key=s3cret":                            "https:///p",
		"https://user:s3cret@/x?key=s3cret":                "https:///x",
		`https://h.test\a?key=s3cret`:                      `https://h.test\a`,
		"x+y-z.1://h.test?s3cret,":                         "x+y-z.1://h.test,",
		"https://h.test/a?b)]};:!":                         "https://h.test/a)]};:!",
	} {
		require.Equal(t, want, adapter.CleanText(text), text)
	}
}

func TestRedactRemovesBaseURLSecrets(t *testing.T) {
	base, err := url.Parse("https://someuser:p4ssw0rd!@h.test/v1?key=s3cret%2Bvalue&api-version=2024-10-21")
	require.NoError(t, err)
	redact := adapter.NewSecret("sk-0123456789", base).Redact
	require.Equal(t, "Cannot POST /v1/chat/completions", redact("Cannot POST /v1/chat/completions?"+base.RawQuery))
	require.Equal(t, "[redacted] [redacted] [redacted]", redact("sk-0123456789 s3cret+value p4ssw0rd!"))
	require.Equal(t, "no version 2024-10-21", redact("no version 2024-10-21"))
}

func TestCleanedErrorKeepsItsIdentity(t *testing.T) {
	inner := errors.New("from https://h.test?key=x")
	err := adapter.Cleaned(inner, adapter.CleanText)
	require.EqualError(t, err, "from https://h.test")
	require.ErrorIs(t, err, inner)
	plain := errors.New("plain")
	require.Same(t, plain, adapter.Cleaned(plain, adapter.CleanText))
	require.NoError(t, adapter.Cleaned(nil, adapter.CleanText))
}
