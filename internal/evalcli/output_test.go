// SPDX-License-Identifier: Apache-2.0

package evalcli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/internal/evalcli"
)

// TestCommandsWriteWhatReportsSay compares whole outputs with what package evals writes, and whole
// errors.
func TestCommandsWriteWhatReportsSay(t *testing.T) {
	goodFile, badFile := saved(t, "good.json", 0), saved(t, "bad.json", 2)
	load := func(file string) *evals.Report {
		r, err := evals.Load(file)
		require.NoError(t, err)
		return r
	}
	good, bad := load(goodFile), load(badFile)
	text := func(write func(b *strings.Builder) error) string {
		var b strings.Builder
		require.NoError(t, write(&b))
		return b.String()
	}
	compared := text(func(b *strings.Builder) error { return evals.Compare(good, bad).Write(b, evals.Text) })
	none := filepath.Join(t.TempDir(), "none.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"show", badFile}, 0, text(func(b *strings.Builder) error { return bad.Write(b, evals.Text) })},
		{[]string{"show", "-format=markdown", badFile}, 0, text(func(b *strings.Builder) error { return bad.Write(b, evals.Markdown) })},
		{[]string{"show", "-format=junit", badFile}, 0, text(func(b *strings.Builder) error { return bad.WriteJUnit(b) })},
		{[]string{"show", "-format=html", badFile}, 0, text(func(b *strings.Builder) error { return bad.WriteHTML(b, nil) })},
		{[]string{"compare", goodFile, badFile}, 0, compared},
		{[]string{"compare", goodFile, badFile, badFile}, 0, compared + "\n" + compared},
		{[]string{"compare", "-format=markdown", goodFile, badFile}, 0, text(func(b *strings.Builder) error { return evals.Compare(good, bad).Write(b, evals.Markdown) })},
		{[]string{"compare", "-format=html", goodFile, badFile, goodFile}, 0, text(func(b *strings.Builder) error { return evals.CompareHTML(b, good, bad, good) })},
		{[]string{"check", "-least=equal=0.5", badFile}, 0, ""},
		{[]string{"check", "-least=equal=0.5001", "-least=other=1", badFile}, 1, "equal: 0.5, at least 0.5001 is asked for\nother: there is no such metric\n"},
		{[]string{"check", "-base", goodFile, badFile}, 1, "equal: 0.5, in the baseline 1 (p = 0.0020)\n"},
		{[]string{"check", "-least=equal=1", "-base", badFile, goodFile}, 0, ""},
		{nil, 3, "eval: say what to do: show, compare or check; eval -h explains\n"},
		{[]string{"sohw\x1b[1m"}, 3, "eval: unknown command \"sohw\\x1b[1m\": show, compare or check\n"},
		{[]string{"show"}, 3, "eval: show: give one report, after the flags\n"},
		{[]string{"show", badFile, badFile}, 3, "eval: show: give one report, after the flags\n"},
		{[]string{"check", "-least=equal=1"}, 3, "eval: check: give one report, after the flags\n"},
		{[]string{"compare", badFile}, 3, "eval: compare: give a baseline and a report, after the flags\n"},
		{[]string{"show", "-format=pdf", badFile}, 3, "eval: unknown format \"pdf\": text, markdown, html or junit\n"},
		{[]string{"compare", "-format=junit", goodFile, badFile}, 3, "eval: unknown format \"junit\": text, markdown or html\n"},
		{[]string{"check", goodFile}, 3, "eval: check: give -least or -base\n"},
		{[]string{"check", "-least=equal", goodFile}, 3, "eval: invalid value \"equal\" for flag -least: \"equal\" is not METRIC=BOUND\n"},
		{[]string{"check", "-least=equal=x", goodFile}, 3, "eval: invalid value \"equal=x\" for flag -least: \"equal=x\" is not METRIC=BOUND\n"},
		{[]string{"check", "-least=equal=NaN", goodFile}, 3, "eval: invalid value \"equal=NaN\" for flag -least: \"equal=NaN\" is not METRIC=BOUND\n"},
		{[]string{"check", "-least=equal=-Inf", goodFile}, 3, "eval: invalid value \"equal=-Inf\" for flag -least: \"equal=-Inf\" is not METRIC=BOUND\n"},
		{[]string{"check", "-least=equal=inf", goodFile}, 3, "eval: invalid value \"equal=inf\" for flag -least: \"equal=inf\" is not METRIC=BOUND\n"},
		{[]string{"check", "-format=text", goodFile}, 3, "eval: flag provided but not defined: -format\n"},
		{[]string{"show", "-base=x", goodFile}, 3, "eval: flag provided but not defined: -base\n"},
		{[]string{"show", none}, 3, "eval: evals: load: open " + none + ": no such file or directory\n"},
		{[]string{"compare", none, badFile}, 3, "eval: evals: load: open " + none + ": no such file or directory\n"},
		{[]string{"compare", badFile, none}, 3, "eval: evals: load: open " + none + ": no such file or directory\n"},
		{[]string{"check", "-base", none, badFile}, 3, "eval: evals: load: open " + none + ": no such file or directory\n"},
		{[]string{"check", "-least=equal=1", none}, 3, "eval: evals: load: open " + none + ": no such file or directory\n"},
	} {
		var out, errOut strings.Builder
		require.Equal(t, c.code, evalcli.Run(c.args, &out, &errOut), "%v", c.args)
		if c.code == evalcli.ExitMistake {
			require.Equal(t, c.want, errOut.String(), "%v", c.args)
			require.Empty(t, out.String())
		} else {
			require.Equal(t, c.want, out.String(), "%v", c.args)
			require.Empty(t, errOut.String())
		}
	}
	for _, help := range [][]string{{"-h"}, {"-help"}, {"--help"}, {"help"}, {"show", "-h"}, {"check", "-help"}} {
		var out, errOut strings.Builder
		require.Zero(t, evalcli.Run(help, &out, &errOut), help)
		require.True(t, strings.HasPrefix(out.String(), "Look at reports of evals.\n\nUsage:\n\n\teval show [-format F] [-o FILE] REPORT "), out.String())
		require.Empty(t, errOut.String())
	}
}

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// fillsUp is an output that takes so many writes.
type fillsUp struct{ left int }

