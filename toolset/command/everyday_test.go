// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyday has commands that follow each other in every session: the second is not asked about when the first is allowed always.
const everyday = `
go test ./a => go test ./b -run TestX
go test ./... => go test -race -count=1 ./a ./b
go test ./... => go test ./... -run 'TestA|TestB' -v
go test ./... => go test ./... 2>&1
go test ./... => cd sub && go test .
go test ./a => go test -timeout 30s -short ./a
go test . => go test -bench=. -benchmem -run='^$' ./a
go test ./... > /dev/null => go test ./a
go build ./... => go build ./cmd/x
go vet ./... => go vet ./a ./b
go list ./... => go list -m -json all
go fmt ./... => go fmt ./a
go doc fmt => go doc fmt.Println
gofmt -l . => gofmt -l a b
gofmt -w a.go => gofmt -w b.go sub/c.go
go mod tidy => go mod tidy -v
go env GOPATH => go env GOMODCACHE GOFLAGS
git status => git status --short --branch
git log => git log --oneline -20
git log -5 => git log --stat --since '2 weeks ago' -- a.txt
git diff => git diff --stat HEAD~3 -- src
git diff --cached => git diff main..feature
git show => git show HEAD~2 --stat
git show HEAD:a.txt => git show abc123
git blame a.txt => git blame -L 10,20 main.go
git add a.txt => git add -A
git commit -m "one" => git commit -m "two: a (b)" -q
git branch => git branch -a
git ls-files => git ls-files sub
git grep -n foo => git grep -n -i bar -- src
ls => ls -la sub
ls -l => ls -R src
cat a.txt => cat -n b.txt
cat a.txt => cat größe.txt
head a.txt => head -n 50 b.txt
tail a.txt => tail -100 b.txt
wc -l a.txt => wc -l a.txt b.txt
grep -rn foo . => grep -rn --include='*.go' 'func (c \*Conn)' src
grep foo a.txt => grep -c bar b.txt
rg foo => rg -n -g '*.go' 'func \w+' src
rg foo => rg -n -C 3 "type .* struct" .
find . -name '*.go' => find src -type f -name '*_test.go' -not -path '*/vendor/*'
sed -n '1,20p' a.txt => sed -n 40,80p main.go
go test ./... | tail -5 => go test ./a 2>&1 | tail -20
go test ./... | grep FAIL => go test ./b | grep -v ok
git log --oneline | head -5 => git log --stat | head -50
ls && pwd => pwd; ls -a
cd sub && ls => cd src && ls -l
npm test => npm test
npm run build => npm run build --silent
make test => make test -j4
cargo test => cargo test --workspace parser
cargo build => cargo build --release
pytest => pytest -q tests/test_a.py::test_b -k 'x and y'
python -m pytest => python -m pytest -x tests
ruff check . => ruff check src
mypy . => mypy --strict src
tsc --noEmit => tsc --noEmit --pretty
wc -l a.txt | sort -n => wc -l b.txt | sort -rn
docker ps => docker ps -a
echo a => echo b c
stat a.txt => stat -c %s b.txt
du -sh . => du -sh sub
which go => which -a git
`

func TestEverydayCommandsAreAskedAboutOnce(t *testing.T) {
	place, all := project(t), pairs(everyday)
	require.GreaterOrEqual(t, len(all), 40)
	for _, pair := range all {
		p := newPerson(place)
		require.True(t, p.isAsked(t, at(place, pair[0])), pair[0])
		assert.False(t, p.isAsked(t, at(place, pair[1])), "%s => %s", pair[0], pair[1])
	}
}

// The parts of a line may have been allowed one by one, and those of an allowed line run alone.
func TestLinesAreCoveredByTheirParts(t *testing.T) {
	place := project(t)
	p := newPerson(place)
	require.True(t, p.isAsked(t, at(place, "go test ./...")))
	require.True(t, p.isAsked(t, at(place, "go test ./... | tail -5")), "tail has not been allowed")
	require.False(t, p.isAsked(t, at(place, "tail a.txt")))
	require.True(t, p.isAsked(t, at(place, "go vet ./...")))
	require.False(t, p.isAsked(t, at(place, "go vet ./... && go test ./a | tail -1 || go vet .")))
	require.False(t, p.isAsked(t, args(place, "go", "test", "./b")), "without a shell")
	require.True(t, p.isAsked(t, at(place, "go vet ./... && go build ./...")))
}
