// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestModel is run by TestConformanceComparesResultsAndHistories, in a process of its own, because it may fail.
func TestModel(t *testing.T) {
	kind := os.Getenv("MATRIX_MODEL")
	if kind == "" {
		t.Skip("is run by another test")
	}
	sent := ""
	h := modeltest.Harness{New: func(t testing.TB, s modeltest.Scenario) model.Model {
		switch {
		case kind == "broken":
			return model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return nil, nil })
		case s.Rule != historyRule:
			t.Skip("nothing but histories")
		case kind == "imageless" && s.Case == "image":
			t.Skip("draws nothing")
		}
		return model.Func(model.Info{Provider: kind, Name: "n"}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			text, err := json.Marshal(req)
			sent += string(text)
			if err != nil || kind == "refusing" && (sink == nil || s.Case == "opaque part") {
				return nil, errors.Join(errors.New("refused"), err)
			}
			msg := s.Answer.Clone()
			msg.Provider, msg.Model, msg.ResponseID = kind, "counted-7", "r"
			for i := range msg.Parts {
				if p := &msg.Parts[i]; p.Kind == model.PartToolCall && kind == "nameless" {
					p.CallID = "random"
				}
			}
			return msg, nil
		})
	}}
	if kind != "silent" {
		h.Sent = func(testing.TB) string {
			if kind == "discreet" {
				return "nothing"
			}
			return sent
		}
	}
	Conformance(t, "m", h)
}

// TestConformanceComparesResultsAndHistories runs models in a module of their own, and records what is said and written.
func TestConformanceComparesResultsAndHistories(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "internal", "dev", "matrix", "testdata")
	require.NoError(t, os.MkdirAll(filepath.Join(data, "histories"), 0o755))
	within := filepath.Join(dir, "some", "package")
	require.NoError(t, os.MkdirAll(within, 0o755))
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("go.mod", "module github.com/ponte-go/ponte\r\n\ngo 1.26\n")
	write("some/go.mod", "module github.com/other/module\n")
	said := regexp.MustCompile(`^(\s+)\w+\.go:\d+: `)
	var told strings.Builder
	run := func(what, kind string, args ...string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], append([]string{"-test.run", "^TestModel$", "-test.v"}, args...)...)
		cmd.Dir = within
		cmd.Env = append(os.Environ(), "MATRIX_MODEL="+kind, "PONTE_UPDATE=")
		if strings.HasPrefix(what, "write") {
			cmd.Env = append(cmd.Env, "PONTE_UPDATE=1")
		}
		out, err := cmd.CombinedOutput()
		fmt.Fprintf(&told, "# %s, %s: %v\n", what, kind, err)
		speaking := false
		for line := range strings.Lines(string(out)) {
			switch {
			case said.MatchString(line):
				ofSuite := kind == "broken" && !strings.Contains(line, "matrix")
				speaking = !ofSuite && !strings.HasSuffix(line, ": nothing but histories\n") && !strings.Contains(line, "does not name sources")
				if speaking {
					told.WriteString(said.ReplaceAllString(line, "$1"))
				}
			case strings.HasPrefix(strings.TrimSpace(line), "---"), strings.HasPrefix(line, "==="):
				speaking = false
			case speaking:
				told.WriteString(line)
			}
		}
	}
	show := func(name string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(data, name))
		require.NoError(t, err)
		if len(text) > 6000 {
			text = append(text[:300], "…\n"...)
		}
		fmt.Fprintf(&told, "%s:\n%s", name, text)
	}

	run("compare without results", "good")
	run("write", "good")
	show("m.json")
	show("histories/m.json")
	run("compare", "good")
	run("compare a part", "good", "-test.run", "^TestModel$/x")
	run("compare a part", "good", "-test.skip", "x/y")
	run("compare another provider's", "curious")
	run("compare another provider's", "discreet")
	run("compare another provider's", "silent")
	run("compare", "refusing")
	run("compare", "broken")
	run("write", "nameless")
	show("histories/m.json")
	run("write", "imageless")
	show("histories/m.json")
	run("write", "refusing")
	write("internal/dev/matrix/testdata/histories/m.json", "[]\n")
	write("internal/dev/matrix/testdata/histories/o.json", "{")
	run("compare", "good")
	require.NoError(t, os.RemoveAll(filepath.Join(data, "histories")))
	run("compare without histories", "good")
	before, err := os.ReadFile(filepath.Join(data, "m.json"))
	require.NoError(t, err)
	write("internal/dev/matrix/testdata/m.json", strings.Replace(string(before), "skipped", "passed", 1))
	run("compare other results", "good")
	require.NoError(t, os.Remove(filepath.Join(dir, "go.mod")))
	run("compare outside of the module", "good")

	text := strings.ReplaceAll(told.String(), dir, "DIR")
	const file = "testdata/conformance.txt"
	if *update || os.Getenv("PONTE_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), text)
}

func TestFilesThatCannotBeWrittenAreNamed(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o644))
	for name, err := range map[string]error{
		"results beneath a file":   check(filepath.Join(blocked, "m.json"), nil, true),
		"results on a directory":   check(t.TempDir(), nil, true),
		"a history beneath a file": writeHistory(filepath.Join(blocked, "m.json"), nil),
		"a history on a directory": writeHistory(t.TempDir(), nil),
		"a history of no message":  writeHistory(filepath.Join(t.TempDir(), "m.json"), []*model.Message{{}}),
	} {
		require.ErrorContains(t, err, "matrix: ", name)
	}
	for _, write := range []func(file string) error{
		func(file string) error { return check(file, nil, true) },
		func(file string) error { return writeHistory(file, []*model.Message{model.UserText("x")}) },
	} {
		file := filepath.Join(t.TempDir(), "new", "m.json")
		require.NoError(t, write(file))
		info, err := os.Stat(file)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Zero(t, info.Mode().Perm()&0o111, "it is no program")
		}
	}
	_, err := load("[")
	require.ErrorContains(t, err, "matrix: ")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "m.json"), 0o755))
	_, err = load(dir)
	require.ErrorContains(t, err, "matrix: ")
}

func TestTheTableEscapesWhatIsMarkup(t *testing.T) {
	columns := []column{{"a|b<c>*d_e", []modeltest.Result{{Rule: "x_y|z", Case: "c", Outcome: "odd"}, {Rule: "x_y|z", Case: "d", Outcome: modeltest.OutcomePassed, Reason: "*r*"}}}}
	require.Equal(t, "| Rule | a\\|b&lt;c>\\*d\\_e |\n|---|:-:|\n| x\\_y\\|z: c | failed |\n| … d | ✓ (1) |\n\n1. \\*r\\*\n", render(columns))
	require.Equal(t, "| Rule |\n|---|\n", render(nil))
	passed := func(name, reason string) modeltest.Result {
		return modeltest.Result{Rule: "R", Case: name, Outcome: modeltest.OutcomePassed, Reason: reason}
	}
	columns = []column{{"m", []modeltest.Result{passed("a", "first"), passed("b", ""), passed("c", ""), passed("d", "last")}}}
	require.Equal(t, "| Rule | m |\n|---|:-:|\n| R | ✓ |\n| … a | ✓ (1) |\n| … d | ✓ (2) |\n\n1. first\n2. last\n", render(columns))
}
