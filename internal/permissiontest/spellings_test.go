// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"fmt"
	"strings"
)

// spellings are commands that use a file, of which %s is "cat" or the like, and the file "secret/x".
var spellings = []string{
	// directories that a shell has been in
	"cat ~+/secret/x", "cd secret && cat ~+/x", "cd docs; cat ~-/secret/x", "cd secret; cd ..; cat ~-/x", "pushd docs; cat ~1/secret/x", "pushd docs; cat ~+1/secret/x", "pushd docs; cat ~-0/secret/x",
	"cat $PWD/secret/x", "cat \"$PWD/secret/x\"", "cat $PWD\"/secret/x\"", "cat ${PWD}'/secret/x'", "cat \"${PWD}\"/secret/x", "cd docs; cat $OLDPWD/secret/x", "cd docs; cat $PWD/../secret/x", "cat `pwd`/secret/x", "cat $(pwd)/secret/x", "cat $(pwd -P)/secret/x",
	"cd secret; cat x", "pushd secret; cat x", "cd secret; cd ..; cat $OLDPWD/x", "cd secret; cd ../docs; cat $OLDPWD/x", "cat ${PWD%/*}/project/secret/x", "cd docs; cat ../secret/x", "cd docs && cd ../secret && cat x", "(cd secret; cat x)", "cd ./secret/. && cat ./x",
	// names that the kernel has for directories
	"cat /proc/self/cwd/secret/x", "cat /proc/$$/cwd/secret/x", "cat /proc/thread-self/cwd/secret/x", "cat /proc/self/task/1/cwd/secret/x", "cat /proc/1/cwd/secret/x", "cat /proc/self/root/project/secret/x", "cat /proc/self/root/proc/self/cwd/secret/x", "cat /proc/self/cwd/../project/secret/x",
	"cat /dev/fd/../cwd/secret/x", "cat /dev/fd/./../cwd/secret/x", "cat /dev/fd//../cwd/secret/x", "cat /dev/fd/../root/project/secret/x", "cat /proc/self/fd/../cwd/secret/x", "cat /proc/self/ns/../cwd/secret/x", "cat /proc/self/../self/cwd/secret/x", "cat /proc//self/./cwd//secret/x",
	"cat /dev/../proc/self/cwd/secret/x", "cat /proc/self/fd/../cwd/docs/../secret/x", "cat /dev/fd/../cwd/docs/../secret/x", "cat /dev/fd/3/secret/x", "exec 3<.; cat /proc/self/fd/3/secret/x", "cat ../../proc/self/cwd/secret/x", "cat /project/../proc/self/cwd/secret/x",
	// separators and ends
	"cat secret//x", "cat ./secret/./x", "cat secret/../secret/x", "cat docs/../secret/x", "cat /project/../project/secret/x", "cat //project/secret/x", "cat secret/x/", "cat secret/x/.", "cat secret/x.", "cat 'secret/x '", "cat secret./x", "cat 'secret /x'", "cat secret.../x", "cat secret/x::\\$DATA", "cat 'secret::$INDEX_ALLOCATION/x'",
	// characters that some file systems ignore, or take for others
	"cat SECRET/x", "cat Secret/X", "cat ſecret/x", "cat ſECRET/x", "cat sec\u200bret/x", "cat sec\u200cret/x", "cat secret/x\u200d", "cat \ufeffsecret/x", "cat se\u00adcret/x", "cat sec\u2060ret/x", "cat \u202esecret/x", "cat secret/x\ufe0f",
	// quotes, escapes and lengths
	"cat s'ec'ret/x", "cat \"sec\"ret/x", "cat sec\\\nret/x", "cat $'\\x73ecret/x'", "cat $'\\163ecret/x'", "cat $'\\u0073ecret/x'", "cat {secret,docs}/x", "cat secret/{x,y}", "cat se{c,k}ret/x", "cat [s]ecret/x", "cat s*/x", "cat */x", "cat s?cret/x", "cat secret/*", "cat sec*/[a-z]",
	"cat " + strings.Repeat("./", 3000) + "secret/x", "cat " + strings.Repeat("docs/../", 600) + "secret/x", strings.Repeat("true; ", 200) + "cat secret/x", "cat " + strings.Repeat("a ", 3000) + "secret/x", "cat a" + strings.Repeat(" ", 9000) + "secret/x",
}

// otherSpellings uses files that are denied by names that a shell, a kernel or a file system takes for theirs.
func otherSpellings(s *suite) {
	programs := map[string][]string{"read": {"cat", "base64", "wc", "head -1"}, "path": {"tee", "rm -f", "truncate -s0", "touch"}}
	for subject, all := range programs {
		for _, decision := range []string{"deny", "ask"} {
			for _, pattern := range []string{"secret/**", "secret/x", "**/x"} {
				w := memory(s, map[string]string{"secret/x": "sesame", "docs/a": "a"}).configure(rules("auto", fmt.Sprintf(`{"decision":%q,%q:%q}`, decision, subject, pattern)))
				for i, line := range spellings {
					line = strings.ReplaceAll(line, "cat ", all[i%len(all)]+" ")
					w.run(line)
					s.attack(len(w.started) == 0, "%s %s %s: %.100q", decision, subject, pattern, line)
				}
			}
		}
	}
	// The tools for files see the same names.
	for _, name := range []string{".env", ".env.", ".env ", ".env...", ".ENV", ".Env.", ".env::$DATA", ".env:x", ".e\u200bnv", "./.env.", "sub/../.env.", "sub./.env", ".env\u200d"} {
		for _, decision := range []string{"deny", "ask"} {
			w := memory(s, map[string]string{".env": "sesame", name: "sesame", "sub/x": "x"}).configure(rules("auto", fmt.Sprintf(`{"decision":%q,"read":"**/.env"}`, decision), fmt.Sprintf(`{"decision":%q,"path":"**/.env"}`, decision)))
			for _, c := range []struct {
				tool string
				args args
			}{
				{"read_file", args{"path": name}}, {"search_files", args{"pattern": "s.same", "path": name}}, {"edit_file", args{"path": name, "edits": []args{{"old_text": "sesame", "new_text": "x"}}}},
			} {
				told := w.call(c.tool, c.args)
				s.attack(!strings.Contains(told, "sesame") && !strings.Contains(told, "Edited"), "%s: %s %q: %s", decision, c.tool, name, told)
			}
			told := w.call("write_file", args{"path": name, "content": "new"})
			s.attack(!strings.HasPrefix(told, "Wrote"), "%s: write_file %q: %s", decision, name, told)
		}
	}
}
