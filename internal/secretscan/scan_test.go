// SPDX-License-Identifier: Apache-2.0

package secretscan

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Secrets are put together here, so that scanners of repositories do not take them for a leak.
const (
	token = "ghp_" + "k3JtX9bQ2mZr7VwYc5Ld8NfHs1PaGe4TuRxW"
	key   = "AKIA" + "QYLPMN5HFIQR7XYA"
)

func TestAllRulesAreRead(t *testing.T) {
	all, global := rules()
	require.Len(t, all, strings.Count(rulesFile, "\nregex = ")+len(own()))
	require.Len(t, global, 1)
	require.Greater(t, len(global[0].regexes), 5)
	ids := map[string]bool{}
	for _, r := range all {
		require.NotNil(t, r.compiled(), r.id)
		require.NotEmpty(t, r.keywords, r.id)
		require.False(t, ids[r.id], r.id)
		ids[r.id] = true
		for _, word := range r.keywords {
			require.NotContains(t, word, `"`, r.id)
		}
	}
	require.Equal(t, "generic-api-key", all[len(all)-1].id)
}

func TestScan(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("token " + token))
	for _, c := range []struct{ text, rule, secret string }{
		{"export TOKEN=" + token, "github-pat", token},
		{"id " + key + "\n", "aws-access-token", key},
		{"postgres://app:pa55-word@db/shop", "url-password", "pa55-word"},
		{`{"password": "pa55-word!"}`, "password", "pa55-word!"},
		{"x " + encoded, "github-pat", encoded},
	} {
		require.Contains(t, Scan(c.text), Finding{c.rule, c.secret}, c.text)
	}
}

func TestScanLeavesOrdinaryTextAlone(t *testing.T) {
	for _, text := range []string{
		"", "Find the key to the house.", "func main() { token := next() }", "https://example.com:8080/a@b",
		"The password is wrong: try again.", "commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"key = value", "id AKIA" + "IOSFODNN7EXAMPLE", "id AKIA" + "AAAAAAAAAAAAAAAA",
		"Authorization: none", "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
	} {
		require.Empty(t, Scan(text), text)
	}
}

func TestASecretIsFoundOnce(t *testing.T) {
	require.Len(t, Scan(token+" "+token), 1)
}

// All secrets of a text are found, also if one rule finds them, and also in Base64.
func TestAllSecretsOfATextAreFound(t *testing.T) {
	const other = "AKIA" + "ZLPMN5HFIQR7XYAQ"
	require.Equal(t, []Finding{{"aws-access-token", key}, {"aws-access-token", other}}, Scan(key+"\n"+other))
	var texts []string
	for _, secret := range []string{"one " + token, "other " + key} {
		texts = append(texts, base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	require.Equal(t, []Finding{{"github-pat", texts[0]}, {"aws-access-token", texts[1]}}, Scan(strings.Join(texts, " ")))
	require.Empty(t, Scan(base64.StdEncoding.EncodeToString([]byte("nothing secret is in here"))))
	// What a text calls a value decides whether it may be a secret.
	const value = "zB3dE6gH9jK2" + "mN5pQ8sT1vW4"
	require.Equal(t, []Finding{{"generic-api-key", value}}, Scan(`session_token = "`+value+`"`))
	require.Empty(t, Scan(`csrf_token = "`+value+`"`))
	for value, want := range map[string]string{
		`'''a'''`: "a", `"a"`: "a", `'''"a"'''`: `"a"`, `"a\\d"`: `a\d`, `'''a\\d'''`: `a\\d`, "a": "a", "": "", `"`: "",
	} {
		require.Equal(t, want, unquoted(value), value)
	}
}

func FuzzScan(f *testing.F) {
	f.Add("a " + token)
	f.Add("://x:yyy@")
	f.Fuzz(func(t *testing.T, text string) {
		for _, found := range Scan(text) {
			if found.Secret == "" || !strings.Contains(text, found.Secret) {
				t.Fatalf("%+v is not in %q", found, text)
			}
		}
	})
}
