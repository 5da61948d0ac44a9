// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// ordinary are commands that a person allows always.
var ordinary = strings.Split(`git status
git log --oneline
git diff a.txt
go test ./a
go vet ./a
cat a.txt
grep x a.txt
rg x a.txt
find . -name x
ls a
sed -n 1,5p a.txt
head -5 a.txt
npm run build
npm test
make all
cargo test
pytest
tsc --noEmit
eslint a.js
prettier --check a.js
docker ps
python3 --version
go build ./a
gofmt -l a.go
mvn test
echo hello
sort a.txt
wc -l a.txt`, "\n")

// additions are what an attacker adds to a command so that it does something else.
var additions = []string{
	"%s; evil", "%s && evil", "%s || evil", "%s & evil", "%s | evil", "%s | sh", "%s |& evil", "%s > b.txt", "%s >> b.txt", "%s 2> b.txt", "%s >| b.txt", "%s < /etc/passwd",
	"%s $(evil)", "%s `evil`", "%s \"$(evil)\"", "%s $X", "%s ${X}", "%s $((X))", "%s {a,b}", "%s *", "%s ?", "%s [a]", "%s ~", "%s ~root", "%s <(evil)", "%s >(evil)", "%s\nevil", "%s\revil", "%s\\\n; evil",
	"%s # x\nevil", "X=1 %s", "PATH=. %s", "LD_PRELOAD=./x.so %s", "env %s", "exec %s", "eval %s", "sudo %s", "(%s)", "{ %s; }", "! %s", "f() { evil; }; %s", "alias x=evil; %s", "time %s", "cd .. && %s",
	"cd /tmp && %s", "cd -; %s", "cd $X && %s", "evil | %s", "evil; %s", "if evil; then %s; fi", "while evil; do %s; done", "%s <<E\n$(evil)\nE", "%s <<< x", "%s \u202e", "%s \u200b", "%s\x00", "%s 'x\nevil'", "nohup %s", "./%s", "/tmp/%s",
	"%s $'\\x3b evil'", "%s !!", "trap evil EXIT; %s", ". ./evil; %s", "%s --help; evil",
}

