// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

// These make a command dangerous wherever they are added to it. The list is independent of the allow-list.
var (
	dangerousOptions = strings.Fields(`--output=/tmp/x --output -o/tmp/x --exec=sh --exec -exec -exec=sh -toolexec=sh -toolexec -vettool=sh --pre=sh --pre
		--open-files-in-pager=sh -Osh --ext-diff --textconv --no-index --upload-pack=sh --receive-pack=sh --exec-path=/tmp --git-dir=/tmp
		--work-tree=/ --config=/tmp/x --config-file=/tmp/x --rcfile=/tmp/x --plugin=/tmp/x --rulesdir=/tmp --compress-program=sh
		--files0-from=/etc/passwd --checkpoint-action=exec=sh --to-command=sh --use-compress-program=sh --rsh=sh --rsync-path=sh -execdir -delete -fprint
		-fprintf -fls -okdir --eval=x --makefile=/tmp/x --directory=/tmp --prefix=/tmp --script-shell=/tmp/sh --registry=http://evil.example --rootdir=/tmp
		--basetemp=/ --pyargs --force --force-with-lease --hard --amend --no-verify --delete --write --fix --in-place --follow --dereference
		--manifest-path=/tmp/x --target-dir=/tmp --init-script=/tmp/x -Dexec.executable=sh -overlay=/tmp/x -modfile=/tmp/x -coverprofile=main.go
		-cpuprofile=main.go -ldflags=-extld=sh --hostname-bin=sh --pager=sh --ignore-file=/etc/passwd --from-file=/etc/passwd
		--pathspec-from-file=/etc/passwd --exclude-from=/etc/passwd --template=/tmp --global --system --privileged --volume=/:/x`)
	dangerousOperands = strings.Fields(`/etc/passwd /etc/shadow /root/.ssh/id_rsa ../secret ../../etc/passwd out/secret passwd sub/../../secret self/../secret /dev/sda
		/proc/self/environ a/../../x dangling :(top)x @args ~/.ssh/id_rsa`)
	dangerousSyntax = []string{
		"; sh", " && sh", " || sh", " | sh", " & sh", " | tee /tmp/x", " > a.txt", " >> a.txt", " > /tmp/x", " < /etc/passwd", " $(sh)", " `sh`", " $HOME", " ${X:-y}",
		" *", " ?", " [a]", " {a,b}", " ~", "\nsh", " <(sh)", " >(sh)", " 2> a.txt", " &> a.txt", " >| a.txt", " <<< x", " <<x\nx\n", " # x", " \\\n sh", " | xargs rm", " 3>&1",
		" && cd /tmp && ls", " && cd ..", "; cd sub && ls", " | while read x; do sh; done", " && (sh)", " && { sh; }", " | python", " && git push", " && rm -rf .", " |& cat",
	}
	dangerousPrefixes = []string{
		"GIT_PAGER=sh ", "GOFLAGS=-toolexec=sh ", "LD_PRELOAD=/tmp/x ", "PATH=/tmp ", "A=b ", "env ", "sudo ", "nohup ", "xargs ", "time ", "timeout 5 ", "sh -c ", "exec ", "eval ",
		"! ", "busybox ", "flock x ", "chroot . ", "cd /tmp && ", "cd .. && ", "cd out && ", "cd sub; ", "sh; ", "sh | ", "sh && ", "./", "/tmp/", "../", "\\", "command ", "X=y; ", "alias ls=sh; ", "f() { sh; }; ",
	}
	invisible = []rune("\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u00a0\u2003\u3000\u2028\u0085\u034f\u115f\u3164\uffa0\ufe0f\U000e0041\u2800\x00\x07\x1b\x7f\t\r\n")
)

// randomOrdinary makes a command that a rule of the table covers.
func randomOrdinary(r *rand.Rand, rule *command.Rule) string {
	words := append([]string{}, rule.Words...)
	for i, w := range words {
		if w == "NAME" {
			words[i] = []string{"build", "lint", "test:unit"}[r.IntN(3)]
		}
	}
	var names []string
	for name, kind := range rule.Options {
		if kind == "" && name != "!" && name != "(" && name != ")" {
			names = append(names, name)
		}
	}
	for range r.IntN(3) {
		if len(names) > 0 {
			words = append(words, names[r.IntN(len(names))])
		}
	}
	switch rule.Operands {
	case "path":
		words = append(words, []string{"a.txt", "sub", "./a", "src/x.go", "b/y"}[r.IntN(5)])
	case "package":
		words = append(words, []string{".", "./a", "./...", "x.go"}[r.IntN(4)])
	case "sed":
		words = append(words, "1,5p", "a.txt")
	case "word":
		words = append(words, "x")
	}
	return strings.Join(words, " ")
}

// optionFor gives an option a second dash for programs to which "-exec" would be "-e xec".
func optionFor(program, option string) string {
	switch program {
	case "go", "gofmt", "goimports", "gofumpt", "staticcheck", "find":
		return option
	}
	if strings.HasPrefix(option, "--") || len(option) < 3 {
		return option
	}
	return "-" + option
}

var randomCommands = flag.Int("random-commands", 2500, "how many random dangerous commands are made")

func TestRandomDangerousCommandsAreAskedAbout(t *testing.T) {
	commands := *randomCommands
	place := project(t)
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	allowed := newPerson(place)
	for _, rule := range command.Table() {
		for range 5 {
			allowed.isAsked(t, at(place, randomOrdinary(r, rule)))
		}
	}
	ordinary, made := 0, 0
	for made < commands {
		entry := command.Table()[r.IntN(len(command.Table()))]
		base := randomOrdinary(r, entry)
		rule := strings.Fields(base)
		if allowed.isAsked(t, at(place, base)) {
			continue // such as uniq with options that it does not take twice
		}
		ordinary++
		next := ""
		switch r.IntN(5) {
		case 0:
			next = base + " " + optionFor(rule[0], pick(dangerousOptions))
		case 1:
			next = rule[0] + " " + optionFor(rule[0], pick(dangerousOptions)) + " " + strings.Join(rule[1:], " ")
		case 2:
			if entry.Operands == "text" || entry.Operands == "word" { // which are not names of files
				continue
			}
			next = base + " " + pick(dangerousOperands)
		case 3:
			if next = base + pick(dangerousSyntax); r.IntN(2) == 0 {
				next = pick(dangerousPrefixes) + base
			}
		case 4:
			runes := []rune(base)
			i := r.IntN(len(runes) + 1)
			next = string(runes[:i]) + string(invisible[r.IntN(len(invisible))]) + string(runes[i:])
		}
		made++
		require.False(t, allowed.covers(at(place, next)), next)
		if words := strings.Fields(next); !strings.ContainsAny(next, "|&;<>$`\"'*{}()\\#~?[]!=") && strings.Join(words, " ") == next {
			require.False(t, allowed.covers(args(place, words...)), next)
		}
	}
	require.GreaterOrEqual(t, ordinary, commands)
}
