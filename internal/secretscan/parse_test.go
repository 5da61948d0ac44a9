// SPDX-License-Identifier: Apache-2.0

package secretscan

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRulesOfFilesAreRead compares all that is read of rules with what they say.
func TestRulesOfFilesAreRead(t *testing.T) {
	all, global, err := parse(strings.Join([]string{
		`# a comment`, `[allowlist]`, `description = "all"`, `paths = ["x"]`, `regexes = [`, "  '''^one$''',", "'''two'''", `]`, `stopwords = ["Foo", "bar"]`, ``,
		`[[rules]]`, `id = "a"`, `description = "A."`, "regex = '''a(b)(c)'''", `entropy = 3.5`, `secretGroup = 2`, `keywords = [ "Ab", "cd" ]`, `tags = ["t"]`,
		`[[rules.allowlists]]`, `condition = "AND"`, `regexTarget = "line"`, "regexes = ['''x''']", `stopwords = ["Y"]`,
		`[[rules.allowlists]]`, `condition = "OR"`, "paths = ['''p''']",
		`[[rules]]`, `id = "files"`, "path = '''x'''",
		`[[rules]]`, `id = "b"`, `regex = "a\\d"`, `keywords = [`, `  "ef",`, `]`,
	}, "\n"))
	require.NoError(t, err)
	describe := func(a allowlist) string {
		return fmt.Sprintf("%s %v %q all=%t paths=%t", a.target, a.regexes, a.stops, a.all, a.paths)
	}
	require.Len(t, global, 1)
	require.Equal(t, ` [^one$ two] ["foo" "bar"] all=false paths=true`, describe(global[0]))
	require.Len(t, all, 2, "rules about names of files are left out")
	require.Equal(t, []any{"a", "a(b)(c)", []string{"ab", "cd"}, 3.5, 2}, []any{all[0].id, all[0].pattern, all[0].keywords, all[0].entropy, all[0].group})
	require.Len(t, all[0].allow, 2)
	require.Equal(t, `line [x] ["y"] all=true paths=false`, describe(all[0].allow[0]))
	require.Equal(t, ` [] [] all=false paths=true`, describe(all[0].allow[1]))
	require.Equal(t, []any{"b", `a\d`, []string{"ef"}, 0.0, 0}, []any{all[1].id, all[1].pattern, all[1].keywords, all[1].entropy, all[1].group})
	require.Equal(t, `a\d`, all[1].compiled().String())

	for text, want := range map[string]string{
		"nonsense":                               "rules: line 1 is not understood: nonsense",
		"\n[other]":                              "rules: line 2 is not understood: [other]",
		"[a = b":                                 "rules: line 1 is not understood: [a = b",
		"[[rules]]\nid = \"a\"\ncolour = \"b\"":  `rules: line 3: "colour" is not known`,
		"[[rules]]\nentropy = x":                 `rules: line 2: strconv.ParseFloat: parsing "x": invalid syntax`,
		"[[rules]]\nsecretGroup = x":             `rules: line 2: strconv.Atoi: parsing "x": invalid syntax`,
		"[allowlist]\ncolour = \"b\"":            `rules: line 2: "colour" is not known`,
		"[allowlist]\nregexes = [\n'''('''\n]":   "rules: line 4: error parsing regexp: missing closing ): `(`",
		"[[rules]]\n[[rules.allowlists]]\na = 1": `rules: line 3: "a" is not known`,
		"[[rules.allowlists]]":                   "rules: line 1 is not understood: [[rules.allowlists]]",
		"[allowlist]\nregexes = [":               "rules: the list of the last line has no end",
		"[allowlist]\nregexes = [\n\"a\",\n":     "rules: the list of the last line has no end",
	} {
		_, _, err := parse(text)
		require.EqualError(t, err, want, text)
	}
}

// TestOwnRulesHaveBothSides has texts at both sides of each rule of this package, with all that is
// found in them.
func TestOwnRulesHaveBothSides(t *testing.T) {
	longToken := "aZ09+/_=.~-qwer" // 15 characters
	for text, want := range map[string]string{
		"redis://:pwd@host":                     "url-password pwd",
		"redis://:pw@host":                      "",
		"a+b-c.1://u:p:w@h":                     "url-password p:w",
		"http://h:80/x@y":                       "",
		"Authorization: Basic abcdefgh":         "authorization-header abcdefgh",
		"Authorization: Basic abcdefg":          "",
		`"authorization"="Digest a=b~c-d."`:     "authorization-header a=b~c-d.",
		"proxy AUTHORIZATION: token 12345678":   "authorization-header 12345678",
		"my bearer " + longToken + "t":          "bearer-token " + longToken + "t",
		"my bearer " + longToken:                "",
		"Set-Cookie: sid=12345678; Path=/":      "cookie sid=12345678;",
		"cookie: sid=1234567":                   "",
		`'Cookie': 's.i-d_=abcdefgh'`:           "cookie s.i-d_=abcdefgh",
		"db_password := secret":                 "password secret",
		"db_password := secre":                  "",
		"DB.PASSWD=>hunter22":                   "password hunter22",
		`"passphrase": "correct horse battery"`: "password correct",
		"pwd = $HOME_DIRECTORY":                 "",
		"the pwd: ‹left out›":                   "",
		"mysql --password=abcd":                 "command-password abcd",
		"mysql --password abc":                  "",
		"sshpass -p hunt -x":                    "command-password hunt",
		"sshpass -phunt":                        "command-password hunt",
		"curl -s -u me:hunter http://h":         "curl-auth-user me:hunter; command-password hunter",
		"curl --user me:hunter http://h":        "curl-auth-user me:hunter; command-password hunter",
	} {
		var got []string
		for _, f := range Scan(text) {
			got = append(got, f.Rule+" "+f.Secret)
		}
		require.Equal(t, want, strings.Join(got, "; "), text)
	}
}