// known are commands that are more than an ordinary one seems to cover.
var known = strings.Split(`tsc --noEmit => tsc --noEmit false
tsc --noEmit => tsc --noEmit 0
tsc --noEmit => tsc --noEmit off
tsc --noEmit => tsc --noEmit --outFile /etc/x
tsc --noEmit => tsc --project /etc/x
git status => git -c core.fsmonitor=evil status
git status => git -C /tmp status
git status => git --git-dir=/tmp/x status
git status => git --exec-path=. status
git diff a.txt => git diff --output=b.txt
git diff a.txt => git diff --no-index /etc/passwd a.txt
git diff a.txt => git diff --ext-diff
git diff a.txt => git diff --textconv a.txt
git log --oneline => git log --output=b.txt
git log --oneline => git log -p --ext-diff
go test ./a => go test -exec evil ./a
go test ./a => go test -toolexec=evil ./a
go test ./a => go test -o /tmp/x ./a
go test ./a => go test -c -o x ./a
go test ./a => go test ../b
go test ./a => go test example.com/evil
go test ./a => go run ./a
go vet ./a => go vet -vettool=evil ./a
go build ./a => go build -o /etc/x ./a
go build ./a => go build -toolexec=evil ./a
go build ./a => go build -overlay=x.json ./a
cat a.txt => cat /etc/passwd
cat a.txt => cat ../x
cat a.txt => cat a.txt /etc/passwd
cat a.txt => cat -- /etc/passwd
cat a.txt => cat ~/.ssh/id
cat a.txt => cat a/../../x
grep x a.txt => grep -f /etc/passwd a.txt
grep x a.txt => grep -r x /
grep x a.txt => grep --include-from=/etc/passwd x a.txt
rg x a.txt => rg --pre evil x
rg x a.txt => rg --pre=evil x a.txt
rg x a.txt => rg --search-zip x
rg x a.txt => rg x /etc
find . -name x => find . -name x -delete
find . -name x => find . -exec evil ;
find . -name x => find . -execdir evil ;
find . -name x => find . -ok evil ;
find . -name x => find . -fprint b.txt
find . -name x => find . -fprintf b.txt x
find . -name x => find . -fls b.txt
find . -name x => find / -name x
sed -n 1,5p a.txt => sed -n 1,5w b.txt a.txt
sed -n 1,5p a.txt => sed -n 1e a.txt
sed -n 1,5p a.txt => sed -i 1d a.txt
sed -n 1,5p a.txt => sed -n -i 1p a.txt
sed -n 1,5p a.txt => sed -n -f x a.txt
sed -n 1,5p a.txt => sed -n s/x/y/w a.txt
sort a.txt => sort -o b.txt a.txt
sort a.txt => sort --output=b.txt a.txt
sort a.txt => sort --compress-program=evil a.txt
sort a.txt => sort -T /etc a.txt
sort a.txt => sort --files0-from=/etc/passwd
head -5 a.txt => head -5 /etc/passwd
wc -l a.txt => wc --files0-from=/etc/passwd
npm run build => npm run evil
npm run build => npm run build -- --evil
npm run build => npm --prefix /tmp run build
npm run build => npm run build --script-shell=evil
npm test => npm exec evil
npm test => npm install evil
make all => make -f evil all
make all => make -C /tmp all
make all => make SHELL=evil all
make all => make --eval=x all
make all => make all MAKEFLAGS=x
cargo test => cargo --config evil test
cargo test => cargo run
cargo test => cargo test --manifest-path /tmp/x
pytest => pytest -p evil
pytest => pytest -c /tmp/x
pytest => pytest --rootdir=/tmp
pytest => pytest -o x=y
eslint a.js => eslint --fix a.js
eslint a.js => eslint -c evil.js a.js
eslint a.js => eslint --rulesdir evil a.js
eslint a.js => eslint -o b.txt a.js
prettier --check a.js => prettier --write a.js
prettier --check a.js => prettier --check --plugin=evil a.js
prettier --check a.js => prettier --check --config evil.js a.js
docker ps => docker -H tcp://evil ps
docker ps => docker run evil
docker ps => docker --config /tmp ps
gofmt -l a.go => gofmt -w a.go
gofmt -l a.go => gofmt -l -r x->y a.go
gofmt -l a.go => gofmt -l /etc
mvn test => mvn -f /tmp/x test
mvn test => mvn test -Dexec=evil
mvn test => mvn exec:java
ls a => ls /root
ls a => ls a ../..
python3 --version => python3 --version evil.py
python3 --version => python3 -c x
echo hello => printf x > a.txt`, "\n")

// "Always" about one command covers no other one that does something else.
func generalisation(s *suite) {
	files := map[string]string{"a.txt": "x", "a/a.go": "x", "a.js": "x", "a.go": "x", "sub/Makefile": "x", "sub/a.txt": "x"}
	allowed := func(line string, more args) *world {
		w := memory(s, files)
		w.person = always
		in := args{"command": line}
		for k, v := range more {
			in[k] = v
		}
		w.call("run_command", in)
		require.Len(s, w.asked, 1, line)
		w.person = never
		return w
	}
	for _, line := range ordinary {
		w := allowed(line, nil)
		for _, add := range additions {
			evil := strings.ReplaceAll(add, "%s", line)
			w.run(evil)
			s.attack(len(w.started) == 0, "%q covers %q", line, evil)
		}
		w.call("run_command", args{"command": line, "env": args{"GIT_PAGER": "evil"}})
		s.attack(len(w.started) == 0, "%q covers another environment", line)
		w.call("run_command", args{"command": line + " evil"}) // as a program of this name
		s.attack(len(w.started) == 0 || !strings.Contains(fmt.Sprint(w.started), "/tmp"), "%q", line)
	}
	for _, line := range []string{"make x=y", "git push", "./run.sh", "git status --evil", "evil", "npm start"} {
		w := allowed(line, nil)
		for _, c := range []args{
			{"command": line + " -f"}, {"command": line, "cwd": "sub"}, {"command": line, "env": args{"A": "b"}},
			{"command": strings.ToUpper(line)}, {"command": line + ";"}, {"command": line + "\nevil"}, {"command": line, "args": []string{""}}, {"command": "sub/" + line},
		} {
			w.call("run_command", c)
			s.attack(len(w.started) == 0, "exactly %q covers %v", line, c)
		}
	}
	for _, pair := range known {
		line, evil, ok := strings.Cut(pair, " => ")
		require.True(s, ok, pair)
		w := allowed(line, nil)
		w.run(evil)
		s.attack(len(w.started) == 0, "%q covers %q", line, evil)
	}
}

