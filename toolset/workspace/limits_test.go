// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// The result of a search has 48 KiB, and the line with which it gets longer.
func TestSearchResultsEndAfter48KiB(t *testing.T) {
	w, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	for _, c := range []struct{ more, matches int }{{0, 49}, {1, 48}, {-1, 49}} {
		r := report{call: &call{ws: w}}
		found := fileMatches{matches: 60}
		for i := range 60 {
			text := strings.Repeat("x", 1<<10-len("f:1: \n"))
			if i == 0 {
				text = strings.Repeat("x", len(text)+c.more)
			}
			found.lines = append(found.lines, foundLine{number: 1, text: text})
		}
		require.False(t, r.add("/project/f", found))
		require.Equal(t, c.matches, r.matches, "%+v", c)
		require.True(t, r.full)
		require.Equal(t, c.matches<<10+c.more, r.b.Len())
	}
	// Lines of two files are apart, and the title has a hundred bytes of what is searched for.
	r := report{call: &call{ws: w}, contextual: true}
	for _, name := range []string{"/project/a", "/project/b"} {
		require.True(t, r.add(name, fileMatches{matches: 1, lines: []foundLine{{number: 1, text: "x"}, {number: 2, text: "y", context: true}}}))
	}
	require.Equal(t, "a:1: x\na-2- y\n--\nb:1: x\nb-2- y\n", r.text())
	s := NewSession(w)
	hundred := strings.Repeat("p", 100)
	require.Equal(t, `Search "`+hundred+`"`, searchFilesArgs{Pattern: hundred}.subject(s).Title)
	require.Equal(t, `Search "`+hundred+`…"`, searchFilesArgs{Pattern: hundred + "q"}.subject(s).Title)
	require.Equal(t, "Read a (lines 1 to 1)", readFileArgs{Path: "a", Limit: 1}.subject(s).Title)
}

// A file is binary if there is a zero among its first eight thousand bytes.
func TestZerosMakeAFileBinary(t *testing.T) {
	w, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	m, err := newMatcher("hit", true, false)
	require.NoError(t, err)
	s := &fileSearch{ws: w, matcher: m, limit: 2}
	for at, binary := range map[int]bool{0: true, 1: true, 7999: true, 8000: false} {
		data := slices.Concat([]byte(strings.Repeat("a", at)), []byte("\x00hit\n"))
		require.NoError(t, w.Disk().WriteFile("/project/f", data, 0o644))
		found := s.file(t.Context(), "/project/f")
		require.NoError(t, found.err)
		require.Equal(t, binary, found.binary, at)
		require.Equal(t, !binary, found.matches == 1, at)
	}
}

// stuck is a workspace that does not get on with reading until a context ends.
type stuck struct {
	*Memory
	reads atomic.Int32
}

func (s *stuck) Read(ctx context.Context, path string, _ Range) (File, error) {
	s.reads.Add(1)
	<-ctx.Done()
	return File{}, context.Cause(ctx)
}

// Two files are searched at a time.
func TestTwoFilesAreSearchedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewMemory(MemoryConfig{Files: map[string]string{"a": "", "b": "", "c": "", "d": ""}})
		require.NoError(t, err)
		s := &stuck{Memory: w}
		c := &call{Session: NewSession(s), ws: s, options: &options{}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := c.searchFiles(ctx, searchFilesArgs{Pattern: "x", All: true})
			ended <- err
		}()
		synctest.Wait()
		require.EqualValues(t, 2, s.reads.Load())
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

// closing is a process that cannot be closed before a context ends.
type closing struct{ Process }

func (closing) Close(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The end of a command takes five seconds at most, also if its caller has left.
func TestCommandsHaveFiveSecondsToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		require.ErrorIs(t, closeProcess(ctx, closing{}), context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(begin))
	})
}

// A workspace in memory keeps a mebibyte of the output of a command, unless it is told how much.
func TestOutputsThatMemoryKeeps(t *testing.T) {
	for limit, keeps := range map[int]int{0: 1 << 20, 1: 1, 2: 2} {
		long := MemoryPrint("x"+strings.Repeat("y", keeps), 0)
		w, err := NewMemory(MemoryConfig{
			OutputLimit: limit, Files: map[string]string{"f": ""},
			Commands: map[string]MemoryScript{"long": long},
		})
		require.NoError(t, err)
		p, err := w.Start(t.Context(), Command{Line: "long"})
		require.NoError(t, err)
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
		got, err := p.Output(t.Context(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, Chunk{
			Data: bytes.Repeat([]byte("y"), keeps), From: 1, End: int64(keeps) + 1, Lost: true, Exit: &Exit{},
		}, got)
		require.NoError(t, p.Close(t.Context()))
		mode, err := w.Disk().Mode("/project/f")
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o644), mode)
	}
}