// TestSecretsInBase64AreSecrets has texts that are encoded in each way, and what only looks so.
func TestSecretsInBase64AreSecrets(t *testing.T) {
	text := "here: " + token + "\n\t\r~?>"
	std, url := base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text))
	require.NotEqual(t, std, url)
	for _, encoded := range []string{std, url} {
		require.Equal(t, []Finding{{"github-pat", encoded}}, Scan("x "+encoded+" y"))
		require.Equal(t, []Finding{{"github-pat", encoded}}, Scan(encoded+" "+encoded), "once")
	}
	require.Equal(t, text, decoded(std))
	require.Equal(t, text, decoded(url))
	for _, bytes := range []string{"\x7f" + text, text + "\x00", text + "\x0b", "\xff" + text} {
		require.Empty(t, decoded(base64.StdEncoding.EncodeToString([]byte(bytes))), "%q", bytes)
	}
	require.Empty(t, decoded("a"))
	require.Equal(t, []Finding{{"aws-access-token", key}, {"github-pat", token}}, Scan(token+" "+key), "rule by rule")
	require.Len(t, Scan(token+" "+base64.StdEncoding.EncodeToString([]byte(key+" "+token))), 2)
	two := base64.StdEncoding.EncodeToString([]byte("id " + key + " " + token))
	require.Len(t, Scan(two), 1, "a text is one secret, whatever it has")
}

// TestListsAllowWhatIsNoSecret has lists that say so in each way.
func TestListsAllowWhatIsNoSecret(t *testing.T) {
	for _, c := range []struct {
		list string
		want bool
	}{
		{"regexes = ['''^sec$''']", true}, {"regexes = ['''^other$''']", false}, {"regexes = ['''a sec''']", false},
		{"regexes = ['''^a sec b$''']\nregexTarget = \"match\"", true}, {"regexes = ['''^line: a sec b.$''']\nregexTarget = \"line\"", true},
		{"regexes = ['''^sec$''']\nregexTarget = \"match\"", false}, {"regexes = ['''no''','''^sec$''']", true},
		{`stopwords = ["SE"]`, true}, {`stopwords = ["a"]`, false}, {`stopwords = ["x","ec"]`, true},
		{"condition = \"AND\"\nregexes = ['''^sec$''']\nstopwords = [\"se\"]", true},
		{"condition = \"AND\"\nregexes = ['''^sec$''']\nstopwords = [\"x\"]", false},
		{"condition = \"AND\"\nregexes = ['''^x$''']\nstopwords = [\"se\"]", false},
		{"condition = \"AND\"\nregexes = ['''^sec$''']", true}, {"condition = \"AND\"\nstopwords = [\"se\"]", true},
		{"condition = \"AND\"\nregexes = ['''^sec$''']\npaths = ['''p''']", false},
		{"condition = \"AND\"\nregexes = ['''^no$''']\n[[rules.allowlists]]\nstopwords = [\"se\"]", true},
		{"regexes = ['''^sec$''']\npaths = ['''p''']", true}, {"paths = ['''p''']", false},
	} {
		all, _, err := parse("[[rules]]\nid = \"r\"\nregex = '''a (sec) b'''\n[[rules.allowlists]]\n" + c.list)
		require.NoError(t, err, c.list)
		m := match{"sec", "a sec b", lineAround("one\nline: a sec b.\ntwo", 10, 17)}
		require.Equal(t, c.want, m.allowed(all[0].allow), c.list)
	}
	for _, c := range []struct {
		text     string
		from, to int
		want     string
	}{{"abc", 1, 2, "abc"}, {"a\nbc\nd", 2, 3, "bc"}, {"a\nbc\nd", 0, 1, "a"}, {"a\nbc\nd", 5, 6, "d"}, {"a\nbc\nd", 0, 4, "a\nbc"}} {
		require.Equal(t, c.want, lineAround(c.text, c.from, c.to))
	}
}

func TestSecretsOfMatchesAndTheirEntropy(t *testing.T) {
	for _, c := range []struct {
		group    int
		at       []int
		from, to int
	}{
		{0, []int{0, 9}, 0, 9}, {0, []int{0, 9, 1, 2, 3, 4}, 1, 2}, {0, []int{0, 9, -1, -1, 3, 4}, 3, 4}, {0, []int{0, 9, 2, 2, 3, 4}, 3, 4},
		{2, []int{0, 9, 1, 2, 3, 4}, 3, 4}, {1, []int{0, 9, 1, 2, 3, 4}, 1, 2}, {3, []int{0, 9, 1, 2, 3, 4}, 1, 2}, {2, []int{0, 9, 1, 2, -1, -1}, 1, 2},
		{0, []int{0, 9, 0, 4}, 0, 4},
	} {
		from, to := (&rule{group: c.group}).secret(c.at)
		require.Equal(t, []int{c.from, c.to}, []int{from, to}, "%+v", c)
	}
	for text, want := range map[string]float64{"": 0, "aaaa": 0, "ab": 1, "abcd": 2, "aabb": 1, "äöüß": 2, "aaab": 0.8112781245} {
		require.InDelta(t, want, entropy(text), 1e-9, text)
	}
	require.True(t, (&rule{}).mayMatch("x"))
	require.True(t, (&rule{keywords: []string{"a", "b"}}).mayMatch("xbx"))
	require.False(t, (&rule{keywords: []string{"a", "b"}}).mayMatch("x"))
	require.Empty(t, Scan("a:b@c"))
}
