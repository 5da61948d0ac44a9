// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// peer is a module with benchmarks.
type peer struct {
	dir    string
	module string // what it measures; empty for our own
	binary string // of its benchmarks, once it is built
}

// All others are compared with the floor.
const floor = "floor"

// own is the column that all others should be slower than.
const own = "ponte"

var peers = []*peer{
	{dir: floor},
	{dir: own},
	{dir: "eino", module: "github.com/cloudwego/eino"},
	{dir: "trpcagent", module: "trpc.group/trpc-go/trpc-agent-go"},
	{dir: "langchaingo", module: "github.com/tmc/langchaingo"},
	{dir: "adk", module: "google.golang.org/adk"},
	{dir: "genkit", module: "github.com/firebase/genkit/go"},
	{dir: "acpsdk", module: "github.com/coder/acp-go-sdk"},
}

// group is a table: some work, done by those who can.
type group struct {
	title   string
	rows    []string
	columns []column
	growths []growth
}

// column is one way to do the work: a benchmark of a module whose sub-benchmarks are the rows.
type column struct{ name, dir, benchmark string }

var groups = []group{
	{
		title: "Agents",
		rows: []string{
			"NewAgent", "OneTool", "Seq50", "Seq200", "Parallel16", "Stream1000", "Stream10000", "Structured", "StructuredRetry", "Waiting",
		},
		columns: []column{
			{floor, floor, "Agent"},
			{own, own, "Agent"},
			{"eino ReAct", "eino", "ReAct"},
			{"eino ADK", "eino", "ADK"},
			{"trpc-agent-go", "trpcagent", "Agent"},
			{"langchaingo", "langchaingo", "Agent"},
			{"adk-go", "adk", "Agent"},
			{"genkit", "genkit", "Agent"},
		},
		growths: []growth{
			{"200 steps against 50, where 4 is linear", "Seq50", "Seq200", 1},
			{"A delta of 10,000 against one of 1,000, where 1 is linear", "Stream1000", "Stream10000", 10},
		},
	},
	{
		title: "Agent Client Protocol",
		rows:  []string{"SendChunk", "Prompt", "Read1MiB", "Read32MiB"},
		columns: []column{
			{floor, floor, "ACP"},
			{own, own, "ACP"},
			{"acp-go-sdk", "acpsdk", "ACP"},
		},
	},
}

// choose returns the modules of that name, and the floor.
func choose(names string) ([]*peer, error) {
	if names == "" {
		return peers, nil
	}
	wanted := append(strings.Split(names, ","), floor)
	var chosen []*peer
	for _, p := range peers {
		if slices.Contains(wanted, p.dir) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(peers, func(p *peer) bool { return p.dir == name }) {
			return nil, fmt.Errorf("there is no module %q", name)
		}
	}
	return chosen, nil
}

// build compiles the module's benchmarks. One package at a time: others may be using the machine.
func (p *peer) build(ctx context.Context, dir, bin string) error {
	p.binary = filepath.Join(bin, p.dir+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-p", "1", "-o", p.binary, ".")
	cmd.Dir = filepath.Join(dir, p.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.dir, err, out)
	}
	return nil
}

// version returns the version that the module measures: the one that its go.mod requires.
func (p *peer) version(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, p.dir, "go.mod"))
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(text), p.module+" v")
	if !found {
		return "", fmt.Errorf("%s: go.mod does not require %s", p.dir, p.module)
	}
	return "v" + strings.Fields(rest)[0], nil
}

// versions lists what is measured.
func versions(dir string, measured []*peer) (string, error) {
	var list []string
	for _, p := range measured {
		if p.module == "" {
			continue
		}
		v, err := p.version(dir)
		if err != nil {
			return "", err
		}
		list = append(list, p.module+" "+v)
	}
	if list == nil {
		return "", nil
	}
	return "Measured: " + strings.Join(list, ", ") + ".\n\n", nil
}

// machine says when and on what it was measured, without naming the machine.
func machine() string {
	return fmt.Sprintf("%s, %s, %d CPUs (%s), %s/%s", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH)
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				return strings.TrimLeft(strings.TrimSpace(name), ": \t")
			}
		}
	}
	return "unknown"
}