// asked is a file that notes how much is asked of it at a time.
type asked struct {
	fs.File
	sizes []int
}

func (a *asked) Read(p []byte) (int, error) {
	a.sizes = append(a.sizes, len(p))
	return a.File.Read(p)
}

func (a *asked) Seek(offset int64, whence int) (int64, error) {
	return a.File.(io.Seeker).Seek(offset, whence)
}

// A file whose size is known is read at once, with a byte more to see its end, and a large one in
// mebibytes. Lines are read by 64 KiB.
func TestHowMuchOfAFileIsReadAtATime(t *testing.T) {
	const mib = 1 << 20
	disk := fstest.MapFS{
		"f": {Data: bytes.Repeat([]byte("x"), 1000)}, "large": {Data: make([]byte, 2*mib+1)},
	}
	for _, c := range []struct {
		name string
		r    Range
		want []int
		more bool
	}{
		{"f", Range{}, []int{1001, 1}, false}, {"f", Range{Offset: 400}, []int{601, 1}, false},
		{"f", Range{Offset: 900}, []int{512, 412}, false}, {"f", Range{Limit: 1}, []int{1, 1}, true},
		{"f", Range{Limit: 999}, []int{999, 1}, true}, {"f", Range{Limit: 1000}, []int{1000, 1}, false},
		{"f", Range{Limit: 600, Offset: 399}, []int{600, 1}, true},
		{"f", Range{Line: 1}, []int{64 << 10, 64 << 10}, false},
		{"large", Range{}, []int{mib, mib, 2, 1}, false},
		{"large", Range{Limit: 2 * mib}, []int{mib, mib, 1}, true},
	} {
		file, err := disk.Open(c.name)
		require.NoError(t, err)
		a := &asked{File: file}
		got, err := c.r.Read(t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, c.want, a.sizes, "%s %+v", c.name, c.r)
		require.Equal(t, c.more, got.More, "%+v", c.r)
	}
	broken := iotest.ErrReader(io.ErrNoProgress)
	for _, c := range []struct {
		r    Range
		text string
		more bool
	}{
		{Range{Lines: 1}, "a\n", false}, {Range{Line: 2, Lines: 1}, "\n", false}, {Range{Line: 2, Lines: 2}, "\nb\n", false},
		{Range{Line: 1, Lines: 1, Limit: 1}, "a", true}, {Range{Line: 3, Lines: 1}, "b\n", false},
	} {
		got, err := c.r.Read(t.Context(), io.MultiReader(strings.NewReader("a\n\nb\nc\n"), broken))
		require.NoError(t, err, "what follows the lines is not read")
		require.Equal(t, c.text, string(got.Data), "%+v", c.r)
		require.Equal(t, c.more, got.More, "%+v", c.r)
	}
	got, err := Range{Offset: 1}.Read(t.Context(), strings.NewReader("abc"))
	require.NoError(t, err)
	require.Equal(t, "bc", string(got.Data))
	got, err = Range{Line: 1, Limit: 1}.Read(t.Context(), strings.NewReader("abc\nd"))
	require.NoError(t, err)
	require.Equal(t, File{Data: []byte("a"), More: true, Lines: 2}, got)
}