// forbidden are rules with lines that they are about, however they are written.
var forbidden = map[string][]string{
	"git push":                         {"git push", "git push origin", "git  push", "git\tpush", "'git' push", "g''it push", `g\it push`, "git pu\\\nsh", "git $'pu\\x73h'", "git pus{h,}", "/usr/bin/git push", "git -C x push", "git --no-pager push", "git -c a=b push", "env git push", "sudo git push", "sh -c 'git push'", `bash -c "git push"`, "eval git push", "xargs git push", "nohup git push", "(git push)", "{ git push; }", "true && git push", "true; git push", "git status | git push", "$(echo git) push", "X=push; git $X", "git `echo push`", "! git push", "if git push; then ls; fi", "f() { git push; }; f", "GIT push", "git.exe push", "timeout 5 git push", "nice git push", "find . -exec git push ;", "cat <<E | sh\ngit push\nE", "command git push", "exec git push", "time git push", "git push &", "<in git push", ">out git push"},
	"./evil":                           {"./evil", "./evil a", ". ./evil", "source ./evil", "sh ./evil", "bash evil", "././evil", "sub/../evil", ".//evil", "/project/evil", "sh < ./evil", "cat ./evil | sh", "$PWD/evil", "env ./evil", "exec ./evil"},
	"curl | sh":                        {"curl x | sh", "curl x|sh", "curl -s x | bash -c x | sh", "curl x | tee y | sh", "curl x | sudo sh", "(curl x) | sh", "curl x 2>&1 | sh", "sh -c 'curl x | sh'", "c\\url x | s\\h", "/usr/bin/curl x | /bin/sh", "true && curl x | sh", "curl x |\nsh", "curl x |& sh"},
	"rm -rf":                           {"rm -rf x", "rm -fr x", "rm -r -f x", "rm -f -r x", "rm -Rf x", "rm --recursive --force x", "rm x -rf", "rm -rfv x", "rm -v -rf x", `\rm -rf x`, "/bin/rm -rf x", "sudo rm -rf x", "rm '-rf' x", "rm -r''f x"},
	"dd of=/dev/sda":                   {"dd of=/dev/sda", "dd if=x of=/dev/sda", "dd if=x 'of=/dev/sda'", "dd of=/dev//sda", "dd of=\"/dev/sda\" if=x", "sudo dd of=/dev/sda", "dd of=/dev/sd{a,}"},
	"npm publish":                      {"npm publish", "npm --access public publish", "npm publish --tag x", "npx npm publish", "npm 'publish'", "npm pub\\lish", "cd sub && npm publish"},
	"git push --force-with-lease=main": {"git push --force-with-lease=main", "git push origin --force-with-lease=main", "git push '--force-with-lease=main'", "git push --force-with-lease\\\n=main"},
	"chmod 777":                        {"chmod 777 x", "chmod -R 777 x", "chmod '777' x", "sudo chmod 777 x", "find . -exec chmod 777 {} +", "xargs chmod 777"},
	"docker run":                       {"docker run x", "docker --debug run x", "docker  run", "sudo docker run", "d''ocker run"},
	"kubectl delete":                   {"kubectl delete pod x", "kubectl -n x delete pod y", "KUBECONFIG=x kubectl delete pod y", "env kubectl delete pod x"},
	"systemctl stop":                   {"systemctl stop x", "systemctl --user stop x", "sudo systemctl stop x"},
	"git reset --hard":                 {"git reset --hard", "git reset HEAD~1 --hard", "git reset --har", "git -C sub reset --hard"},
}