func (f *fillsUp) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// TestOutputsThatFillUpAreMistakes has outputs that take only the beginning of a comparison.
func TestOutputsThatFillUpAreMistakes(t *testing.T) {
	good, bad := saved(t, "good.json", 0), saved(t, "bad.json", 2)
	for n := range 100 {
		var errOut strings.Builder
		out := &fillsUp{n}
		code := evalcli.Run([]string{"compare", good, bad, bad}, out, &errOut)
		if out.left >= 0 {
			require.Zero(t, code)
			require.Greater(t, n, 2)
			return
		}
		require.Equal(t, evalcli.ExitMistake, code, n)
	}
	t.Fatal("it never ends")
}

// TestOutputsThatCannotBeWrittenAreMistakes has outputs and files that take nothing.
func TestOutputsThatCannotBeWrittenAreMistakes(t *testing.T) {
	good, bad := saved(t, "good.json", 0), saved(t, "bad.json", 2)
	for _, args := range [][]string{
		{"show", bad}, {"show", "-format=junit", bad}, {"show", "-format=html", bad}, {"compare", good, bad}, {"check", "-base", good, bad},
	} {
		var errOut strings.Builder
		require.Equal(t, evalcli.ExitMistake, evalcli.Run(args, full{}, &errOut), args)
		require.Contains(t, errOut.String(), "no space left")
	}
	dir := t.TempDir()
	none := filepath.Join(dir, "none", "out")
	var out, errOut strings.Builder
	require.Equal(t, evalcli.ExitMistake, evalcli.Run([]string{"show", "-o", none, bad}, &out, &errOut))
	require.Contains(t, errOut.String(), "no such file or directory")
	require.Equal(t, evalcli.ExitMistake, evalcli.Run([]string{"show", "-o", dir, bad}, &out, &errOut), "a directory is no file")
	require.Equal(t, evalcli.ExitMistake, evalcli.Run([]string{"show", "-o", filepath.Join(dir, "x"), "-format=pdf", bad}, &out, &errOut))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left of what failed")
	require.Empty(t, out.String())
	above, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".eval-*"))
	require.NoError(t, err)
	require.Empty(t, above)
	file := filepath.Join(dir, "y")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.Zero(t, evalcli.Run([]string{"compare", "-o", file, good, bad}, &out, &errOut))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), "worse")
}