// A search passes over what is frequent: of a large block the four kibibytes in its middle decide
// what that is. Whatever it looks for, it finds what is there.
func TestFrequentBytesAreThoseInTheMiddle(t *testing.T) {
	m, err := newMatcher("ez", true, false)
	require.NoError(t, err)
	block := bytes.Repeat([]byte("x"), 64<<10)
	const from, to = 30 << 10, 34 << 10
	block[from-1], block[from] = 'e', 'z'
	block[from+1000], block[to-1000] = 'e', 'e'
	block[to-1], block[to] = 'z', 'e'
	require.Equal(t, 0, m.rareIn(block), "two of each are in the middle")
	block[to-1] = 'x'
	require.Equal(t, 1, m.rareIn(block))
	m, err = newMatcher("[ab]c", false, false)
	require.NoError(t, err)
	for block, want := range map[string]int{"": -1, "c": -1, "bc": 0, "xbc": 1, "c\nxac": 3} {
		require.Equal(t, want, m.candidate([]byte(block), 0), "%q", block)
	}
	require.Equal(t, 0, rarestIn([]byte("\xff\xfe\xff"), []byte("\xfe\xff")))
	for n := range 300 {
		for _, text := range []string{"ab", "bab", "abb", "bb"} {
			block := strings.Repeat("b", n) + "abb"
			for rare := range len(text) {
				require.Equal(t, strings.Index(block, text), indexRare([]byte(block), []byte(text), rare), "%d %s %d", n, text, rare)
			}
		}
	}
	// Of two lines, the pairs of their first five hundred bytes count, if one is at most three times
	// as long as the other.
	same := strings.Repeat("a", 498)
	require.EqualValues(t, 1, pairsOf([]byte(same+"bc")).score([]byte(same+"bcd")))
	require.Less(t, pairsOf([]byte(same+"bc")).score([]byte(same+"bd")), 1.0)
	require.NotZero(t, pairsOf([]byte("abcd")).score([]byte("abcdabcdabcd")))
	require.Zero(t, pairsOf([]byte("abcd")).score([]byte("abcdabcdabcda")))
	require.NotZero(t, pairsOf([]byte(strings.Repeat("ab", 9)+"a")).score([]byte("ababab")))
	require.Zero(t, pairsOf([]byte(strings.Repeat("ab", 10))).score([]byte("ababab")))
}

// backwards is a workspace that finds files in the other order.
type backwards struct{ *Memory }

func (b backwards) Walk(ctx context.Context, dir string, o WalkOptions) iter.Seq2[Info, error] {
	if filter := o.Filter; filter != nil {
		o.Filter = func(dir string, entries []Info) []Info {
			slices.Reverse(entries)
			return filter(dir, entries)
		}
	}
	return b.Memory.Walk(ctx, dir, o)
}

// Of two ignore files in a directory .ignore has the last word, in whatever order they are found.
// They count from their first byte. A directory of the workspace in another one is listed once.
func TestIgnoreFilesHaveAnOrder(t *testing.T) {
	w, err := NewMemory(MemoryConfig{
		Roots: []string{"/p", "/p/sub"},
		Files: map[string]string{".gitignore": "a", "a": "", "b": "", "sub/.gitignore": "*", "sub/.ignore": "!c", "sub/c": "", "sub/d": ""},
	})
	require.NoError(t, err)
	for _, ws := range []Workspace{w, backwards{w}} {
		c := &call{Session: NewSession(ws), ws: ws, options: &options{}}
		for _, in := range []listFilesArgs{{Pattern: "?"}, {Pattern: "?", Path: "/p"}, {Pattern: "?", Path: "."}} {
			res, err := c.listFiles(t.Context(), in)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"b", "sub/c"}, strings.Fields(res.Text), "%+v", in)
		}
	}
	for rules, name := range map[string]string{"ab ": "ab", "ab  ": "ab", `a\{`: "a{", `a\[b`: "a[b"} {
		set := parseIgnore("", []byte(rules))
		ignored, _ := set.match(name, false)
		require.True(t, ignored, rules)
	}
	// The one word of a command that names a link is followed.
	require.NoError(t, w.Disk().Symlink("/p/b", "/p/link"))
	c := &call{Session: NewSession(w), ws: w}
	effects := []model.Effect{{Kind: model.EffectUnknown, Argv: []string{"link"}, Dir: "/p"}}
	require.Equal(t, []model.Effect{{Kind: model.EffectUnknown, Argv: []string{"/p/b"}, Dir: "/p"}}, c.behindLinks(t.Context(), effects))
	// A thousand words are followed. If there are more, a command may read and write anything.
	anything := []model.Effect{{Kind: model.EffectRead, Path: "/"}, {Kind: model.EffectWrite, Path: "/"}}
	words := make([]string, 0, 1001)
	for i := range 1000 {
		words = append(words, fmt.Sprint("n", i))
	}
	effects[0].Argv = append(slices.Clone(words[:999]), "link")
	followed := model.Effect{Kind: model.EffectUnknown, Argv: []string{"/p/b"}, Dir: "/p"}
	require.Equal(t, append([]model.Effect{followed}, anything...), c.behindLinks(t.Context(), effects))
	effects[0].Argv = append(words, "link")
	require.Equal(t, anything, c.behindLinks(t.Context(), effects))
}