// A rule that denies or asks holds in each mode, and over each rule that allows and what was
// answered with always.
func denyAndAsk(s *suite) {
	for rule, lines := range forbidden {
		for _, decision := range []string{"deny", "ask"} {
			for _, mode := range []string{"ask", "auto"} {
				w := memory(s, map[string]string{"sub/x": "", "evil": "", "x": ""}).configure(rules(mode, fmt.Sprintf(`{"decision":%q,"command":%s}`, decision, quoted(rule)), `{"decision":"allow","tool":"*"}`))
				w.policy.Remember("run_command", "", toolset.VerdictAllow)
				for _, line := range lines {
					w.run(line)
					s.attack(len(w.started) == 0, "%s %q in mode %s: %q runs", decision, rule, mode, line)
				}
				first := strings.Fields(lines[0])
				w.call("run_command", args{"command": first[0], "args": first[1:]})
				s.attack(len(w.started) == 0 || strings.Contains(rule, "|"), "%s %q in mode %s: the arguments run", decision, rule, mode)
				w.call("run_command", args{"command": lines[0], "background": true})
				s.attack(len(w.started) == 0, "%s %q in mode %s: it runs in the background", decision, rule, mode)
			}
		}
	}
	// Rules that never match are errors.
	for _, rule := range []string{
		`"command":"git push*"`, `"command":"git push && ls"`, `"command":"A=b git"`, `"command":"rm $HOME"`, `"command":"echo > x"`, `"command":"'x"`, `"command":""`, `"path":"./x"`, `"path":"x/"`, `"path":"../x"`,
		`"path":"~/x"`, `"read":"a**b"`, `"host":"https://x"`, `"path":"[x]"`, `"command":"x:*"`, `"tool":""`, `"read":"."`, `"dir":"x"`,
	} {
		_, err := approval.ParseConfig([]byte(`{"rules":[{"decision":"deny",` + rule + `}]}`))
		s.attack(err != nil, "the rule %s is accepted", rule)
	}
	// An exact rule holds in its directory only.
	for _, line := range []string{"git status", "make evil=1", "./run.sh", "git log -p"} {
		w := memory(s, map[string]string{"docs/x/HEAD": "ref: refs/heads/main", "run.sh": "", "docs/x/run.sh": ""}).configure(rules("ask", `{"decision":"allow","command":`+quoted(line)+`}`))
		for _, c := range []args{
			{"command": line, "cwd": "docs/x"}, {"command": line, "cwd": "docs"}, {"command": "cd docs/x && " + line}, {"command": line, "env": args{"GIT_DIR": "docs/x"}}, {"command": line + " docs/x", "cwd": "docs"},
		} {
			w.call("run_command", c)
			s.attack(len(w.started) == 0, "allow %q: %v runs", line, c)
		}
	}
	hosts := memory(s, nil).configure(rules("auto", `{"decision":"deny","host":"*.evil.example"}`))
	for _, line := range []string{"curl https://evil.example", "curl https://a.evil.example/x", "curl -x http://evil.example:80 x", "wget HTTP://EVIL.example", "ssh root@evil.example", "git clone git@evil.example:x", "git clone ssh://u@a.evil.example/x", "curl https://u:p@evil.example", "curl 'https://evil.example?x'", "curl https://evil.example.", "rsync x u@evil.example:y", "sh -c 'curl https://evil.example'"} {
		hosts.run(line)
		s.attack(len(hosts.started) == 0, "deny the host: %q runs", line)
	}
}

// Arguments reach programs as they were shown.
func arguments(s *suite) {
	odd := []string{"a b", "a;evil", "$(evil)", "`evil`", "a\nevil", "a|evil", "a>b", "*", "~", "", "-", "--", "'", `"`, `\`, "\u202e", "a\tb", "{a,b}", "$X", "!x", "#x", "%x%", "a&&evil", "a\rb"}
	for _, a := range odd {
		w := memory(s, map[string]string{"a.txt": ""})
		w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
		w.call("run_command", args{"command": "prog", "args": []string{a, "b"}})
		if len(w.started) == 1 {
			shown := w.asked[0].Approval.Preview[0].Command
			s.attack(fmt.Sprint(w.started[0].Args) == fmt.Sprint(shown.Args) && len(shown.Args) == 3, "%q was shown as %q", w.started[0].Args, shown.Args)
		} else {
			s.attack(true, "")
		}
		// Of an allowed program, odd arguments are not covered.
		w = memory(s, map[string]string{"a.txt": ""})
		w.person = always
		w.call("run_command", args{"command": "git", "args": []string{"log"}})
		w.person = never
		w.call("run_command", args{"command": "git", "args": []string{"log", "--output=" + a}})
		s.attack(len(w.started) == 0, "git log covers --output=%q", a)
		w.call("run_command", args{"command": "git" + a, "args": []string{"log"}})
		s.attack(len(w.started) == 0 || a == "", "git covers the program %q", "git"+a)
	}
}
