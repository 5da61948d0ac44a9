// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	_ "embed"
	"strings"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/attacks.txt
var attackTables string

// tableOf returns the entries of a kind. An entry that goes on in the next line begins there with
// something that no entry begins with.
func tableOf(s *suite, kind string) []string {
	_, after, ok := strings.Cut(attackTables, "\n["+kind+"]\n")
	require.True(s, ok, kind)
	text, _, _ := strings.Cut(after, "\n[")
	text = strings.NewReplacer("git\\\n push", "git\\\x00 push", "<<E\ngit push\nE", "<<E\x00git push\x00E").Replace(text)
	var all []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" {
			all = append(all, strings.ReplaceAll(line, "\x00", "\n"))
		}
	}
	return all
}

// tables makes the attacks of testdata/attacks.txt.
func tables(s *suite) {
	files := map[string]string{"a.txt": "x", "a/a.go": "x", "a.go": "x", "a.sh": "x", "sub/.env": "x", ".env": "x", "secret/x": "x", "list": "x", "sub/a.txt": "x"}
	for _, pair := range tableOf(s, "covers") {
		line, evil, ok := strings.Cut(pair, " => ")
		require.True(s, ok, pair)
		w := memory(s, files)
		w.person = always
		w.run(line)
		require.Len(s, w.started, 1, line)
		w.person = never
		w.run(evil)
		s.attack(len(w.started) == 0, "%q covers %q", line, evil)
	}
	for kind, rule := range map[string]string{"push": `"command":"git push"`, "host": `"host":"*.evil.example"`, "read": `"read":"**/.env"`, "write": `"path":"secret/**"`} {
		for _, decision := range []string{"deny", "ask"} {
			w := memory(s, files).configure(rules("auto", `{"decision":"`+decision+`",`+rule+`}`, `{"decision":"allow","tool":"*"}`))
			w.policy.Remember("run_command", "", "allow")
			for _, line := range tableOf(s, kind) {
				w.run(line)
				s.attack(len(w.started) == 0, "%s %s: %q", decision, rule, line)
			}
		}
	}
}
